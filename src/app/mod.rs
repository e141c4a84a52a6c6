//! The composition root: the only module that names concrete types of all layers and combines them. [`App`] is built
//! once, from [`crate::workspace::World`]. Used by `runtime` and by `cli`, which maps outcomes to exit codes; nothing
//! here prints.

mod build;

pub use self::build::{
    App, AppError, Tools, advice, advice_at_start, begin_store, builtin_tools, known_tools, listeners,
    memories, open_store, open_store_for_lists, open_store_to_read, otlp_options, plan_call, plan_context,
    schema_of, server_place, tools, undo_log, view_settings, web_words,
};
