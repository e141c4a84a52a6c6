//! The full screen: a model that is plain data, `update` that changes it, `view` that draws it, a thin shell.
//!
//! `run` gets its ends of the link to the session's owner from its caller; only `shell` knows the terminal.
//! Lines, decisions and interrupts go to the owner as `ClientRequest`s; nothing is decided here.

pub mod auto_focus;
pub mod batch;
mod bordered_box;
pub mod cap;
pub mod cards;
pub mod cells;
pub mod completion;
pub mod composer;
pub mod copied;
mod exit;
pub mod find;
pub mod form;
mod fuzzy;
pub mod hunks;
pub mod line;
pub mod link;
pub mod list;
pub mod markdown;
pub mod panel;
pub mod press;
pub mod rule;
mod screen;
pub mod selection;
mod shell;
pub mod steps;
pub mod transcript;

pub mod key;
pub mod keys;
pub mod model;
pub mod msg;
pub mod theme;
mod update;
mod view;

pub use self::cells::{Fold, Motion};
pub use self::exit::ExitLines;
pub use self::model::Model;
pub use self::msg::{Cmd, Input, MouseMode};
pub use self::shell::{Call, Host, TuiError, TuiLink, TuiOptions, run};
pub use self::theme::{Glyphs, TerminalEnv, Theme};
pub use self::update::update;
pub use self::view::paint;
