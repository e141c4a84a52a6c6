//! Settings: one table of all settings, and the layers that set them.
//!
//! Defaults < the user's file < the project's file < environment < flags. [`load()`] is pure: from texts it
//! returns [`Settings`], the origin of every value, and warnings, or all errors at once. [`read_sources`] is
//! the only function that accesses the disk. Nothing here reads the process environment, prints, or decides
//! what a setting is used for. Called by `app` and `cli`; other code uses the plain fields of [`Settings`],
//! and the values that settings choose from ([`Mode`], [`ThinkingLevel`], [`Cap`], …), which are defined here.

mod cap;
mod check;
mod choices;
mod describe;
mod file;
mod inert;
mod load;
mod models;
mod places;
mod problem;
mod providers;
mod read;
mod save;
mod sections;
mod servers;
mod settings;
mod texts;
mod trust;
mod typed;
mod value;

pub use cap::{Cap, Scope, Unit};
pub use check::{Kind, SectionsOf, checked_url};
pub use choices::{
    Codec, ContainerNetwork, DecayConsent, DecayStrategy, Mode, Notify, SandboxChoice, SpanContent,
    ThemeChoice, ThinkingLevel, ThinkingStyle, WebAccess,
};
pub use describe::{as_json, describe};
pub use file::SourceFile;
pub use inert::INERT;
pub use load::{LoadedSettings, Sources, ValueWithSource, load};
pub use models::{ModelOverride, PriceOverride};
pub use places::{default_data_dir, user_file};
pub use problem::{ConfigError, ConfigWarning, NoEffect, Source, ValueProblem};
pub use providers::ProviderSettings;
pub use read::read_sources;
pub use save::{WriteError, edit_settings, section as settings_section};
pub use servers::{
    OAuthGrant, OAuthSettings, PROJECT_SERVERS, ProjectServers, SERVER_PRESETS, ServerApproval, ServerPreset,
    ServerSandbox, ServerScope, ServerSettings, ServerTransport, filled_in, project_servers, variables,
};
pub use settings::{ProjectTrust, SETTINGS, SettingRow, SettingTarget};
pub use texts::{
    INSTRUCTIONS, PROJECT_COMMANDS, PROJECT_KNOWLEDGE, markdown_below, read_bounded, read_inside,
};
pub use trust::{
    Contents, FolderTrust, PROJECT_FILES, PROJECT_MEMORIES, TrustRecord, changed_names, contents_of,
    is_as_trusted, is_readable, is_readable_text, names_folder, no_room_for_memory,
};
pub use typed::{MemorySettings, Settings, ShellSettings, TelemetrySettings, UndoSettings};
pub use value::{Key, Secret, SectionEntry, TableEntry, Value};

#[cfg(test)]
mod tests;
