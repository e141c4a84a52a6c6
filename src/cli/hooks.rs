//! `co hooks`: lists hooks, manages which may run, and runs one as a trial.
//!
//! Trusting stores the hash of the displayed contents, so that nothing else than what the user saw is
//! trusted. Without a terminal it needs `--yes`.

mod trial;

use serde_json::{Value, json};

use super::args::{Flags, HookSelection, HooksAction, ListCommand};
use super::console;
use super::error::{CliError, Result};
use super::secret::{UNCHANGED, confirm};
use super::table::table;
use crate::app::open_store;
use crate::config::{FolderTrust, LoadedSettings};
use crate::hook::file::{HookCommand, HookDef, HookScope};
use crate::hook::notices::HookNotices;
use crate::hook::trust::{ContentState, program};
use crate::sandbox::env::child_env;
use crate::stdx::moment::duration;
use crate::stdx::text::sanitize_line;
use crate::store::{AuditNote, Store};
use crate::workspace::{FoundHook, FoundHooks, HookFiles, World, load_settings};

/// The number of hash digits displayed.
const SHORT: usize = 12;

/// The shared state of the subcommands.
struct HooksCommand<'a> {
    world: &'a World,
    files: HookFiles,
    trust: FolderTrust,
}

pub(super) async fn run(what: ListCommand<HooksAction>, world: &World, flags: Flags) -> Result<()> {
    let loaded = load_settings(world, flags)?;
    let context = HooksCommand::new(world, &loaded);
    match what.what.unwrap_or(HooksAction::List(what.listed)) {
        HooksAction::List(listed) => context.list(listed.json),
        HooksAction::Trust { picked, yes } => {
            let store = open_store(world, &loaded.settings).await?;
            context.trust(&picked, yes, &store).await
        }
        HooksAction::Untrust { picked } => {
            let untrusted = context.untrust(&picked)?;
            if !untrusted.is_empty() {
                // After the change: a store that does not open must not keep a hook trusted.
                let store = open_store(world, &loaded.settings).await?;
                for name in untrusted {
                    store.note(AuditNote::HookUntrusted { name }).await?;
                }
            }
            Ok(())
        }
        HooksAction::Test(wanted) => trial::run(&context, wanted).await,
    }
}

impl<'a> HooksCommand<'a> {
    fn new(world: &'a World, loaded: &LoadedSettings) -> Self {
        // The notices's messages are for processes that run hooks; here everything is displayed anyway.
        let (notices, _unused) = HookNotices::new();
        let env = child_env(&world.env, &loaded.settings.shell.env);
        let files = HookFiles::new(world, &loaded.settings, env, notices.into());
        Self { world, files, trust: loaded.trust }
    }

    /// Returns all hooks, including those of a folder that is not trusted.
    fn all(&self) -> FoundHooks {
        self.files.find(&self.world.workspace, FolderTrust::Trusted)
    }

    /// Whether a hook is in effect here: those of a folder only where it is trusted.
    fn is_in_effect(&self, def: &HookDef) -> bool {
        def.scope == HookScope::User || self.trust == FolderTrust::Trusted
    }

    fn list(&self, json: bool) -> Result<()> {
        let FoundHooks { hooks, problems, .. } = self.all();
        if json {
            console::json(&hooks.iter().map(|hook| self.as_json(hook)).collect::<Vec<_>>())?;
        } else if hooks.is_empty() && problems.is_empty() {
            let user = self.files.user().map(|path| path.display().to_string());
            let user = user.unwrap_or_else(|| "your own hooks.toml".to_owned());
            console::out(&format!(
                "No hooks. Define them in {user}, or in .co/hooks.toml of a trusted folder.\n"
            ))?;
        } else if !hooks.is_empty() {
            let rows = hooks.iter().map(|hook| self.columns(hook));
            console::out(&table(["NAME", "EVENT", "TOOL", "STATE", "COMMAND"], rows))?;
        }
        check_problems(&problems)
    }

    fn columns(&self, FoundHook { def, state }: &FoundHook) -> [String; 5] {
        let tools = if !def.events.iter().any(|event| event.is_about_a_call()) {
            String::new()
        } else if def.tools.is_empty() {
            "all".to_owned()
        } else {
            def.tools.join(", ")
        };
        let state = match self.state(def, state) {
            (word, Some(why)) => format!("{word}: {why}"),
            (word, None) => word.replace('_', " "),
        };
        [def.name.clone(), events(def), tools, state, def.command.to_string()]
    }

    /// Returns the name of a hook's state, and what is wrong if it is broken.
    fn state(&self, def: &HookDef, state: &ContentState) -> (&'static str, Option<String>) {
        match (self.is_in_effect(def), state) {
            (false, _) => ("folder_not_trusted", None),
            (true, ContentState::Trusted { .. }) => ("trusted", None),
            (true, ContentState::New { .. }) => ("new", None),
            (true, ContentState::Changed { .. }) => ("changed", None),
            (true, ContentState::Broken(broken)) => ("broken", Some(broken.to_string())),
        }
    }

    fn as_json(&self, FoundHook { def, state }: &FoundHook) -> Value {
        let (word, why) = self.state(def, state);
        json!({
            "name": def.name,
            "events": def.events.iter().map(|event| event.word()).collect::<Vec<_>>(),
            "tools": def.tools,
            "command": def.command.to_string(),
            "timeout": def.timeout.as_secs(),
            "file": def.file.display().to_string(),
            "line": def.line,
            "state": word,
            "why": why,
            "hash": hash(state),
        })
    }

    async fn trust(&self, picked: &HookSelection, yes: bool, store: &Store) -> Result<()> {
        let mut found = self.all();
        check_problems(&found.problems)?;
        let wanted = self.untrusted_hooks(&self.picked_hooks(&found.hooks, picked)?)?;
        if wanted.is_empty() {
            return Ok(());
        }
        for (def, hash) in &wanted {
            console::out(&self.trusted_text(def, hash))?;
        }
        let question = if wanted.len() == 1 { "Trust this hook? y/N " } else { "Trust these hooks? y/N " };
        if !confirm(yes, question)? {
            return console::out(UNCHANGED);
        }
        for (def, hash) in &wanted {
            found.trusted.add(&def.file, &def.name, hash);
        }
        found.trusted.write(self.files.trust_file())?;
        for (def, hash) in wanted {
            let name = def.name.clone();
            store.note(AuditNote::HookTrusted { name, hash }).await?;
            console::out(&format!("{} is trusted and runs from the next turn on.\n", def.name))?;
        }
        Ok(())
    }

    /// Returns those hooks that are not trusted yet, with the hashes of their contents. Errors for one that
    /// cannot be trusted.
    fn untrusted_hooks(&self, hooks: &[&FoundHook]) -> Result<Vec<(HookDef, String)>> {
        let mut wanted = Vec::new();
        for FoundHook { def, state } in hooks {
            match (self.is_in_effect(def), state) {
                (false, _) => {
                    let message = format!("hook {} belongs to this folder, which you do not trust", def.name);
                    let error = CliError::error(message);
                    return Err(error.hint("`co trust` trusts the folder first"));
                }
                (true, ContentState::New { hash } | ContentState::Changed { hash }) => {
                    wanted.push((def.clone(), hash.clone()));
                }
                (true, ContentState::Trusted { .. }) => {
                    console::out(&format!("{} is trusted already.\n", def.name))?;
                }
                (true, ContentState::Broken(broken)) => {
                    let why = broken.to_string();
                    let message = format!("hook {} cannot run: {}", def.name, sanitize_line(&why));
                    return Err(CliError::error(message));
                }
            }
        }
        Ok(wanted)
    }

    /// Describes what is trusted, line by line.
    fn trusted_text(&self, def: &HookDef, hash: &str) -> String {
        let mut rows = vec![("event", events(def))];
        if !def.tools.is_empty() {
            rows.push(("tool", def.tools.join(", ")));
        }
        rows.push(("command", def.command.to_string()));
        match &def.command {
            HookCommand::Program { program: named, .. } if named.contains('/') => {
                let at = self.files.whereabouts(&self.world.workspace);
                rows.push(("runs", program(def, &at).display().to_string()));
            }
            HookCommand::Program { program, .. } => {
                rows.push(("not checked", format!("{program} (found on PATH), and what it reads or starts")));
            }
            HookCommand::Shell { .. } => {
                rows.push(("not checked", "programs found on PATH, and what they read or start".to_owned()));
            }
        }
        rows.push(("timeout", duration(def.timeout)));
        rows.push(("file", format!("{}:{}", def.file.display(), def.line)));
        rows.push(("content", hash.get(..SHORT).unwrap_or(hash).to_owned()));
        let rows = rows.iter().map(|(name, value)| format!("  {name:8} {}\n", sanitize_line(value)));
        std::iter::once(format!("{}\n", def.name)).chain(rows).collect()
    }

    /// Revokes trust and returns the names of the hooks that were trusted until now.
    fn untrust(&self, picked: &HookSelection) -> Result<Vec<String>> {
        let mut found = self.all();
        check_problems(&found.problems)?;
        let wanted: Vec<HookDef> =
            self.picked_hooks(&found.hooks, picked)?.into_iter().map(|hook| hook.def.clone()).collect();
        let (mut lines, mut untrusted) = (String::new(), Vec::new());
        for def in &wanted {
            let was_trusted = found.trusted.remove(&def.file, &def.name);
            let verb = if was_trusted { "is no longer" } else { "was not" };
            lines.push_str(&format!("{} {verb} trusted.\n", def.name));
            untrusted.extend(was_trusted.then(|| def.name.clone()));
        }
        found.trusted.write(self.files.trust_file())?;
        console::out(&lines)?;
        Ok(untrusted)
    }

    /// Returns the hooks of these names; errors for an unknown name.
    fn picked_hooks<'b>(&self, hooks: &'b [FoundHook], picked: &HookSelection) -> Result<Vec<&'b FoundHook>> {
        if picked.all {
            return Ok(hooks.iter().filter(|hook| self.is_in_effect(&hook.def)).collect());
        }
        let mut found = Vec::new();
        for name in &picked.names {
            let of_name: Vec<_> = hooks.iter().filter(|hook| hook.def.name == *name).collect();
            if of_name.is_empty() {
                return Err(unknown(name, hooks));
            }
            found.extend(of_name);
        }
        Ok(found)
    }
}

fn unknown(name: &str, hooks: &[FoundHook]) -> CliError {
    let names: Vec<&str> = hooks.iter().map(|hook| hook.def.name.as_str()).collect();
    let error = CliError::error(format!("there is no hook {}", sanitize_line(name)));
    match names.as_slice() {
        [] => error.hint("there are no hooks"),
        names => error.hint(format!("there are {}", names.join(", "))),
    }
}

/// Returns an error if there are problems with the hook files.
fn check_problems(problems: &[String]) -> Result<()> {
    if problems.is_empty() {
        return Ok(());
    }
    let error = CliError::error(problems.join("\n"));
    Err(error.hint("until this is fixed, no hook of that file runs and every call asks"))
}

fn events(def: &HookDef) -> String {
    def.events.iter().map(|event| event.word()).collect::<Vec<_>>().join(", ")
}

fn hash(state: &ContentState) -> Option<&str> {
    match state {
        ContentState::Trusted { hash } | ContentState::New { hash } | ContentState::Changed { hash } => {
            Some(hash)
        }
        ContentState::Broken(_) => None,
    }
}
