//! Reports skipped tests on the real standard error (the test runner swallows what passing tests print), and in the file
//! that `CO_TEST_SKIPPED` names, which `.ci/run` counts.

use std::fs::OpenOptions;
use std::io::Write;

/// One line on the real standard error.
pub fn skipped(what: &str) {
    let mut stderr = std::io::stderr().lock();
    writeln!(stderr, "\nSKIPPED: {what}").unwrap();
    if let Some(list) = std::env::var_os("CO_TEST_SKIPPED") {
        let mut list = OpenOptions::new().append(true).create(true).open(list).unwrap();
        // One write, so that lines of parallel tests do not mix.
        list.write_all(format!("{what}\n").as_bytes()).unwrap();
    }
}
