//! The report on a call, for people: stored with its return, never sent to a model.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ToolName;
use crate::stdx::moment::duration;

/// The report on a call. Stored: fields may only be added.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CallReport {
    /// Its outcome in a few words: "3 matches", "exit 3", by whom and why it was denied. Empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
    /// The lines it changed in a file, with their context; empty if it changed none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub change: Vec<DiffLine>,
    /// Whether it was shown only, in plan mode: `change` is what it would change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_planned: bool,
    /// The hunks of the change as it was asked, if only some of them were approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hunks_asked: Option<usize>,
    /// How long it ran, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
    /// The age in seconds of the kept result that it returned, if it did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_age: Option<u64>,
    /// The tool and the arguments that ran, if they are not those of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran: Option<(ToolName, Value)>,
}

impl CallReport {
    /// Says what came of the call: "+4 -4, 3 of 4 hunks applied", "12 files", "exit 3"; empty if nothing is known.
    pub fn outcome(&self) -> String {
        if self.change.is_empty() {
            return match self.cached_age {
                Some(age) if self.words.is_empty() => {
                    format!("kept result, {} old", duration(Duration::from_secs(age)))
                }
                Some(age) => {
                    format!("{}, kept result, {} old", self.words, duration(Duration::from_secs(age)))
                }
                None => self.words.clone(),
            };
        }
        let of = |kind: DiffKind| self.change.iter().filter(|line| line.kind == kind).count();
        let lines = format!("+{} -{}", of(DiffKind::Added), of(DiffKind::Removed));
        self.hunks().map_or(lines.clone(), |hunks| format!("{lines}, {hunks}"))
    }

    /// Says how many hunks were applied, if not all.
    pub fn hunks(&self) -> Option<String> {
        let applied = self.change.iter().filter(|line| line.kind == DiffKind::Hunk).count();
        self.hunks_asked.map(|of| format!("{applied} of {of} hunks applied"))
    }

    /// Creates what is kept of a call with this outcome; `None` if there are no words.
    pub fn from_words(words: String) -> Option<Box<Self>> {
        (!words.is_empty()).then(|| Box::new(Self { words, ..Self::default() }))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffLine {
    pub kind: DiffKind,
    /// Line number from 1: in the old text for removed lines, in the new one otherwise; for hunks, the first
    /// line in the new text.
    pub number: usize,
    /// The line without its line end.
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiffKind {
    /// The header of a hunk; `text` has its position.
    Hunk,
    Context,
    Added,
    Removed,
}
