//! Checks the verdict of every row of `commands.txt`, and the results of `invocations`.

use super::*;

const COMMANDS: &str = include_str!("commands.txt");

/// A row of the table.
pub struct Row {
    pub script: String,
    /// A part of the reason; `None` if the script is read-only.
    pub because: Option<&'static str>,
}

/// Returns the rows of the table.
pub fn rows() -> Vec<Row> {
    let lines = COMMANDS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(row).collect()
}

fn row(line: &'static str) -> Row {
    if let Some(script) = line.strip_prefix("looks  ") {
        return Row { script: spelled(script), because: None };
    }
    let (script, because) = line
        .strip_prefix("asks   ")
        .and_then(|rest| rest.rsplit_once(" ⇒ "))
        .unwrap_or_else(|| panic!("{line}"));
    Row { script: spelled(script), because: Some(because) }
}

/// Decodes the characters of a script that cannot be written in a table.
fn spelled(text: &str) -> String {
    let text = text.replace('⏎', "\n").replace('⇥', "\t");
    let mut parts = text.split("<U+");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_once('>').unwrap();
        out.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
        out.push_str(rest);
    }
    out
}

#[test]
fn every_command_of_the_table_has_its_verdict() {
    let rows = rows();
    let mut wrong = Vec::new();
    for row in &rows {
        match (classify(&row.script), row.because) {
            (Class::ReadOnly, None) => {}
            (Class::Unknown { because }, Some(part)) if because.contains(part) => {}
            (class, _) => wrong.push(format!("{:?}: {class:?}", row.script)),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    assert!(rows.len() >= 300, "{}", rows.len());
}
