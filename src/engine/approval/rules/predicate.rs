//! The tests that a rule applies to one argument. A test holds, fails, or is unknown.
//!
//! Pure. An unknown test never allows a call, and never prevents an ask or a deny.

use std::path::{Path, PathBuf};

use reqwest::Url;
use serde_json::{Number, Value};

use super::pattern::{Glob, Regex};
use crate::approval::command_words::{follows_harmlessly, says_more};
use crate::bash::{self, Invocation};
use crate::message::ToolName;
use crate::stdx::paths::{display_relative, normalize};
use crate::tool::{Access, Origin};

/// A call, as rules see it.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub tool: &'a ToolName,
    pub origin: &'a Origin,
    pub args: &'a Value,
    /// The session's folder; paths in arguments are relative to it.
    pub folder: &'a Path,
    /// The things that the call touches, as far as its plan knows.
    pub access: &'a Access,
}

/// The result of a test, the least certain to allow first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truth {
    Fails,
    /// The argument is missing, of another type, or not understood.
    Unknown,
    Holds,
}

/// How many of several values must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchQuantifier {
    /// To allow, all must match.
    All,
    /// To ask or deny, one is enough.
    One,
}

impl MatchQuantifier {
    fn of(self, truths: impl Iterator<Item = Truth>) -> Truth {
        match self {
            Self::All => truths.min().unwrap_or(Truth::Unknown),
            Self::One => truths.max().unwrap_or(Truth::Fails),
        }
    }
}

/// A test of the argument at a path.
#[derive(Debug, Clone, PartialEq)]
pub struct ArgTest {
    /// The field names that lead to it; arrays on the way stand for each of their elements.
    pub path: Vec<String>,
    pub predicate: Predicate,
}

/// One predicate.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// One of these texts, numbers or booleans; a plain value is a list of one.
    OneOf(Vec<Value>),
    Glob(Glob),
    Regex(Regex),
    /// A path in this folder or the folder itself, without following links.
    Inside(PathBuf),
    /// The host of a URL or of a mail address.
    Host(Glob),
    /// The first words of programs, each with alternatives; any of these lists.
    Words(Vec<Vec<Vec<Glob>>>),
    Bounds {
        min: Option<f64>,
        max: Option<f64>,
    },
    /// Missing, null, or without content; `false`: the opposite.
    Empty(bool),
}

impl ArgTest {
    /// The argument's own name.
    fn name(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }

    /// Why an allow rule may not use this test: it would also hold if only a part of a command matches.
    pub(super) fn allows_too_much(&self) -> Option<&'static str> {
        let Predicate::Regex(regex) = &self.predicate else { return None };
        (COMMANDS.contains(&self.name()) && !regex.is_whole()).then_some(
            "to allow a command, a regex must match all of it: begin it with `^` and end it with `$`, or use `words`",
        )
    }

    pub(super) fn truth(&self, subject: &Subject<'_>, need: MatchQuantifier) -> Truth {
        let mut found = Vec::new();
        let is_everywhere = reach(subject.args, &self.path, &mut found);
        match (&self.predicate, is_everywhere) {
            (Predicate::Empty(wanted), _) => truth_of(found.iter().all(|value| is_empty(value)) == *wanted),
            (_, false) => Truth::Unknown,
            (predicate, true) => need.of(found
                .iter()
                .flat_map(|value| elements(value))
                .map(|value| predicate.truth(value, &Argument { name: self.name(), subject, need }))),
        }
    }
}

/// Finds what is at a path; returns whether the path exists in every element.
fn reach<'a>(value: &'a Value, path: &[String], found: &mut Vec<&'a Value>) -> bool {
    let Some((name, rest)) = path.split_first() else {
        found.push(value);
        return true;
    };
    match value {
        Value::Object(fields) => fields.get(name).is_some_and(|inner| reach(inner, rest, found)),
        Value::Array(elements) => {
            let all: Vec<bool> = elements.iter().map(|element| reach(element, path, found)).collect();
            !all.contains(&false)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The elements of an array, nested ones included, or the value itself.
fn elements(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(inner) => inner.iter().flat_map(elements).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => vec![value],
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(elements) => elements.iter().all(is_empty),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Names of arguments that are command lines.
pub(super) const COMMANDS: &[&str] = &["command", "script"];

/// Names of arguments that are paths, used if the plan does not say.
pub(super) const PATHS: &[&str] = &["dir", "directory", "file", "file_path", "filename", "folder", "path"];

/// The input of a predicate besides the value that it tests.
struct Argument<'a> {
    name: &'a str,
    subject: &'a Subject<'a>,
    need: MatchQuantifier,
}

impl Argument<'_> {
    /// Files and folders that the plan found.
    fn plan_paths(&self) -> Vec<&PathBuf> {
        self.subject
            .access
            .paths()
            .into_iter()
            .flat_map(|(reads, writes)| reads.iter().chain(writes))
            .collect()
    }

    /// The path that a text means, if the argument is one.
    fn path(&self, text: &str) -> Option<PathBuf> {
        if text.is_empty() || text.contains('\0') {
            return None;
        }
        let path = normalize(&self.subject.folder.join(text));
        (PATHS.contains(&self.name) || self.plan_paths().contains(&&path)).then_some(path)
    }

    /// Applies a text test to the file that is meant. To ask or deny, any of its spellings may match; to
    /// allow, its own path must.
    fn of_path(&self, text: &str, path: &Path, test: impl Fn(&str) -> bool) -> Truth {
        let named = |path: &Path| {
            let shown = display_relative(self.subject.folder, path);
            // A rule may write a path relative to the session's folder: `./a`.
            let from_here = !shown.starts_with(['/', '.']) && test(&format!("./{shown}"));
            from_here || test(&shown) || test(&path.display().to_string())
        };
        let touched = self.plan_paths();
        match self.need {
            MatchQuantifier::One => {
                truth_of(test(text) || named(path) || touched.iter().any(|path| named(path)))
            }
            // A link leads elsewhere.
            MatchQuantifier::All
                if !touched.is_empty() && !touched.iter().any(|touched| *touched == path) =>
            {
                Truth::Unknown
            }
            MatchQuantifier::All => truth_of(named(path)),
        }
    }

    /// Applies a test to the whole text of each command of a line, for allow rules. A line that is not only
    /// plain commands is unknown.
    fn of_commands(&self, script: &str, test: impl Fn(&str) -> bool) -> Truth {
        let Some(invocations) = bash::invocations(script).filter(|all| !all.is_empty()) else {
            return Truth::Unknown;
        };
        let written = |one: &Invocation| one.written.join(" ");
        let substitutes =
            invocations.iter().flat_map(|one| &one.written).any(|word| word.contains(['$', '`']));
        if says_more(script) || substitutes {
            return Truth::Unknown;
        }
        MatchQuantifier::All.of(invocations.iter().map(|one| truth_of(test(&written(one)))))
    }

    fn of_text(&self, text: &str, test: impl Fn(&str) -> bool, whole: impl Fn(&str) -> bool) -> Truth {
        if let Some(path) = self.path(text) {
            return self.of_path(text, &path, test);
        }
        // A path may leave the folder that its text seems to name.
        let climbs = text.split('/').any(|part| part == "..");
        match self.need {
            MatchQuantifier::All if COMMANDS.contains(&self.name) => self.of_commands(text, whole),
            MatchQuantifier::One if test(text) => Truth::Holds,
            MatchQuantifier::All | MatchQuantifier::One if climbs => Truth::Unknown,
            MatchQuantifier::All | MatchQuantifier::One => truth_of(test(text)),
        }
    }
}

impl Predicate {
    fn truth(&self, value: &Value, argument: &Argument<'_>) -> Truth {
        let Argument { subject, need, .. } = *argument;
        match (self, value) {
            (Self::OneOf(wanted), Value::String(text)) if argument.path(text).is_some() => {
                let same = |text: &str| {
                    let path = |text: &str| normalize(&subject.folder.join(text));
                    wanted.iter().filter_map(Value::as_str).any(|wanted| path(wanted) == path(text))
                };
                argument.of_text(text, same, same)
            }
            (Self::OneOf(wanted), value) => one_of(wanted, value),
            (Self::Glob(glob), Value::String(text)) => {
                argument.of_text(text, |text| glob.matches(text), |text| glob.matches(text))
            }
            (Self::Regex(regex), Value::String(text)) => {
                argument.of_text(text, |text| regex.matches(text), |text| regex.matches_whole(text))
            }
            (Self::Inside(folder), Value::String(text)) => inside(folder, text, argument),
            (Self::Host(glob), Value::String(text)) => {
                host(text).map_or(Truth::Unknown, |host| truth_of(glob.matches(&host)))
            }
            (Self::Words(choices), Value::String(script)) => begins_with_words(choices, script, need),
            (Self::Bounds { min, max }, Value::Number(number)) => bounds(*min, *max, number),
            (
                Self::Glob(_)
                | Self::Regex(_)
                | Self::Inside(_)
                | Self::Host(_)
                | Self::Words(_)
                | Self::Bounds { .. }
                | Self::Empty(_),
                _,
            ) => Truth::Unknown,
        }
    }
}

fn truth_of(so: bool) -> Truth {
    if so { Truth::Holds } else { Truth::Fails }
}

fn one_of(wanted: &[Value], value: &Value) -> Truth {
    let one = |wanted: &Value| match (wanted, value) {
        (Value::String(a), Value::String(b)) => truth_of(a == b),
        (Value::Bool(a), Value::Bool(b)) => truth_of(a == b),
        (Value::Number(a), Value::Number(b)) => truth_of(same_number(a, b)),
        (_, _) => Truth::Unknown,
    };
    let truths: Vec<Truth> = wanted.iter().map(one).collect();
    if truths.contains(&Truth::Holds) {
        Truth::Holds
    } else if truths.contains(&Truth::Fails) {
        Truth::Fails
    } else {
        Truth::Unknown
    }
}

fn same_number(a: &Number, b: &Number) -> bool {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => a == b,
        (Some(_), None) | (None, Some(_)) | (None, None) => a.as_f64() == b.as_f64(),
    }
}

fn bounds(min: Option<f64>, max: Option<f64>, number: &Number) -> Truth {
    let Some(number) = number.as_f64() else { return Truth::Unknown };
    truth_of(min.is_none_or(|min| number >= min) && max.is_none_or(|max| number <= max))
}

/// Whether a path is in a folder, by its text and by what the plan found that it touches.
fn inside(folder: &Path, text: &str, argument: &Argument<'_>) -> Truth {
    if text.is_empty() || text.contains('\0') || text.starts_with('~') {
        return Truth::Unknown;
    }
    let subject = argument.subject;
    let folder = normalize(&subject.folder.join(folder));
    let path = normalize(&subject.folder.join(text));
    let written = path.starts_with(&folder);
    let touched = argument.plan_paths();
    match argument.need {
        MatchQuantifier::One => {
            truth_of(written || touched.iter().any(|touched| touched.starts_with(&folder)))
        }
        // A link leads elsewhere.
        MatchQuantifier::All if written && !touched.is_empty() && !touched.contains(&&path) => Truth::Unknown,
        MatchQuantifier::All => truth_of(written),
    }
}

/// Returns the host of `https://host/…`, `name@host` or `host`, in lower case.
pub(super) fn host(text: &str) -> Option<String> {
    let host = if text.contains("://") {
        Url::parse(text).ok()?.host_str()?.to_owned()
    } else {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+' | '@');
        let host = match text.split_once('@') {
            Some((name, host)) if !name.is_empty() => host,
            Some(_) => return None,
            None => text,
        };
        if host.is_empty() || host.contains('@') || !text.chars().all(plain) {
            return None;
        }
        host.to_owned()
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    (!host.is_empty()).then_some(host)
}

fn begins_with_words(choices: &[Vec<Vec<Glob>>], script: &str, need: MatchQuantifier) -> Truth {
    let Some(invocations) = bash::invocations(script) else { return Truth::Unknown };
    if need == MatchQuantifier::All && says_more(script) {
        return Truth::Unknown;
    }
    let one = |invocation: &Invocation| {
        let begins = |choice: &Vec<Vec<Glob>>| match (begins(choice, invocation, need), need) {
            (Truth::Holds, MatchQuantifier::All)
                if !follows_harmlessly(invocation, choice.len(), &invocations) =>
            {
                Truth::Unknown
            }
            (truth, _) => truth,
        };
        MatchQuantifier::One.of(choices.iter().map(begins))
    };
    // To ask or deny: text that runs from elsewhere may contain the words too.
    let elsewhere = need == MatchQuantifier::One && invocations.iter().any(bash::runs_other_text);
    match need.of(invocations.iter().map(one)) {
        Truth::Fails if elsewhere => Truth::Unknown,
        truth => truth,
    }
}

/// Whether a program is called with these first words. To ask or deny, flags before the subcommand of `git`
/// are skipped.
fn begins(choice: &[Vec<Glob>], invocation: &Invocation, need: MatchQuantifier) -> Truth {
    let as_said = begin_with(choice, &invocation.words, need);
    match (as_said, need) {
        (Truth::Fails, MatchQuantifier::One) => {
            begin_with(choice, &without_git_flags(&invocation.words), need)
        }
        (truth, _) => truth,
    }
}

/// The words of a `git` command without flags before the subcommand.
fn without_git_flags(words: &[Option<String>]) -> Vec<Option<String>> {
    const VALUED: [&str; 6] = ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--attr-source"];
    let is_git = words
        .first()
        .is_some_and(|word| word.as_deref().is_some_and(|word| word.rsplit('/').next() == Some("git")));
    let mut at = 1;
    while is_git
        && words.get(at).is_some_and(|word| word.as_deref().is_some_and(|word| word.starts_with('-')))
    {
        at += if words[at].as_deref().is_some_and(|flag| VALUED.contains(&flag)) { 2 } else { 1 };
    }
    words.iter().take(1).chain(words.get(at..).unwrap_or_default()).cloned().collect()
}

fn begin_with(choice: &[Vec<Glob>], words: &[Option<String>], need: MatchQuantifier) -> Truth {
    let said_at = |(at, globs): (usize, &Vec<Glob>)| match words.get(at) {
        None => Truth::Fails,
        Some(None) => Truth::Unknown,
        Some(Some(word)) => truth_of(globs.iter().any(|glob| {
            // `/bin/rm` counts as `rm` to ask or deny, but not to allow.
            let base = word.rsplit('/').next().unwrap_or(word);
            glob.matches(word) || (at == 0 && need == MatchQuantifier::One && glob.matches(base))
        })),
    };
    MatchQuantifier::All.of(choice.iter().enumerate().map(said_at))
}

impl std::fmt::Display for ArgTest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { path, predicate } = self;
        write!(f, "{} {predicate}", path.join("."))
    }
}

impl std::fmt::Display for Predicate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OneOf(values) => match values.as_slice() {
                [one] => write!(f, "= {one}"),
                many => {
                    let many: Vec<String> = many.iter().map(ToString::to_string).collect();
                    write!(f, "one of {}", many.join(", "))
                }
            },
            Self::Glob(glob) => write!(f, "like {}", glob.as_str()),
            Self::Regex(regex) => write!(f, "~ {}", regex.as_str()),
            Self::Inside(folder) => write!(f, "inside {}", folder.display()),
            Self::Host(glob) => write!(f, "at {}", glob.as_str()),
            Self::Words(choices) => {
                let word = |globs: &Vec<Glob>| globs.iter().map(Glob::as_str).collect::<Vec<_>>().join("|");
                let words = |choice: &Vec<Vec<Glob>>| choice.iter().map(word).collect::<Vec<_>>().join(" ");
                write!(f, "`{} …`", choices.iter().map(words).collect::<Vec<_>>().join(" …` or `"))
            }
            Self::Bounds { min: Some(min), max: Some(max) } => write!(f, "from {min} to {max}"),
            Self::Bounds { min: Some(min), max: None } => write!(f, "at least {min}"),
            Self::Bounds { min: None, max: Some(max) } => write!(f, "at most {max}"),
            Self::Bounds { min: None, max: None } => f.write_str("a number"),
            Self::Empty(wanted) => f.write_str(if *wanted { "empty" } else { "not empty" }),
        }
    }
}
