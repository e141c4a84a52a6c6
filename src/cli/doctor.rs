//! `co doctor`: checks whether the stored data is sound, and repairs it if not.
//!
//! Checking changes nothing. Restoring a copy, salvaging and repairing need a confirmation; replaced files
//! are kept.

use std::path::Path;

use serde_json::json;

use super::args::{Doctor, Flags};
use super::console;
use super::error::{CliError, Result};
use super::input::Terminals;
use super::secret::{UNCHANGED, confirm};
use crate::app::{open_store, open_store_to_read, tools};
use crate::config::Settings;
use crate::runtime::SandboxStatus;
use crate::stdx::text::{count, sanitize_line};
use crate::store::doctor::{Diagnosis, diagnose, protect_audit, restore, salvage};
use crate::store::{AuditFinding, AuditNote, DatabaseCopy, StoreError, network_warning};
use crate::workspace::{World, load_settings};

/// The most damaged records listed by name.
const NAMED: usize = 20;

pub(super) async fn run(what: Doctor, world: &World, flags: Flags) -> Result<()> {
    let settings = load_settings(world, flags)?.settings;
    let data = settings.data_dir.clone();
    let found = off_thread({
        let data = data.clone();
        move || diagnose(&data)
    })
    .await?;
    let now = world.clock.now();
    if let Some(copy) = what.restore {
        let copy = match copy {
            Some(copy) => world.workspace.join(copy),
            None => newest(&found)?.path.clone(),
        };
        let made = found.copies.iter().find(|known| known.path == copy).map(|known| known.made);
        let of = made.map_or_else(String::new, |made| format!(" of {made}"));
        console::out(&format!(
            "The backup{of} replaces the database. Anything saved since then is not in it; the current files are \
             kept next to it.\n"
        ))?;
        let question = format!("Restore {}? y/N ", copy.display());
        if !confirm(what.yes, &question)? {
            return console::out(UNCHANGED);
        }
        let old_folder = off_thread({
            let copy = copy.clone();
            move || restore(&data, &copy, now)
        })
        .await?;
        return console::out(&format!(
            "{} is now the database. The old files are in {}.\n",
            copy.display(),
            old_folder.display()
        ));
    }
    if what.salvage {
        if !confirm(what.yes, "Save what can be read into a new database? y/N ")? {
            return console::out(UNCHANGED);
        }
        let saved = off_thread(move || salvage(&data, now)).await?;
        for (table, rows) in &saved.rows {
            let part = if saved.incomplete.contains(table) { " (some could not be read)" } else { "" };
            console::out(&format!("{table}: {rows} rows{part}\n"))?;
        }
        return console::out(&format!("The old files are in {}.\n", saved.old_folder.display()));
    }
    let audit = if found.faults.is_empty() && found.bytes > 0 {
        let finding = audit(world, &settings).await?;
        if finding == Some(AuditFinding::Unprotected)
            && (what.yes || (Terminals::of_process().interactive() && !what.json))
        {
            console::out("The triggers that protect audit rows from changes are missing.\n")?;
            if confirm(what.yes, "Restore them? y/N ")? {
                off_thread({
                    let data = data.clone();
                    move || protect_audit(&data)
                })
                .await?;
                let store = open_store(world, &settings).await?;
                let text = "the missing audit triggers were restored".to_owned();
                store.note(AuditNote::Stance { text }).await?;
            }
            audit(world, &settings).await?
        } else {
            finding
        }
    } else {
        None
    };
    let tools = tools(world, &settings);
    let sandbox = SandboxStatus::of(&*tools.sandbox, &tools.sandbox_remarks);
    if what.json {
        console::json(
            &json!({ "database": found, "audit": audit, "sound": is_sound(&found, audit.as_ref()), "sandbox": sandbox }),
        )?;
    } else {
        console::out(&as_text(&found, audit.as_ref(), &data, &sandbox))?;
    }
    match is_sound(&found, audit.as_ref()) {
        true => Ok(()),
        false => Err(advice(&found)),
    }
}

/// Whether the data is sound. A head that was never stored, because the first `co` was killed, is not a
/// fault.
fn is_sound(found: &Diagnosis, audit: Option<&AuditFinding>) -> bool {
    found.is_sound() && audit.is_none_or(|finding| *finding == AuditFinding::NoHead)
}

/// Verifies the audit without changing it.
async fn audit(world: &World, settings: &Settings) -> Result<Option<AuditFinding>> {
    let store = open_store_to_read(world, settings).await?;
    Ok(store.verify_audit(None).await?.finding)
}

async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.unwrap_or(Err(StoreError::Stopped))?)
}

fn newest(found: &Diagnosis) -> Result<&DatabaseCopy> {
    let none = || CliError::error("there is no backup of the database");
    found.copies.first().ok_or_else(|| none().hint("`co doctor --salvage` saves what can be read"))
}

fn as_text(found: &Diagnosis, audit: Option<&AuditFinding>, data: &Path, sandbox: &SandboxStatus) -> String {
    let mut text = String::new();
    let mut row = |name: &str, words: &str| text.push_str(&format!("{name:<9} {}\n", sanitize_line(words)));
    row("data", &data.display().to_string());
    if let Some(kind) = found.network {
        row("network", &network_warning(kind));
    }
    let (sessions, records) = (count(found.sessions, "session"), count(found.records, "record"));
    row("database", &format!("{} bytes, {sessions}, {records}", found.bytes));
    for fault in &found.faults {
        row("damaged", fault);
    }
    for record in found.damaged.iter().take(NAMED) {
        row("damaged", &format!("record {} of session {}", record.no, record.session));
    }
    if found.damaged.len() > NAMED {
        row("damaged", &format!("{} records in total", found.damaged.len()));
    }
    match audit {
        Some(AuditFinding::NoHead) => row("audit", "intact, as far as can be checked without its head"),
        Some(finding) => row("audit", &finding.to_string()),
        None if found.faults.is_empty() => row("audit", "intact"),
        None => row("audit", "not checked"),
    }
    for copy in &found.copies {
        row("copy", &format!("{} ({} bytes, {})", copy.path.display(), copy.bytes, copy.made));
    }
    if found.copies.is_empty() {
        row("copy", "none yet; one is made daily while the full screen is open and idle");
    }
    row("commands", &sandbox.line());
    if is_sound(found, audit) {
        row("verdict", "no problems");
    }
    text
}

/// Returns the error with hints for repair.
fn advice(found: &Diagnosis) -> CliError {
    if found.faults.is_empty() && found.damaged.is_empty() {
        let error = CliError::error("the audit was changed");
        return error.hint("run co audit verify HEAD with a head that you noted for more");
    }
    if found.faults.is_empty() {
        let error = CliError::error("some records are damaged; their sessions open without them");
        return error.hint("a backup may still have them, but nothing saved since: co doctor --restore");
    }
    let error = CliError::error("the database is damaged");
    let error = match found.copies.first() {
        Some(copy) => error.hint(format!("co doctor --restore restores the backup of {}", copy.made)),
        None => error,
    };
    error.hint("co doctor --salvage saves what can still be read")
}
