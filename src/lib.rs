//! `co`: a full-screen terminal assistant with deferred approvals.

pub mod stdx;
pub mod config;
pub mod message;
pub mod approval;
pub mod history;
pub mod provider;
pub mod sandbox;
pub mod tool;
pub mod session;
pub mod store;
pub mod agent;
pub mod command;
pub mod frontend;
pub mod tui;
pub mod app;
pub mod cli;
