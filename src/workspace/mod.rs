//! The folder that a session works in: what the process was given there ([`World`]), whether the person trusts it, its
//! rules and hooks, and the policy that follows ([`Permissions`]).

mod hooks;
mod permissions;
pub mod rules;
pub mod trust;
mod world;

pub use self::hooks::{FoundHook, FoundHooks, HookFiles};
pub use self::permissions::Permissions;
pub use self::world::{World, load_settings};
