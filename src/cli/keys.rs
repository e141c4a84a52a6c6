//! `co keys`: lists the key bindings, and the errors in those that the user set.

use serde_json::{Value, json};

use super::args::Keys;
use super::console::Console;
use super::error::{CliError, Kind};
use super::table::table;
use crate::app::{World, load_settings};
use crate::config::{ConfigWarning, Source};
use crate::tui::keys::{Keymap, Listed, list};

pub(super) fn run(
    what: &Keys,
    world: &World,
    flags: Vec<(String, String)>,
    console: &mut Console,
) -> Result<(), CliError> {
    let loaded = load_settings(world, flags)?;
    let (keymap, problems) = Keymap::with(&loaded.settings.keys);
    // An entry that is not text never became a setting.
    let is_entry = |warning: &&ConfigWarning| matches!(warning, ConfigWarning::BadEntry { .. });
    let mut wrong: Vec<String> = loaded.warnings.iter().filter(is_entry).map(ToString::to_string).collect();
    wrong.extend(problems.iter().map(ToString::to_string));
    if what.check {
        wrong.extend(keymap.conflicts().iter().map(ToString::to_string));
        return check(&wrong, console);
    }
    let rows = list(&keymap);
    if what.json {
        console.json(&rows.iter().map(as_json).collect::<Vec<_>>())?;
    } else {
        console
            .out(&table(["KEYS", "DOES", "NAME", "SET"], &rows.iter().map(in_words).collect::<Vec<_>>()))?;
    }
    for problem in wrong {
        console.note(&format!("co: {problem}"));
    }
    Ok(())
}

fn check(wrong: &[String], console: &mut Console) -> Result<(), CliError> {
    if wrong.is_empty() {
        return console.out("No conflicts.\n");
    }
    console.out(&format!("{}\n", wrong.join("\n")))?;
    let count = match wrong.len() {
        1 => "1 thing is".to_owned(),
        many => format!("{many} things are"),
    };
    let error = CliError::message(Kind::Error, format!("{count} wrong with your keys"));
    Err(error
        .hint("`co keys` lists every key and its name; they are set in the section [keys] of config.toml"))
}

fn in_words(row: &Listed) -> [String; 4] {
    let keys = if row.keys.is_empty() { "(none)".to_owned() } else { row.keys.join("  ") };
    let set = match &row.source {
        Source::Default => String::new(),
        // The folder would not fit; `--json` includes it.
        Source::UserFile { line, .. } => format!("config.toml:{line}"),
        Source::ProjectFile { line, .. } => format!(".co/config.toml:{line}"),
        Source::Environment { .. } | Source::Flag { .. } => row.source.to_string(),
    };
    [keys, row.words.clone(), row.name.clone(), set]
}

fn as_json(row: &Listed) -> Value {
    json!({
        "name": row.name,
        "keys": row.keys,
        "default": row.usual,
        "does": row.words,
        "where": row.place,
        "set": (row.source != Source::Default).then(|| row.source.to_string()),
    })
}
