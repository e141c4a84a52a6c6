//! The tree keeps its own rules: layers, words, sizes and the code map.
//!
//! Each check is data and one function, and finds an offence that is planted for it.

mod layers;
mod places;
mod rules;

use std::path::Path;
use std::sync::LazyLock;

use kit::source::{self, Source};
use kit::structure::{self, MOST_MEANINGS, circles, names_of_types};

/// All that is checked.
struct Tree {
    sources: Vec<Source>,
}

/// `file:line: what`.
type Offence = String;

type Check = fn(&Tree) -> Vec<Offence>;

const CHECKS: &[(&str, Check)] = &[
    ("imports", layers::imports),
    ("bans", rules::bans),
    ("nowhere", rules::nowhere),
    ("sleeping tests", rules::sleeping_tests),
    ("sizes", rules::sizes),
    ("texts", rules::texts),
    ("code map", rules::code_map),
];

impl Tree {
    /// Files with code that ships.
    fn shipped(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter().filter(|source| !source.is_test)
    }
}

/// The sources of this checkout.
static TREE: LazyLock<Tree> =
    LazyLock::new(|| Tree { sources: source::read(Path::new(env!("CARGO_MANIFEST_DIR"))) });

/// Groups of files that import each other, at most.
const MOST_CIRCLES: usize = 8;

#[test]
fn the_structure_is_no_worse() {
    let shipped: Vec<Source> = source::read(Path::new(env!("CARGO_MANIFEST_DIR")))
        .into_iter()
        .filter(|source| source.path.starts_with("src/"))
        .collect();
    let circles = circles(&shipped);
    assert!(circles.len() <= MOST_CIRCLES, "{} import circles: {circles:#?}", circles.len());
    let names = names_of_types(&shipped);
    let many: Vec<_> = names.iter().filter(|(_, places)| places.len() > MOST_MEANINGS).collect();
    assert!(many.is_empty(), "type names with more than {MOST_MEANINGS} meanings: {many:#?}");
    let circle =
        [("src/a/b.rs", "use crate::a::c::C;\nstruct B;"), ("src/a/c.rs", "use super::b::B;\nstruct C;")];
    let circle = source::parse(&circle.map(|(path, text)| (path.to_owned(), text.to_owned())));
    assert_eq!(structure::circles(&circle), [["a/b", "a/c"]]);
    assert_eq!(names_of_types(&circle)["B"], ["a/b"]);
}

#[test]
fn the_tree_is_tidy() {
    let tree = &*TREE;
    assert!(tree.shipped().count() > 50, "only {} files were read", tree.shipped().count());
    let found: Vec<Offence> = CHECKS.iter().flat_map(|(_, check)| check(tree)).collect();
    assert!(found.is_empty(), "{} offences:\n{}", found.len(), found.join("\n"));
}

/// A check, the files it is shown, and the places where it must find something; nowhere else.
type PlantedOffence = (&'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

const PLANTED: &[PlantedOffence] = &[
    // Up a layer, to the right in its own, from a brace group on its own line, inline, through `super`.
    ("imports", &[("src/stdx/mod.rs", "\nuse crate::message::Usage;"), MESSAGE], &["src/stdx/mod.rs:2"]),
    ("imports", &[("src/tool/mod.rs", "use crate::approval::Policy;"), APPROVAL], &["src/tool/mod.rs:1"]),
    (
        "imports",
        &[
            ("src/tool/mod.rs", "use crate::{\n  message::Usage,\n  approval::Policy as Other,\n};"),
            MESSAGE,
            APPROVAL,
        ],
        &["src/tool/mod.rs:3"],
    ),
    (
        "imports",
        &[
            (
                "src/message.rs",
                "/// No crate::approval::Policy.\nfn f() -> crate::approval::Policy { \"crate::approval::X\" }",
            ),
            APPROVAL,
        ],
        &["src/message.rs:2"],
    ),
    (
        "imports",
        &[
            ("src/provider/mod.rs", "pub mod http;\nuse self::http::Key;"),
            ("src/provider/http.rs", "use super::Seam;"),
        ],
        &["src/provider/mod.rs:2"],
    ),
    (
        "imports",
        &[("src/agent/calls/mod.rs", "use super::super::store::Store;"), ("src/store/mod.rs", "")],
        &["src/agent/calls/mod.rs:1"],
    ),
    ("imports", &[("src/agent/driver/mod.rs", "use crate::store::Store;"), ("src/store/mod.rs", "")], &[]),
    (
        "imports",
        &[("src/tool/builtin/shell.rs", "use crate::agent::port::Event;"), ("src/agent/port.rs", "")],
        &["src/tool/builtin/shell.rs:1"],
    ),
    ("imports", &[("src/gadget.rs", "")], &["src/gadget.rs:1"]),
    // Tests may import what they like, in the file, in a file of their own, and in `tests.rs`.
    (
        "imports",
        &[
            (
                "src/tool/mod.rs",
                "#[cfg(test)]\nmod walk;\n#[cfg(test)]\nmod t { use crate::approval::Policy; }\nfn f() {}",
            ),
            ("src/tool/walk.rs", "use crate::approval::Policy;"),
            ("src/tool/tests.rs", "use crate::approval::Policy;"),
            APPROVAL,
        ],
        &[],
    ),
    (
        "bans",
        &[("src/agent/driver/run.rs", "use std::{\n  io,\n  fs::File};\nfn f(x: SystemTime) {}")],
        &["src/agent/driver/run.rs:3", "src/agent/driver/run.rs:4"],
    ),
    (
        "bans",
        &[
            ("src/cli/mod.rs", "fn f() { ratatui_core::terminal::init() }"),
            ("src/tui/view/mod.rs", "use ratatui_core::terminal::Frame;"),
        ],
        &["src/cli/mod.rs:1"],
    ),
    (
        "bans",
        &[
            ("src/tui/update/mod.rs", "use crossterm::event::Event;"),
            ("src/tui/shell.rs", "use crossterm::event::Event;"),
            ("src/tui/shell/screen.rs", "use crossterm::cursor;"),
        ],
        &["src/tui/update/mod.rs:1"],
    ),
    (
        "bans",
        &[("src/session/mod.rs", "use rusqlite::Row;"), ("src/store/mod.rs", "use rusqlite::Row;")],
        &["src/session/mod.rs:1"],
    ),
    (
        "bans",
        &[("src/stdx/fs.rs", "fn f() { unsafe { g() } }"), ("src/sandbox/child.rs", "unsafe { g() }")],
        &["src/stdx/fs.rs:1"],
    ),
    (
        "bans",
        &[("src/stdx/fs.rs", "// unsafe\nlet unsafely = \"unsafe\"; let c = '\"'; let r = r#\"unsafe \"#;")],
        &[],
    ),
    ("bans", &[("src/app/mod.rs", "let (a, b) = mpsc::unbounded_channel();")], &["src/app/mod.rs:1"]),
    (
        "nowhere",
        &[("src/app/mod.rs", "#[allow(dead_code)]\nfn f() { todo!() }")],
        &["src/app/mod.rs:1", "src/app/mod.rs:2"],
    ),
    ("nowhere", &[("tests/it/x.rs", "fn f() { dbg!(1); }\n// dbg!(2)")], &["tests/it/x.rs:1"]),
    (
        "sleeping tests",
        &[(
            "src/app/mod.rs",
            "async fn f() { tokio::time::sleep(d).await }\n#[cfg(test)]\nfn g() { std::thread::sleep(d) }",
        )],
        &["src/app/mod.rs:3"],
    ),
    ("sleeping tests", &[("tests/it/x.rs", "use tokio::time::{self, sleep};")], &["tests/it/x.rs:1"]),
    (
        "code map",
        &[
            (
                "src/lib.rs",
                "//! - [`agent`]: the turn.\n//! - [`store`]: `lane.rs`.\n//! - [`gone`]: it.\n//! # More\n//! `x.rs`",
            ),
            ("src/agent/mod.rs", ""),
            ("src/agent/turn/end.rs", ""),
            ("src/store/mod.rs", ""),
            ("src/tui/mod.rs", ""),
        ],
        &["src/tui/mod.rs:1", "src/lib.rs:1", "src/lib.rs:1"],
    ),
];

const MESSAGE: (&str, &str) = ("src/message.rs", "");
const APPROVAL: (&str, &str) = ("src/approval/mod.rs", "");

#[test]
fn a_planted_offence_is_found() {
    for (name, files, expected) in PLANTED {
        check(name, files, expected);
    }
    let (long, short) = ("x\n".repeat(801), "x\n".repeat(800));
    check("sizes", &[("src/a.rs", &long), ("src/b.rs", &short)], &["src/a.rs:801"]);
    let text = format!("\nconst A: &str = \"{}\";", "x".repeat(400));
    let short = format!("const A: &str = \"{}\";", "x".repeat(398));
    let tested = format!("#[cfg(test)]{text}");
    check("texts", &[("src/a.rs", &text), ("src/b.rs", &short), ("src/c.rs", &tested)], &["src/a.rs:2"]);
    let planted: Vec<&str> = PLANTED.iter().map(|(name, ..)| *name).chain(["sizes", "texts"]).collect();
    assert!(CHECKS.iter().all(|(name, _)| planted.contains(name)), "a check has no planted offence");
}

fn check(name: &str, files: &[(&str, &str)], expected: &[&str]) {
    let (_, check) = CHECKS.iter().find(|(known, _)| *known == name).expect("a known check");
    let files: Vec<(String, String)> =
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let found = check(&Tree { sources: source::parse(&files) });
    let places: Vec<&str> = found
        .iter()
        .map(|offence| offence.split_once(": ").map_or(offence.as_str(), |(place, _)| place))
        .collect();
    assert_eq!(places, expected, "{name} over {files:?}: {found:?}");
}
