//! The built-in tools, one file each, and their shared code.
//!
//! A tool's file holds its arguments, its plan and its run; `typed` makes a [`Tool`] of them.
//!
//! A tool accesses only the workspace, the spill folder (to read it back) and, in `shell`, the given sandbox.
//! It never asks the user, never prints and cannot access the session. Built by the composition root.

mod action;
mod apply_patch;
mod args;
mod ask_user;
mod change;
mod edit_file;
mod files;
mod find_definition;
mod find_files;
mod git;
mod grep;
mod list_dir;
mod memory;
mod move_file;
mod output;
mod place;
mod read_file;
mod search_text;
mod shell;
mod tasks;
mod text_file;
mod todo;
mod typed;
mod undoable;
mod walk;
mod web;
mod web_fetch;
mod web_search;
mod work;
mod write_file;

use std::sync::Arc;
use std::time::Duration;

use crate::config::WebAccess;
use crate::memory::Memories;
use crate::provider::http::Network;
use crate::sandbox::Sandbox;
use crate::sandbox::tasks::Tasks;
use crate::tool::{TextArgs, Tool};
use crate::undo::UndoLog;

use action::ActionTool;
use apply_patch::ApplyPatch;
pub use ask_user::AskUser;
use find_definition::FindDefinition;
use find_files::FindFiles;
use git::{Git, GitTool};
use list_dir::ListDir;
use memory::{ForgetMemory, ListMemories, RecallMemory, SaveMemory, UpdateMemory};
use move_file::{CopyFile, CreateDir, DeleteFile, MoveFile};
use read_file::ReadFile;
use search_text::SearchText;
use shell::Shell;
use tasks::{EndTask, ReadTask, WriteTask};
use todo::Todo;
use web::WebClient;
use web_fetch::WebFetch;
use web_search::WebSearch;

pub use apply_patch::patched_files;
pub use edit_file::EditFile;
pub use output::{Spill, cap, untrusted_output, whole_characters};
pub use place::ToolPath;
pub use typed::{RunContext, ToolAdapter, TypedTool};
pub use web::{AnyHost, ClientResolver, Domains, Engine, HostResolver, PublicHosts, domain};
pub use write_file::WriteFile;

/// The user's settings for the tools.
#[derive(Clone)]
pub struct BuiltinOptions {
    /// How long a command may run if the model requests no other time.
    pub shell_timeout: Duration,
    /// The longest time that the model may request.
    pub shell_max_timeout: Duration,
    /// Commands that count as read-only in a sandbox; those that no words identify have no effect.
    pub safe_commands: Vec<String>,
    /// The whole environment of commands: [`crate::sandbox::env::child_env`].
    pub env: Vec<(String, String)>,
    /// The maximum number of output bytes sent to the model per call.
    pub output_limit: usize,
    /// Files are kept here before they are changed.
    pub undo: UndoLog,
    pub web: WebOptions,
    pub memories: Memories,
}

/// How long a page may take, redirects included.
const PATIENCE: Duration = Duration::from_secs(30);

/// How the tools reach the web.
#[derive(Clone)]
pub struct WebOptions {
    pub fetch: WebAccess,
    pub search: WebAccess,
    pub domains: Domains,
    /// The service that searches; without one, searches are not offered.
    pub engine: Option<Engine>,
    /// Which hosts pages are fetched from.
    pub hosts: Arc<dyn HostResolver>,
    pub network: Network,
    /// How long a page may take.
    pub patience: Duration,
}

impl WebOptions {
    /// Public pages, and no searches.
    #[must_use]
    pub fn pages() -> Self {
        Self {
            fetch: WebAccess::Allow,
            search: WebAccess::Allow,
            domains: Domains::default(),
            engine: None,
            hosts: Arc::new(PublicHosts),
            network: Network::default(),
            patience: PATIENCE,
        }
    }

    /// Returns the tools that the settings offer.
    fn tools(self, limit: usize) -> Vec<Arc<dyn Tool>> {
        let client = |hosts| Arc::new(WebClient::new(hosts, self.network.clone(), self.patience));
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        let asks = |access| access == WebAccess::Ask;
        if self.fetch != WebAccess::Deny {
            let client = client(Arc::clone(&self.hosts));
            let fetch = WebFetch { client, domains: self.domains.clone(), asks: asks(self.fetch) };
            tools.push(Arc::new(ToolAdapter::new(fetch, limit)));
        }
        if let Some(engine) = self.engine.clone().filter(|_| self.search != WebAccess::Deny) {
            let hosts = engine.hosts(&self.hosts);
            let search = WebSearch { client: client(hosts), engine, asks: asks(self.search) };
            tools.push(Arc::new(ToolAdapter::new(search, limit)));
        }
        tools
    }
}

/// Returns the arguments of a tool that are written or run as they stand; none for tools that are not built in.
#[must_use]
pub fn text_args(tool: &str) -> TextArgs {
    const ALL: [(&str, TextArgs); 4] = [
        (WriteFile::NAME, WriteFile::TEXTS),
        (EditFile::NAME, EditFile::TEXTS),
        (ApplyPatch::NAME, ApplyPatch::TEXTS),
        (Shell::NAME, Shell::TEXTS),
    ];
    ALL.into_iter().find(|(name, _)| *name == tool).map_or(&[], |(_, texts)| texts)
}

/// Returns all tools, in the order in which they are listed.
#[must_use]
pub fn all(sandbox: Arc<dyn Sandbox>, tasks: &Tasks, options: BuiltinOptions) -> Vec<Arc<dyn Tool>> {
    let (limit, undo, web) = (options.output_limit, options.undo.clone(), options.web.clone());
    let memories = options.memories.clone();
    let git = Git { sandbox: Arc::clone(&sandbox), env: options.env.clone() };
    let shell = Arc::new(Shell::new(sandbox, tasks.clone(), options));
    let mut all: Vec<Arc<dyn Tool>> = vec![
        Arc::new(ToolAdapter::new(ReadFile::new(&git), limit)),
        Arc::new(ToolAdapter::new(ListDir, limit)),
        Arc::new(ToolAdapter::new(FindFiles, limit)),
        Arc::new(ToolAdapter::new(SearchText, limit)),
        Arc::new(ToolAdapter::new(FindDefinition, limit)),
        Arc::new(ToolAdapter::new(WriteFile, limit).undoable(&undo)),
        Arc::new(ToolAdapter::new(EditFile, limit).undoable(&undo)),
        Arc::new(ToolAdapter::new(ApplyPatch, limit).undoable(&undo)),
        Arc::new(ToolAdapter::new(MoveFile, limit).undoable(&undo)),
        Arc::new(ToolAdapter::new(CopyFile, limit).undoable(&undo)),
        Arc::new(ToolAdapter::new(DeleteFile, limit).undoable(&undo)),
        Arc::new(ToolAdapter::new(CreateDir, limit).undoable(&undo)),
        Arc::new(ToolAdapter::new(GitTool::<git::Status>::new(&git), limit)),
        Arc::new(ToolAdapter::new(GitTool::<git::Diff>::new(&git), limit)),
        Arc::new(ToolAdapter::new(GitTool::<git::Log>::new(&git), limit)),
        Arc::new(ToolAdapter::new(GitTool::<git::Show>::new(&git), limit)),
        Arc::new(ToolAdapter::new(GitTool::<git::Branch>::new(&git), limit)),
        Arc::new(ToolAdapter::new(ActionTool::<action::Add>::new(&shell), limit).undoable(&undo)),
        Arc::new(ToolAdapter::new(ActionTool::<action::Commit>::new(&shell), limit).undoable(&undo)),
        Arc::new(ToolAdapter::new(ActionTool::<action::Checkout>::new(&shell), limit).undoable(&undo)),
        Arc::new(ToolAdapter::new(ActionTool::<action::Push>::new(&shell), limit).undoable(&undo)),
        Arc::new(ToolAdapter::new(ActionTool::<action::Pull>::new(&shell), limit).undoable(&undo)),
        Arc::new(ToolAdapter::new(ActionTool::<action::Tests>::new(&shell), limit).undoable(&undo)),
        Arc::new(ToolAdapter::shared(shell, limit).undoable(&undo)),
        Arc::new(ToolAdapter::new(ReadTask(tasks.clone()), limit)),
        Arc::new(ToolAdapter::new(WriteTask(tasks.clone()), limit)),
        Arc::new(ToolAdapter::new(EndTask(tasks.clone()), limit)),
        Arc::new(ToolAdapter::new(SaveMemory(memories.clone()), limit)),
        Arc::new(ToolAdapter::new(RecallMemory(memories.clone()), limit)),
        Arc::new(ToolAdapter::new(ListMemories(memories.clone()), limit)),
        Arc::new(ToolAdapter::new(UpdateMemory(memories.clone()), limit)),
        Arc::new(ToolAdapter::new(ForgetMemory(memories), limit)),
        Arc::new(ToolAdapter::new(AskUser, limit)),
        Arc::new(ToolAdapter::new(Todo, limit)),
    ];
    all.extend(web.tools(limit));
    all
}

#[cfg(test)]
mod tests;
