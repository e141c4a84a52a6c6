//! Measures `co` as a person meets it: real processes, real pseudo-terminals, a model service on loopback.
//!
//! Every figure is taken in turns with the smallest program that does the same (`floor.rs`, which is this very file run
//! with other arguments), so that ratios hold on any machine. Medians; nothing is asserted. `scripts/bench` builds and
//! runs it; `scripts/bench run start echo` runs only the figures of these names.
//!
//! How each figure is taken stands at its function. CPU times are those of all threads and children, to the
//! nanosecond (`/proc/*/task/*/schedstat`).
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and a failure ends it")]

mod approvals;
mod floor;
mod headless;
mod report;
mod screen;
mod service;
mod session;
mod stage;

use self::report::Report;

/// A group of figures that are taken together.
type Figure = (&'static str, fn(&mut Report));

const FIGURES: &[Figure] = &[
    ("start", headless::start),
    ("headless", headless::turn),
    ("rounds", headless::rounds),
    ("first", screen::first),
    ("idle", screen::idle),
    ("flood", screen::flood),
    ("stream", screen::stream),
    ("echo", screen::echo),
    ("session", session::four_hundred),
    ("long", session::ten_thousand),
    ("decided", approvals::decided),
    ("waiting", approvals::waiting),
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if let Some(("floor", rest)) = args.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return floor::run(rest);
    }
    let wanted = |name: &str| args.is_empty() || args.iter().any(|arg| arg == name);
    if let Some(unknown) = args.iter().find(|arg| !FIGURES.iter().any(|(name, _)| name == arg)) {
        let names: Vec<_> = FIGURES.iter().map(|(name, _)| *name).collect();
        println!("there is no figure {unknown:?}; there are: {}", names.join(" "));
        std::process::exit(2);
    }
    let mut report = Report::default();
    for (_, take) in FIGURES.iter().filter(|(name, _)| wanted(name)) {
        take(&mut report);
    }
    report.print_table();
}
