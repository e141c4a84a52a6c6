//! Plays a point.

mod aftermath;

use std::collections::BTreeMap;
use std::process::Child;
use std::time::{Duration, Instant};

use co::approval::{Approval, Decider, Remember};
use co::history::{Record, SessionId};
use co::store::{DecideOutcome, RequestFilter, SessionFilter, Store, StoreOptions, StoredRequest};
use rustix::process::Signal;

use self::aftermath::Aftermath;
use super::processes;
use super::record::{self, short};
use super::step::{Answer, Expectation, Point, Step};
use crate::co::{Co, RunOutput, Service, Wire};
use crate::tui::terminal::{Launch, PATIENCE, Terminal};

/// Between two looks at what cannot be waited for: records that another process writes, files, processes.
const LOOK: Duration = Duration::from_millis(15);

/// Between two tries of a key that may not count yet.
const PRESS: Duration = Duration::from_millis(700);

/// Everything around one run of a point.
pub struct Stage<'a> {
    point: &'a Point,
    co: Co,
    service: Service,
    store: Store,
    screens: Vec<Terminal>,
    headless: Option<Child>,
    focus: usize,
    last: Option<RunOutput>,
    after: Aftermath,
}

impl<'a> Stage<'a> {
    pub fn new(point: &'a Point) -> Self {
        let service = Service::new(&point.replies.join("\n"));
        let files = |co: Co, (name, text): &(&str, &str)| co.file(&format!("work/{name}"), text);
        let co = point.files.iter().fold(Co::new(), files).with(&service, Wire::Anthropic);
        let co = co.env("CO_API_KEY", "sk-test-of-the-kills");
        let options = StoreOptions::new(co.data(), co.data().join("run"));
        let store = service.runtime.block_on(Store::open(options)).unwrap();
        let (screens, headless) = (Vec::new(), None);
        Self {
            point,
            co,
            service,
            store,
            screens,
            headless,
            focus: 0,
            last: None,
            after: Aftermath::default(),
        }
    }

    /// All steps, then what must hold at every end.
    pub fn play(mut self) {
        for step in self.point.steps {
            self.step(step);
        }
        self.screens.clear();
        self.nothing_ran_twice();
        self.model_knows();
        self.nothing_lives();
        let findings = self.service.server.findings();
        assert!(findings.is_empty(), "the model service refused: {findings:?}\n{}", self.seen());
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Ask(prompt) => {
                let turns = self.count("turn 1");
                self.open(&[]);
                self.keys(&format!("{prompt}<ret>"));
                self.until("the turn", |stage| (stage.count("turn 1") > turns).then_some(()));
            }
            Step::Open(args) => self.open(args),
            Step::Start(args) => self.headless = Some(self.co.start(args)),
            Step::Keys(keys) => self.keys(keys),
            Step::Card(keys) => self.card(keys),
            Step::Focus(session) => self.focus = *session,
            Step::Screen(text) => drop(self.screen().wait_for(text)),
            Step::Record(line) => self.until(line, |stage| stage.has(line).then_some(())),
            Step::Request(number) => {
                let line = format!("request {number} ");
                let reached =
                    |stage: &Self| stage.service.server.log().iter().any(|logged| logged.starts_with(&line));
                self.until(&line, |stage| reached(stage).then_some(()));
            }
            Step::Gate(name) => {
                self.until(name, |stage| stage.service.server.gate().is_reached(name).then_some(()));
            }
            Step::File(name) => self.until(name, |stage| stage.co.read(name).map(drop)),
            Step::Decide(call, answer) => self.decide(call, answer),
            Step::Approve(call) => {
                let id = self.request(call).id().to_string();
                self.run(&["approvals", "yes", &id], 0);
            }
            Step::Pause => self.pause(),
            Step::Kill(leaves) => self.kill(*leaves),
            Step::Resume(code) => {
                let id = self.session().expect("a session");
                self.open_again(&["resume", &id.0, "--print"], *code);
            }
            Step::Run(args, code) => self.open_again(args, *code),
            Step::Now(expectation) => {
                assert!(self.holds(expectation), "{expectation:?}: not so\n{}", self.seen());
            }
        }
    }

    fn holds(&self, expectation: &Expectation) -> bool {
        match expectation {
            Expectation::Says(text) => {
                self.last.as_ref().is_some_and(|ran| ran.out.contains(text) || ran.err.contains(text))
            }
            Expectation::Never(line) => !self.has(line),
            Expectation::Lines(name, count) => {
                self.co.read(name).is_some_and(|text| text.lines().count() == *count)
            }
            Expectation::Text(name, text) => self.co.read(name).as_deref() == Some(*text),
            Expectation::Absent(name) => self.co.read(name).is_none(),
            Expectation::Waiting(count) => self.waiting().len() == *count,
            Expectation::Told(text) => self.latest_request().is_some_and(|body| body.contains(text)),
        }
    }

    // --- the program

    fn open(&mut self, args: &[&str]) {
        let launch = Launch::new(env!("CARGO_BIN_EXE_co"), self.co.workspace());
        let launch = launch.args(args).envs(self.co.variables().iter().map(|(name, value)| (name, value)));
        let screen = Terminal::start(&launch);
        screen.wait_until("a first frame", |screen| !screen.trim().is_empty());
        self.screens.push(screen);
    }

    fn screen(&self) -> &Terminal {
        self.screens.last().expect("the screen is open")
    }

    fn keys(&mut self, keys: &str) {
        self.screens.last_mut().expect("the screen is open").keys(keys);
    }

    /// Gives a card the keys. It takes none in its first moments: once `v` shows the arguments, all keys do what they
    /// do.
    fn card(&mut self, keys: &str) {
        self.screen().wait_for("Tab: to the card");
        self.keys("<tab>");
        self.screen().wait_for("· card ─");
        let began = Instant::now();
        let mut presses = 0;
        while !self.screen().screen().contains("arguments") {
            assert!(began.elapsed() < PATIENCE, "the card takes no keys\n{}", self.seen());
            if began.elapsed() >= PRESS * presses {
                self.keys("v");
                presses += 1;
            }
            self.tick();
        }
        self.keys("q");
        self.screen().wait_for("· card ─");
        self.keys(keys);
    }

    fn run(&mut self, args: &[&str], code: i32) {
        let ran = self.co.run(args);
        assert_eq!(ran.code, Some(code), "{args:?}: {ran:#?}\n{}", self.seen());
        self.last = Some(ran);
    }

    // --- deciding

    /// The request of a call that can be decided now. Calls of one reply are planned side by side, so the request of a
    /// later one may be there first.
    fn request(&self, call: &str) -> StoredRequest {
        self.until("the request", |stage| {
            let call = record::call(&stage.records(), call)?;
            stage.waiting().into_iter().find(|one| one.request.call == call)
        })
    }

    /// Requests of the session in focus that can be decided now.
    fn waiting(&self) -> Vec<StoredRequest> {
        let filter = RequestFilter::UndecidedOf(self.session().expect("a session"));
        self.service.runtime.block_on(self.store.requests(filter, 99)).unwrap()
    }

    fn decide(&self, call: &str, answer: &Answer) {
        let one = self.request(call);
        let approval = match answer {
            Answer::Yes => Approval::yes(),
            Answer::Session => Approval::for_session(),
            Answer::Edited(args) => {
                let args = serde_json::from_str(args).unwrap();
                let instead = Some((one.request.tool.clone(), args));
                Approval::Approve { instead, remember: Remember::Once, note: None, rule: None }
            }
            Answer::No(reason) => Approval::Deny { reason: Some((*reason).to_owned()) },
        };
        let decided = self.store.decide(one.id(), approval, Decider::Cli);
        assert_eq!(self.service.runtime.block_on(decided).unwrap(), DecideOutcome::Recorded);
    }

    // --- the kill

    /// Stops every running `co` between two writes: one that stopped in the midst of one would keep all others from
    /// writing.
    fn pause(&self) {
        self.until("a stop between two writes", |stage| {
            for screen in &stage.screens {
                screen.signal(Signal::STOP);
                stage.until("the stop", |_| processes::is_stopped(screen.pid()).then_some(()));
            }
            let free = stage.can_write();
            if !free {
                stage.screens.iter().for_each(|screen| screen.signal(Signal::CONT));
            }
            free.then_some(())
        });
    }

    fn can_write(&self) -> bool {
        let database = rusqlite::Connection::open(self.co.data().join("co.db")).unwrap();
        database.busy_timeout(Duration::ZERO).unwrap();
        database.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok()
    }

    // --- looking

    /// Looks again and again until it finds something; panics when patience is out or the program is gone.
    fn until<T>(&self, what: &str, mut look: impl FnMut(&Self) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let gone = self.screens.iter().any(|screen| !screen.is_alive());
            if let Some(found) = look(self) {
                return found;
            }
            assert!(!gone, "the program ended before there was {what:?}\n{}", self.seen());
            assert!(Instant::now() < deadline, "waited {PATIENCE:?} for {what:?}\n{}", self.seen());
            self.tick();
        }
    }

    /// Lets others work until the next look.
    fn tick(&self) {
        self.service.runtime.block_on(async {
            let mut looks = tokio::time::interval(LOOK);
            looks.tick().await;
            looks.tick().await;
        });
    }

    /// The sessions, in the order in which they began.
    fn sessions(&self) -> Vec<SessionId> {
        let all = self.service.runtime.block_on(self.store.sessions(SessionFilter::All, 99)).unwrap();
        let mut ids: Vec<SessionId> = all.into_iter().map(|one| one.id).collect();
        ids.sort();
        ids
    }

    fn session(&self) -> Option<SessionId> {
        self.sessions().into_iter().nth(self.focus)
    }

    fn load(&self, id: &SessionId) -> Vec<Record> {
        self.service.runtime.block_on(self.store.load(id)).unwrap()
    }

    /// Of the session in focus.
    fn records(&self) -> Vec<Record> {
        self.session().map(|id| self.load(&id)).unwrap_or_default()
    }

    fn all_records(&self) -> BTreeMap<SessionId, Vec<Record>> {
        self.sessions().into_iter().map(|id| (id.clone(), self.load(&id))).collect()
    }

    fn has(&self, line: &str) -> bool {
        short(&self.records()).iter().any(|one| one == line)
    }

    /// How many sessions have this record.
    fn count(&self, line: &str) -> usize {
        self.all_records().values().filter(|records| short(records).iter().any(|one| one == line)).count()
    }

    fn latest_request(&self) -> Option<String> {
        self.service.server.requests().last().map(|request| request.body.to_string())
    }

    fn marked(&self) -> Vec<(u32, String)> {
        self.sessions().iter().flat_map(|id| processes::marked(&id.0)).collect()
    }

    /// Everything there is to look at, for failures.
    fn seen(&self) -> String {
        let screens: Vec<String> = self.screens.iter().map(Terminal::screen).collect();
        let records: Vec<Vec<String>> = self.all_records().values().map(|records| short(records)).collect();
        format!(
            "records: {records:#?}\nmodel service: {:#?}\nprocesses: {:?}\nlast run: {:#?}\nscreens:\n{}",
            self.service.server.log(),
            self.marked(),
            self.last,
            screens.join("\n")
        )
    }
}

impl Drop for Stage<'_> {
    /// A point that failed must not leave its processes behind.
    fn drop(&mut self) {
        self.screens.clear();
        if let Some(mut child) = self.headless.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        self.marked().iter().for_each(|(pid, _)| processes::signal(*pid, Signal::KILL));
    }
}
