//! Settings: one table of all settings, and the layers that set them.
//!
//! Defaults < the user's file < the project's file < environment < flags. [`load()`] is pure: from texts it
//! returns [`Settings`], the origin of every value, and warnings, or all errors at once. [`read_sources`] is
//! the only function that accesses the disk. Nothing here reads the process environment, prints, or decides
//! what a setting is used for. Called by `app` and `cli`; other code uses the plain fields of [`Settings`].

mod settings;

mod typed;

mod load;

mod models;

mod file;

mod value;

mod problem;

mod read;

mod describe;

mod trust;

mod providers;

pub use describe::{describe, reference_table};
pub use load::{FolderTrust, Loaded, SourceFile, Sources, ValueWithSource, load, user_file};
pub use models::{ModelOverride, ModelThinking, PriceOverride};
pub use problem::{ConfigError, ConfigWarning, Source, Wrong};
pub use providers::{ProviderEntry, ProviderSettings};
pub use read::read_sources;
pub use settings::{Field, Kind, LaterChoice, ProjectTrust, SETTINGS, SettingRow, Status};
pub use trust::{
    Contents, PROJECT_FILES, TrustRecord, contents_of, is_as_trusted, is_readable, is_readable_text,
    names_folder, read_bounded,
};
pub use typed::{
    CapSettings, Endpoint, Key, ModeName, Notify, Secret, Settings, ShellSettings, ThemeChoice, Thinking,
    WireName,
};
pub use value::{RecordEntry, TableEntry, Value, checked_url};

#[cfg(test)]
mod tests;
