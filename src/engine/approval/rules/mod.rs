//! Rules: the user's permanent decisions for every tool, by tool name and arguments.
//!
//! Pure: parses rules from text and finds the rule that applies to a call. `app` reads and writes the files.
//!
//! A rules file is TOML with one `[[rule]]` after another. The first rule that applies counts; deny rules
//! come before ask rules, and those before allow rules. `example.toml` shows every key. A test of an argument
//! holds, fails, or is unknown because the argument is missing, of another type, or not understood. An
//! unknown test never allows a call, but makes it ask or denies it. For a list, an allow rule requires every
//! element to match, an ask or deny rule only one. A text with a mistake yields only [`RuleProblem`]s.

mod draft;
mod parse;
mod pattern;
mod predicate;
#[cfg(test)]
mod tests;
mod width;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::draft::draft;
pub use self::pattern::{Glob, Regex};
pub use self::predicate::{ArgTest, Predicate, Subject, Truth};
pub use self::width::{RuleWidth, widths};

use self::predicate::MatchQuantifier;
use crate::message::ToolName;
use crate::stdx::names::names;
use crate::tool::{Access, Origin, Risk, ToolSpec};

/// The format by example; a test checks the text.
pub const EXAMPLE: &str = include_str!("example.toml");

/// One rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The name used in reasons, unique among all active rules; made from the rule's text if none is given.
    pub id: String,
    pub effect: RuleEffect,
    /// One of these must match the tool's name.
    pub tools: Vec<Glob>,
    /// If set, only tools of servers whose name matches.
    pub server: Option<Glob>,
    /// For the model if it denies, for the user if it asks; of an allow rule, what it covers.
    pub reason: Option<String>,
    pub source: RuleSource,
    /// If set, only in this folder and below; absolute.
    pub folder: Option<PathBuf>,
    pub expires: Option<Timestamp>,
    /// How many calls it may answer; `None`: any number.
    pub uses: Option<u32>,
    /// The highest risk of the calls that it allows; `None`: any.
    pub risk: Option<Risk>,
    /// The tests of arguments; all must hold.
    pub args: Vec<ArgTest>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleEffect {
    Allow,
    Ask,
    Deny,
}

names! { RuleEffect, all { Allow = "allow", Ask = "ask", Deny = "deny", } }

impl RuleEffect {
    /// How many of several values must match.
    fn need(self) -> MatchQuantifier {
        match self {
            Self::Allow => MatchQuantifier::All,
            Self::Ask | Self::Deny => MatchQuantifier::One,
        }
    }
}

/// The source of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleSource {
    /// Allowed for the current session.
    Session,
    /// The user's own file.
    User { path: PathBuf, line: usize },
    /// A project's file; used only if the folder is trusted.
    Project { path: PathBuf, line: usize },
}

impl std::fmt::Display for RuleSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Session => f.write_str("this session"),
            Self::User { path, line } | Self::Project { path, line } => {
                write!(f, "{}:{line}", path.display())
            }
        }
    }
}

/// How long a rule saved at a card is in effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleScope {
    /// Until the end of the session.
    #[default]
    Session,
    /// In this folder, permanently.
    Project,
    /// Everywhere, permanently.
    User,
}

impl RuleScope {
    pub fn words(self) -> &'static str {
        match self {
            Self::Session => "for this session",
            Self::Project => "in this folder",
            Self::User => "everywhere",
        }
    }
}

/// Whether a rule applies to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit {
    /// It is about other tools or folders.
    Elsewhere,
    Applies,
    /// It applies because a test is unknown; the text says which.
    AppliesInDoubt(String),
    /// It does not apply; the text says which test failed or is unknown.
    Not(String),
}

/// A problem in a file or text of rules: where, what, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct RuleProblem {
    /// E.g. `~/.config/co/rules.toml:12`; for a text at a card, only the line.
    pub place: String,
    pub what: String,
}

/// All active rules, and whether their files could be read. Cheap to share.
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
    /// The rules are the last good ones, and every call asks; `because` is a sentence.
    Broken { because: String },
}

impl Rule {
    /// Returns whether the rule applies to a call.
    pub fn fit(&self, subject: &Subject<'_>) -> Fit {
        if !self.concerns(subject.tool, subject.origin, subject.folder) {
            return Fit::Elsewhere;
        }
        self.args_fit(subject)
    }

    /// Whether it is about this tool in this folder at all.
    fn concerns(&self, tool: &ToolName, origin: &Origin, folder: &Path) -> bool {
        let server = match (&self.server, origin) {
            (None, _) => true,
            (Some(_), Origin::Builtin) => false,
            (Some(glob), Origin::Server(name)) => glob.matches(name),
        };
        server
            && self.tools.iter().any(|glob| glob.matches(tool.as_str()))
            && self.folder.as_ref().is_none_or(|only| folder.starts_with(only))
    }

    fn args_fit(&self, subject: &Subject<'_>) -> Fit {
        let need = self.effect.need();
        let mut doubt = None;
        for test in &self.args {
            match test.truth(subject, need) {
                Truth::Holds => {}
                Truth::Fails => return Fit::Not(format!("not so: {test}")),
                Truth::Unknown => doubt = doubt.or(Some(format!("undecided: {test}"))),
            }
        }
        match (doubt, need) {
            (None, _) => Fit::Applies,
            (Some(doubt), MatchQuantifier::One) => Fit::AppliesInDoubt(doubt),
            (Some(doubt), MatchQuantifier::All) => Fit::Not(doubt),
        }
    }

    /// Why the rule, if it allows, does not cover calls of this risk; `None` if it does.
    pub fn falls_short(&self, risk: Risk) -> Option<&'static str> {
        match (self.effect, self.risk) {
            (RuleEffect::Ask | RuleEffect::Deny, _) => None,
            (RuleEffect::Allow, Some(most)) if risk > most => Some("it covers only calls of a lower risk"),
            (RuleEffect::Allow, _) if self.args.is_empty() && risk == Risk::High => {
                Some("it tests no argument, so it does not cover HIGH")
            }
            (RuleEffect::Allow, _) => None,
        }
    }

    /// The coverage of an allow rule, in a few words.
    pub fn coverage(&self) -> String {
        self.reason.clone().unwrap_or_else(|| self.to_string())
    }

    /// Counts an answered call; returns whether the rule may answer another one.
    pub(super) fn use_up(&mut self) -> bool {
        self.uses = self.uses.map(|uses| uses.saturating_sub(1));
        self.uses != Some(0)
    }

    /// Whether the rule applies judging by the arguments alone.
    fn fits_example(&self, args: &Value) -> bool {
        let anywhere = Path::new("/");
        let subject = Subject {
            tool: &ToolName::new("example"),
            origin: &Origin::Builtin,
            args,
            folder: self.folder.as_deref().unwrap_or(anywhere),
            access: &Access::Nothing,
        };
        match self.args_fit(&subject) {
            Fit::Applies | Fit::AppliesInDoubt(_) => true,
            Fit::Elsewhere | Fit::Not(_) => false,
        }
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tools: Vec<&str> = self.tools.iter().map(Glob::as_str).collect();
        write!(f, "{} {}", self.effect.word(), tools.join("|"))?;
        if let Some(server) = &self.server {
            write!(f, " of {}", server.as_str())?;
        }
        for (at, test) in self.args.iter().enumerate() {
            write!(f, "{} {test}", if at == 0 { ":" } else { "," })?;
        }
        if let Some(folder) = &self.folder {
            write!(f, "; in {}", folder.display())?;
        }
        if let Some(expires) = &self.expires {
            write!(f, "; until {expires}")?;
        }
        if let Some(risk) = self.risk {
            write!(f, "; up to {}", risk.word())?;
        }
        match self.uses {
            Some(1) => write!(f, "; once"),
            Some(uses) => write!(f, "; {uses} times"),
            None => Ok(()),
        }
    }
}

impl RuleSet {
    /// Parses the rules of a text. `source` says where the text is from; `~` in it means `home`.
    pub fn parse(
        text: &str,
        source: &RuleSource,
        home: Option<&Path>,
    ) -> Result<Vec<Rule>, Vec<RuleProblem>> {
        parse::rules(text, source, home)
    }

    /// Whether a rule denies the tool for any arguments, so that the model need not see it.
    pub fn hides(&self, spec: &ToolSpec, folder: &Path) -> bool {
        self.rules.iter().any(|rule| {
            rule.effect == RuleEffect::Deny
                && rule.args.is_empty()
                && rule.concerns(&spec.name, &spec.origin, folder)
        })
    }

    /// Returns the set without rules that have expired by `now`.
    #[must_use]
    pub fn at(&self, now: Timestamp) -> Self {
        let counts = |rule: &&Rule| rule.expires.is_none_or(|expires| now < expires);
        Self { rules: self.rules.iter().filter(counts).cloned().collect(), health: self.health.clone() }
    }

    /// Returns when the next rule expires.
    pub fn next_expiry(&self) -> Option<Timestamp> {
        self.rules.iter().filter_map(|rule| rule.expires).min()
    }

    /// Counts a call that a rule answered; removes the rule if it is used up.
    pub fn count(&mut self, id: &str) {
        self.rules.retain_mut(|rule| rule.id != id || rule.use_up());
    }

    /// Returns the set with the remaining uses of limited rules; `used` counts uses by rule id.
    #[must_use]
    pub fn after(&self, used: &BTreeMap<String, u32>) -> Self {
        let mut left = self.clone();
        for rule in &mut left.rules {
            let used = used.get(&rule.id).copied().unwrap_or(0);
            rule.uses = rule.uses.map(|uses| uses.saturating_sub(used));
        }
        left.rules.retain(|rule| rule.uses != Some(0));
        left
    }
}
