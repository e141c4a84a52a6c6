//! `co audit`: the decider, the execution and the outcome of each call, and whether these rows are unchanged.

mod describe;

use std::collections::BTreeSet;

use self::describe::{as_text, in_short};
use super::args::{Audit, AuditAction, Flags};
use super::console;
use super::day::begin;
use super::error::{CliError, Result};
use super::table::table;
use crate::app::open_store_for_lists;
use crate::stdx::clock::system_zone;
use crate::stdx::text::group_digits;
use crate::store::{AuditFilter, AuditRow, Store};
use crate::workspace::{World, load_settings};

/// Fewer digits of a hash could match many rows.
const FEWEST_DIGITS: usize = 8;

/// The most rows shown about one call; no call has that many.
const OF_ONE_CALL: usize = 1_000;

pub(super) async fn run(what: Audit, world: &World, flags: Flags) -> Result<()> {
    let loaded = load_settings(world, flags)?;
    let store = open_store_for_lists(world, &loaded.settings).await?;
    match &what.what {
        None => list(&what, &store).await,
        Some(AuditAction::Show { id, json: true }) => console::json(&about(&store, id).await?),
        Some(AuditAction::Show { id, json: false }) => {
            let rows = about(&store, id).await?;
            console::out(&as_text(&rows, &system_zone()))
        }
        Some(AuditAction::Verify { head, json }) => {
            let head = head.as_deref().map(digits).transpose()?;
            verify(&store, head, *json).await
        }
        Some(AuditAction::Prune { before }) => prune(before, &store).await,
    }
}

async fn list(what: &Audit, store: &Store) -> Result<()> {
    let zone = system_zone();
    let session = match &what.session {
        Some(prefix) => Some(store.find_session(prefix).await?),
        None => None,
    };
    let now = store.clock().now();
    let since = what.since.as_ref().map(|since| begin("--since", since, now, &zone)).transpose()?;
    let filter = AuditFilter { tool: what.tool.clone(), session, since, ..AuditFilter::default() };
    let narrowed = filter != AuditFilter::default();
    let rows = store.audit_rows(filter, what.last).await?;
    if what.json {
        return console::json(&rows);
    }
    if rows.is_empty() {
        let words = if narrowed { "No matching audit rows." } else { "The audit is still empty." };
        return console::out(&format!("{words}\n"));
    }
    let lines = rows.iter().map(|row| in_short(row, &zone));
    console::out(&table(["NO", "WHEN", "TOOL", "WHAT", "WHO", "REQUEST", "SESSION"], lines))
}

/// Returns the rows about the one call that `id` means: the number of a row in the list, or the beginning of
/// an id.
async fn about(store: &Store, id: &str) -> Result<Vec<AuditRow>> {
    let of = async |id: &str| {
        let filter = AuditFilter { about: Some(id.to_owned()), ..AuditFilter::default() };
        store.audit_rows(filter, OF_ONE_CALL).await
    };
    let mut found = match id.parse() {
        Ok(no) => store.audit_rows(AuditFilter { no: Some(no), ..AuditFilter::default() }, 1).await?,
        Err(_) => Vec::new(),
    };
    if found.is_empty() {
        found = of(id).await?;
    }
    let calls: BTreeSet<_> = found.iter().map(|row| (&row.session, &row.call)).collect();
    match (calls.len(), found.first()) {
        (1, Some(AuditRow { session, call: Some(call), .. })) => {
            let mut rows = of(&call.0).await?;
            rows.retain(|row| row.call.as_ref() == Some(call) && row.session == *session);
            Ok(rows)
        }
        (0, _) | (_, None) | (1, Some(_)) => {
            let error = CliError::error(format!("the audit has no row for `{id}`"));
            Err(error.hint("`co audit` lists the rows"))
        }
        (_, Some(_)) => {
            let ids: BTreeSet<String> = found.iter().filter_map(describe::id).collect();
            let ids: Vec<String> = ids.into_iter().take(9).collect();
            let error = CliError::error(format!("`{id}` matches {}, among others", ids.join(", ")));
            Err(error.hint("type more of the id"))
        }
    }
}

/// Returns the digits of a hash as typed by the user.
fn digits(head: &str) -> Result<String> {
    let head = head.trim().trim_end_matches('…').to_ascii_lowercase();
    if head.len() >= FEWEST_DIGITS && head.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(head);
    }
    let error = CliError::usage(format!("`{head}` is not an audit head"));
    Err(error.hint(format!(
        "a head is at least {FEWEST_DIGITS} hexadecimal digits, as `co audit verify` prints them"
    )))
}

async fn verify(store: &Store, head: Option<String>, json: bool) -> Result<()> {
    let check = store.verify_audit(head).await?;
    let pruned = match check.pruned {
        0 => String::new(),
        1 => ", after 1 pruned row".to_owned(),
        many => format!(", after {} pruned rows", group_digits(many)),
    };
    let end = check.head.as_ref().map_or(String::new(), |head| format!(", head {}", head.short()));
    match (json, &check.finding) {
        (true, _) => console::json(&check)?,
        (false, None) if check.rows == 0 => console::out("The audit is empty.\n")?,
        (false, None) => {
            console::out(&format!("The audit is intact: {} rows{pruned}{end}.\n", group_digits(check.rows)))?;
        }
        (false, Some(_)) => {}
    }
    match check.finding {
        None => Ok(()),
        Some(finding) => {
            let error = CliError::error(format!("audit verification failed: {finding}"));
            let sound = format!("{} rows before that are intact{pruned}", group_digits(check.rows));
            Err(error.hint(sound).hint("back up the data folder before you continue"))
        }
    }
}

async fn prune(before: &str, store: &Store) -> Result<()> {
    let begin = begin("--before", before, store.clock().now(), &system_zone())?;
    let words = match store.prune_audit(begin).await? {
        Some(pruned) => {
            let (from, to) = (group_digits(pruned.from), group_digits(pruned.to));
            format!(
                "Rows {from} to {to} were removed; a row records it, and the rest can still be verified.\n"
            )
        }
        None => "The audit has no rows before that; nothing was removed.\n".to_owned(),
    };
    console::out(&words)
}
