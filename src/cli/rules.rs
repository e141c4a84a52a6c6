//! `co rules`: lists and checks rules, explains decisions, and tests rules on earlier calls.
//!
//! It decides nothing: it queries the same policy as a turn, with the same files, and runs no tool.

mod explain;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::args::{Flags, ListCommand, RulesAction};
use super::console;
use super::error::{CliError, Kind, Result};
use crate::app::{known_tools, open_store};
use crate::approval::rules::{Rule, RuleProblem, RuleSet, RuleSource};
use crate::config::{FolderTrust, Settings};
use crate::stdx::text::{count, sanitize_line, width};
use crate::store::{AuditNote, Store};
use crate::tool::Registry;
use crate::workspace::rules::{
    RuleBook, SaveRuleError, count_past_calls, counting, revoke_rule, suggestions, text_of,
};
use crate::workspace::trust::trust_in;
use crate::workspace::{World, load_settings};

/// The number of earlier calls that a rule is tested on, as at a card.
const TRIED: usize = 200;
/// The number of earlier calls that are searched for repeated decisions.
const LOOKED: usize = 5_000;

/// The shared state of the subcommands.
struct CommandContext<'a> {
    world: &'a World,
    settings: Settings,
    store: Store,
    book: Arc<RuleBook>,
    registry: Registry,
}

pub(super) async fn run(what: ListCommand<RulesAction>, world: &World, flags: Flags) -> Result<()> {
    let settings = load_settings(world, flags)?.settings;
    let store = open_store(world, &settings).await?;
    let book = Arc::new(RuleBook::new(world, &settings));
    let registry = known_tools(world, &settings);
    let context = CommandContext { world, settings, store, book, registry };
    match what.what.unwrap_or(RulesAction::List(what.listed)) {
        RulesAction::List(listed) => context.list(listed.json).await,
        RulesAction::Check { file } => context.check(file.as_deref()),
        RulesAction::Explain { what, args, json } => {
            explain::run(&context, &what, args.as_deref(), json).await
        }
        RulesAction::Test { rule, json } => context.test(&rule, json).await,
        RulesAction::Revoke { id } => context.revoke(&id).await,
        RulesAction::Suggest { min, json } => context.suggest(min, json).await,
    }
}

impl CommandContext<'_> {
    fn trust_of(&self, folder: &Path) -> FolderTrust {
        trust_in(&self.settings, self.world, folder)
    }

    /// Returns all rules of a folder, and those of them that are in effect now.
    async fn rules(&self, folder: &Path) -> (RuleSet, RuleSet) {
        let all = self.book.read(folder, self.trust_of(folder));
        let in_effect = counting(all.clone(), &self.store, self.world.clock.now()).await;
        (all, in_effect)
    }

    async fn list(&self, json: bool) -> Result<()> {
        let folder = &self.world.workspace;
        let (all, in_effect) = self.rules(folder).await;
        let ended = |rule: &Rule| !in_effect.rules.iter().any(|one| one.id == rule.id);
        if json {
            let rows: Vec<Value> = all.rules.iter().map(|rule| as_json(rule, ended(rule))).collect();
            console::json(&rows)?;
        } else if all.rules.is_empty() {
            console::out("No rules: the mode and the sandbox decide what asks.\n")?;
        } else {
            let widest = all.rules.iter().map(|rule| width(&rule.id)).max().unwrap_or(0);
            for rule in &all.rules {
                let over = if ended(rule) { " (over)" } else { "" };
                let gap = " ".repeat(widest - width(&rule.id));
                let source = rule.source.to_string();
                console::out(&format!("{}{gap}  {}{over}\n", rule.id, sanitize_line(&rule.to_string())))?;
                console::out(&format!("{}  {}\n", " ".repeat(widest), sanitize_line(&source)))?;
            }
        }
        self.tell_state(folder);
        Ok(())
    }

    /// Reports errors in the files, and files that are not in effect.
    fn tell_state(&self, folder: &Path) {
        console::notes(self.book.take_news());
        console::notes(RuleBook::ignored_note(folder, self.trust_of(folder)));
    }

    fn check(&self, file: Option<&Path>) -> Result<()> {
        let project = RuleBook::project_file(&self.world.workspace);
        let files: Vec<PathBuf> = match file {
            Some(file) => vec![self.world.workspace.join(file)],
            None => self.book.user_file().map(Path::to_owned).into_iter().chain([project]).collect(),
        };
        let mut problems = Vec::new();
        let mut good = 0;
        for path in files.iter().filter(|path| file.is_some() || path.exists()) {
            match self.read(path) {
                Ok(rules) => good += rules.len(),
                Err(found) => problems.extend(found),
            }
        }
        if problems.is_empty() {
            return console::out(&format!("{}, no errors.\n", count(good, "rule")));
        }
        for problem in &problems {
            console::out(&format!("{}\n", sanitize_line(&problem.to_string())))?;
        }
        let error = CliError::error(format!("{} in the rules", count(problems.len(), "error")));
        Err(match file {
            Some(_) => error,
            None => error.hint("until this is fixed, the last valid rules apply and everything asks"),
        })
    }

    fn read(&self, path: &Path) -> Result<Vec<Rule>, Vec<RuleProblem>> {
        let problem = |what: String| vec![RuleProblem { place: path.display().to_string(), what }];
        let text =
            text_of(path).map_err(problem)?.ok_or_else(|| problem("there is no such file".to_owned()))?;
        RuleSet::parse(&text, &RuleSource::User { path: path.to_owned(), line: 1 }, self.book.home())
    }

    async fn test(&self, rule: &str, json: bool) -> Result<()> {
        let path = self.world.workspace.join(rule);
        let rules = if !rule.contains('\n') && path.is_file() {
            self.read(&path)
        } else {
            RuleSet::parse(rule, &RuleSource::Session, self.book.home())
        };
        let rules = rules.map_err(|problems| wrong(&problems))?;
        if rules.is_empty() {
            return Err(CliError::usage("it contains no rule").hint(HOW_TO_TEST));
        }
        let past = self.store.past_calls(TRIED).await?;
        let fares = count_past_calls(&rules, &past, &self.registry);
        if json {
            return console::json(&json!({"matched": fares.matched, "of": fares.of, "denied": fares.denied}));
        }
        console::out(&format!(
            "It would have matched {} of your last {}; you denied {} of them.\n",
            fares.matched,
            count(fares.of, "call"),
            fares.denied
        ))
    }

    async fn revoke(&self, id: &str) -> Result<()> {
        let (all, _) = self.rules(&self.world.workspace).await;
        let rule = revoke_rule(&self.book, id, &all)?;
        self.store.note(AuditNote::RuleRevoked { rule: rule.id.clone() }).await?;
        console::out(&format!("revoked {}: {}\n", rule.id, sanitize_line(&rule.to_string())))
    }

    async fn suggest(&self, min: usize, json: bool) -> Result<()> {
        let (_, in_effect) = self.rules(&self.world.workspace).await;
        let past = self.store.past_calls(LOOKED).await?;
        let found = suggestions(&past, min, &in_effect, &self.registry);
        if json {
            let rows: Vec<Value> =
                found.iter().map(|one| json!({"rule": one.text, "allowed": one.allowed})).collect();
            return console::json(&rows);
        }
        if found.is_empty() {
            return console::out(&format!(
                "No call was approved {} or more and never denied.\n",
                count(min, "time")
            ));
        }
        for one in &found {
            console::out(&format!(
                "# approved {}, never denied\n{}\n",
                count(one.allowed, "time"),
                one.text
            ))?;
        }
        if let Some(path) = self.book.user_file() {
            console::note(&format!("Copy what you want into {}", path.display()));
        }
        Ok(())
    }
}

const HOW_TO_TEST: &str = "co rules test FILE, or co rules test '[[rule]] …'";

fn wrong(problems: &[RuleProblem]) -> CliError {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    CliError::error(lines.join("\n")).hint(HOW_TO_TEST)
}

impl From<SaveRuleError> for CliError {
    fn from(trouble: SaveRuleError) -> Self {
        Self::new(Kind::Error, trouble)
    }
}

fn as_json(rule: &Rule, ended: bool) -> Value {
    json!({
        "id": rule.id,
        "effect": rule.effect,
        "rule": rule.to_string(),
        "reason": rule.reason,
        "source": rule.source.to_string(),
        "folder": rule.folder,
        "expires": rule.expires,
        "uses": rule.uses,
        "over": ended,
    })
}
