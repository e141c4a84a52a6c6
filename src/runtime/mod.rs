//! The owners of sessions: with an interactive front end ([`interactive`]) and without a user ([`headless`]); how a session
//! is opened, cleaned up and removed, the files, images and resources that a prompt mentions, the settings of tool servers,
//! and what is said of a session's state. Called by `cli` with what `app` built; nothing here draws or prints.

mod hooks;
mod opening;
mod orphans;
mod removal;
mod servers;
mod status;

pub mod headless;
pub mod images;
pub mod interactive;
pub mod mentions;

pub use self::opening::{OpenedSession, SessionTarget};
pub use self::orphans::{orphaned_processes, own_mark};
pub use self::removal::{remove_session, remove_sessions, retention};
pub use self::servers::{NewServer, add_server, remove_server, set_tools, switch_server};
pub use self::status::{SandboxStatus, Status};
