//! `kill -9` at random moments: nothing is lost, nothing runs twice, everything can be read, no call dangles.
//!
//! Besides `crash_points`, which kills at named points, this kills anywhere: headless turns, resumes, the full screen, lists of
//! requests, `co approvals` itself, compactions, imports, titles, copies, migrations, and all of them again while they recover. `scripts/crash 500` takes as many as asked;
//! the tests take a few. The model is a server that answers by what the request holds, so that a request may be repeated,
//! and that refuses a history in which a call is not answered once and in order.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

use crate::co::Co;
use crate::crash_points::processes::marked;
use crate::tui::terminal::{Launch, Terminal};

/// The default number of kills.
const FEW: u64 = 10;

/// Commands of one turn: two in the first reply, one in the second.
const REPLIES: &[&[usize]] = &[&[0, 1], &[2]];

/// Words that fill a context.
const LONG: &str = "on and on ";

/// A run that is not killed must be over by then.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn kills_at_any_moment_lose_nothing() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let rounds = number("CO_CRASHES").unwrap_or(FEW);
    let first = number("CO_CRASH_SEED").unwrap_or(1);
    let mut found: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    let mut kills = 0;
    for seed in first..first + rounds {
        let mut round = Round::new(seed);
        round.play();
        kills += round.kills;
        for (kind, what) in round.findings {
            found.entry(kind).or_default().push(format!("seed {seed} ({:?}): {what}", round.what));
        }
    }
    let count = |kind: &str| found.get(kind).map_or(0, Vec::len);
    println!(
        "{rounds} rounds, {kills} kills: {} lost, {} twice, {} unreadable, {} dangling, {} orphaned",
        count(LOST),
        count(TWICE),
        count(UNREADABLE),
        count(DANGLING),
        count(ORPHANED)
    );
    assert!(found.is_empty(), "{found:#?}");
}

const LOST: &str = "lost";
const TWICE: &str = "twice";
const UNREADABLE: &str = "unreadable";
const DANGLING: &str = "dangling";
const ORPHANED: &str = "orphaned";

/// The processes that are killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KillTarget {
    /// A headless turn whose commands a rule allows.
    Headless,
    /// One whose commands wait for a person.
    Deferred,
    /// The resume of such a turn, once all was approved.
    Resume,
    /// `co approvals yes`.
    Approving,
    /// The full screen, with a card.
    Screen,
    /// A turn whose conversation is compacted before its request.
    Compacting,
    /// The import of a conversation.
    Importing,
    /// `co sessions rename`.
    Renaming,
    /// `/fork` in the full screen.
    Forking,
    /// The first start with a database of an older format.
    Migrating,
}

const ALL: [KillTarget; 10] = [
    KillTarget::Headless,
    KillTarget::Deferred,
    KillTarget::Resume,
    KillTarget::Approving,
    KillTarget::Screen,
    KillTarget::Compacting,
    KillTarget::Importing,
    KillTarget::Renaming,
    KillTarget::Forking,
    KillTarget::Migrating,
];

/// One process killed, its session gone on with, everything checked.
struct Round {
    what: KillTarget,
    co: Co,
    model: Model,
    random: Random,
    kills: u64,
    findings: Vec<(&'static str, String)>,
}

impl Round {
    fn new(seed: u64) -> Self {
        let what = ALL[usize::try_from(seed).unwrap() % ALL.len()];
        let model = Model::start();
        let co = Co::new()
            .env("CO_PROVIDER", "openai-compatible")
            .env("CO_BASE_URL", &model.url)
            .env("CO_MODEL", "m");
        let allow = "[[rule]]\neffect = \"allow\"\ntool = \"shell\"\n";
        let co = if matches!(what, KillTarget::Headless | KillTarget::Compacting | KillTarget::Forking) {
            co.file(".config/co/rules.toml", allow)
        } else {
            co
        };
        Self {
            what,
            co,
            model,
            random: Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
            kills: 0,
            findings: Vec::new(),
        }
    }

    fn play(&mut self) {
        match self.what {
            KillTarget::Headless => self.killed(&["-p", "go"], 400),
            KillTarget::Deferred => self.killed(&["-p", "go"], 80),
            KillTarget::Resume => {
                self.run(&["-p", "go"]);
                self.approve();
                self.killed(&["resume", "--print"], 300);
            }
            KillTarget::Approving => {
                self.run(&["-p", "go"]);
                self.killed(&["approvals", "yes", "--all-low"], 25);
                if let Some(id) = self.waiting().first().cloned() {
                    self.killed(&["approvals", "yes", &id], 25);
                }
            }
            KillTarget::Screen => self.screen_killed(),
            KillTarget::Compacting => {
                self.run(&["-p", "go"]);
                self.killed(&["-c", "-p", &LONG.repeat(4_000), "--set", "context_tokens=1000"], 250);
            }
            KillTarget::Importing => {
                let message = json!({"role": "user", "content": "one of many messages"});
                let list = self.co.home().join("list.json");
                fs::write(&list, json!(vec![message; 2_000]).to_string()).unwrap();
                self.killed(&["sessions", "import", &list.display().to_string()], 150);
                // All of it or nothing.
                let imported = self.records().iter().filter(|record| record.contains("of many")).count();
                if imported != 0 && imported != 2_000 {
                    self.find(LOST, format!("{imported} of 2,000 messages were imported"));
                }
            }
            KillTarget::Renaming => {
                self.run(&["-p", "go"]);
                let Some(id) = self.ids(&["sessions", "--json"]).first().cloned() else { return };
                self.killed(&["sessions", "rename", &id, "another name"], 40);
                // The title in lists is the one of the records.
                let renamed = self.records().iter().any(|record| record.contains(" renamed "));
                if self.count("SELECT count(*) FROM sessions WHERE title = 'another name'")
                    != i64::from(renamed)
                {
                    self.find(LOST, "the list has another title than the session".to_owned());
                }
            }
            KillTarget::Forking => self.forked(),
            KillTarget::Migrating => {
                self.run(&["-p", "go"]);
                self.downgrade();
                self.killed(&["sessions", "--json"], 40);
                self.run(&["sessions", "--json"]);
                let indexed = self.count("SELECT count(*) FROM words WHERE words MATCH 'go'");
                if indexed == 0 {
                    self.find(LOST, "the words of the session are not found after the migration".to_owned());
                }
            }
        }
        let before = self.records();
        // Now and then the recovery is killed too.
        if self.random.below(3) == 0 {
            self.approve();
            self.killed(&["resume", "--print"], 250);
        }
        for _ in 0..6 {
            self.approve();
            let went_well = self.run(&["resume", "--print"]);
            if went_well && self.waiting().is_empty() {
                break;
            }
        }
        if self.what == KillTarget::Compacting {
            self.run(&["-c", "-p", &LONG.repeat(4_000), "--set", "context_tokens=1000"]);
            if !self.records().iter().any(|record| record.contains(" compacted ")) {
                self.find(LOST, "the conversation was not compacted".to_owned());
            }
        }
        self.check(&before);
    }

    /// Starts it, and kills it at a random moment within so many milliseconds.
    fn killed(&mut self, args: &[&str], within: u64) {
        let mut child = self.start(args);
        thread::park_timeout(Duration::from_millis(self.random.below(within)));
        // It may be over already; then nothing was killed.
        self.kills += u64::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
    }

    fn start(&self, args: &[&str]) -> std::process::Child {
        let mut command = self.co.command(&self.co.workspace(), args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// The whole screen: a prompt, then yes to its cards for a while.
    fn screen_killed(&mut self) {
        let launch = Launch::new(env!("CARGO_BIN_EXE_co"), self.co.workspace())
            .envs(self.co.variables().iter().map(|(name, value)| (name, value)));
        let mut screen = Terminal::start(&launch);
        screen.wait_for("── ask ──");
        screen.keys("go<ret>");
        let end = Instant::now() + Duration::from_millis(self.random.below(2_500));
        while Instant::now() < end {
            if screen.shows_within(Duration::from_millis(50), "waiting for you") {
                screen.keys("<tab>");
                thread::park_timeout(Duration::from_millis(650));
                screen.keys("y");
            }
        }
        screen.kill();
        self.kills += 1;
    }

    /// Copies a session in the screen, and kills it at a random moment of that.
    fn forked(&mut self) {
        self.run(&["-p", "go"]);
        let launch = Launch::new(env!("CARGO_BIN_EXE_co"), self.co.workspace())
            .args(["-c"])
            .envs(self.co.variables().iter().map(|(name, value)| (name, value)));
        let mut screen = Terminal::start(&launch);
        screen.wait_for("── ask ──");
        screen.keys("/fork<ret>");
        thread::park_timeout(Duration::from_millis(self.random.below(120)));
        screen.kill();
        self.kills += 1;
        // All of the copy or nothing of it.
        let half = "SELECT count(*) FROM sessions s WHERE
            (SELECT count(*) FROM records r WHERE r.session = s.id AND r.kind = 'said') = 0";
        if self.count(half) > 0 {
            self.find(LOST, "a copy without its messages".to_owned());
        }
    }

    /// Takes the newest format back: the tables of the full-text search.
    fn downgrade(&self) {
        let older = "DROP TABLE IF EXISTS words; DROP TABLE IF EXISTS searched; PRAGMA user_version = 4;";
        if let Some(database) = self.database() {
            database.execute_batch(older).unwrap();
        }
    }

    /// The number that a query gives; 0 without a database.
    fn count(&self, query: &str) -> i64 {
        self.database().map_or(0, |database| database.query_row(query, [], |row| row.get(0)).unwrap_or(0))
    }

    /// Runs it to its end; whether it went well.
    fn run(&mut self, args: &[&str]) -> bool {
        let mut child = self.start(args);
        let begun = Instant::now();
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return status.success();
            }
            if begun.elapsed() > PATIENCE {
                let _ = child.kill();
                self.find(LOST, format!("{args:?} did not end"));
                return false;
            }
            thread::park_timeout(Duration::from_millis(2));
        }
    }

    fn waiting(&self) -> Vec<String> {
        self.ids(&["approvals", "list", "--json"])
    }

    /// The ids in a list, as they are: [`Co::run`] puts placeholders for them.
    fn ids(&self, args: &[&str]) -> Vec<String> {
        let out = self.co.command(&self.co.workspace(), args).stdin(Stdio::null()).output().unwrap().stdout;
        let Ok(Value::Array(rows)) = serde_json::from_slice::<Value>(&out) else { return Vec::new() };
        rows.iter().filter_map(|row| Some(row["id"].as_str()?.to_owned())).collect()
    }

    fn approve(&mut self) {
        for id in self.waiting() {
            self.run(&["approvals", "yes", &id]);
        }
    }

    fn find(&mut self, kind: &'static str, what: String) {
        self.findings.push((kind, what));
    }

    fn database(&self) -> Option<Connection> {
        let path: PathBuf = self.co.data().join("co.db");
        path.is_file().then(|| Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap())
    }

    /// Every record, in order.
    fn records(&mut self) -> Vec<String> {
        let Some(database) = self.database() else { return Vec::new() };
        let sound: Result<String, _> = database.query_row("PRAGMA integrity_check", [], |row| row.get(0));
        let foreign: Result<i64, _> =
            database.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0));
        if sound.as_deref() != Ok("ok") || foreign != Ok(0) {
            self.find(UNREADABLE, format!("{sound:?} {foreign:?}"));
        }
        let mut select = match database.prepare(
            "SELECT session || ' ' || no || ' ' || kind || ' ' || json FROM records ORDER BY session, no",
        ) {
            Ok(select) => select,
            // Killed before there was a table.
            Err(_) => return Vec::new(),
        };
        let rows = select.query_map([], |row| row.get(0)).unwrap();
        rows.map(|row| row.unwrap()).collect()
    }

    fn check(&mut self, before: &[String]) {
        let after = self.records();
        if !after.starts_with(before) {
            self.find(LOST, "records from before the kill changed".to_owned());
        }
        for (at, ran) in self.model.ran(&self.co.workspace()) {
            let unknown = after
                .iter()
                .any(|record| record.contains("outcome is unknown") || record.contains("Outcome unknown"));
            match ran {
                0 if unknown => {}
                1 => {}
                0 if !self.model.asked_for(at)
                    || after.iter().all(|record| !record.contains(&format!("step-{at}"))) => {}
                0 if after
                    .iter()
                    .any(|record| record.contains("\"interrupted\"") || record.contains("\"undecided\"")) => {
                }
                0 => self.find(LOST, format!("command {at} never ran, and nothing says so")),
                many => self.find(TWICE, format!("command {at} ran {many} times")),
            }
        }
        for wrong in self.model.wrong() {
            self.find(DANGLING, wrong);
        }
        if !after.is_empty() {
            let ran = self.co.run(&["audit", "verify"]);
            if ran.code != Some(0) {
                self.find(UNREADABLE, format!("audit: {}{}", ran.out, ran.err));
            }
            for session in self.ids(&["sessions", "--json"]) {
                for orphan in marked(&session) {
                    self.find(ORPHANED, format!("{orphan:?}"));
                }
            }
        }
    }
}

/// A small generator of numbers that look random: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most.max(1)
    }
}

/// The model: it looks at what was answered and says what comes next.
struct Model {
    url: String,
    seen: Arc<Mutex<ServiceState>>,
}

#[derive(Default)]
struct ServiceState {
    /// Commands that were asked for.
    asked: Vec<usize>,
    wrong: Vec<String>,
}

impl Model {
    fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let seen: Arc<Mutex<ServiceState>> = Arc::default();
        let shared = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let seen = Arc::clone(&shared);
                // A client that was killed ends the conversation; that is what this is about.
                thread::spawn(move || drop(converse(&stream, &seen)));
            }
        });
        Self { url, seen }
    }

    fn asked_for(&self, command: usize) -> bool {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).asked.contains(&command)
    }

    fn wrong(&self) -> Vec<String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).wrong.clone()
    }

    /// How often each command ran, by the lines it wrote.
    fn ran(&self, workspace: &Path) -> Vec<(usize, usize)> {
        let lines = |at: &usize| {
            fs::read_to_string(workspace.join(format!("step-{at}"))).unwrap_or_default().lines().count()
        };
        REPLIES.iter().flat_map(|reply| reply.iter()).map(|at| (*at, lines(at))).collect()
    }
}

fn converse(stream: &TcpStream, seen: &Mutex<ServiceState>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let request: Value = serde_json::from_slice(&body).unwrap_or_default();
        let answer = answer(&request, &mut seen.lock().unwrap_or_else(PoisonError::into_inner));
        let events: String =
            answer.iter().map(|event| format!("data: {event}\n\n")).collect::<String>() + "data: [DONE]\n\n";
        let mut out = stream;
        write!(
            out,
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{events}",
            events.len()
        )?;
    }
}

/// The next reply, by how many have been answered; notes what is wrong with the history.
fn answer(request: &Value, seen: &mut ServiceState) -> Vec<Value> {
    let empty = Vec::new();
    let messages = request["messages"].as_array().unwrap_or(&empty);
    let mut replied = 0;
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        let calls = message["tool_calls"].as_array().unwrap_or(&empty);
        match message["role"].as_str() {
            Some("tool") => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                if open.first().is_none_or(|first| first != id) {
                    seen.wrong.push(format!("an answer to {id}, where {open:?} was open"));
                }
                open.retain(|one| one != id);
            }
            _ if !open.is_empty() => {
                seen.wrong.push(format!("{open:?} have no answer"));
                open.clear();
            }
            _ => {}
        }
        if !calls.is_empty() {
            replied += 1;
            open = calls.iter().filter_map(|call| Some(call["id"].as_str()?.to_owned())).collect();
        }
    }
    if !open.is_empty() {
        seen.wrong.push(format!("{open:?} have no answer"));
    }
    // A summary is asked for, or its ledger says that all was done.
    let text = request.to_string();
    let is_done = text.contains("You summarise") || text.contains("Calls that changed something");
    let Some(commands) = REPLIES.get(replied).filter(|_| !is_done) else {
        let text = json!({"choices": [{"index": 0, "delta": {"content": "Done."}}]});
        return vec![text, json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})];
    };
    seen.asked.extend(commands.iter());
    let call = |(index, at): (usize, &usize)| {
        let script = format!("sleep 0.0{}; echo ran >> step-{at}", 2 + at);
        let function = json!({"name": "shell", "arguments": json!({"command": script}).to_string()});
        json!({"index": index, "id": format!("c{replied}x{at}"), "type": "function", "function": function})
    };
    let calls: Vec<Value> = commands.iter().enumerate().map(call).collect();
    vec![
        json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
    ]
}
