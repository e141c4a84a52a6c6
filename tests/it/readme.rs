//! The README names the command that CI runs and every topic of the reference, and what it refers to exists.

use std::path::Path;

use crate::co::Co;

fn readme() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap()
}

#[test]
fn every_topic_that_it_names_is_one() {
    let readme = readme();
    let topics: Vec<&str> =
        readme.split("`co help ").skip(1).filter_map(|rest| rest.split('`').next()).collect();
    assert!(topics.contains(&"settings") && topics.contains(&"rules"), "{topics:?}");
    for topic in topics.into_iter().filter(|topic| !topic.contains(char::is_uppercase)) {
        assert_eq!(Co::new().run(&["help", topic]).code, Some(0), "{topic}");
    }
    for topic in crate::cli::help::topics() {
        assert!(readme.contains(&format!("\n| `co help {topic}` |")), "{topic} is not in the table");
    }
}

#[test]
fn its_reference_is_elsewhere() {
    assert!(readme().lines().count() <= 250);
}

#[test]
fn ci_calls_the_readmes_test_command() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = readme();
    let ci = std::fs::read_to_string(root.join(".ci/run")).unwrap();
    assert!(readme.contains("\ncargo test "), "the README names the test command");
    assert!(ci.lines().any(|line| line.trim() == "cargo test --locked"), "CI runs it");
    assert!(readme.contains("\ncargo run --release "), "the README names the run command");
}
