//! Parses rules from TOML: every mistake is reported with its line and what to do, and none is skipped.
//!
//! Pure; `args.rs` parses the tests of arguments. A text with one mistake yields no rules at all, because a
//! deny must not be lost silently.

mod args;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;
use toml_edit::{Document, Item, Table, TomlError};

use super::pattern::Glob;
use super::predicate::ArgTest;
use super::{Rule, RuleEffect, RuleProblem, RuleSource};
use crate::stdx::fs::fingerprint;
use crate::stdx::paths::normalize;
use crate::stdx::text;
use crate::tool::Risk;

/// Maximum bytes of one file.
const LONGEST: usize = 1 << 20;
/// Maximum rules in one file: each call is compared with all of them.
const MOST: usize = 1_000;
/// Maximum characters of file content quoted in a problem.
const SHOWN: usize = 60;

const KEYS: &[&str] = &[
    "id", "effect", "tool", "server", "reason", "folder", "expires", "uses", "risk", "match", "no_match",
    "args",
];
const PREDICATES: &[&str] = &["one_of", "glob", "regex", "inside", "host", "words", "min", "max", "empty"];

/// Parses the rules of a text. `~` in it means `home`.
pub(super) fn rules(
    text: &str,
    source: &RuleSource,
    home: Option<&Path>,
) -> Result<Vec<Rule>, Vec<RuleProblem>> {
    let mut reading = RuleParser { text, source, home, problems: Vec::new() };
    let rules = reading.document();
    if reading.problems.is_empty() { Ok(rules) } else { Err(reading.problems) }
}

struct RuleParser<'a> {
    text: &'a str,
    source: &'a RuleSource,
    home: Option<&'a Path>,
    problems: Vec<RuleProblem>,
}

impl RuleParser<'_> {
    fn document(&mut self) -> Vec<Rule> {
        if self.text.len() > LONGEST {
            let what = format!("it has {} bytes, the limit is {LONGEST}; remove rules", self.text.len());
            self.problem(1, what);
            return Vec::new();
        }
        let document = match Document::parse(self.text) {
            Ok(document) => document,
            Err(error) => {
                self.syntax(&error);
                return Vec::new();
            }
        };
        let mut tables = Vec::new();
        for (key, item) in document.as_table() {
            let line = self.line(document.as_table().key(key).and_then(toml_edit::Key::span));
            match (key, item) {
                ("rule", Item::ArrayOfTables(rules)) => tables.extend(rules.iter()),
                ("rule", _) => self.problem(line, "write each rule below a `[[rule]]` line"),
                _ => {
                    let what = format!(
                        "`{}` is not allowed here; each rule begins with a `[[rule]]` line",
                        name_line(key)
                    );
                    self.problem(line, what);
                }
            }
        }
        if tables.len() > MOST {
            self.problem(1, format!("it has {} rules, the limit is {MOST}; remove some", tables.len()));
            return Vec::new();
        }
        self.all(&tables)
    }

    fn all(&mut self, tables: &[&Table]) -> Vec<Rule> {
        let mut rules = Vec::new();
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for table in tables {
            let line = self.line(table.span());
            let Some(rule) = self.rule(table, line) else { continue };
            match seen.insert(rule.id.clone(), line) {
                Some(first) => {
                    let what = format!(
                        "the rule `{}` is already in line {first}; give it another id, or remove one",
                        rule.id
                    );
                    self.problem(line, what);
                }
                None => {
                    self.examples(&rule, table);
                    rules.push(rule);
                }
            }
        }
        rules
    }

    fn syntax(&mut self, error: &TomlError) {
        let line = self.line(error.span());
        let what = format!("this is not valid TOML: {}; fix the line", text::sanitize_line(error.message()));
        self.problem(line, what);
    }

    fn rule(&mut self, table: &Table, line: usize) -> Option<Rule> {
        let before = self.problems.len();
        for (key, _) in table {
            if !KEYS.contains(&key) {
                let line = self.line(table.key(key).and_then(toml_edit::Key::span));
                self.problem(line, unknown(key, KEYS, "a rule has"));
            }
        }
        let effect = self.effect(table, line);
        let server = self.glob(table, "server");
        let mut tools = self.globs(table, "tool");
        if tools.is_empty() {
            match table.get("server") {
                Some(_) => tools = vec![Glob::new("*").expect("a glob")],
                None if table.get("tool").is_none() => {
                    self.problem(line, "it names no tool; add `tool = \"…\"`, with `*` for any text");
                }
                None => {}
            }
        }
        let mut args = Vec::new();
        if let Some(item) = table.get("args") {
            match item.as_table_like() {
                Some(inner) => self.args(inner, &mut Vec::new(), &mut args),
                None => self.problem_at(item, "`args` is a table: `args.path = { inside = \"notes\" }`"),
            }
        }
        let effect = effect?;
        if effect == RuleEffect::Allow {
            args.iter().filter_map(ArgTest::allows_too_much).for_each(|why| self.problem(line, why));
        }
        let mut rule = Rule {
            id: String::new(),
            effect,
            tools,
            server,
            reason: self.string(table, "reason").map(|reason| text::sanitize_line(&reason).into_owned()),
            source: at(self.source, line),
            folder: self.folder(table),
            expires: self.expires(table),
            uses: self.uses(table, effect),
            risk: self.risk(table, effect),
            args,
        };
        rule.id = self.id(table).unwrap_or_else(|| derived_id(&rule));
        (self.problems.len() == before).then_some(rule)
    }

    fn effect(&mut self, table: &Table, line: usize) -> Option<RuleEffect> {
        let Some(item) = table.get("effect") else {
            self.problem(line, "it has no effect; add `effect = \"allow\"`, `\"ask\"` or `\"deny\"`");
            return None;
        };
        let effect = item.as_str().and_then(RuleEffect::named);
        self.expect(item, effect, "`effect` is \"allow\", \"ask\" or \"deny\"")
    }

    fn id(&mut self, table: &Table) -> Option<String> {
        let id = self.string(table, "id")?;
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if id.is_empty() || id.len() > 64 || !id.chars().all(good) {
            let item = table.get("id")?;
            self.problem_at(item, "an `id` has up to 64 letters, digits, `-`, `_` and `.`");
        }
        Some(id)
    }

    fn folder(&mut self, table: &Table) -> Option<PathBuf> {
        let item = table.get("folder")?;
        let text = self.text_of(item)?;
        let path = self.at_home(&text).filter(|path| path.is_absolute());
        let path = self.expect(item, path, "`folder` is an absolute path, or one that begins with `~/`");
        path.map(|path| normalize(&path))
    }

    /// A path with `~` replaced by the home folder; `None` if there is no home folder.
    fn at_home(&self, text: &str) -> Option<PathBuf> {
        match text.strip_prefix('~') {
            Some("") => Some(self.home?.to_owned()),
            Some(rest) => Some(self.home?.join(rest.strip_prefix('/')?)),
            None => Some(PathBuf::from(text)),
        }
    }

    fn expires(&mut self, table: &Table) -> Option<Timestamp> {
        let item = table.get("expires")?;
        let text = item.as_datetime().map(ToString::to_string).or_else(|| item.as_str().map(str::to_owned));
        // A date without time means its first moment.
        let moment = text.and_then(|text| text.parse().or_else(|_| format!("{text}T00:00:00Z").parse()).ok());
        self.expect(item, moment, "`expires` is a time such as 2026-12-01T08:00:00Z, or a date")
    }

    fn uses(&mut self, table: &Table, effect: RuleEffect) -> Option<u32> {
        let item = table.get("uses")?;
        let uses = item.as_integer().and_then(|uses| u32::try_from(uses).ok()).filter(|uses| *uses > 0);
        match effect {
            RuleEffect::Allow => self.expect(item, uses, "`uses` is a whole number from 1"),
            RuleEffect::Ask | RuleEffect::Deny => {
                self.expect(item, None, "`uses` is for allow rules only; remove it")
            }
        }
    }

    fn risk(&mut self, table: &Table, effect: RuleEffect) -> Option<Risk> {
        let item = table.get("risk")?;
        let risk = [Risk::Low, Risk::Medium].into_iter().find(|risk| item.as_str() == Some(risk.word()));
        match effect {
            RuleEffect::Allow => self.expect(item, risk, "`risk` is \"low\" or \"medium\""),
            RuleEffect::Ask | RuleEffect::Deny => {
                self.expect(item, None, "`risk` bounds rules that allow only; take it out")
            }
        }
    }

    fn examples(&mut self, rule: &Rule, table: &Table) {
        for (key, wanted) in [("match", true), ("no_match", false)] {
            let Some(item) = table.get(key) else { continue };
            for (line, text) in self.strings(item, key) {
                let what = match serde_json::from_str::<Value>(&text) {
                    Ok(args) if args.is_object() && rule.fits_example(&args) == wanted => continue,
                    Ok(args) if !args.is_object() => {
                        format!(
                            "the example {} is not a set of arguments; write them as JSON: '{{\"path\":\"a\"}}'",
                            quote(&text)
                        )
                    }
                    Ok(_) if wanted => {
                        format!(
                            "the rule does not match its example {}; change one or the other",
                            quote(&text)
                        )
                    }
                    Ok(_) => {
                        format!("the rule matches {}, which it should not; make it narrower", quote(&text))
                    }
                    Err(_) => {
                        format!("the example {} is not JSON; write '{{\"path\":\"a\"}}'", quote(&text))
                    }
                };
                self.problem(line, what);
            }
        }
    }

    /// One text or several, each with its line.
    fn strings(&mut self, item: &Item, key: &str) -> Vec<(usize, String)> {
        if let Some(text) = item.as_str() {
            return vec![(self.line(item.span()), text.to_owned())];
        }
        let texts: Option<Vec<(usize, String)>> = item.as_array().and_then(|array| {
            array.iter().map(|one| Some((self.line(one.span()), one.as_str()?.to_owned()))).collect()
        });
        self.expect(item, texts, format!("`{key}` is a string, or a list of strings")).unwrap_or_default()
    }

    fn globs(&mut self, table: &Table, key: &str) -> Vec<Glob> {
        let Some(item) = table.get(key) else { return Vec::new() };
        let texts = self.strings(item, key);
        if item.as_array().is_some_and(toml_edit::Array::is_empty) {
            self.problem_at(item, format!("`{key}` is empty; name at least one"));
        }
        texts.iter().filter_map(|(_, text)| self.or_report(item, Glob::new(text))).collect()
    }

    fn glob(&mut self, table: &Table, key: &str) -> Option<Glob> {
        self.make_from(table.get(key)?, Glob::new)
    }

    fn string(&mut self, table: &Table, key: &str) -> Option<String> {
        table.get(key).and_then(|item| self.text_of(item))
    }

    fn text_of(&mut self, item: &Item) -> Option<String> {
        self.expect(item, item.as_str().map(str::to_owned), "this is a string; put it in quotes")
    }

    /// Makes something of a string.
    fn make_from<T>(&mut self, item: &Item, make: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        let text = self.text_of(item)?;
        self.or_report(item, make(&text))
    }

    fn or_report<T>(&mut self, item: &Item, made: Result<T, String>) -> Option<T> {
        made.map_err(|what| self.problem_at(item, text::sanitize_line(&what).into_owned())).ok()
    }

    /// Returns a value; without one the item is wrong.
    fn expect<T>(&mut self, item: &Item, value: Option<T>, what: impl Into<String>) -> Option<T> {
        if value.is_none() {
            self.problem_at(item, what);
        }
        value
    }

    fn problem_at(&mut self, item: &Item, what: impl Into<String>) {
        let line = self.line(item.span());
        self.problem(line, what);
    }

    fn problem(&mut self, line: usize, what: impl Into<String>) {
        let place = match self.source {
            RuleSource::Session => format!("line {line}"),
            RuleSource::User { path, .. } | RuleSource::Project { path, .. } => {
                format!("{}:{line}", text::sanitize_line(&path.display().to_string()))
            }
        };
        self.problems.push(RuleProblem { place, what: what.into() });
    }

    /// The line of a span's start, from 1.
    fn line(&self, span: Option<Range<usize>>) -> usize {
        let at = self.text.floor_char_boundary(span.map_or(0, |span| span.start));
        self.text.split_at(at).0.matches('\n').count() + 1
    }
}

/// The source of a rule at this line.
fn at(source: &RuleSource, line: usize) -> RuleSource {
    match source {
        RuleSource::Session => RuleSource::Session,
        RuleSource::User { path, .. } => RuleSource::User { path: path.clone(), line },
        RuleSource::Project { path, .. } => RuleSource::Project { path: path.clone(), line },
    }
}

/// A name for a rule without one: equal for equal rules, independent of their position.
fn derived_id(rule: &Rule) -> String {
    let named = rule.tools.first().map_or("rule", Glob::as_str);
    let named: String =
        named.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(24).collect();
    let named = named.trim_matches('-');
    let hash = fingerprint(rule.to_string().as_bytes());
    let hash = hash.split_at(8).0;
    if named.is_empty() { format!("rule-{hash}") } else { format!("{named}-{hash}") }
}

fn unknown(name: &str, known: &[&'static str], has: &str) -> String {
    let list = known.join(", ");
    match text::nearest(name, known.iter().copied()) {
        Some(nearest) => format!("`{}` is not known; did you mean `{nearest}`?", name_line(name)),
        None => format!("`{}` is not known; {has} {list}", name_line(name)),
    }
}

fn name_line(name: &str) -> String {
    text::truncate(&text::sanitize_line(name), SHOWN)
}

fn quote(example: &str) -> String {
    format!("`{}`", name_line(example))
}
