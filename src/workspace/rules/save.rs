//! Writes the user's own file of rules: appends or removes a rule, and leaves every other byte unchanged.
//!
//! Blocking. A change that would make the file unreadable is not written. A lock serializes processes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, value};

use super::{RuleBook, text_of};
use crate::approval::rules::{Rule, RuleProblem, RuleScope, RuleSet, RuleSource};
use crate::stdx::fs::{create_private_dir, lock_private, write_private};

/// A rule that was saved.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedRule {
    pub rule: Rule,
    /// Its text in the file, or in the session's records.
    pub text: String,
}

/// Why a rule was not saved or revoked. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SaveRuleError {
    #[error("{}", lines(problems))]
    Text { problems: Vec<RuleProblem> },
    #[error("it has {found} rules; save one at a time")]
    NotOne { found: usize },
    #[error("a session rule ends with the session; remove `expires`")]
    Expires,
    #[error("the rule `{id}` is already in the file; give this one another id")]
    Taken { id: String },
    #[error("the rules file has an error; fix it first: {}", lines(problems))]
    File { problems: Vec<RuleProblem> },
    #[error("{} cannot be written ({detail}); check its permissions", path.display())]
    Write { path: PathBuf, detail: String },
    #[error("there is no home folder for rules; set HOME")]
    NoHome,
    #[error("there is no rule `{id}`; `co rules list` shows their ids")]
    Unknown { id: String },
    #[error("the rule `{id}` is the project's ({}); remove it there", source_of)]
    OfProject { id: String, source_of: RuleSource },
}

fn lines(problems: &[RuleProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Saves one rule for its scope; a rule for a session is only checked, as it has no file.
pub fn save_rule(
    book: &RuleBook,
    text: &str,
    scope: RuleScope,
    folder: &Path,
) -> Result<SavedRule, SaveRuleError> {
    let checked = one_rule(text, book.home())?;
    match scope {
        RuleScope::Session if checked.expires.is_some() => Err(SaveRuleError::Expires),
        RuleScope::Session => {
            // The session's records are read without a home folder.
            let rule = one_rule(text, None)?;
            Ok(SavedRule { rule, text: text.to_owned() })
        }
        RuleScope::Project => append(book, &in_folder(text, folder)),
        RuleScope::User => append(book, text),
    }
}

/// Removes a rule from the user's own file.
pub fn revoke_rule(book: &RuleBook, id: &str, counting: &RuleSet) -> Result<Rule, SaveRuleError> {
    let path = book.user_file().ok_or(SaveRuleError::NoHome)?;
    let _turn = lock(book)?;
    let (text, rules) = current(book, path)?;
    let Some(at) = rules.iter().position(|rule| rule.id == id) else {
        return Err(match counting.rules.iter().find(|rule| rule.id == id) {
            Some(rule) => SaveRuleError::OfProject { id: id.to_owned(), source_of: rule.source.clone() },
            None => SaveRuleError::Unknown { id: id.to_owned() },
        });
    };
    let wrong = |error: toml_edit::TomlError| broken_file("the file".to_owned(), error.message().to_owned());
    let mut document: DocumentMut = text.parse().map_err(wrong)?;
    if let Some(Item::ArrayOfTables(tables)) = document.get_mut("rule") {
        tables.remove(at);
    }
    write(path, &document.to_string())?;
    rules.into_iter().nth(at).ok_or_else(|| SaveRuleError::Unknown { id: id.to_owned() })
}

/// Reads the text of one rule, which is in no file yet.
pub fn one_rule(text: &str, home: Option<&Path>) -> Result<Rule, SaveRuleError> {
    let rules = RuleSet::parse(text, &RuleSource::Session, home);
    let mut rules = rules.map_err(|problems| SaveRuleError::Text { problems })?;
    match (rules.len(), rules.pop()) {
        (1, Some(rule)) => Ok(rule),
        (found, _) => Err(SaveRuleError::NotOne { found }),
    }
}

/// Restricts the rule to one folder, if it names none.
pub(super) fn in_folder(text: &str, folder: &Path) -> String {
    let Ok(mut document) = text.parse::<DocumentMut>() else { return text.to_owned() };
    if let Some(Item::ArrayOfTables(tables)) = document.get_mut("rule") {
        for table in tables.iter_mut().filter(|table| !table.contains_key("folder")) {
            table.insert("folder", value(folder.display().to_string()));
        }
    }
    document.to_string()
}

fn append(book: &RuleBook, text: &str) -> Result<SavedRule, SaveRuleError> {
    let path = book.user_file().ok_or(SaveRuleError::NoHome)?;
    let _turn = lock(book)?;
    let (before, rules) = current(book, path)?;
    let rule = one_rule(text, book.home())?;
    if let Some(there) = rules.iter().find(|there| there.id == rule.id) {
        if there.to_string() == rule.to_string() {
            return Ok(SavedRule { rule: there.clone(), text: text.to_owned() });
        }
        return Err(SaveRuleError::Taken { id: rule.id });
    }
    let head = before.trim_end();
    let gap = if head.is_empty() { "" } else { "\n\n" };
    let whole = format!("{head}{gap}{}\n", text.trim());
    let mut saved = parse_rules(&whole, book, path)?;
    write(path, &whole)?;
    let rule = saved.pop().unwrap_or(rule);
    Ok(SavedRule { rule, text: text.to_owned() })
}

/// Reads the user's own file.
fn current(book: &RuleBook, path: &Path) -> Result<(String, Vec<Rule>), SaveRuleError> {
    let text =
        text_of(path).map_err(|what| broken_file(path.display().to_string(), what))?.unwrap_or_default();
    let rules = parse_rules(&text, book, path)?;
    Ok((text, rules))
}

fn parse_rules(text: &str, book: &RuleBook, path: &Path) -> Result<Vec<Rule>, SaveRuleError> {
    let source = RuleSource::User { path: path.to_owned(), line: 1 };
    RuleSet::parse(text, &source, book.home()).map_err(|problems| SaveRuleError::File { problems })
}

fn broken_file(place: String, what: String) -> SaveRuleError {
    SaveRuleError::File { problems: vec![RuleProblem { place, what }] }
}

/// Takes the lock; other processes wait until it is dropped.
fn lock(book: &RuleBook) -> Result<File, SaveRuleError> {
    let path = book.kept.join("lock");
    lock_private(&path).map_err(|error| SaveRuleError::Write { path, detail: error.to_string() })
}

/// Writes the file atomically, for its owner only; a symbolic link to it is kept.
fn write(path: &Path, text: &str) -> Result<(), SaveRuleError> {
    let failed =
        |error: std::io::Error| SaveRuleError::Write { path: path.to_owned(), detail: error.to_string() };
    if let Some(folder) = path.parent() {
        create_private_dir(folder).map_err(failed)?;
    }
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    write_private(&target, text.as_bytes()).map_err(failed)
}
