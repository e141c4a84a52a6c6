//! The badge always equals the queue: whatever happens in whatever order, in two processes and with a clock that jumps,
//! every way of asking what waits gives the same requests.

use std::sync::Arc;
use std::time::Duration;

use co::approval::{Approval, Decider, RequestId};
use co::history::{Durability, Record, RecordedState};
use co::message::{ReturnStatus, ToolName};
use co::session::Session;
use co::stdx::clock::{Clock as _, ManualClock};
use co::store::{RequestFilter, RequestState, SessionFilter, Store};
use jiff::SignedDuration;
use proptest::prelude::*;

use crate::store::common::{World, asked, asked_until, deny, finished, started, turn_with};

#[derive(Debug, Clone)]
enum Op {
    /// Of a session, a call, so many minutes to decide.
    Ask(usize, usize, Option<i64>),
    /// About the request that was asked so many requests ago, by this process or the other.
    Decide(usize, Answer, Side),
    Consume(usize),
    Start(usize, usize),
    Finish(usize, usize, ReturnStatus),
    Clear(usize),
    Reopen(usize),
    Jump(i64),
    Sweep(Side),
}

#[derive(Debug, Clone, Copy)]
enum Answer {
    Yes,
    Edited,
    Replaced,
    No,
    Later,
}

#[derive(Debug, Clone, Copy)]
enum Side {
    Here,
    There,
}

const CALLS: [&str; 3] = ["a", "b", "c"];

fn op() -> impl Strategy<Value = Op> {
    let side = || prop_oneof![Just(Side::Here), Just(Side::There)];
    let answer = prop_oneof![
        Just(Answer::Yes),
        Just(Answer::Edited),
        Just(Answer::Replaced),
        Just(Answer::No),
        Just(Answer::Later)
    ];
    let status = prop_oneof![
        Just(ReturnStatus::Ok),
        Just(ReturnStatus::Denied),
        Just(ReturnStatus::Undecided),
        Just(ReturnStatus::Interrupted)
    ];
    prop_oneof![
        4 => (0..2_usize, 0..3_usize, prop::option::of(1..60_i64)).prop_map(|(s, c, m)| Op::Ask(s, c, m)),
        4 => (0..6_usize, answer, side()).prop_map(|(ago, answer, side)| Op::Decide(ago, answer, side)),
        3 => (0..2_usize).prop_map(Op::Consume),
        1 => (0..2_usize, 0..3_usize).prop_map(|(s, c)| Op::Start(s, c)),
        2 => (0..2_usize, 0..3_usize, status).prop_map(|(s, c, status)| Op::Finish(s, c, status)),
        1 => (0..2_usize).prop_map(Op::Clear),
        1 => (0..2_usize).prop_map(Op::Reopen),
        2 => (-90..90_i64).prop_map(Op::Jump),
        2 => side().prop_map(Op::Sweep),
    ]
}

struct Scene {
    _world: World,
    clock: Arc<ManualClock>,
    stores: [Store; 2],
    sessions: Vec<Option<Session>>,
    asked: usize,
}

impl Scene {
    async fn new() -> Self {
        let world = World::new();
        let clock = Arc::new(ManualClock::at("2026-03-01T12:00:00Z".parse().unwrap()));
        let stores = [world.store_at(&clock).await, world.store_at(&clock).await];
        let mut sessions = Vec::new();
        for store in &stores {
            let mut session = Session::create(store, std::path::Path::new("/w")).await.unwrap();
            session.commit(&turn_with("go", &CALLS), Durability::Written).await.unwrap();
            sessions.push(Some(session));
        }
        Self { _world: world, clock, stores, sessions, asked: 0 }
    }

    fn store(&self, side: Side) -> &Store {
        match side {
            Side::Here => &self.stores[0],
            Side::There => &self.stores[1],
        }
    }

    fn session(&mut self, at: usize) -> &mut Session {
        self.sessions[at].as_mut().expect("it is open between two steps")
    }

    /// Whether the session's records hold a call that can be asked about.
    fn is_open(&mut self, at: usize, call: usize) -> bool {
        let history = self.session(at).history();
        let open =
            history.open_calls().iter().any(|one| one.call.id.0 == CALLS[call] && one.returned.is_none());
        open || history.late_calls().iter().any(|one| one.call.id.0 == CALLS[call])
    }

    /// Whether the call was approved, or needs no approval.
    fn may_start(&mut self, at: usize, call: usize) -> bool {
        let open = self.session(at).history().open_calls().iter().find(|one| one.call.id.0 == CALLS[call]);
        match open.map(|one| &one.known) {
            Some(RecordedState::NotStarted | RecordedState::Decided(Approval::Approve { .. })) => true,
            Some(
                RecordedState::Waiting
                | RecordedState::Decided(_)
                | RecordedState::Expired
                | RecordedState::MayHaveRun
                | RecordedState::Returned,
            )
            | None => false,
        }
    }

    async fn commit(&mut self, at: usize, record: Record) {
        self.session(at).commit(&[record], Durability::Written).await.unwrap();
    }

    /// An interrupt, or a new prompt, ends the whole reply at once; the outcome of one call is its own.
    async fn finish(&mut self, at: usize, call: usize, status: ReturnStatus) {
        let all = matches!(status, ReturnStatus::Interrupted | ReturnStatus::Undecided);
        let history = self.session(at).history();
        let open = history.open_calls().iter().filter(|one| one.returned.is_none());
        let mut ended: Vec<String> = open.filter(|_| all).map(|one| one.call.id.0.clone()).collect();
        if !ended.iter().any(|id| id == CALLS[call]) {
            ended.push(CALLS[call].to_owned());
        }
        let records: Vec<Record> = ended.iter().map(|id| finished(id, status)).collect();
        self.session(at).commit(&records, Durability::Written).await.unwrap();
    }

    async fn step(&mut self, op: Op) {
        match op {
            Op::Ask(at, call, minutes) if self.is_open(at, call) => {
                self.asked += 1;
                let id = format!("r{}", self.asked);
                let expires = minutes.map(|minutes| self.clock.now() + SignedDuration::from_mins(minutes));
                let record = match expires {
                    Some(expires) => asked_until(CALLS[call], &id, expires),
                    None => asked(CALLS[call], &id),
                };
                self.commit(at, record).await;
            }
            Op::Decide(ago, answer, side) if ago < self.asked => {
                let id = RequestId(format!("r{}", self.asked - ago));
                let to = |tool| Approval::to(ToolName::new(tool), serde_json::json!({}));
                let approval = match answer {
                    Answer::Yes => Approval::yes(),
                    Answer::Edited => to("write_file"),
                    Answer::Replaced => to("shell"),
                    Answer::No => deny("no"),
                    Answer::Later => Approval::Later,
                };
                self.store(side).decide(&id, approval, Decider::Cli).await.unwrap();
            }
            Op::Consume(at) => drop(self.session(at).consume_decisions().await.unwrap()),
            Op::Start(at, call) if self.may_start(at, call) => self.commit(at, started(CALLS[call])).await,
            Op::Finish(at, call, status) if self.is_open(at, call) => self.finish(at, call, status).await,
            Op::Clear(at) => self.commit(at, Record::Cleared).await,
            Op::Reopen(at) => {
                let id = self.session(at).id().clone();
                self.sessions[at] = None;
                self.sessions[at] = Some(Session::open(&self.stores[at], &id).await.unwrap());
            }
            Op::Jump(minutes) => self.clock.set(self.clock.now() + SignedDuration::from_mins(minutes)),
            Op::Sweep(side) => drop(self.store(side).expire_due().await.unwrap()),
            Op::Ask(..) | Op::Decide(..) | Op::Start(..) | Op::Finish(..) => {}
        }
    }

    /// Every way of asking what waits.
    async fn check(&mut self, what: &str) {
        let [here, there] = &self.stores;
        let queue = here.requests(RequestFilter::Undecided, 100).await.unwrap();
        let mut of_queue: Vec<RequestId> = queue.iter().map(|row| row.id().clone()).collect();
        of_queue.sort();
        let rows = there.undecided_rows(100).await.unwrap();
        let mut of_rows: Vec<RequestId> = rows.iter().map(|row| row.id.clone()).collect();
        of_rows.sort();
        assert_eq!(of_queue, of_rows, "{what}");
        let all = there.requests(RequestFilter::All, 100).await.unwrap();
        let open = |state| matches!(state, RequestState::Waiting | RequestState::Later);
        assert_eq!(all.iter().filter(|row| open(row.state)).count(), of_rows.len(), "{what}");
        assert_eq!(here.waiting_count().await.unwrap(), of_rows.len(), "{what}");
        let sessions = there.sessions(SessionFilter::All, 10).await.unwrap();
        assert_eq!(sessions.iter().map(|one| one.waiting).sum::<usize>(), of_rows.len(), "{what}");
        for at in 0..self.sessions.len() {
            let id = self.session(at).id().clone();
            let of = self.stores[0].requests(RequestFilter::UndecidedOf(id.clone()), 100).await.unwrap();
            assert_eq!(of.len(), queue.iter().filter(|row| row.session == id).count(), "{what}");
        }
    }

    /// After everything that was decided is taken up: what waits is what the sessions' own records say.
    async fn check_agreement(&mut self, what: &str) {
        let mut known = Vec::new();
        for at in 0..self.sessions.len() {
            self.session(at).consume_decisions().await.unwrap();
            let history = self.session(at).history();
            let open = history.open_calls().iter().filter(|one| one.returned.is_none());
            let open = open.filter_map(|one| Some((one.known.clone(), one.request.clone()?)));
            let late = history.late_calls().iter().map(|one| (one.known.clone(), one.request.clone()));
            let waiting = open.chain(late).filter(|(known, _)| *known == RecordedState::Waiting);
            known.extend(waiting.map(|(_, request)| request.id));
        }
        known.sort();
        let rows = self.stores[0].undecided_rows(100).await.unwrap();
        let mut rows: Vec<RequestId> = rows.into_iter().map(|row| row.id).collect();
        rows.sort();
        assert_eq!(rows, known, "{what}");
        // Kept at a sync or at an exit; neither need have been.
        drop(self.stores[1].audit_head().await.unwrap());
        assert_eq!(self.stores[1].verify_audit(None).await.unwrap().finding, None, "{what}");
    }
}

#[test]
fn the_badge_equals_the_queue_whatever_happens() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(ops in prop::collection::vec(op(), 1..40))| {
        runtime.block_on(async {
            let mut scene = Scene::new().await;
            for at in 0..ops.len() {
                scene.step(ops[at].clone()).await;
                scene.check(&format!("{:?}", &ops[..=at])).await;
            }
            scene.check_agreement(&format!("{ops:?}")).await;
        });
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
}
