//! The workspace of a session: the environment of the process ([`World`]), the trust in its folder, its rules, hooks,
//! tool servers, texts for the model ([`Prompts`]) and commands, and the resulting policy ([`Permissions`]).

mod commands;
mod entered;
mod hooks;
mod knowledge;
mod memory;
mod permissions;
mod project_memories;
mod prompts;
mod reported;
pub mod rules;
mod servers;
pub mod trust;
mod world;

pub use self::commands::command_files;
pub use self::entered::TrustedFolders;
pub use self::hooks::{FoundHook, FoundHooks, HookFiles};
pub use self::memory::MemoryFolder;
pub use self::permissions::Permissions;
pub use self::project_memories::TrustedProjects;
pub use self::prompts::Prompts;
pub use self::servers::{agree_to_server, check_content, held_notice, load_settings};
pub use self::world::World;
