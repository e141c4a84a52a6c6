//! The integration tests, one binary: each module is data plus one check.
#![expect(clippy::unwrap_used, reason = "a test that cannot unwrap has failed")]

mod assembled;
mod cli_approvals;
mod cli_keys;
mod cli_misuse;
mod cli_offline;
mod cli_print;
mod cli_screen;
mod co;
mod hunks;
mod interactive;
mod kills;
mod pitfalls;
mod provider_http;
mod readme;
mod recordings;
mod skip;
mod store_common;
mod store_races;
mod store_requests;
mod store_sessions;
mod terminal;
mod tidy;
mod tui_batch;
mod tui_find;
mod tui_form;
mod tui_keys;
mod tui_kit;
mod tui_panel;
mod tui_screens;
mod tui_select;
mod tui_update;
mod turns;
mod whole;
mod wire_fixtures;
