//! The other rules: words that belong to one place or to none, sizes, and the code map.

use std::collections::BTreeMap;

use super::layers::is_below;
use super::{Offence, Tree};
use kit::source::{self, Source};

/// The longest file, in lines.
const LONGEST_FILE: usize = 800;
/// The longest string literal, in characters: what is longer is a text and lives in `prompts/`.
const LONGEST_LITERAL: usize = 400;

/// Modules that are nothing but texts.
const TEXTS: &[&str] = &["provider/offline/texts"];

/// Names and paths that code may only hold in some places.
struct Ban {
    /// Paths (`a::b` matches `x::a::b::c`) or single names.
    names: &'static [&'static str],
    /// Modules that the ban is about; empty = all.
    within: &'static [&'static str],
    /// Modules that it spares.
    except: &'static [&'static str],
    why: &'static str,
}

const BANS: &[Ban] = &[
    Ban {
        names: &["reqwest", "rusqlite", "crossterm", "ratatui_core", "std::fs", "SystemTime"],
        within: &["agent"],
        except: &[],
        why: "the agent touches no network, database, terminal, file or clock itself",
    },
    Ban { names: &["ratatui_core"], within: &[], except: &["tui"], why: "only tui draws" },
    Ban {
        names: &["crossterm", "ratatui_crossterm"],
        within: &[],
        except: &["tui/shell"],
        why: "only tui/shell.rs knows the terminal",
    },
    Ban {
        names: &["rusqlite"],
        within: &[],
        except: &["store", "telemetry", "undo", "memory"],
        why: "only store, telemetry, undo and memory know SQLite",
    },
    Ban {
        names: &["unsafe"],
        within: &[],
        except: &["sandbox", "stdx/process_memory"],
        why: "unsafe is for the sandbox's child set-up and for the memory of the process",
    },
    Ban {
        names: &["unbounded_channel", "mpsc::unbounded", "UnboundedSender", "std::sync::mpsc::channel"],
        within: &[],
        except: &[],
        why: "channels are bounded",
    },
];

/// Text that no code holds, tests included.
const NOWHERE: &[(&str, &str)] = &[
    ("#[allow(", "say #[expect(lint, reason = \"…\")]"),
    ("#![allow(", "say #![expect(lint, reason = \"…\")]"),
    ("todo!(", "nothing is left for later"),
    ("unimplemented!(", "nothing is left for later"),
    ("dbg!(", "nothing but a front end prints"),
];

/// Paths that no test holds.
const NOT_IN_TESTS: &[&str] = &["thread::sleep", "time::sleep"];

/// Names in places where they do not belong.
pub fn bans(tree: &Tree) -> Vec<Offence> {
    let mut found = Vec::new();
    for source in tree.shipped() {
        let names = source::names(&source.code);
        for ban in BANS.iter().filter(|ban| ban.is_about(&source.module)) {
            for named in &names {
                if let Some(name) = ban.names.iter().find(|name| holds(&named.segments, name)) {
                    found.push(source.offence(named.line, &format!("`{name}`: {}", ban.why)));
                }
            }
        }
    }
    found
}

impl Ban {
    fn is_about(&self, module: &str) -> bool {
        let any = |names: &[&str]| names.iter().any(|name| is_below(module, name));
        (self.within.is_empty() || any(self.within)) && !any(self.except)
    }
}

/// Whether a path holds these segments side by side.
fn holds(segments: &[String], name: &str) -> bool {
    (0..segments.len()).any(|start| {
        let mut found = segments[start..].iter();
        name.split("::").all(|wanted| found.next().is_some_and(|segment| segment == wanted))
    })
}

/// Text that no code may hold, at any position.
pub fn nowhere(tree: &Tree) -> Vec<Offence> {
    let mut found = Vec::new();
    for source in &tree.sources {
        for code in [&source.code, &source.tests] {
            for (at, line) in code.lines().enumerate() {
                for (text, why) in NOWHERE.iter().filter(|(text, _)| line.contains(text)) {
                    found.push(source.offence(at + 1, &format!("`{text}`: {why}")));
                }
            }
        }
    }
    found
}

/// Tests that sleep.
pub fn sleeping_tests(tree: &Tree) -> Vec<Offence> {
    let mut found = Vec::new();
    for source in &tree.sources {
        for named in source::names(&source.tests) {
            if let Some(name) = NOT_IN_TESTS.iter().find(|name| holds(&named.segments, name)) {
                found.push(source.offence(named.line, &format!("`{name}`: a test waits for what it needs")));
            }
        }
    }
    found
}

/// Files that are too long.
pub fn sizes(tree: &Tree) -> Vec<Offence> {
    let long = tree.sources.iter().filter(|source| source.lines > LONGEST_FILE);
    long.map(|source| source.offence(source.lines, &format!("longer than {LONGEST_FILE} lines"))).collect()
}

/// Texts in code.
pub fn texts(tree: &Tree) -> Vec<Offence> {
    let mut found = Vec::new();
    for source in tree.shipped().filter(|source| !TEXTS.contains(&source.module.as_str())) {
        for (line, literal) in &source.literals {
            let length = literal.chars().count();
            if length <= LONGEST_LITERAL {
                continue;
            }
            let what =
                format!("a text of {length} characters: it belongs into prompts/ or a file of its own");
            found.push(source.offence(*line, &what));
        }
    }
    found
}

/// Modules without an entry in the code map (the doc comment of `src/lib.rs`), entries without a module, and names of
/// files in it: the map describes rooms.
pub fn code_map(tree: &Tree) -> Vec<Offence> {
    let Some(map) = tree.sources.iter().find(|source| source.path == "src/lib.rs") else {
        return Vec::new();
    };
    let entries = entries(&map.doc);
    let tops: BTreeMap<&str, &Source> = tree
        .shipped()
        .filter_map(|source| Some((source.module.split('/').next()?, source)))
        .filter(|(top, _)| !top.is_empty())
        .collect();
    let mut found = Vec::new();
    for (top, source) in &tops {
        if !entries.iter().any(|(name, _)| name == top) {
            found.push(source.offence(1, &format!("the code map in src/lib.rs has no entry for `{top}`")));
        }
    }
    for (name, text) in entries.iter().filter(|(name, _)| !name.is_empty()) {
        if !tops.contains_key(name.as_str()) {
            found.push(map.offence(1, &format!("`{name}` of the code map is no module")));
        }
        if text.contains(".rs`") {
            found.push(map.offence(1, &format!("`{name}` names files in the code map: it describes rooms")));
        }
    }
    found
}

/// The map's entries: the module and the text up to the next one.
fn entries(doc: &str) -> Vec<(String, String)> {
    let mut entries: Vec<(String, String)> = Vec::new();
    for line in doc.lines().map(str::trim_start) {
        if let Some((name, rest)) = line.strip_prefix("- [`").and_then(|rest| rest.split_once("`]")) {
            entries.push((name.to_owned(), rest.to_owned()));
        } else if line.starts_with('#') {
            // Text after a heading belongs to no entry.
            entries.push((String::new(), String::new()));
        } else if let Some((_, text)) = entries.last_mut() {
            text.push('\n');
            text.push_str(line);
        }
    }
    entries
}
