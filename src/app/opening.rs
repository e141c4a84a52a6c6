//! Finds and opens the session of a run.

use super::{App, AppError};
use crate::agent::driver::AgentEnv;
use crate::approval::Decider;
use crate::history::{History, SessionId};
use crate::session::{Session, SessionError};

/// The requested session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening {
    New,
    /// The latest of this folder; `co -c`.
    Latest,
    /// The latest of this folder, resuming its open turn; `co resume`.
    ResumeLatest,
    /// The one whose id has this prefix, resuming its open turn; `co resume ID`.
    Resume(String),
}

/// A session that was found.
pub enum Opened {
    Owned(Box<(Session, AgentEnv)>),
    /// Another process owns it: it is read-only, but its requests can be decided.
    Guest {
        id: SessionId,
        history: Box<History>,
        holder: String,
    },
}

impl Opened {
    pub fn id(&self) -> &SessionId {
        match self {
            Self::Owned(owned) => owned.0.id(),
            Self::Guest { id, .. } => id,
        }
    }

    pub fn history(&self) -> &History {
        match self {
            Self::Owned(owned) => owned.0.history(),
            Self::Guest { history, .. } => history,
        }
    }
}

impl Opening {
    /// Whether an open turn is resumed once the session is open.
    pub fn resumes(&self) -> bool {
        match self {
            Self::New | Self::Latest => false,
            Self::ResumeLatest | Self::Resume(_) => true,
        }
    }

    /// Opens the session, as its owner or read-only.
    pub async fn open(&self, app: &App, decider: Decider) -> Result<Opened, AppError> {
        let session = match self.find(app).await? {
            None => Session::create(&app.store, &app.world.workspace).await,
            Some(id) => Session::open(&app.store, &id).await,
        };
        match session {
            Ok(session) => {
                let env = app.agent_env(&session, decider).await;
                Ok(Opened::Owned(Box::new((session, env))))
            }
            Err(SessionError::Owned { id, owner }) => {
                let history = Box::new(Session::read(&app.store, &id).await?);
                let holder = owner.map_or_else(|| "another co".to_owned(), |owner| owner.to_string());
                Ok(Opened::Guest { id, history, holder })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the session as its owner. Errs if another process owns it.
    pub async fn open_owned(&self, app: &App, decider: Decider) -> Result<(Session, AgentEnv), AppError> {
        let session = match self.find(app).await? {
            None => Session::create(&app.store, &app.world.workspace).await?,
            Some(id) => Session::open(&app.store, &id).await?,
        };
        let env = app.agent_env(&session, decider).await;
        Ok((session, env))
    }

    async fn find(&self, app: &App) -> Result<Option<SessionId>, AppError> {
        match self {
            Self::New => Ok(None),
            Self::Latest | Self::ResumeLatest => {
                let latest = app.store.latest_session(&app.world.workspace).await?;
                latest.ok_or(AppError::NoSession).map(Some)
            }
            Self::Resume(prefix) => Ok(Some(app.store.find_session(prefix).await?)),
        }
    }
}
