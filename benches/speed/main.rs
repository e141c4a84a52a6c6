//! Measures `co` as a person meets it: real processes, real pseudo-terminals, a model service on loopback.
//!
//! Every figure is taken in turns with the smallest program that does the same (`floor.rs`, which is this very file run
//! with other arguments), so that ratios hold on any machine. Medians. `scripts/bench` builds and runs it; `scripts/bench
//! run start echo` takes only the figures of these names, `scripts/bench check` fails where a goal is missed.
//!
//! The doc of its function says how each figure is taken. CPU times are those of all threads and children, to the
//! nanosecond (`/proc/*/task/*/schedstat`).
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and a failure ends it")]

mod approvals;
mod floor;
mod headless;
mod history;
mod memory;
mod report;
mod screen;
mod service;
mod session;
mod stage;

use self::report::{Check, Report};

/// A group of figures that are taken together.
type Figure = (&'static str, fn(&mut Report));

const FIGURES: &[Figure] = &[
    ("start", headless::start),
    ("headless", headless::turn),
    ("spans", headless::spans),
    ("rounds", headless::rounds),
    ("first", screen::first),
    ("idle", screen::idle),
    ("servers", screen::servers),
    ("flood", screen::flood),
    ("stream", screen::stream),
    ("echo", screen::echo),
    ("session", session::four_hundred),
    ("long", session::ten_thousand),
    ("reads", headless::reads),
    ("sandboxes", headless::sandboxes),
    ("decided", approvals::decided),
    ("waiting", approvals::waiting),
    ("sessions", history::sessions),
    ("memory", memory::memory),
];

/// The measurements of a check: those that say how fast the program is, in a few minutes.
const CHECKED: &[&str] = &[
    "start",
    "headless",
    "spans",
    "rounds",
    "reads",
    "sandboxes",
    "first",
    "idle",
    "servers",
    "flood",
    "stream",
    "echo",
    "session",
    "sessions",
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if let Some(("floor", rest)) = args.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return floor::run(rest);
    }
    let (check, args) = match args.split_first() {
        Some((first, rest)) if first == "check" => (Some(Check::Whole), rest.to_vec()),
        Some((first, rest)) if first == "check-coarse" => (Some(Check::Coarse), rest.to_vec()),
        Some(_) | None => (None, args),
    };
    let is_for_readme = args.first().is_some_and(|first| first == "readme");
    let names: Vec<&str> = match (check, args.as_slice()) {
        (Some(_), []) => CHECKED.to_vec(),
        (None, [only]) if only == "readme" => CHECKED.to_vec(),
        (None, []) => FIGURES.iter().map(|(name, _)| *name).collect(),
        (_, named) => named.iter().map(String::as_str).collect(),
    };
    if let Some(unknown) = names.iter().find(|name| !FIGURES.iter().any(|(known, _)| known == *name)) {
        let known: Vec<_> = FIGURES.iter().map(|(name, _)| *name).collect();
        println!("there is no figure {unknown:?}; there are: {}", known.join(" "));
        std::process::exit(2);
    }
    let mut report = Report::default();
    for (_, take) in FIGURES.iter().filter(|(name, _)| names.contains(name)) {
        take(&mut report);
    }
    println!("\n{}", report.table());
    if is_for_readme {
        write_readme(&report);
    }
    if check.is_some_and(|check| !report.passes(check)) {
        std::process::exit(1);
    }
}

/// The text around the figures in the README.
const MARKS: (&str, &str) = ("<!-- taken by scripts/bench readme -->\n", "<!-- end of figures -->");

/// Puts the figures into the README, with when and where they were taken.
fn write_readme(report: &Report) {
    let readme = std::fs::read_to_string("README.md").unwrap();
    let (before, rest) = readme.split_once(MARKS.0).unwrap();
    let (_, after) = rest.split_once(MARKS.1).unwrap();
    let stamp = std::env::var("BENCH_STAMP").unwrap_or_default();
    let size = std::fs::metadata(env!("CARGO_BIN_EXE_co")).unwrap().len() as f64 / 1e6;
    let said = format!("Taken {stamp}. The program has {size:.1} MB.\n\n{}", report.table());
    std::fs::write("README.md", format!("{before}{}{said}{}{after}", MARKS.0, MARKS.1)).unwrap();
}
