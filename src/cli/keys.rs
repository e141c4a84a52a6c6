//! `co keys`: lists the key bindings, and the errors in those that the user set.

use serde_json::{Value, json};

use super::args::{Flags, Keys};
use super::console;
use super::error::{CliError, Result};
use super::table::table;
use crate::config::{ConfigWarning, Source};
use crate::stdx::text::count;
use crate::tui::key::Key;
use crate::tui::keys::{BindingRow, Keymap};
use crate::tui::panel::KEY_TABLE;
use crate::workspace::{World, load_settings};

pub(super) fn run(what: &Keys, world: &World, flags: Flags) -> Result<()> {
    let loaded = load_settings(world, flags)?;
    let (keymap, problems) = Keymap::with(&KEY_TABLE, &loaded.settings.keys);
    // An entry that is not text never became a setting.
    let is_entry = |warning: &&ConfigWarning| matches!(warning, ConfigWarning::BadEntry { .. });
    let mut wrong: Vec<String> = loaded.warnings.iter().filter(is_entry).map(ToString::to_string).collect();
    wrong.extend(problems.iter().map(ToString::to_string));
    if what.check {
        wrong.extend(keymap.conflicts().iter().map(ToString::to_string));
        return check(&wrong);
    }
    if what.json {
        console::json(&keymap.by_context().map(as_json).collect::<Vec<_>>())?;
    } else {
        console::out(&table(["KEYS", "DOES", "NAME", "SET"], keymap.by_context().map(columns)))?;
    }
    console::notes(wrong);
    Ok(())
}

fn check(wrong: &[String]) -> Result<()> {
    if wrong.is_empty() {
        return console::out("No conflicts.\n");
    }
    console::out(&format!("{}\n", wrong.join("\n")))?;
    let error = CliError::error(format!("{} with your keys", count(wrong.len(), "problem")));
    Err(error.hint("`co keys` lists every key and its name; set them in the [keys] section of config.toml"))
}

fn names(keys: &[Key]) -> Vec<String> {
    keys.iter().map(Key::to_string).collect()
}

fn columns(row: &BindingRow) -> [String; 4] {
    let keys = if row.keys.is_empty() { "(none)".to_owned() } else { names(&row.keys).join("  ") };
    let set = match &row.source {
        Source::Default => String::new(),
        // The folder would not fit; `--json` includes it.
        Source::UserFile { line, .. } => format!("config.toml:{line}"),
        Source::ProjectFile { line, .. } => format!(".co/config.toml:{line}"),
        Source::Environment { .. } | Source::Flag { .. } => row.source.to_string(),
    };
    [keys, row.binding.label(), row.binding.path(), set]
}

fn as_json(row: &BindingRow) -> Value {
    json!({
        "name": row.binding.path(),
        "keys": names(&row.keys),
        "default": names(&row.binding.keys),
        "does": row.binding.label(),
        "where": row.binding.context.about(),
        "set": (row.source != Source::Default).then(|| row.source.to_string()),
    })
}
