//! Lists which process owns which session, according to the content of the lock files. It takes no lock.
//!
//! Only the lock itself counts, so the result is a hint: it may still name a process that has just died, and
//! may not yet name one that is starting. Called by the inbox and by `co approvals`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use rustix::process::{Pid, test_kill_process};

use super::LOCKS;
use super::lock::{Owner, read_owner};
use crate::history::SessionId;
use crate::store::{Store, StoreError};

/// Returns every session that a living process appears to own.
pub async fn holders(store: &Store) -> BTreeMap<SessionId, Owner> {
    let folder = store.data_folder().join(LOCKS);
    // The task can only fail when the runtime shuts down.
    tokio::task::spawn_blocking(move || look(&folder)).await.unwrap_or_default()
}

/// Withdraws the questions of tool servers in sessions that no living process owns: no server waits for an answer there.
/// A failure is logged only: they are looked for again with each list.
pub async fn end_orphaned_questions(store: &Store) {
    if let Err(error) = try_to_end(store).await {
        tracing::warn!(%error, "questions of tool servers were not withdrawn");
    }
}

async fn try_to_end(store: &Store) -> Result<(), StoreError> {
    let asking = store.sessions_with_questions().await?;
    if asking.is_empty() {
        return Ok(());
    }
    let held = holders(store).await;
    for session in asking.iter().filter(|session| !held.contains_key(session)) {
        store.end_questions(session).await?;
    }
    Ok(())
}

fn look(folder: &Path) -> BTreeMap<SessionId, Owner> {
    // Without the folder no session was ever owned.
    let Ok(entries) = fs::read_dir(folder) else { return BTreeMap::new() };
    let held = |path: &Path| {
        let id = path.file_name()?.to_str()?.strip_suffix(".lock")?;
        let owner = read_owner(&mut File::open(path).ok()?)?;
        lives(owner.pid).then(|| (SessionId(id.to_owned()), owner))
    };
    entries.filter_map(|entry| held(&entry.ok()?.path())).collect()
}

/// Whether a process with this id exists. It also exists if this user may not signal it.
fn lives(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::lock::SessionLock;

    #[test]
    fn only_what_lives_holds_anything() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("locks");
        assert!(look(&folder).is_empty());
        let held =
            SessionLock::acquire(&folder, &SessionId("a".to_owned()), jiff::Timestamp::UNIX_EPOCH).unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let gone = format!("{} 1970-01-01T00:00:00Z\n", child.id());
        for (name, words) in [
            ("gone.lock", gone.as_str()),
            ("empty.lock", ""),
            ("old.lock", "12345678901234567890 some very old words\n"),
            // No process has such a high id.
            ("dead.lock", "2147483646 2026-11-21T12:30:00Z\n"),
            ("zero.lock", "0 2026-11-21T12:30:00Z\n"),
            ("torn.lock", "12"),
            ("note.txt", "1 2026-11-21T12:30:00Z\n"),
        ] {
            fs::write(folder.join(name), words).unwrap();
        }
        let found: Vec<(String, u32)> =
            look(&folder).into_iter().map(|(id, owner)| (id.0, owner.pid)).collect();
        assert_eq!(found, [("a".to_owned(), std::process::id())]);
        drop(held);
        assert!(look(&folder).is_empty());
    }
}
