//! Removes sessions with all that belongs to them: one that the user names, and those beyond the retention that is set.

use std::path::Path;

use jiff::SignedDuration;

use crate::config::Settings;
use crate::history::SessionId;
use crate::sandbox::survivors::end_survivors;
use crate::sandbox::tasks::tasks_in;
use crate::session::{Session, SessionError};
use crate::stdx::clock::Clock;
use crate::store::{RequestRetention, Retention, SessionSummary, Store, StoreError};
use crate::undo::forget;

/// Deletes an owned session, its orphaned tasks and its outputs. Returns whether it was deleted; errs with the folder of
/// the outputs if they remain.
pub async fn remove_session(
    session: Session,
    sessions: &Path,
    requests: RequestRetention,
) -> Result<bool, StoreError> {
    let id = session.id().clone();
    if !session.store().delete_session(&id, requests).await? {
        return Ok(false);
    }
    let outputs = sessions.join("spill").join(&id.0);
    let (folder, data) = (outputs.clone(), sessions.to_path_buf());
    let remove = move || {
        for task in tasks_in(&folder).iter().filter(|task| task.end.is_none() && is_of(&task.mark, &id)) {
            end_survivors(&task.mark);
        }
        // Copies that cannot be removed go with the oldest changes.
        let _ = forget(&data, &id.0);
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    };
    // The task fails only at the end of the runtime.
    match tokio::task::spawn_blocking(remove).await {
        Ok(Err(error)) => Err(StoreError::file(&outputs, &error)),
        Ok(Ok(())) | Err(_) => Ok(true),
    }
}

/// Whether a task's mark is one of this session: a file of another one must not have processes ended.
fn is_of(mark: &str, session: &SessionId) -> bool {
    mark.strip_prefix(&session.0).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the retention of the settings at this moment; `None` if everything is kept.
#[must_use]
pub fn retention(settings: &Settings, clock: &dyn Clock) -> Option<Retention> {
    let age = settings.keep_days.map(|days| SignedDuration::from_hours(24 * i64::from(days)));
    let before = age.and_then(|age| clock.now().checked_sub(age).ok());
    let max_bytes = settings.max_history_mb.map(|size| u64::from(size) << 20);
    let retention = Retention { before, max_bytes };
    (retention != Retention::default()).then_some(retention)
}

/// Deletes these sessions; returns those that were deleted. One that another process owns, or that waits for its user by
/// now, stays.
pub async fn remove_sessions(
    store: &Store,
    sessions: &Path,
    found: Vec<SessionSummary>,
) -> Result<Vec<SessionSummary>, StoreError> {
    let mut removed = Vec::new();
    for one in found {
        let session = match Session::open(store, &one.id).await {
            Ok(session) => session,
            Err(SessionError::Owned { .. } | SessionError::Lock { .. }) => continue,
            // It cannot be read; deleting it is for a person.
            Err(SessionError::Store(error)) => {
                tracing::warn!(%error, session = %one.id, "not removed");
                continue;
            }
        };
        if remove_session(session, sessions, RequestRetention::Kept).await? {
            removed.push(one);
        }
    }
    Ok(removed)
}
