//! `git_status`, `git_diff`, `git_log`, `git_show` and `git_branch`: output of `git`, with overrides that keep a repository's
//! settings from running anything.
//!
//! Programs that settings name are switched off: monitors, pagers, external diffs, converters, signature checks, and filters,
//! which are asked for by name first. Nothing is fetched, and no lock is taken. In a sandbox it is held to reading as well.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use futures::StreamExt as _;
use schemars::JsonSchema;
use serde::Deserialize;

use super::output::{Capture, untrusted_output};
use super::place::ToolPath;
use super::typed::{RunContext, TypedTool};
use super::work::{collect_output, exit_line, look_plan, misuse, terminal};
use crate::message::Source;
use crate::sandbox::{Command, Confinement, ExecEvent, Exit, Sandbox};
use crate::stdx::secret_files::may_hold_secrets;
use crate::stdx::text::one_line_summary;
use crate::tool::{
    CallPlan, Category, Resource, Risk, SeenVersions, SideEffect, ToolError, ToolOutput, Version,
};

/// How long one command of git may run.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The width of arguments in a summary, in terminal cells.
const SUMMARY_WIDTH: usize = 72;

/// Settings that could name a program, and what they are set to.
const OVERRIDES: [(&str, &str); 20] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.sshCommand", "false"),
    ("core.alternateRefsCommand", ""),
    ("diff.external", ""),
    ("diff.trustExitCode", "false"),
    ("log.showSignature", "false"),
    ("gpg.program", "false"),
    ("gpg.openpgp.program", "false"),
    ("gpg.x509.program", "false"),
    ("gpg.ssh.program", "false"),
    ("format.pretty", "medium"),
    ("branch.sort", "refname"),
    ("protocol.allow", "never"),
    ("submodule.recurse", "false"),
    ("status.submoduleSummary", "false"),
    ("diff.submodule", "short"),
    ("advice.statusHints", "false"),
    ("color.ui", "false"),
];

/// Variables that keep git from asking, waiting and looking around.
const VARIABLES: [(&str, &str); 8] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_EXTERNAL_DIFF", ""),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("LC_ALL", "C"),
];

/// How filters are asked for; it runs nothing.
const FILTERS: &str = "git config --null --name-only --get-regexp '^filter[.]' 2>/dev/null";

/// The most bytes of their names.
const MOST_NAMES: usize = 64 * 1024;

/// The longest file that names where a repository is, in bytes.
const LONGEST_LINK: u64 = 4096;

/// The most commits of one call.
const MOST_COMMITS: u32 = 200;

/// Runs `git` to read.
#[derive(Clone)]
pub struct Git {
    pub sandbox: Arc<dyn Sandbox>,
    /// The whole environment of commands.
    pub env: Vec<(String, String)>,
}

impl Git {
    fn command(&self, script: String, cx: &RunContext, settings: &[(String, String)]) -> Command {
        let mut env = self.env.clone();
        env.extend(VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        env.push(("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string()));
        for (index, (key, value)) in settings.iter().enumerate() {
            env.push((format!("GIT_CONFIG_KEY_{index}"), key.clone()));
            env.push((format!("GIT_CONFIG_VALUE_{index}"), value.clone()));
        }
        Command {
            script,
            cwd: cx.place.workspace.clone(),
            env,
            timeout: TIMEOUT,
            confinement: Confinement::ReadOnly,
            ..Command::default()
        }
    }

    /// Returns how it ended and what it said, within a limit.
    async fn output(&self, command: Command, cx: &RunContext) -> Result<(Exit, String), ToolError> {
        let mut events = self.sandbox.spawn(command, cx.cancel.clone());
        let mut capture = Capture::new(cx.output_limit, cx.spill.clone());
        let mut exit = None;
        while let Some(event) = events.next().await {
            match event.map_err(|error| terminal(format!("git could not be run: {error}")))? {
                ExecEvent::Output(bytes) => capture.push(&bytes).await,
                ExecEvent::Exited(how) => exit = Some(how),
                ExecEvent::Survivors { .. } => {}
            }
        }
        let exit = exit.ok_or_else(|| terminal("the sandbox did not report how git ended"))?;
        Ok((exit, capture.finish().await))
    }

    /// Returns the settings of all filters. Errs if one of them could be missed.
    async fn filters(&self, cx: &RunContext) -> Result<Vec<String>, ToolError> {
        let unknown = || {
            terminal(
                "the filters in the settings of git cannot be told, so git is not run; use a command instead",
            )
        };
        let command = self.command(FILTERS.to_owned(), cx, &[]);
        let (bytes, exit) = collect_output(&*self.sandbox, command, &cx.cancel, MOST_NAMES)
            .await
            .map_err(|error| terminal(format!("git could not be run: {error}")))?;
        match exit {
            Some(Exit::Code(127)) => {
                return Err(ToolError::Unavailable("git is not installed".to_owned()));
            }
            Some(Exit::Cancelled) => return Err(terminal("interrupted")),
            // 1: there is none; 128: no repository, or settings that git itself refuses next.
            Some(Exit::Code(0 | 1 | 128)) => {}
            Some(_) | None => return Err(unknown()),
        }
        let names = String::from_utf8(bytes).map_err(|_| unknown())?;
        Ok(names.split('\0').filter(|name| !name.is_empty()).map(ToOwned::to_owned).collect())
    }

    /// Runs `git` with these words.
    async fn read(&self, words: Vec<String>, cx: RunContext) -> Result<ToolOutput, ToolError> {
        let mut settings: Vec<(String, String)> =
            OVERRIDES.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        settings.extend(self.filters(&cx).await?.into_iter().map(|name| {
            let value = if name.ends_with(".required") { "false" } else { "" };
            (name, value.to_owned())
        }));
        let line = shlex::try_join(std::iter::once("git").chain(words.iter().map(String::as_str)))
            .map_err(|error| misuse(format!("an argument cannot be used: {error}")))?;
        let (exit, text) = self.output(self.command(line.clone(), &cx, &settings), &cx).await?;
        let source = Source::Command { command: line };
        match exit {
            Exit::Code(0) if text.trim().is_empty() => Ok(untrusted_output("[nothing]\n".to_owned(), source)),
            Exit::Code(0) => Ok(untrusted_output(text, source)),
            Exit::Code(127) => Err(ToolError::Unavailable("git is not installed".to_owned())),
            Exit::Cancelled => Err(terminal("interrupted")),
            exit => Err(terminal(format!("{}\n{text}", exit_line(exit, TIMEOUT)))),
        }
    }
}

/// The question that one of the tools asks git.
pub trait GitQuestion: serde::de::DeserializeOwned + JsonSchema + Send + 'static {
    const NAME: &'static str;
    const ABOUT: &'static str;
    /// For how many seconds an answer is kept.
    const CACHE_FOR: u64;

    /// The words after `git`. Errs with a hint.
    fn words(&self) -> Result<Vec<String>, ToolError>;

    /// Files that it names.
    fn paths(&self) -> &[String] {
        &[]
    }
}

/// A tool that asks git.
pub struct GitTool<Q> {
    git: Git,
    question: std::marker::PhantomData<fn() -> Q>,
}

impl<Q> GitTool<Q> {
    pub fn new(git: &Git) -> Self {
        Self { git: git.clone(), question: std::marker::PhantomData }
    }
}

impl<Q: GitQuestion> TypedTool for GitTool<Q> {
    const NAME: &'static str = Q::NAME;
    const ABOUT: &'static str = Q::ABOUT;
    const CATEGORY: Category = Category::Git;
    const SIDE_EFFECT: SideEffect = SideEffect::None { cache_for: Some(Duration::from_secs(Q::CACHE_FOR)) };

    type Args = Q;

    fn timeout(&self) -> Duration {
        TIMEOUT * 2 + Duration::from_secs(5)
    }

    fn plan(&self, args: Q, place: &ToolPath, _: &SeenVersions) -> Result<CallPlan, ToolError> {
        let words = args.words()?;
        for path in args.paths() {
            place.readable(path)?;
        }
        let shown = one_line_summary(&words.join(" "), SUMMARY_WIDTH);
        let is_secret =
            args.paths().iter().any(|path| may_hold_secrets(path)) || may_hold_secrets(&words.join(" "));
        let (secret, risk) = if is_secret { (" (may hold secrets)", Risk::Medium) } else { ("", Risk::Low) };
        let summary = format!("git {shown}{secret}");
        Ok(CallPlan {
            basis: repository(&place.workspace),
            risk,
            ..look_plan(summary, place.workspace.clone())
        })
    }

    async fn run(&self, args: Q, cx: RunContext) -> Result<ToolOutput, ToolError> {
        self.git.read(args.words()?, cx).await
    }
}

/// Returns the folder in which git keeps the state of a work tree.
fn git_folder(top: &Path) -> Option<PathBuf> {
    let path = top.join(".git");
    let metadata = path.symlink_metadata().ok()?;
    if metadata.is_dir() {
        return Some(path);
    }
    if !metadata.is_file() || metadata.len() > LONGEST_LINK {
        return None;
    }
    let link = std::fs::read_to_string(&path).ok()?;
    link.trim().strip_prefix("gitdir:").map(|folder| top.join(folder.trim()))
}

/// Returns the state of a repository as far as commits and staging change it, by times and sizes.
fn repository(workspace: &Path) -> Vec<(Resource, Version)> {
    let Some(folder) = workspace.ancestors().find_map(git_folder) else { return Vec::new() };
    let state = |name: &str| {
        let path = folder.join(name);
        let metadata = path.symlink_metadata().ok()?;
        let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        let version = format!("{}-{}", modified.as_nanos(), metadata.len());
        Some((Resource(path.display().to_string()), Version(version)))
    };
    ["HEAD", "index", "logs/HEAD"].into_iter().filter_map(state).collect()
}

/// Checks that a word is a revision and no option.
pub fn revision(word: &str) -> Result<&str, ToolError> {
    if word.is_empty() || word.starts_with('-') || word.contains(['\0', '\n']) {
        return Err(misuse(format!("{word:?} is no revision; give a branch, a tag or a commit")));
    }
    Ok(word)
}

pub fn to_strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Returns the words with a revision and paths, neither of which can be an option.
fn with_targets(
    mut words: Vec<String>,
    wanted: Option<&str>,
    paths: &[String],
) -> Result<Vec<String>, ToolError> {
    if let Some(wanted) = wanted {
        words.extend(["--end-of-options".to_owned(), revision(wanted)?.to_owned()]);
    }
    words.push("--".to_owned());
    words.extend(paths.iter().cloned());
    Ok(words)
}

/// Takes no arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Status {}

impl GitQuestion for Status {
    const NAME: &'static str = "git_status";
    const CACHE_FOR: u64 = 5;
    const ABOUT: &'static str =
        "Shows the branch, changed, staged and untracked files, and a merge or rebase that is under way.";

    fn words(&self) -> Result<Vec<String>, ToolError> {
        Ok(to_strings(&["status", "--branch", "--ignore-submodules=all"]))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Diff {
    /// Show what is staged instead of what is not.
    #[serde(default)]
    staged: bool,
    /// Compare with this revision, or two as `A..B`.
    revision: Option<String>,
    /// Only these files or folders.
    #[serde(default)]
    paths: Vec<String>,
    /// Only how many lines of each file changed.
    #[serde(default)]
    stat: bool,
}

impl GitQuestion for Diff {
    const NAME: &'static str = "git_diff";
    const CACHE_FOR: u64 = 5;
    const ABOUT: &'static str =
        "Shows changes of tracked files: not staged ones, staged ones, or between revisions.";

    fn words(&self) -> Result<Vec<String>, ToolError> {
        let mut words = to_strings(&[
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--submodule=short",
            "--ignore-submodules=dirty",
        ]);
        words.extend(self.staged.then(|| "--cached".to_owned()));
        words.extend(self.stat.then(|| "--stat".to_owned()));
        with_targets(words, self.revision.as_deref(), &self.paths)
    }

    fn paths(&self) -> &[String] {
        &self.paths
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// The number of commits; 20 when absent.
    #[schemars(range(min = 1))]
    count: Option<u32>,
    /// From this revision back, or `A..B`; the current branch when absent.
    revision: Option<String>,
    /// Only commits that changed these files or folders.
    #[serde(default)]
    paths: Vec<String>,
    /// Only commits whose message contains this.
    message: Option<String>,
}

impl GitQuestion for Log {
    const NAME: &'static str = "git_log";
    const CACHE_FOR: u64 = 60;
    const ABOUT: &'static str = "Lists commits, the newest first: hash, date, author, subject.";

    fn words(&self) -> Result<Vec<String>, ToolError> {
        let count = self.count.unwrap_or(20).min(MOST_COMMITS);
        let mut words =
            to_strings(&["log", "--no-show-signature", "--date=short", "--format=%h %ad %an%d: %s"]);
        words.push(format!("--max-count={count}"));
        words.extend(
            self.message.iter().flat_map(|text| ["--fixed-strings".to_owned(), format!("--grep={text}")]),
        );
        with_targets(words, self.revision.as_deref(), &self.paths)
    }

    fn paths(&self) -> &[String] {
        &self.paths
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// A commit, a tag, or a file in a commit as `COMMIT:PATH`.
    revision: String,
    /// Only how many lines of each file changed.
    #[serde(default)]
    stat: bool,
}

impl GitQuestion for Show {
    const NAME: &'static str = "git_show";
    const CACHE_FOR: u64 = 60;
    const ABOUT: &'static str = "Shows a commit with its changes, or a file as it was in a commit.";

    fn words(&self) -> Result<Vec<String>, ToolError> {
        let mut words = to_strings(&[
            "show",
            "--no-show-signature",
            "--no-ext-diff",
            "--no-textconv",
            "--submodule=short",
        ]);
        words.extend(self.stat.then(|| "--stat".to_owned()));
        with_targets(words, Some(&self.revision), &[])
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// Also branches of remotes.
    #[serde(default)]
    all: bool,
}

impl GitQuestion for Branch {
    const NAME: &'static str = "git_branch";
    const CACHE_FOR: u64 = 10;
    const ABOUT: &'static str = "Lists branches with their latest commit and what they follow.";

    fn words(&self) -> Result<Vec<String>, ToolError> {
        let mut words = to_strings(&["branch", "--list", "-vv"]);
        words.extend(self.all.then(|| "--all".to_owned()));
        Ok(words)
    }
}
