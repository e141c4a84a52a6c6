//! A session and its one owner.
//!
//! A [`Session`] holds the session's lock and its history; a commit is stored before it takes effect in
//! memory. Other processes read the same session from the store with [`Session::read`]. It runs nothing and
//! decides nothing. Called by the driver, which owns it while a turn runs, and by the composition root.

mod holders;
mod lock;

use std::io;
use std::path::{Path, PathBuf};

use tokio::sync::watch;
use uuid::{NoContext, Uuid};

use self::lock::{LockError, SessionLock};
use crate::approval::{Approval, Decider, Grants, RequestId};
use crate::history::{Conversation, Durability, History, Record, SessionId};
use crate::store::{DecideOutcome, IdKind, Store, StoreError};

pub use self::holders::{end_orphaned_questions, holders};
pub use self::lock::Owner;

/// The folder of the lock files, inside the data folder.
const LOCKS: &str = "locks";

/// Why a session could not be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    #[error("session {id} is open in another co ({}); continue there, or close it first", who(owner.as_ref()))]
    Owned { id: SessionId, owner: Option<Owner> },
    #[error("the lock {} cannot be taken: {detail}; check the permissions of the data folder", path.display())]
    Lock { path: PathBuf, detail: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn who(owner: Option<&Owner>) -> String {
    owner.map_or_else(|| "it has just started".to_owned(), Owner::to_string)
}

/// A session owned by this process, from opening to drop.
pub struct Session {
    store: Store,
    id: SessionId,
    history: History,
    /// The grants of the history, for those who do not have the session.
    grants: watch::Sender<Grants>,
    /// Already applied, and stored with the first commit: a session without commits is never stored.
    unsaved: Option<Record>,
    health: Health,
    _lock: SessionLock,
}

enum Health {
    Sound,
    /// A write is in progress; if this remains afterwards, the write was cut off and its outcome is unknown.
    Writing,
    Poisoned(String),
}

impl Session {
    /// Creates a session for a folder (absolute). It enters the store with its first commit.
    pub async fn create(store: &Store, workspace: &Path) -> Result<Self, SessionError> {
        Self::begin_as(store, new_id(store), workspace).await
    }

    /// Takes ownership of the session with this id: the stored one, or else a new one for a folder.
    pub async fn open_or_create(
        store: &Store,
        id: SessionId,
        workspace: &Path,
    ) -> Result<Self, SessionError> {
        match Self::open(store, &id).await {
            Err(SessionError::Store(StoreError::NotFound { .. })) => {
                Self::begin_as(store, id, workspace).await
            }
            opened => opened,
        }
    }

    async fn begin_as(store: &Store, id: SessionId, workspace: &Path) -> Result<Self, SessionError> {
        let lock = lock(store, &id).await?;
        let opened = Record::Opened { workspace: workspace.to_owned() };
        let history = History::of(std::slice::from_ref(&opened));
        Ok(Self::with(store.clone(), id, history, Some(opened), lock))
    }

    /// Creates a session that is a copy of this conversation; it is stored at once.
    pub async fn copy(store: &Store, conversation: Conversation) -> Result<Self, SessionError> {
        let mut session = Self::create(store, &conversation.workspace).await?;
        let mut records = conversation.records(&session.id);
        // It was applied when the session was created.
        records.remove(0);
        session.commit(&records, Durability::Synced).await?;
        Ok(session)
    }

    /// Takes ownership of a stored session. Errs with [`SessionError::Owned`] while another process owns it.
    pub async fn open(store: &Store, id: &SessionId) -> Result<Self, SessionError> {
        if !id.0.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            // The id becomes part of a file name; every id created by this program passes this check.
            return Err(StoreError::NotFound { what: IdKind::Session, prefix: id.0.clone() }.into());
        }
        // Locked before it is read, so that nothing can be added in between.
        let lock = lock(store, id).await?;
        let history = Self::read(store, id).await?;
        // Who waited for their answers is gone.
        if let Err(error) = store.end_questions(id).await {
            tracing::warn!(%error, "questions of tool servers were not withdrawn");
        }
        Ok(Self::with(store.clone(), id.clone(), history, None, lock))
    }

    fn with(
        store: Store,
        id: SessionId,
        history: History,
        unsaved: Option<Record>,
        lock: SessionLock,
    ) -> Self {
        let grants = watch::Sender::new(history.grants().clone());
        Self { store, id, history, grants, unsaved, health: Health::Sound, _lock: lock }
    }

    /// Returns the current history of a stored session, regardless of its owner.
    pub async fn read(store: &Store, id: &SessionId) -> Result<History, StoreError> {
        store.fold(id, History::default(), |history, record| history.apply(&record)).await
    }

    pub fn id(&self) -> &SessionId {
        &self.id
    }

    pub fn history(&self) -> &History {
        &self.history
    }

    /// Returns the grants that are in effect now and later.
    pub fn watch_grants(&self) -> watch::Receiver<Grants> {
        self.grants.subscribe()
    }

    /// Whether nothing of it is in the store yet.
    pub fn is_new(&self) -> bool {
        self.unsaved.is_some()
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Stores the records, then applies them; atomic for the slice. Effects that depend on them may happen
    /// only after this succeeds. After an error, or if its future is dropped early, the session is poisoned:
    /// every later commit errs with [`StoreError::Poisoned`] and the session must be opened again.
    ///
    /// Decisions are not committed this way: deciders write to the request ([`Store::decide`]), and
    /// [`Session::consume_decisions`] takes them.
    pub async fn commit(&mut self, records: &[Record], durability: Durability) -> Result<(), StoreError> {
        self.begin()?;
        if records.is_empty() {
            self.health = Health::Sound;
            return Ok(());
        }
        let result = match self.unsaved.take() {
            Some(opened) => {
                let mut all = vec![opened];
                all.extend_from_slice(records);
                self.store.append(&self.id, 0, &all, durability).await
            }
            None => self.store.append(&self.id, self.history.len(), records, durability).await,
        };
        self.end(result.map(|()| records))
    }

    /// Takes every decision made since the last call about this session's requests, as stored and applied
    /// records, in the order they were made. Cheap if there is none. Poisons like [`Session::commit`].
    pub async fn consume_decisions(&mut self) -> Result<Vec<Record>, StoreError> {
        self.begin()?;
        if self.unsaved.is_some() || !self.may_be_decided() {
            self.health = Health::Sound;
            return Ok(Vec::new());
        }
        let result = self.store.consume(&self.id, self.history.len()).await;
        self.end(result.as_deref().map_err(Clone::clone))?;
        result
    }

    /// Whether a request may have been decided by another process: only this one asks for this session.
    fn may_be_decided(&self) -> bool {
        let history = &self.history;
        let is_asked = history.open_calls().iter().any(|call| call.request.is_some());
        is_asked || !history.late_calls().is_empty() || history.damaged_count() > 0
    }

    /// Decides requests, in order, and takes every decision about this session's requests, in one transaction: the
    /// outcomes, and the records as from [`Session::consume_decisions`]. The requests may be other sessions'. Poisons
    /// like [`Session::commit`].
    pub async fn decide(
        &mut self,
        decisions: &[(RequestId, Approval, Decider)],
    ) -> Result<(Vec<DecideOutcome>, Vec<Record>), StoreError> {
        if decisions.is_empty() {
            return Ok((Vec::new(), self.consume_decisions().await?));
        }
        self.begin()?;
        let result = self.store.decide_and_consume(&self.id, self.history.len(), decisions).await;
        self.end(result.as_ref().map(|(_, records)| records.as_slice()).map_err(Clone::clone))?;
        result
    }

    /// Whether a write failed or was cut off, so that nothing more is recorded.
    pub fn is_poisoned(&self) -> bool {
        !matches!(self.health, Health::Sound)
    }

    /// Reloads the stored state after a failed write: the session can then continue as if it had been
    /// reopened. Errs if the store cannot be read; then it stays poisoned.
    pub async fn reread(&mut self) -> Result<(), StoreError> {
        let mut history = match Self::read(&self.store, &self.id).await {
            Err(StoreError::NotFound { .. }) => History::default(),
            history => history?,
        };
        self.unsaved = None;
        if history.is_empty() {
            let opened = Record::Opened { workspace: self.history.workspace().to_owned() };
            history.apply(&opened);
            self.unsaved = Some(opened);
        }
        self.history = history;
        self.publish_grants();
        self.health = Health::Sound;
        Ok(())
    }

    fn publish_grants(&self) {
        let now = self.history.grants();
        self.grants.send_if_modified(|known| {
            let changed = known != now;
            if changed {
                known.clone_from(now);
            }
            changed
        });
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        match &self.health {
            Health::Sound => {
                self.health = Health::Writing;
                Ok(())
            }
            Health::Writing => Err(StoreError::Poisoned { cause: "a write was cut off".to_owned() }),
            Health::Poisoned(cause) => Err(StoreError::Poisoned { cause: cause.clone() }),
        }
    }

    fn end(&mut self, stored: Result<&[Record], StoreError>) -> Result<(), StoreError> {
        match stored {
            Ok(records) => {
                for record in records {
                    self.history.apply(record);
                }
                self.publish_grants();
                self.health = Health::Sound;
                Ok(())
            }
            Err(error) => {
                self.health = Health::Poisoned(error.to_string());
                Err(error)
            }
        }
    }
}

fn new_id(store: &Store) -> SessionId {
    let now = store.clock().now();
    let seconds = u64::try_from(now.as_second()).unwrap_or(0);
    let nanoseconds = u32::try_from(now.subsec_nanosecond()).unwrap_or(0);
    let moment = uuid::Timestamp::from_unix(NoContext, seconds, nanoseconds);
    SessionId(Uuid::new_v7(moment).to_string())
}

async fn lock(store: &Store, id: &SessionId) -> Result<SessionLock, SessionError> {
    let folder = store.data_folder().join(LOCKS);
    let now = store.clock().now();
    let locked = id.clone();
    let task = tokio::task::spawn_blocking(move || SessionLock::acquire(&folder, &locked, now));
    match task.await {
        Ok(Ok(lock)) => Ok(lock),
        Ok(Err(LockError::Held(owner))) => Err(SessionError::Owned { id: id.clone(), owner }),
        Ok(Err(LockError::File(_, error)))
            if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) =>
        {
            Err(StoreError::Full { folder: store.data_folder().to_owned() }.into())
        }
        Ok(Err(LockError::File(path, error))) => Err(SessionError::Lock { path, detail: error.to_string() }),
        // The task can only fail when the runtime shuts down.
        Err(_) => Err(StoreError::Stopped.into()),
    }
}
