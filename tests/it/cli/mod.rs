//! The command line: the real binary, its output and exit codes.

pub mod approvals;
pub mod approvals_decide;
pub mod approvals_edit;
pub mod approvals_kit;
pub mod approvals_list;
pub mod approvals_reading;
pub mod approvals_watch;
pub mod audit;
pub mod auth;
pub mod fallback;
pub mod help;
pub mod hooks;
pub mod keys;
pub mod lists_json;
pub mod mcp;
pub mod misuse;
pub mod models;
pub mod offline;
pub mod print;
pub mod rules;
pub mod screen;
pub mod sessions;
pub mod trust;
pub mod usage;
