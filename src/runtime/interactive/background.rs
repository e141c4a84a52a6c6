//! Sessions that run in the background, and changes of approvals by any process.

use std::collections::HashMap;
use std::pin::Pin;
use std::time::Duration;

use tokio::task::{Id, JoinSet};
use tokio::time::{Sleep, sleep};
use tokio_util::sync::CancellationToken;

use crate::command::Notice;
use crate::history::SessionId;
use crate::runtime::headless::CLOSING;
use crate::store::{ChangeListener, Store, StoreError};

/// Maximum number of background sessions.
pub(super) const MOST_SESSIONS: usize = 2;

/// The background work of this process.
pub(super) struct BackgroundSessions {
    pub(super) store: Store,
    pub(super) listener: ChangeListener,
    pub(super) work: JoinSet<Notice>,
    /// The sessions among the work, by task.
    pub(super) going: HashMap<Id, SessionId>,
    pub(super) stop: CancellationToken,
    /// The number of the latest change reported to the front end.
    pub(super) reported: Option<u64>,
    pub(super) expiry: Expiry,
}

/// When the next request of any session expires.
pub(super) enum Expiry {
    /// Something changed since the last lookup.
    Unknown,
    At(Pin<Box<Sleep>>),
    /// No request expires, or the store cannot be read; looked up again after the next change.
    Never,
}

/// An event outside the current session.
pub(super) enum BackgroundEvent {
    /// Approvals may have changed, here or in another process.
    Changed,
    /// A request of some session expires now.
    Due,
    /// Work is done, with its message; an empty text is not shown.
    Done(Notice),
}

impl BackgroundSessions {
    pub(super) fn new(store: &Store) -> Self {
        Self {
            store: store.clone(),
            listener: store.change_listener(),
            work: JoinSet::new(),
            going: HashMap::new(),
            stop: CancellationToken::new(),
            reported: None,
            expiry: Expiry::Unknown,
        }
    }

    /// Returns the next event. Cancel-safe.
    pub(super) async fn next(&mut self) -> BackgroundEvent {
        if let Expiry::Unknown = self.expiry {
            self.expiry = next_expiry(&self.store).await;
        }
        tokio::select! {
            () = self.listener.changed() => {
                self.expiry = Expiry::Unknown;
                BackgroundEvent::Changed
            }
            () = wait_for_expiry(&mut self.expiry) => {
                self.expiry = Expiry::Unknown;
                BackgroundEvent::Due
            }
            Some(done) = self.work.join_next_with_id(), if !self.work.is_empty() => {
                let (id, say) = match done {
                    Ok(done) => done,
                    Err(error) => {
                        let text = "This is a bug in co; running calls may not have finished.";
                        (error.id(), Notice::error("background", text))
                    }
                };
                self.going.remove(&id);
                BackgroundEvent::Done(say)
            }
        }
    }

    pub(super) fn has(&self, session: &SessionId) -> bool {
        self.going.values().any(|going| going == session)
    }

    /// Cancels the running work; nothing new starts.
    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits for the end of all work. Tasks that exceed the timeout are dropped; what they committed is safe.
    pub(super) async fn wait_for_end(&mut self) {
        self.stop();
        let all = async { while self.work.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(CLOSING, all).await;
    }
}

async fn next_expiry(store: &Store) -> Expiry {
    match time_to_expiry(store).await {
        Ok(Some(left)) => Expiry::At(Box::pin(sleep(left))),
        // A store that cannot be read is reported by the user's next action.
        Ok(None) | Err(_) => Expiry::Never,
    }
}

/// Returns the time until the next request of any session has expired; `None` if none expires.
pub async fn time_to_expiry(store: &Store) -> Result<Option<Duration>, StoreError> {
    let due = store.next_expiry().await?;
    let left = due.map(|due| Duration::try_from(due.duration_since(store.clock().now())).unwrap_or_default());
    // The store counts in whole milliseconds.
    Ok(left.map(|left| left.saturating_add(Duration::from_millis(1))))
}

/// Waits for the expiry. Cancel-safe; never resolves while nothing expires.
async fn wait_for_expiry(expiry: &mut Expiry) {
    match expiry {
        Expiry::At(sleep) => sleep.as_mut().await,
        Expiry::Unknown | Expiry::Never => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;

    use super::*;
    use crate::approval::{Request, RequestId};
    use crate::history::{Durability, Record};
    use crate::message::{CallId, ToolCall, ToolName};
    use crate::session::Session;
    use crate::stdx::clock::ManualClock;
    use crate::store::StoreOptions;
    use crate::tool::{Access, CallPlan, Effect, Preview, Risk, Undo};

    fn asked(id: &str, expires: Timestamp) -> Record {
        let (call, tool) = (CallId(format!("call-{id}")), ToolName::new("write_file"));
        let plan = CallPlan {
            summary: "write a".to_owned(),
            preview: Preview::None,
            risk: Risk::Medium,
            access: Access::Nothing,
            basis: Vec::new(),
            undo: Undo::None,
            effect: Effect::OfTool,
            question: None,
            needs_person: None,
        };
        let request = Request {
            id: RequestId(id.to_owned()),
            call: call.clone(),
            tool: tool.clone(),
            args: serde_json::Value::Null,
            plan,
            risk: Risk::Medium,
            why: Vec::new(),
            after: Vec::new(),
            depends: Vec::new(),
            taint: Vec::new(),
            expires: Some(expires),
            again: None,
            parameters: None,
        };
        let call = ToolCall { id: call, wire_id: String::new(), name: tool, args: serde_json::Value::Null };
        Record::Asked { call, request: Box::new(request) }
    }

    /// The store's clock does not advance by itself, so that each step depends only on the assertions before it.
    #[tokio::test]
    async fn the_end_of_a_request_is_received_once() {
        let dir = tempfile::tempdir().unwrap();
        let start: Timestamp = "2026-11-21T20:11:00Z".parse().unwrap();
        let clock = Arc::new(ManualClock::at(start));
        let options = StoreOptions::new(dir.path().join("data"), dir.path().join("run"));
        let store =
            Store::open(StoreOptions { clock: Arc::<ManualClock>::clone(&clock), ..options }).await.unwrap();
        let mut background = BackgroundSessions::new(&store);
        let mut session = Session::create(&store, dir.path()).await.unwrap();
        let in_time = async |background: &mut BackgroundSessions| {
            tokio::time::timeout(Duration::from_secs(60), background.next()).await.expect("something happens")
        };
        for (id, after) in [("1", 20), ("2", 40)] {
            let expires = start + jiff::SignedDuration::from_millis(after);
            session.commit(&[asked(id, expires)], Durability::Written).await.unwrap();
            assert!(matches!(in_time(&mut background).await, BackgroundEvent::Changed));
        }
        for left in [1, 0] {
            assert!(matches!(in_time(&mut background).await, BackgroundEvent::Due));
            clock.advance(Duration::from_millis(20));
            assert_eq!(store.expire_due().await.unwrap(), 1);
            assert!(matches!(in_time(&mut background).await, BackgroundEvent::Changed));
            assert_eq!(store.undecided_rows(10).await.unwrap().len(), left);
        }
        // No request expires any more, so there is no further event.
        let more = tokio::time::timeout(Duration::from_millis(100), background.next()).await;
        assert!(more.is_err());
        assert!(matches!(background.expiry, Expiry::Never));
    }
}
