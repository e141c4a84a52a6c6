//! Figures of approvals: how soon the full screen shows what another process decides, and ten thousand that wait.
//!
//! The requests are written to the store of the stage as a session would write them; the bench is the other process.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use co::approval::{Approval, Decider, Request, RequestId};
use co::history::{Durability, Limits, Record};
use co::message::{
    AssistantMessage, AssistantPart, CallId, Message, PartKind, StopKind, StopReason, ToolCall, ToolName,
};
use co::session::Session;
use co::store::{DecideOutcome, Store, StoreOptions};
use co::tool::{Access, CallPlan, Effect, Preview, Risk, Undo};
use tokio::runtime::Runtime;

use super::report::{Goal, Report, median, percentile};
use super::stage::{Binary, Screen, Stage, ms};

const READY: &str = "── ask ──";
/// Alt+A.
const INBOX: &str = "\x1ba";
/// Whatever is done after a frame is not part of what follows.
const REST: Duration = Duration::from_millis(300);

/// Decisions of the first figure.
const ROUNDS: usize = 50;
/// The second figure: so many sessions wait with so many requests each.
const SESSIONS: usize = 100;
const EACH: usize = 100;

/// The store of a stage, open in this process too.
struct StageStore {
    stage: Stage,
    store: Store,
    runtime: Runtime,
}

impl StageStore {
    /// Sessions with so many requests each that wait, all of them closed again.
    fn new(sessions: usize, each: usize) -> Self {
        let stage = Stage::new(None);
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let options = StoreOptions::new(stage.data(), stage.data().join("run"));
        let store = runtime.block_on(Store::open(options)).unwrap();
        let folder = stage.workspace();
        for session in 0..sessions {
            let requests: Vec<Request> = (0..each).map(|at| request(session * each + at)).collect();
            runtime.block_on(ask(&store, &folder, &format!("task {session}"), requests));
        }
        Self { stage, store, runtime }
    }

    fn deny(&self, number: usize) {
        let id = id(number);
        let decided = self.store.decide(&id, Approval::Deny { reason: None }, Decider::Cli);
        assert_eq!(self.runtime.block_on(decided).unwrap(), DecideOutcome::Recorded);
    }
}

fn id(number: usize) -> RequestId {
    RequestId(format!("{number:012x}"))
}

/// Writing a file, asked for in a turn like any other.
fn request(number: usize) -> Request {
    let path = format!("src/part_{number}.rs");
    Request {
        id: id(number),
        call: CallId(format!("call-{number}")),
        tool: ToolName::new("write_file"),
        plan: CallPlan {
            summary: format!("write 40 lines to {path}"),
            preview: Preview::None,
            risk: Risk::Medium,
            access: Access::Nothing,
            basis: Vec::new(),
            undo: Undo::None,
            effect: Effect::OfTool,
            question: None,
            needs_person: None,
        },
        args: serde_json::json!({ "path": path, "content": "a line of the file\n".repeat(40) }),
        risk: Risk::Medium,
        why: vec!["write_file changes something".to_owned()],
        after: Vec::new(),
        depends: Vec::new(),
        taint: Vec::new(),
        expires: None,
        again: None,
        parameters: None,
    }
}

/// A session whose first turn asks for these.
async fn ask(store: &Store, folder: &Path, title: &str, requests: Vec<Request>) {
    let call = |request: &Request| ToolCall {
        id: request.call.clone(),
        wire_id: request.call.0.clone(),
        name: request.tool.clone(),
        args: request.args.clone(),
    };
    let parts =
        requests.iter().map(|request| AssistantPart::new(PartKind::ToolCall(call(request)))).collect();
    let stop = StopReason::new(StopKind::ToolUse);
    let said = AssistantMessage { parts, asked: String::new(), model: "bench".to_owned(), stop };
    let mut records = vec![
        Record::TurnStarted { turn: 1, limits: Limits::default(), trace: None },
        Record::said(Message::user(title)),
        Record::said(Message::Assistant(said)),
    ];
    records.extend(
        requests
            .into_iter()
            .map(|request| Record::Asked { call: call(&request), request: Box::new(request) }),
    );
    let mut session = Session::create(store, folder).await.unwrap();
    session.commit(&records, Durability::Written).await.unwrap();
}

/// Where the count of what waits is read.
#[derive(Clone, Copy)]
enum CountLocation {
    /// In the status line, while the user does something else.
    Status,
    /// In the inbox, whose list is read again for every decision.
    Inbox,
}

impl CountLocation {
    fn shows(self, screen: &vt100::Screen, count: usize) -> bool {
        let text = screen.contents();
        match self {
            Self::Status => text.contains(&format!("◇ {count}")),
            Self::Inbox => {
                let title = text.lines().find(|line| line.contains("waiting for you"));
                title.is_some_and(|title| title.contains(&format!(" {count} ")))
            }
        }
    }
}

/// Another process decides: from the call that does, its commit included, until the screen counts one less. One
/// decision after the other, idle and with the inbox open.
pub fn decided(report: &mut Report) {
    for (state, args, place) in [
        ("at hand", &["-c"] as &[&str], CountLocation::Status),
        ("elsewhere", &[], CountLocation::Status),
        ("elsewhere, inbox open", &[], CountLocation::Inbox),
    ] {
        // One is left undecided.
        let stored = StageStore::new(1, ROUNDS + 1);
        let mut screen = stored.stage.open(Binary::Co, args);
        let until = |screen: &Screen, place: CountLocation, count: usize| {
            screen.until(&format!("{count} that wait"), |screen| place.shows(screen, count))
        };
        until(&screen, CountLocation::Status, ROUNDS + 1);
        if let CountLocation::Inbox = place {
            screen.type_in(INBOX);
            until(&screen, place, ROUNDS + 1);
        }
        let took: Vec<f64> = (0..ROUNDS)
            .map(|number| {
                sleep(REST);
                let start = Instant::now();
                stored.deny(number);
                ms(until(&screen, place, ROUNDS - number).duration_since(start))
            })
            .collect();
        screen.close();
        let name = format!("another process's decision on the screen, {state}");
        report.add(&format!("{name}, p50"), "ms", &[median(&took)], &[], Goal::Most(100.0));
        report.add(&format!("{name}, p99"), "ms", &[percentile(&took, 99)], &[], Goal::Most(100.0));
    }
}

/// 10,000 requests wait in 100 sessions: from the key that opens the inbox, in a process that was just started, until
/// they are listed; and the same list without a terminal, from exec to exit.
pub fn waiting(report: &mut Report) {
    let stored = StageStore::new(SESSIONS, EACH);
    let listed = format!("{} in {SESSIONS} sessions", SESSIONS * EACH);
    let open = || {
        let mut screen = stored.stage.open(Binary::Co, &[]);
        screen.until_text(READY);
        sleep(REST);
        let start = Instant::now();
        screen.type_in(INBOX);
        let took = ms(screen.until_text(&listed).duration_since(start));
        screen.close();
        took
    };
    let opened: Vec<f64> = (0..15).map(|_| open()).collect();
    report.add("10,000 requests: the inbox opens", "ms", &opened, &[], Goal::Most(50.0));
    let list = || stored.stage.run(Binary::Co, &["approvals", "list"]).wall;
    let walls: Vec<f64> = (0..15).map(|_| list()).collect();
    report.add("10,000 requests: `co approvals list`", "ms", &walls, &[], Goal::Most(100.0));
}
