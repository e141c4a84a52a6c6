//! Finds and opens the session of a run.

use crate::agent::driver::AgentEnv;
use crate::app::{App, AppError};
use crate::approval::Decider;
use crate::history::{History, SessionId};
use crate::session::{Session, SessionError};
use crate::store::{SessionFilter, StoreError};

/// The requested session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionTarget {
    New,
    /// The one with this id, which is begun if there is none; `--session-id`.
    Exactly(SessionId),
    /// The latest of this folder; `co -c`.
    Latest,
    /// The latest of this folder, resuming its open turn; `co resume`.
    ResumeLatest,
    /// The one whose id has this prefix, or the only one in which these words are found, resuming its open turn;
    /// `co resume ID|WORDS`.
    Resume(String),
}

/// A session that was found.
pub enum OpenedSession {
    Owned(Box<(Session, AgentEnv)>),
    /// Another process owns it: it is read-only, but its requests can be decided.
    ReadOnly {
        id: SessionId,
        history: Box<History>,
        holder: String,
    },
}

impl OpenedSession {
    pub fn id(&self) -> &SessionId {
        match self {
            Self::Owned(owned) => owned.0.id(),
            Self::ReadOnly { id, .. } => id,
        }
    }

    pub fn history(&self) -> &History {
        match self {
            Self::Owned(owned) => owned.0.history(),
            Self::ReadOnly { history, .. } => history,
        }
    }
}

impl SessionTarget {
    /// Whether an open turn is resumed once the session is open.
    pub fn resumes(&self) -> bool {
        !matches!(self, Self::New | Self::Exactly(_) | Self::Latest)
    }

    /// Whether the session was begun before.
    pub fn goes_on(&self) -> bool {
        !matches!(self, Self::New | Self::Exactly(_))
    }

    /// Opens the session, as its owner or read-only.
    pub async fn open(&self, app: &App, decider: Decider) -> Result<OpenedSession, AppError> {
        match self.open_owned(app, decider).await {
            Ok(owned) => Ok(OpenedSession::Owned(Box::new(owned))),
            Err(AppError::Session(SessionError::Owned { id, owner })) => {
                let history = Box::new(Session::read(&app.store, &id).await?);
                let holder = owner.map_or_else(|| "another co".to_owned(), |owner| owner.to_string());
                Ok(OpenedSession::ReadOnly { id, history, holder })
            }
            Err(error) => Err(error),
        }
    }

    /// Opens the session as its owner. Errs if another process owns it.
    pub async fn open_owned(&self, app: &App, decider: Decider) -> Result<(Session, AgentEnv), AppError> {
        let session = self.session(app).await?;
        let env = app.agent_env(&session, decider).await;
        Ok((session, env))
    }

    async fn session(&self, app: &App) -> Result<Session, AppError> {
        let (store, folder) = (&app.store, &app.world.workspace);
        let session = match self {
            Self::New => Session::create(store, folder).await,
            Self::Exactly(id) => Session::open_or_create(store, id.clone(), folder).await,
            Self::Latest | Self::ResumeLatest => {
                let latest = store.latest_session(folder).await?.ok_or(AppError::NoSession)?;
                Session::open(store, &latest).await
            }
            Self::Resume(words) => Session::open(store, &find_session(app, words).await?).await,
        };
        Ok(session?)
    }
}

/// The number of sessions that an ambiguous search names.
const NAMED: usize = 5;

/// Returns the session with this id, or the only one with these words in its title, or else in its conversation.
async fn find_session(app: &App, words: &str) -> Result<SessionId, AppError> {
    let unknown = match app.store.find_session(words).await {
        Ok(id) => return Ok(id),
        Err(error @ StoreError::NotFound { .. }) => error,
        Err(error) => return Err(error.into()),
    };
    let wanted = words.to_lowercase();
    let all = app.store.listed_sessions(SessionFilter::All, usize::MAX).await?;
    let titled = all
        .iter()
        .filter(|one| one.title.as_ref().is_some_and(|title| title.to_lowercase().contains(&wanted)));
    let mut found: Vec<(SessionId, Option<String>)> =
        titled.map(|one| (one.id.clone(), one.title.clone())).collect();
    if found.is_empty() {
        let hits = app.store.search(words, NAMED).await?;
        found = hits.into_iter().map(|one| (one.id, one.title)).collect();
    }
    match found.as_slice() {
        [] => Err(unknown.into()),
        [(id, _)] => Ok(id.clone()),
        many => Err(AppError::ManySessions {
            words: words.to_owned(),
            found: many
                .iter()
                .take(NAMED)
                .map(|(id, title)| format!("{id}  {}", title.as_deref().unwrap_or("untitled")))
                .collect(),
        }),
    }
}
