//! The files of rules: the user's own, next to the settings, and the project's if its folder is trusted.
//!
//! They are checked whenever the user enters something or another process signals a change; an unchanged file
//! costs only a check of its stamp. A file with a mistake keeps its last good rules, also across a restart,
//! and every call asks until it is repaired. `approval` interprets rules; `rules/` saves, revokes and tries
//! them. Called by the owners of sessions and by `co rules`.

mod save;
mod tried;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use parking_lot::Mutex;

pub use self::save::{SaveRuleError, SavedRule, one_rule, revoke_rule, save_rule};
pub use self::tried::{Suggestion, count_past_calls, suggestions};

use super::World;
use crate::approval::rules::{Rule, RuleProblem, RuleSet, RuleSource, RulesHealth};
use crate::config::{FolderTrust, PROJECT_FILES, ServerApproval, ServerSettings, Settings, read_bounded};
use crate::stdx::fs::{create_private_dir, fingerprint, is_missing, write_private};
use crate::store::Store;

/// Bytes that are read of a file; one more than rules may have, so that a longer file is detected.
const READ: u64 = (1 << 20) + 1;
/// Maximum number of mistakes reported at once.
const MOST_PROBLEMS: usize = 5;
/// The project's rules, below its folder.
const PROJECT_FILE: &str = PROJECT_FILES[1];
/// The files of rules, with their last good content.
pub struct RuleBook {
    user: Option<PathBuf>,
    home: Option<PathBuf>,
    /// The folder in which the last good texts are kept.
    kept: PathBuf,
    /// Those that stand for `approval = "never"` of tool servers.
    of_servers: Mutex<Vec<Rule>>,
    state: Mutex<RulesState>,
}

#[derive(Default)]
struct RulesState {
    files: BTreeMap<PathBuf, KnownRules>,
    /// News that the user has not received yet.
    news: Vec<String>,
}

/// A file as it was last read.
struct KnownRules {
    stamp: Stamp,
    rules: Vec<Rule>,
    problems: Vec<RuleProblem>,
}

/// Identifies the version of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stamp {
    Missing,
    There { inode: u64, length: u64, modified: (i64, i64) },
    Hidden,
}

impl RuleBook {
    pub fn new(world: &World, settings: &Settings) -> Self {
        let book = Self {
            user: world.config_dir().map(|folder| folder.join("rules.toml")),
            home: world.home(),
            kept: settings.data_dir.join("rules"),
            of_servers: Mutex::default(),
            state: Mutex::default(),
        };
        book.take_servers(&settings.mcp_servers);
        book
    }

    /// Returns the user's own file, which may not exist; `None` without a home folder.
    pub fn user_file(&self) -> Option<&Path> {
        self.user.as_deref()
    }

    /// Returns the project's file, which may not exist.
    pub fn project_file(folder: &Path) -> PathBuf {
        folder.join(PROJECT_FILE)
    }

    /// Returns a note if the project has rules that are not in effect.
    pub fn ignored_note(folder: &Path, trust: FolderTrust) -> Option<String> {
        let file = Self::project_file(folder);
        let is_ignored = trust == FolderTrust::Untrusted && file.is_file();
        is_ignored.then(|| format!("{} is ignored; `co trust` enables it", file.display()))
    }

    /// Returns the folder that `~` refers to in rules.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Returns the rules in effect in a folder, regardless of expiry and use limits. Blocking.
    pub fn read(&self, folder: &Path, trust: FolderTrust) -> RuleSet {
        let user = self.user.iter().map(|path| RuleSource::User { path: path.clone(), line: 1 });
        let project = match trust {
            FolderTrust::Trusted => Some(RuleSource::Project { path: Self::project_file(folder), line: 1 }),
            FolderTrust::Untrusted => None,
        };
        let mut state = self.state.lock();
        let mut set = RuleSet::default();
        for source in user.chain(project) {
            let known = self.file(&source, &mut state);
            if let (RulesHealth::Sound, Some(problem)) = (&set.health, known.problems.first()) {
                set.health = RulesHealth::Broken { because: problem.to_string() };
            }
            set.rules.extend(known.rules.iter().filter_map(|rule| at_home(rule.clone(), folder)));
        }
        set.rules.extend(self.of_servers.lock().iter().cloned());
        make_unique(&mut set.rules);
        set
    }

    /// Takes changed settings of tool servers.
    pub fn take_servers(&self, servers: &BTreeMap<String, ServerSettings>) {
        let file = self.user.as_ref().map(|rules| rules.with_file_name("config.toml"));
        *self.of_servers.lock() = rules_of_servers(file, servers);
    }

    /// Returns what is wrong with the files, as they were last read.
    pub fn problems(&self) -> Vec<RuleProblem> {
        let state = self.state.lock();
        state.files.values().flat_map(|known| known.problems.iter().cloned()).collect()
    }

    /// Takes the news for the user; each is returned once.
    pub fn take_news(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().news)
    }

    fn file<'a>(&self, source: &RuleSource, state: &'a mut RulesState) -> &'a KnownRules {
        let (RuleSource::User { path, .. } | RuleSource::Project { path, .. }) = source else {
            unreachable!("only files are read");
        };
        let stamp = stamp(path);
        let before = state.files.remove(path);
        let known = match before {
            Some(known) if known.stamp == stamp => known,
            before => {
                let known = self.read_file(path, source, stamp, before);
                state.news.extend(problem_notice(path, &known.problems));
                known
            }
        };
        state.files.entry(path.clone()).or_insert(known)
    }

    fn read_file(
        &self,
        path: &Path,
        source: &RuleSource,
        stamp: Stamp,
        before: Option<KnownRules>,
    ) -> KnownRules {
        let kept = self.kept.join(format!("{}.toml", fingerprint(path.as_os_str().as_encoded_bytes())));
        let text = match source {
            RuleSource::Project { .. } => read_bounded(path).map_err(|error| unread(&error)),
            RuleSource::Session | RuleSource::User { .. } => text_of(path),
        };
        let last_good = || {
            let parsed = || RuleSet::parse(&text_of(&kept).ok()??, source, self.home()).ok();
            before.map(|known| known.rules).or_else(parsed).unwrap_or_default()
        };
        let (rules, problems) = match text {
            Ok(None) => {
                // Removed rules must not come back with the next mistake.
                let _ = fs::remove_file(&kept);
                (Vec::new(), Vec::new())
            }
            Ok(Some(text)) => match RuleSet::parse(&text, source, self.home()) {
                Ok(rules) => {
                    // Without the copy a later mistake disables these rules until it is repaired: all asks.
                    let _ =
                        create_private_dir(&self.kept).and_then(|()| write_private(&kept, text.as_bytes()));
                    (rules, Vec::new())
                }
                Err(problems) => (last_good(), problems),
            },
            Err(what) => (last_good(), vec![RuleProblem { place: path.display().to_string(), what }]),
        };
        KnownRules { stamp, rules, problems }
    }
}

/// Returns a rule of the user's for each tool server whose calls need not be asked for. It does not cover HIGH.
fn rules_of_servers(user: Option<PathBuf>, servers: &BTreeMap<String, ServerSettings>) -> Vec<Rule> {
    let never = servers.iter().filter(|(_, one)| one.approval == ServerApproval::Never);
    let rule = |(name, _): (&String, _)| {
        format!(
            "[[rule]]\nid = \"mcp-{name}\"\neffect = \"allow\"\nserver = \"{name}\"\nrisk = \"medium\"\n\
             reason = \"mcp_servers.{name}.approval\"\n"
        )
    };
    let text: String = never.map(rule).collect();
    let path = user.unwrap_or_default();
    // The names of servers are plain words.
    RuleSet::parse(&text, &RuleSource::User { path, line: 1 }, None).unwrap_or_default()
}

fn unread(error: &io::Error) -> String {
    format!("it cannot be read ({error}); fix that, or remove the file")
}

/// Returns the text of a rules file; `None` if missing. Errs if not a regular UTF-8 file. Blocking.
pub fn text_of(path: &Path) -> Result<Option<String>, String> {
    let failed = |error: io::Error| unread(&error);
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    if !metadata.is_file() {
        return Err("it is not a file; replace it with a file, or remove it".to_owned());
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(READ).read_to_end(&mut bytes)).map_err(failed)?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        // A long file may have been cut in the middle of a character.
        Err(error) if error.as_bytes().len() as u64 == READ => {
            Ok(Some(String::from_utf8_lossy(error.as_bytes()).into_owned()))
        }
        Err(_) => Err("it is not UTF-8; save it as UTF-8".to_owned()),
    }
}

fn stamp(path: &Path) -> Stamp {
    match fs::metadata(path) {
        Ok(is) => Stamp::There { inode: is.ino(), length: is.len(), modified: (is.mtime(), is.mtime_nsec()) },
        Err(error) if is_missing(&error) => Stamp::Missing,
        Err(_) => Stamp::Hidden,
    }
}

/// Returns the message to the user about a file with mistakes.
fn problem_notice(path: &Path, problems: &[RuleProblem]) -> Option<String> {
    if problems.is_empty() {
        return None;
    }
    let mut lines: Vec<String> =
        problems.iter().take(MOST_PROBLEMS).map(|problem| format!("- {problem}")).collect();
    if problems.len() > MOST_PROBLEMS {
        lines.push(format!("- and {} more; `co rules check` lists them", problems.len() - MOST_PROBLEMS));
    }
    Some(format!(
        "The rules in {} have an error. Until it is fixed, the last valid ones apply and everything asks.\n\n{}",
        path.display(),
        lines.join("\n")
    ))
}

/// Restricts a project's rule to the project's folder, whatever it names; `None` if it then covers nothing.
fn at_home(mut rule: Rule, project: &Path) -> Option<Rule> {
    match (&rule.source, &rule.folder) {
        (RuleSource::Session | RuleSource::User { .. }, _) => {}
        (RuleSource::Project { .. }, Some(folder)) if folder.starts_with(project) => {}
        (RuleSource::Project { .. }, Some(folder)) if !project.starts_with(folder) => return None,
        (RuleSource::Project { .. }, Some(_) | None) => rule.folder = Some(project.to_owned()),
    }
    Some(rule)
}

/// Makes ids unique, also if two files have the same one.
fn make_unique(rules: &mut [Rule]) {
    for at in 1..rules.len() {
        let (before, rest) = rules.split_at_mut(at);
        let rule = &mut rest[0];
        let base = rule.id.clone();
        let mut number = 2;
        while before.iter().any(|other| other.id == rule.id) {
            rule.id = format!("{base}-{number}");
            number += 1;
        }
    }
}

/// Returns the rules in effect now: without expired and used-up ones. If the store cannot provide the usage
/// of rules, those with a limit count as used up.
pub async fn counting(set: RuleSet, store: &Store, now: Timestamp) -> RuleSet {
    let mut set = set.at(now);
    if set.rules.iter().any(|rule| rule.uses.is_some()) {
        match store.rule_uses().await {
            Ok(used) => set = set.after(&used),
            Err(_) => set.rules.retain(|rule| rule.uses.is_none()),
        }
    }
    set
}
