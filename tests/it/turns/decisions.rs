//! The second part of `evals/policy.txt`: what came of a call, by mode, by decision and by who is there, as the real
//! driver, a real session and a real database report it. The first part is computed next to the policy
//! (`src/approval/tests.rs`). `CO_UPDATE_POLICY=1` writes each anew.

use std::path::Path;

use kit::turns::run::run;
use kit::turns::script;

use super::difference;

/// The line that parts the two; `src/approval/tests.rs` has it too.
const HEADLINE: &str =
    "\nWhat comes of it: the call (a block), what is decided and where (a row), the mode (a column).\n";

/// A cell in which no decision was asked for, whatever the answer would be.
const NOBODY_ASKED: &str = "·";

/// The model's call, its arguments, a user's edit of them, and the settings around it.
struct Call {
    name: &'static str,
    tool: &'static str,
    args: &'static str,
    edited: &'static str,
    settings: &'static str,
}

const CALLS: &[Call] = &[
    Call {
        name: "read a file",
        tool: "look",
        args: r#"{"path":"a"}"#,
        edited: r#"{"path":"b"}"#,
        settings: "",
    },
    Call {
        name: "write a file",
        tool: "write",
        args: r#"{"path":"a","text":"1"}"#,
        edited: r#"{"path":"b","text":"2"}"#,
        settings: "",
    },
    Call { name: "something HIGH", tool: "danger", args: "{}", edited: r#"{"n":2}"#, settings: "" },
    Call {
        name: "write a file, which a rule denies",
        tool: "write",
        args: r#"{"path":"a","text":"1"}"#,
        edited: r#"{"path":"b","text":"2"}"#,
        settings: "rule deny write\n",
    },
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Decision {
    Nobody,
    Yes,
    No,
    Later,
    Edited,
    /// Into a call that a rule denies.
    EditedDenied,
    Expired,
}

const DECISIONS: &[(&str, Decision)] = &[
    ("nobody decides", Decision::Nobody),
    ("yes", Decision::Yes),
    ("no", Decision::No),
    ("later", Decision::Later),
    ("yes, edited", Decision::Edited),
    ("yes, edited into what is denied", Decision::EditedDenied),
    ("nobody in time", Decision::Expired),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum FrontendKind {
    /// Decided at the card; what was only shown, in the inbox.
    Present,
    /// No front end: decided by another process, and resumed.
    Absent,
}

const FRONTENDS: &[(&str, FrontendKind)] =
    &[("at the screen", FrontendKind::Present), ("headless", FrontendKind::Absent)];

const MODES: &[(&str, &str)] = &[
    ("ask", "mode ask"),
    ("auto", "mode auto"),
    ("plan", "mode plan"),
    ("dry-run", "mode dry-run"),
    ("defer-all", "mode defer-all"),
    ("yolo", "yolo"),
    ("yolo yes", "yolo yes"),
];

/// One cell's turn, as a script.
fn script_of(call: &Call, mode: &str, decision: Decision, frontend: FrontendKind) -> String {
    let Call { tool, args, edited, settings, .. } = call;
    let word = match decision {
        Decision::Yes => Some("yes".to_owned()),
        Decision::No => Some("no".to_owned()),
        Decision::Later => Some("later".to_owned()),
        Decision::Edited => Some(format!("edit {tool} {edited}")),
        Decision::EditedDenied => Some(r#"edit shell {"command":"ls"}"#.to_owned()),
        Decision::Nobody | Decision::Expired => None,
    };
    let elsewhere = word.as_ref().map_or(String::new(), |word| format!("then elsewhere * {word}\n"));
    let (before, after) = match (frontend, decision) {
        // Who quits leaves the card open. Without a card the turn ends by itself.
        (FrontendKind::Present, Decision::Nobody) if mode == "mode dry-run" => {
            (String::new(), "late-calls\n".to_owned())
        }
        (FrontendKind::Present, Decision::Nobody) => {
            (format!("when ask {tool} => close\n"), "reopen\n".to_owned())
        }
        (FrontendKind::Present, Decision::Expired) => {
            let over = format!("when ask {tool} => advance 60001\nwhen ask {tool} => expire\n");
            (over, "late-calls\n".to_owned())
        }
        (FrontendKind::Present, Decision::Later) => (format!("answer {tool} later\n"), elsewhere),
        (FrontendKind::Present, Decision::Yes | Decision::No | Decision::Edited | Decision::EditedDenied) => {
            let word = word.unwrap_or_default();
            (format!("answer {tool} {word}\n"), format!("{elsewhere}late-calls\n"))
        }
        (FrontendKind::Absent, Decision::Expired) => {
            ("absent\n".to_owned(), "then advance 60001\nreopen\nresume\nlate-calls\n".to_owned())
        }
        (
            FrontendKind::Absent,
            Decision::Nobody
            | Decision::Yes
            | Decision::No
            | Decision::Later
            | Decision::Edited
            | Decision::EditedDenied,
        ) => ("absent\n".to_owned(), format!("{elsewhere}reopen\nresume\nlate-calls\n")),
    };
    format!(
        "{mode}\n{settings}rule deny shell\nexpiry 60000\nstill-clock\nfile a A\nfile b B\n{before}prompt go\n\
         reply\n  call {tool} {args}\nreply\n  text Done.\n{after}"
    )
}

/// The word or two of the transcript about the call, and the end of its turn.
fn cell(call: &Call, told: &str) -> String {
    let (shown, left) = told.split_once("\n== ").expect("a transcript has what is left");
    let ran: Vec<&str> = left.lines().filter_map(|line| line.strip_prefix("ran ")).collect();
    assert!(ran.len() <= 1, "it ran {} times:\n{told}", ran.len());
    assert!(ran.iter().all(|line| !line.starts_with("shell")), "what a rule denies ran:\n{told}");
    let waits = left.lines().any(|line| line.starts_with("open waiting") || line.starts_with("late waiting"));
    let returned = shown.lines().rev().find(|line| line.starts_with("return ")).unwrap_or_default();
    let previewed = shown.contains("[preview, not done]");
    let outcome = match ran.first() {
        Some(line) if line.ends_with(call.edited) => format!("edit ran {}×", ran.len()),
        Some(line) if line.ends_with(call.args) => format!("ran {}×", ran.len()),
        Some(line) => panic!("something else ran: {line}"),
        None if waits && previewed => "only".to_owned(),
        None if waits => "waits".to_owned(),
        None => undone(returned).unwrap_or_else(|| panic!("what became of it?\n{told}")).to_owned(),
    };
    let before = match (previewed, outcome.as_str()) {
        (false, _) => "",
        (true, "only") => "shown ",
        (true, _) => "shown, ",
    };
    format!("{before}{outcome} ({})", ends(shown))
}

/// Why it did not run.
fn undone(returned: &str) -> Option<&'static str> {
    const WORDS: &[(&str, &str)] = &[
        (" Denied: Denied by policy, not run: rule ", "denied rule"),
        (" Denied: Denied by policy, not run: plan mode ", "denied mode"),
        (" Denied: The user said no", "denied person"),
        (" Undecided: Nobody decided in time", "not decided"),
    ];
    WORDS.iter().find(|(said, _)| returned.contains(said)).map(|(_, word)| *word)
}

/// The exit codes of its ends, one after another.
fn ends(shown: &str) -> String {
    let ends: Vec<&str> = shown
        .lines()
        .filter_map(|line| line.strip_prefix("end "))
        .map(|end| match end {
            "completed" => "0",
            "deferred" => "4",
            other => panic!("no end that a decision leads to: {other}"),
        })
        .collect();
    if ends.is_empty() { "quit".to_owned() } else { ends.join(" ") }
}

/// The cells of one call in one mode, a decision each. Where no question is asked there is nothing to decide.
async fn column(call: &Call, mode: &str, frontend: FrontendKind) -> Vec<String> {
    let mut asks = true;
    let mut cells = Vec::new();
    for &(_, decision) in DECISIONS {
        if !asks {
            cells.push(NOBODY_ASKED.to_owned());
            continue;
        }
        let told = Box::pin(run(&script::parse(&script_of(call, mode, decision, frontend)))).await;
        asks = told.lines().any(|line| line.starts_with("ask "));
        cells.push(cell(call, &told));
    }
    cells
}

/// A row's name and its cells, a mode each.
type Row = (String, Vec<String>);

/// The rows of one call.
fn block(call: &Call) -> Vec<Row> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let columns = |frontend| -> Vec<Vec<String>> {
        MODES.iter().map(|(_, mode)| runtime.block_on(column(call, mode, frontend))).collect()
    };
    let told: Vec<_> = FRONTENDS.iter().map(|&(place, frontend)| (place, columns(frontend))).collect();
    let mut rows = Vec::new();
    for (at, (decided, _)) in DECISIONS.iter().enumerate() {
        for (place, columns) in &told {
            let row: Vec<String> = columns.iter().map(|column| column[at].clone()).collect();
            if row.iter().any(|cell| cell != NOBODY_ASKED) {
                rows.push((format!("{decided}, {place}"), row));
            }
        }
    }
    rows
}

fn line(name: &str, cells: &[String], widths: &[usize]) -> String {
    let cells: String = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}  ")).collect();
    format!("{}\n", format!("{name:50}{cells}").trim_end())
}

fn table() -> String {
    let blocks: Vec<Vec<Row>> = std::thread::scope(|scope| {
        let threads: Vec<_> = CALLS.iter().map(|call| scope.spawn(|| block(call))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let heads: Vec<String> = MODES.iter().map(|(name, _)| (*name).to_owned()).collect();
    let widest = |at: usize| {
        let cells = blocks.iter().flatten().map(|(_, cells)| cells[at].chars().count());
        cells.chain([heads[at].len()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..MODES.len()).map(widest).collect();
    let mut out = HEADLINE.to_owned();
    for (call, rows) in CALLS.iter().zip(&blocks) {
        out.push('\n');
        out.push_str(&line(call.name, &heads, &widths));
        for (name, cells) in rows {
            out.push_str(&line(&format!("  {name}"), cells, &widths));
        }
    }
    out
}

#[test]
fn what_comes_of_every_decision_is_as_it_was_read() {
    let table = table();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("evals/policy.txt");
    let text = std::fs::read_to_string(&path).unwrap();
    let (policy, read) = text.split_at(text.find(HEADLINE).unwrap_or(text.len()));
    if std::env::var_os("CO_UPDATE_POLICY").is_some() {
        std::fs::write(&path, format!("{policy}{table}")).unwrap();
    } else {
        assert!(read == table, "evals/policy.txt, second part:\n{}", difference(read, &table));
    }
}
