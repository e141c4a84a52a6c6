//! `co memory`: lists, finds, changes and forgets what is kept beyond sessions.

use std::fs;

use serde_json::{Value, json};
use tempfile::Builder;

use super::args::{AsJson, Flags, ListCommand, MemoryAction};
use super::console;
use super::editor::{edit, editor};
use super::error::{CliError, Kind, Result};
use crate::app;
use crate::memory::{Memories, MemoryError, MemoryId, MemoryRequest, MemoryScope, StoredMemory};
use crate::workspace::{TrustedProjects, World, load_settings};

/// How the commands begin that are named in texts.
const COMMAND: &str = "co memory";

pub(super) async fn run(what: ListCommand<MemoryAction>, world: &World, flags: Flags) -> Result<()> {
    let settings = load_settings(world, flags)?.settings;
    let memories = app::memories(world, &settings, &TrustedProjects::new(world, &settings));
    // Here it may take as long as it takes.
    memories.scan(&world.workspace);
    let context = MemoryCommand { memories, world };
    let request = match what.what.unwrap_or(MemoryAction::List(what.listed)) {
        MemoryAction::List(AsJson { json: true }) => return context.list(),
        MemoryAction::Search { words, json: true } => return context.search(&words.join(" ")),
        MemoryAction::Show { id, json: true } => {
            let found = context.find(&id)?;
            return console::json(&as_json(&found));
        }
        MemoryAction::Review { json: true, .. } => return context.review(),
        MemoryAction::Edit { id } => return context.edit(&id).await,
        MemoryAction::List(AsJson { json: false }) => MemoryRequest::List,
        MemoryAction::Search { words, json: false } => MemoryRequest::Search(words.join(" ")),
        MemoryAction::Add { text, tags, project } => {
            let scope = if project { MemoryScope::Project } else { MemoryScope::User };
            MemoryRequest::Add { text: text.join(" "), tags, scope }
        }
        MemoryAction::Show { id, json: false } => MemoryRequest::Show(id_of(&id)?),
        MemoryAction::Forget { id } => MemoryRequest::Forget(id_of(&id)?),
        MemoryAction::Review { yes: false, json: false } => MemoryRequest::Review,
        MemoryAction::Review { yes: true, json: false } => MemoryRequest::Decay,
    };
    console::out(&context.memories.carry_out(&world.workspace, request, COMMAND)?)
}

struct MemoryCommand<'a> {
    memories: Memories,
    world: &'a World,
}

impl MemoryCommand<'_> {
    fn find(&self, id: &str) -> Result<StoredMemory> {
        Ok(self.memories.find(&self.world.workspace, id_of(id)?)?)
    }

    fn list(&self) -> Result<()> {
        let listing = self.memories.list(&self.world.workspace, usize::MAX)?;
        let memories: Vec<Value> = listing.memories.iter().map(as_json).collect();
        console::json(&json!({ "memories": memories, "problems": listing.problems }))
    }

    fn search(&self, words: &str) -> Result<()> {
        let found = self.memories.search(&self.world.workspace, words, usize::MAX)?;
        let rows = found.iter().map(|one| {
            let mut row = as_json(&one.found);
            row["words"] = json!(one.words);
            row
        });
        console::json(&rows.collect::<Vec<_>>())
    }

    fn review(&self) -> Result<()> {
        let review = self.memories.review(&self.world.workspace)?;
        let rows = |memories: &[StoredMemory]| memories.iter().map(as_json).collect::<Vec<_>>();
        console::json(&json!({
            "going": rows(&review.going),
            "expired": rows(&review.expired),
            "unused": rows(&review.unused),
            "problems": review.problems,
        }))
    }

    /// Opens a copy of the file, and replaces the file by what was saved, if it is a memory and the file is as it was.
    async fn edit(&self, id: &str) -> Result<()> {
        let editor = editor(self.world)?;
        let old = self.find(id)?;
        let copy = Builder::new().prefix("co-memory-").suffix(".md").tempfile()?;
        let before = old.memory.file_text();
        fs::write(copy.path(), &before)?;
        let ended = edit(&editor, copy.path()).await?;
        let saved = fs::read(copy.path())?;
        if saved == before.as_bytes() {
            return match ended {
                Ok(()) => console::out("Nothing changed.\n"),
                Err(why) => Err(CliError::error(format!("nothing was changed: {why}"))),
            };
        }
        let replaced = match ended {
            Ok(()) => {
                self.memories.rewrite(&self.world.workspace, &old, &saved).map_err(|error| format!("{error}"))
            }
            Err(why) => Err(why),
        };
        match replaced {
            Ok(stored) => console::out(&format!("Changed {}\n", crate::memory::line(&stored))),
            Err(why) => {
                let (_, path) = copy.keep().map_err(|error| error.error)?;
                let error = CliError::error(format!("nothing was changed: {why}"));
                Err(error.hint(format!("your text was saved in {}", path.display())))
            }
        }
    }
}

fn id_of(text: &str) -> Result<MemoryId> {
    text.parse().map_err(|error: MemoryError| CliError::usage(error.to_string()))
}

impl From<MemoryError> for CliError {
    fn from(error: MemoryError) -> Self {
        Self::new(Kind::Error, error)
    }
}

/// Returns a memory in the form for programs.
fn as_json(one: &StoredMemory) -> Value {
    let memory = &one.memory;
    json!({
        "id": one.id.to_string(),
        "text": memory.text,
        "tags": memory.tags,
        "category": memory.category,
        "source": memory.authorship,
        "session": memory.session,
        "call": memory.call,
        "created": memory.created.to_string(),
        "updated": memory.updated.map(|at| at.to_string()),
        "expires": memory.expires.map(|at| at.to_string()),
        "protected": memory.is_protected,
        "used": one.used.map(|at| at.to_string()),
        "uses": one.uses,
        "file": one.path,
    })
}
