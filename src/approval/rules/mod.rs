//! Rules: what the person has decided for good, for every tool, by its name and its arguments.
//!
//! Pure: text in, rules out; rules and a call in, the one that applies out. Files are read and written by `app`.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::ToolName;
use crate::tool::ToolSpec;

/// One rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// How it is named in reasons, unique among all rules that count; made from its text where it has none.
    pub id: String,
    pub tool: ToolName,
    pub effect: RuleEffect,
    /// For the model where it denies, for the person where it asks.
    pub reason: Option<String>,
    pub source: RuleSource,
    /// Only in this folder and below; absolute.
    pub folder: Option<PathBuf>,
    pub expires: Option<Timestamp>,
    /// How many calls it may answer; `None`: any number.
    pub uses: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleEffect {
    Allow,
    Ask,
    Deny,
}

/// Where a rule is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleSource {
    /// Allowed for the session at hand.
    Session,
    /// The person's own file.
    User { path: PathBuf, line: usize },
    /// A project's file; counted only where the folder is trusted.
    Project { path: PathBuf, line: usize },
}

/// For how long a rule that is saved at a card counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleScope {
    /// To the end of the session.
    Session,
    /// In this folder, for good.
    Project,
    /// Everywhere, for good.
    User,
}

/// What rules are asked about.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub spec: &'a ToolSpec,
    pub args: &'a Value,
    /// The session's folder, to which paths in arguments are relative.
    pub folder: &'a Path,
}

/// Something wrong with a file or a text of rules: where, what, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct RuleProblem {
    /// e.g. `~/.config/co/rules.toml:12`; of a text at a card only the line.
    pub place: String,
    pub what: String,
}

/// All rules that count, and how sure that is. Cheap to share.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RuleSet {
    pub rules: Vec<Rule>,
    pub health: RulesHealth,
}

/// Whether the files could be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RulesHealth {
    #[default]
    Sound,
    /// The rules are the last good ones, and everything asks; why, in a sentence.
    Broken { because: String },
}

impl Rule {
    /// A rule of the person's own about a tool, whatever its arguments, for good.
    pub fn about(id: &str, tool: &ToolName, effect: RuleEffect) -> Self {
        Self {
            id: id.to_owned(),
            tool: tool.clone(),
            effect,
            reason: None,
            source: RuleSource::User { path: PathBuf::new(), line: 0 },
            folder: None,
            expires: None,
            uses: None,
        }
    }
}

impl RuleSet {
    /// The rules of a text. `source` tells where line 1 is.
    pub fn parse(_text: &str, _source: &RuleSource) -> Result<Vec<Rule>, Vec<RuleProblem>> {
        Ok(Vec::new())
    }

    /// The first rule of this effect that applies, in the order of the files.
    pub fn applying(&self, effect: RuleEffect, subject: &Subject<'_>) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.effect == effect && rule.tool == subject.spec.name)
    }

    /// Whether a rule denies the tool whatever its arguments: the model need not see it.
    pub fn hides(&self, spec: &ToolSpec, _folder: &Path) -> bool {
        self.rules.iter().any(|rule| rule.effect == RuleEffect::Deny && rule.tool == spec.name)
    }

    /// Without the rules whose time is over; the same set where there are none.
    #[must_use]
    pub fn at(&self, now: Timestamp) -> Self {
        let counts = |rule: &&Rule| rule.expires.is_none_or(|expires| now < expires);
        Self { rules: self.rules.iter().filter(counts).cloned().collect(), health: self.health.clone() }
    }
}
