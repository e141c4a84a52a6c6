//! `co`: a full-screen terminal assistant with deferred approvals.

pub mod stdx;
pub mod message;
