//! Which session a run is about, and getting hold of it.

use super::{App, AppError};
use crate::agent::driver::AgentEnv;
use crate::approval::Decider;
use crate::history::{History, SessionId};
use crate::session::{Session, SessionError};

/// The session a person asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening {
    New,
    /// The latest of this folder; `co -c`.
    Latest,
    /// The latest of this folder, whose open turn goes on; `co resume`.
    ResumeLatest,
    /// The one whose id begins so, whose open turn goes on; `co resume ID`.
    Resume(String),
}

/// A session that was found.
pub enum Opened {
    Owned(Box<(Session, AgentEnv)>),
    /// Another process owns it: it can be looked at, and its requests decided.
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
    /// Whether an open turn goes on by itself once the session is open.
    pub fn resumes(&self) -> bool {
        match self {
            Self::New | Self::Latest => false,
            Self::ResumeLatest | Self::Resume(_) => true,
        }
    }

    /// The session, owned or to be looked at.
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

    /// The session, which must be free.
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
