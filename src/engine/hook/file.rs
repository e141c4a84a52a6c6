//! Parses a file of hooks: from its text to definitions with line numbers. Pure.
//!
//! All problems are reported at once, each with its line. Nothing is run and no other file is read. Called by
//! `app`, which reads the files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml_edit::{Document, Item, Key, Table, Value};

use super::HookEvent;
use crate::stdx::text::{nearest, sanitize_line, truncate};

/// Whether a file is the user's or the project's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookScope {
    User,
    Project,
}

/// The definition of one hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookDef {
    /// The given name, otherwise made from its program; unique in its file.
    pub name: String,
    /// In the order of [`HookEvent::ALL`], without duplicates.
    pub events: Vec<HookEvent>,
    /// Globs; empty = every tool.
    pub tools: Vec<String>,
    pub command: HookCommand,
    pub timeout: Duration,
    pub scope: HookScope,
    pub file: PathBuf,
    pub line: usize,
}

/// The command of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookCommand {
    /// A program and its arguments.
    Program { program: String, args: Vec<String> },
    /// A command line for `sh -c`.
    Shell { line: String },
}

impl std::fmt::Display for HookCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Program { program, args } => {
                f.write_str(program)?;
                args.iter().try_for_each(|arg| match arg.contains(char::is_whitespace) || arg.is_empty() {
                    true => write!(f, " {arg:?}"),
                    false => write!(f, " {arg}"),
                })
            }
            Self::Shell { line } => f.write_str(line),
        }
    }
}

/// A problem in a file of hooks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {what}", sanitize_line(&path.display().to_string()))]
pub struct HookProblem {
    pub path: PathBuf,
    pub line: usize,
    pub what: String,
}

/// Maximum number of hooks in one file.
const MOST_HOOKS: usize = 100;

/// Maximum characters of a name.
const LONGEST_NAME: usize = 64;

/// Default time limit of a hook; the next constant is the maximum, in seconds.
const USUAL_TIMEOUT: Duration = Duration::from_secs(10);
const LONGEST_TIMEOUT: u64 = 600;

const KEYS: [&str; 5] = ["name", "event", "tool", "command", "timeout"];

/// Parses the hooks of a text, in its order. On failure returns all problems.
pub fn parse(text: &str, path: &Path, scope: HookScope) -> Result<Vec<HookDef>, Vec<HookProblem>> {
    let mut reading = HookFileParser { text, path, problems: Vec::new() };
    let document = match Document::parse(text) {
        Ok(document) => document,
        Err(error) => {
            let what = format!("this is not valid TOML: {}", sanitize_line(error.message()));
            reading.problem(error.span().map_or(0, |span| span.start), what);
            return Err(reading.problems);
        }
    };
    let mut hooks: Vec<HookDef> = Vec::new();
    for (key, item) in document.as_table() {
        let at = position(document.as_table().key(key));
        match item.as_array_of_tables().filter(|_| key == "hook") {
            Some(tables) => hooks.extend(tables.iter().filter_map(|table| reading.hook(table, scope))),
            None if key == "hook" => {
                reading.problem(at, "`hook` is written as a section [[hook]] for each hook".to_owned());
            }
            None => {
                let what = format!("`{}` is not allowed here; hooks are [[hook]] sections", line_of(key));
                reading.problem(at, what);
            }
        }
    }
    if hooks.len() > MOST_HOOKS {
        reading.problem(0, format!("{} hooks found; at most {MOST_HOOKS} can run", hooks.len()));
    }
    reading.name(&mut hooks);
    if reading.problems.is_empty() { Ok(hooks) } else { Err(reading.problems) }
}

struct HookFileParser<'a> {
    text: &'a str,
    path: &'a Path,
    problems: Vec<HookProblem>,
}

impl HookFileParser<'_> {
    fn problem(&mut self, at: usize, what: String) {
        let line = self.line(at);
        self.problems.push(HookProblem { path: self.path.to_owned(), line, what });
    }

    /// The line of a byte offset, from 1.
    fn line(&self, at: usize) -> usize {
        let at = self.text.floor_char_boundary(at);
        self.text.split_at(at).0.matches('\n').count() + 1
    }

    /// Parses one section; `None` if it has a problem, which is recorded.
    fn hook(&mut self, table: &Table, scope: HookScope) -> Option<HookDef> {
        let before = self.problems.len();
        let at = table.span().map_or(0, |span| span.start);
        for (key, _) in table {
            if !KEYS.contains(&key) {
                let guess = nearest(key, KEYS).map(|name| format!(" (did you mean `{name}`?)"));
                let what =
                    format!("`{}` is not a field of a hook{}", line_of(key), guess.unwrap_or_default());
                self.problem(position(table.key(key)), what);
            }
        }
        let name = field(table, "name").and_then(|(at, item)| self.given_name(item, at));
        let events = self.events(table, at);
        let tools = self.tools(table, &events);
        let command = self.command(table, at);
        let timeout = self.timeout(table);
        (self.problems.len() == before).then_some(HookDef {
            name: name.unwrap_or_default(),
            events,
            tools,
            command: command?,
            timeout,
            scope,
            file: self.path.to_owned(),
            line: self.line(at),
        })
    }

    fn given_name(&mut self, item: &Item, at: usize) -> Option<String> {
        let good = |name: &&str| {
            let fits = (1..=LONGEST_NAME).contains(&name.chars().count());
            fits && name.chars().all(is_of_a_name) && HookEvent::named(name).is_none()
        };
        let name = item.as_str().filter(good).map(str::to_owned);
        if name.is_none() {
            let what = format!(
                "`name` must be at most {LONGEST_NAME} letters, digits, `-`, `_` and `.`, and not the name of an event"
            );
            self.problem(at, what);
        }
        name
    }

    fn events(&mut self, table: &Table, at: usize) -> Vec<HookEvent> {
        let Some((at, item)) = field(table, "event") else {
            self.problem(
                at,
                format!("a hook needs `event`: one of {}, or a list of them", events_in_words()),
            );
            return Vec::new();
        };
        let mut found = BTreeSet::new();
        for word in self.texts(item, "event", at) {
            match HookEvent::named(&word) {
                Some(event) => drop(found.insert(event)),
                None => {
                    let guess = nearest(&word, HookEvent::NAMES.iter().copied());
                    let guess = guess.map(|word| format!("; did you mean `{word}`?")).unwrap_or_default();
                    self.problem(at, format!("there is no event `{}`{guess}", line_of(&word)));
                }
            }
        }
        found.into_iter().collect()
    }

    fn tools(&mut self, table: &Table, events: &[HookEvent]) -> Vec<String> {
        let Some((at, item)) = field(table, "tool") else { return Vec::new() };
        if !events.is_empty() && !events.iter().any(|event| event.is_about_a_call()) {
            let what = "`tool` is only for PreToolUse, PostToolUse and PostToolUseFailure".to_owned();
            self.problem(at, what);
        }
        let tools = self.texts(item, "tool", at);
        for glob in &tools {
            if let Err(error) = globset::Glob::new(glob) {
                let what = format!(
                    "`{}` is not a valid pattern: {}",
                    line_of(glob),
                    sanitize_line(&error.to_string())
                );
                self.problem(at, what);
            }
        }
        tools
    }

    fn command(&mut self, table: &Table, at: usize) -> Option<HookCommand> {
        let Some((at, item)) = field(table, "command") else {
            let what = "a hook needs `command`: [\"program\", \"argument\"], or a string for `sh -c`";
            self.problem(at, what.to_owned());
            return None;
        };
        if let Some(line) = item.as_str() {
            if line.trim().is_empty() || line.contains('\0') {
                self.problem(at, "`command` is empty, or contains a zero byte".to_owned());
                return None;
            }
            return Some(HookCommand::Shell { line: line.to_owned() });
        }
        let mut words = self.texts(item, "command", at).into_iter();
        let program = words.next()?;
        if program.trim().is_empty()
            || program.contains('\0')
            || words.as_slice().iter().any(|word| word.contains('\0'))
        {
            self.problem(at, "`command` has no program, or contains a zero byte".to_owned());
            return None;
        }
        Some(HookCommand::Program { program, args: words.collect() })
    }

    fn timeout(&mut self, table: &Table) -> Duration {
        let Some((at, item)) = field(table, "timeout") else { return USUAL_TIMEOUT };
        let seconds = item.as_integer().and_then(|seconds| u64::try_from(seconds).ok());
        let seconds = seconds.filter(|seconds| (1..=LONGEST_TIMEOUT).contains(seconds));
        if seconds.is_none() {
            let what = format!("`timeout` must be a whole number of seconds from 1 to {LONGEST_TIMEOUT}");
            self.problem(at, what);
        }
        seconds.map_or(USUAL_TIMEOUT, Duration::from_secs)
    }

    /// A text, or a list of at least one text.
    fn texts(&mut self, item: &Item, key: &str, at: usize) -> Vec<String> {
        let texts: Option<Vec<String>> = match item.as_array() {
            Some(array) => array.iter().map(|one| one.as_str().map(str::to_owned)).collect(),
            None => item.as_value().and_then(Value::as_str).map(|text| vec![text.to_owned()]),
        };
        let texts = texts.unwrap_or_default();
        if texts.is_empty() {
            self.problem(at, format!("`{key}` must be a string or a list of strings"));
        }
        texts
    }

    /// Names the hooks that have no name; a duplicate name is a problem.
    fn name(&mut self, hooks: &mut [HookDef]) {
        let mut taken = BTreeSet::new();
        for hook in hooks.iter().filter(|hook| !hook.name.is_empty()) {
            if !taken.insert(hook.name.clone()) {
                let what = format!("another hook of this file is named `{}` too", hook.name);
                self.problems.push(HookProblem { path: self.path.to_owned(), line: hook.line, what });
            }
        }
        for hook in hooks.iter_mut().filter(|hook| hook.name.is_empty()) {
            let stem = after_program(&hook.command);
            let names = std::iter::once(stem.clone()).chain((2..).map(|number| format!("{stem}-{number}")));
            hook.name = names.into_iter().find(|name| taken.insert(name.clone())).unwrap_or(stem);
        }
    }
}

fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// A name made from the program's name.
fn after_program(command: &HookCommand) -> String {
    let program = match command {
        HookCommand::Program { program, .. } => program.as_str(),
        HookCommand::Shell { line } => line.split_whitespace().next().unwrap_or_default(),
    };
    let stem = Path::new(program).file_stem().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
    let name: String = stem.chars().filter(|c| is_of_a_name(*c)).take(LONGEST_NAME - 4).collect();
    let is_free = !name.is_empty() && HookEvent::named(&name).is_none();
    if is_free { name } else { "hook".to_owned() }
}

fn events_in_words() -> String {
    HookEvent::NAMES.join(", ")
}

fn line_of(text: &str) -> String {
    truncate(&sanitize_line(text), 60)
}

/// Returns a field of a hook, and where its key is.
fn field<'t>(table: &'t Table, key: &str) -> Option<(usize, &'t Item)> {
    let (key, item) = table.get_key_value(key)?;
    Some((position(Some(key)), item))
}

fn position(key: Option<&Key>) -> usize {
    key.and_then(Key::span).map_or(0, |span| span.start)
}
