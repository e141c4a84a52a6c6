//! The README's generated tables and its two commands stay true.
//!
//! `CO_UPDATE_README=1` writes the tables anew.

use std::path::Path;

/// What a table is called, what it is made from, and what makes it.
type Table = (&'static str, &'static str, fn() -> String);

const TABLES: [Table; 4] = [
    ("providers", "src/provider/catalog/presets.rs", co::provider::catalog::reference_table),
    ("rules", "src/approval/rules/example.toml", || format!("```toml\n{}```", co::approval::rules::EXAMPLE)),
    ("settings", "src/config/settings.rs", co::config::reference_table),
    ("keys", "src/tui/keys", co::tui::keys::reference_table),
];

#[test]
fn the_generated_tables_are_those_of_the_program() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let mut readme = std::fs::read_to_string(&path).unwrap();
    let updates = std::env::var_os("CO_UPDATE_README").is_some();
    for (name, from, table) in TABLES {
        let begin = format!("<!-- {name}: generated from {from}; `cargo test` says when it is stale -->\n");
        let end = format!("<!-- end of {name} -->");
        let (head, rest) = readme.split_once(&begin).expect("the README has the table's begin mark");
        let (found, tail) = rest.split_once(&end).expect("the README has the table's end mark");
        let wanted = format!("{}\n", table().trim_end());
        if updates {
            readme = format!("{head}{begin}{wanted}{end}{tail}");
        } else {
            assert!(found == wanted, "{name} stale: CO_UPDATE_README=1 cargo test --test it readme");
        }
    }
    if updates {
        std::fs::write(&path, readme).unwrap();
    }
}

#[test]
fn ci_calls_the_readmes_test_command() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let ci = std::fs::read_to_string(root.join(".ci/run")).unwrap();
    assert!(readme.contains("\ncargo test "), "the README names the test command");
    assert!(ci.lines().any(|line| line.trim() == "cargo test --locked"), "CI runs it");
    assert!(readme.contains("\ncargo run --release "), "the README names the run command");
}
