//! Says that a test was skipped, where everybody sees it: the test runner swallows what passing tests print.

use std::io::Write;

/// One line on the real standard error.
pub fn skipped(what: &str) {
    let mut stderr = std::io::stderr().lock();
    writeln!(stderr, "\nSKIPPED: {what}").unwrap();
}
