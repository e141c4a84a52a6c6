//! Rules: what the person has decided for good, for every tool, by its name and its arguments.
//!
//! Pure: text in, rules out; rules and a call in, the one that applies out. Files are read and written by `app`.
//!
//! A rules file is TOML, one `[[rule]]` after the other; the first that applies counts, a deny before an ask before an
//! allow. `example.toml` shows every key. What a rule asks of an argument holds, fails, or cannot be told because the
//! argument is missing, of another type, or not understood: what cannot be told allows nothing, and is asked for or
//! denied. Of a list a rule that allows wants every element, one that asks or denies a single one. A text with a mistake
//! gives no rules at all, only [`RuleProblem`]s.

mod draft;
mod parse;
mod pattern;
mod predicate;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::draft::draft;
pub use self::pattern::{Glob, Regex};
pub use self::predicate::{ArgTest, Predicate, Truth, Wanted};

use self::predicate::Need;
use crate::message::ToolName;
use crate::tool::{Access, Origin, ToolSpec};

/// The format by example; the text is checked by the tests.
pub const EXAMPLE: &str = include_str!("example.toml");

/// One rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// How it is named in reasons, unique among all rules that count; made from its text where it has none.
    pub id: String,
    pub effect: RuleEffect,
    /// One of these matches the tool's name.
    pub tools: Vec<Glob>,
    /// Only tools of servers with such a name.
    pub server: Option<Glob>,
    /// For the model where it denies, for the person where it asks.
    pub reason: Option<String>,
    pub source: RuleSource,
    /// Only in this folder and below; absolute.
    pub folder: Option<PathBuf>,
    pub expires: Option<Timestamp>,
    /// How many calls it may answer; `None`: any number.
    pub uses: Option<u32>,
    /// What it asks of arguments; all of it.
    pub args: Vec<ArgTest>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleEffect {
    Allow,
    Ask,
    Deny,
}

impl RuleEffect {
    /// As it is written in files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    pub fn named(word: &str) -> Option<Self> {
        [Self::Allow, Self::Ask, Self::Deny].into_iter().find(|effect| effect.word() == word)
    }
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
    pub tool: &'a ToolName,
    pub origin: &'a Origin,
    pub args: &'a Value,
    /// The session's folder, to which paths in arguments are relative.
    pub folder: &'a Path,
    /// What the call touches, as far as its plan knows.
    pub access: &'a Access,
}

/// How a rule stands to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit {
    /// It is about other tools or folders.
    Elsewhere,
    Applies,
    /// It applies because nobody can tell that it does not; what could not be told.
    AppliesInDoubt(String),
    /// It does not apply; what was not so, or could not be told.
    Not(String),
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
            effect,
            tools: vec![Glob::exactly(tool.as_str())],
            server: None,
            reason: None,
            source: RuleSource::User { path: PathBuf::new(), line: 0 },
            folder: None,
            expires: None,
            uses: None,
            args: Vec::new(),
        }
    }

    /// How it stands to a call.
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
        let need = Need::from(self.effect);
        let mut doubt = None;
        for test in &self.args {
            match test.truth(subject, need) {
                Truth::Holds => {}
                Truth::Fails => return Fit::Not(format!("not so: {test}")),
                Truth::Unknown => doubt = doubt.or(Some(format!("cannot be told: {test}"))),
            }
        }
        match (doubt, need) {
            (None, _) => Fit::Applies,
            (Some(doubt), Need::One) => Fit::AppliesInDoubt(doubt),
            (Some(doubt), Need::All) => Fit::Not(doubt),
        }
    }

    /// It answered one more call; says whether it may answer another.
    pub(super) fn use_up(&mut self) -> bool {
        self.uses = self.uses.map(|uses| uses.saturating_sub(1));
        self.uses != Some(0)
    }

    /// Whether arguments alone are such that it applies.
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
        match self.uses {
            Some(1) => write!(f, "; once"),
            Some(uses) => write!(f, "; {uses} times"),
            None => Ok(()),
        }
    }
}

impl RuleSet {
    /// The rules of a text. `source` tells whose it is; `~` in it is `home`.
    pub fn parse(
        text: &str,
        source: &RuleSource,
        home: Option<&Path>,
    ) -> Result<Vec<Rule>, Vec<RuleProblem>> {
        parse::rules(text, source, home)
    }

    /// Whether a rule denies the tool whatever its arguments: the model need not see it.
    pub fn hides(&self, spec: &ToolSpec, folder: &Path) -> bool {
        self.rules.iter().any(|rule| {
            rule.effect == RuleEffect::Deny
                && rule.args.is_empty()
                && rule.concerns(&spec.name, &spec.origin, folder)
        })
    }

    /// Without the rules whose time is over; the same set where there are none.
    #[must_use]
    pub fn at(&self, now: Timestamp) -> Self {
        let counts = |rule: &&Rule| rule.expires.is_none_or(|expires| now < expires);
        Self { rules: self.rules.iter().filter(counts).cloned().collect(), health: self.health.clone() }
    }

    /// When the next of them drops out.
    pub fn next_expiry(&self) -> Option<Timestamp> {
        self.rules.iter().filter_map(|rule| rule.expires).min()
    }

    /// A rule answered one more call; one that is used up drops out.
    pub fn count(&mut self, id: &str) {
        self.rules.retain_mut(|rule| rule.id != id || rule.use_up());
    }

    /// With what is left of rules that may answer so many calls and no more; `used` counts by id.
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
