//! The README's generated table and its two commands stay true.
//!
//! `CO_UPDATE_README=1` writes the table anew.

use std::path::Path;

const BEGIN: &str =
    "<!-- settings: generated from src/config/settings.rs; `cargo test` says when it is stale -->\n";
const END: &str = "<!-- end of settings -->";

#[test]
fn the_settings_table_is_the_one_the_program_reads() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = readme.split_once(BEGIN).expect("the README has the table's begin mark");
    let (table, tail) = rest.split_once(END).expect("the README has the table's end mark");
    let wanted = format!("{}\n", co::config::reference_table().trim_end());
    if std::env::var_os("CO_UPDATE_README").is_some() && table != wanted {
        std::fs::write(&path, format!("{head}{BEGIN}{wanted}{END}{tail}")).unwrap();
        return;
    }
    assert_eq!(table, wanted, "stale: CO_UPDATE_README=1 cargo test --test it readme");
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
