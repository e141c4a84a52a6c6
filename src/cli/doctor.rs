//! `co doctor`: whether what is stored is sound, and ways back where it is not.
//!
//! Looking changes nothing. A copy that is put back and what is salvaged come after a question, and the files before are
//! kept aside.

use std::path::Path;

use serde_json::json;

use super::args::Doctor;
use super::console::Console;
use super::error::{CliError, Kind};
use super::hooks::{Asking, Consent};
use super::input::Terminals;
use crate::app::{World, load_settings, open_store};
use crate::stdx::text::sanitize_line;
use crate::store::doctor::{Diagnosis, diagnose, protect_audit, restore, salvage};
use crate::store::{AuditFinding, DatabaseCopy, StoreError};

/// Damaged records that are named.
const NAMED: usize = 20;

pub(super) async fn run(
    what: Doctor,
    world: &World,
    flags: Vec<(String, String)>,
    at: Terminals,
    console: &mut Console,
) -> Result<(), CliError> {
    let settings = load_settings(world, flags)?.settings;
    let data = settings.data_dir.clone();
    let found = off_thread({
        let data = data.clone();
        move || diagnose(&data)
    })
    .await?;
    let asking = if what.yes { Asking::Nobody } else { Asking::Person(at) };
    let now = world.clock.now();
    if let Some(copy) = what.restore {
        let copy = match copy {
            Some(copy) => world.workspace.join(copy),
            None => newest(&found)?.path.clone(),
        };
        let question = format!("Put {} in the place of the database? y/N ", copy.display());
        if asking.consents(&question)? == Consent::Withheld {
            return console.out("Nothing was changed.\n");
        }
        let aside = off_thread({
            let copy = copy.clone();
            move || restore(&data, &copy, now)
        })
        .await?;
        return console.out(&format!(
            "{} is the database now. The files before are in {}.\n",
            copy.display(),
            aside.display()
        ));
    }
    if what.salvage {
        if asking.consents("Save what can be read into a new database? y/N ")? == Consent::Withheld {
            return console.out("Nothing was changed.\n");
        }
        let saved = off_thread(move || salvage(&data, now)).await?;
        for (table, rows) in &saved.rows {
            let part = if saved.incomplete.contains(table) { " (some could not be read)" } else { "" };
            console.out(&format!("{table}: {rows} rows{part}\n"))?;
        }
        return console.out(&format!("The files before are in {}.\n", saved.aside.display()));
    }
    // The audit can be read only where the database opens.
    let audit = if found.faults.is_empty() {
        let store = open_store(world, &settings).await?;
        let mut check = store.verify_audit(None).await?;
        if check.finding == Some(AuditFinding::Unprotected) {
            protect_audit(&data)?;
            console.note("co: the triggers that protect the audit were missing and are back");
            check = store.verify_audit(None).await?;
        }
        check.finding
    } else {
        None
    };
    if what.json {
        console.json(
            &json!({ "database": found, "audit": audit, "sound": found.is_sound() && audit.is_none() }),
        )?;
    } else {
        console.out(&in_words(&found, audit.as_ref(), &data))?;
    }
    match found.is_sound() && audit.is_none() {
        true => Ok(()),
        false => Err(advice(&found)),
    }
}

async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, CliError> {
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.unwrap_or(Err(StoreError::Stopped))?)
}

fn newest(found: &Diagnosis) -> Result<&DatabaseCopy, CliError> {
    let none = || CliError::message(Kind::Error, "there is no copy of the database");
    found.copies.first().ok_or_else(|| none().hint("`co doctor --salvage` saves what can be read"))
}

fn in_words(found: &Diagnosis, audit: Option<&AuditFinding>, data: &Path) -> String {
    let mut text = String::new();
    let mut row = |name: &str, words: &str| text.push_str(&format!("{name:<9} {}\n", sanitize_line(words)));
    row("data", &data.display().to_string());
    row(
        "database",
        &format!("{} bytes, {} sessions, {} records", found.bytes, found.sessions, found.records),
    );
    for fault in &found.faults {
        row("damaged", fault);
    }
    for record in found.damaged.iter().take(NAMED) {
        row("damaged", &format!("record {} of session {}", record.no, record.session));
    }
    if found.damaged.len() > NAMED {
        row("damaged", &format!("and {} records more", found.damaged.len() - NAMED));
    }
    match audit {
        Some(finding) => row("audit", &finding.to_string()),
        None if found.faults.is_empty() => row("audit", "whole"),
        None => row("audit", "not read"),
    }
    for copy in &found.copies {
        row("copy", &format!("{} ({} bytes, {})", copy.path.display(), copy.bytes, copy.made));
    }
    if found.copies.is_empty() {
        row("copy", "none yet; one is made a day, while the full screen is open and idle");
    }
    if found.is_sound() && audit.is_none() {
        row("verdict", "sound");
    }
    text
}

/// What can be done about it.
fn advice(found: &Diagnosis) -> CliError {
    if found.faults.is_empty() && found.damaged.is_empty() {
        let error = CliError::message(Kind::Error, "the audit is not what was written");
        return error.hint("co audit verify HEAD, with a head that you noted, tells more");
    }
    if found.faults.is_empty() {
        let error =
            CliError::message(Kind::Error, "some records are damaged; their sessions open without them");
        return error.hint("a copy may still hold them: co doctor --restore");
    }
    let error = CliError::message(Kind::Error, "the database is damaged");
    let error = match found.copies.first() {
        Some(copy) => error.hint(format!("co doctor --restore puts the copy of {} back", copy.made)),
        None => error,
    };
    error.hint("co doctor --salvage saves what can be read, session by session")
}
