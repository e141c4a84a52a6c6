//! `git_add`, `git_commit`, `git_checkout`, `git_push`, `git_pull` and `run_tests`: commands that a model asks for by name.
//!
//! They run hooks, filters and build scripts, so they count as the commands that they are: [`Shell`] plans and runs them.

use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::git::{revision, to_strings};
use super::place::ToolPath;
use super::shell::{Shell, ShellArgs};
use super::typed::{RunContext, TypedTool};
use super::work::misuse;
use crate::tool::{CallPlan, Category, Risk, SeenVersions, SideEffect, ToolError, ToolOutput};

/// The action of one of the tools.
pub trait Action: DeserializeOwned + JsonSchema + Send + 'static {
    const NAME: &'static str;
    const ABOUT: &'static str;
    const CATEGORY: Category = Category::Git;
    /// The least risk of a call.
    const RISK: Risk = Risk::Medium;

    /// Returns the words of the command line. Errs with a hint. Blocking.
    fn words(&self, workspace: &Path) -> Result<Vec<String>, ToolError>;

    /// Returns why it must run outside of the sandbox, if it must.
    fn unsandboxed_reason(&self) -> Option<String> {
        None
    }
}

/// A tool that runs a command.
pub struct ActionTool<A> {
    shell: Arc<Shell>,
    action: PhantomData<fn() -> A>,
}

impl<A> ActionTool<A> {
    pub fn new(shell: &Arc<Shell>) -> Self {
        Self { shell: Arc::clone(shell), action: PhantomData }
    }
}

fn shell_args<A: Action>(args: &A, workspace: &Path) -> Result<ShellArgs, ToolError> {
    let words = args.words(workspace)?;
    let line = shlex::try_join(words.iter().map(String::as_str))
        .map_err(|error| misuse(format!("an argument cannot be used: {error}")))?;
    Ok(ShellArgs::line(line, args.unsandboxed_reason()))
}

impl<A: Action> TypedTool for ActionTool<A> {
    const NAME: &'static str = A::NAME;
    const ABOUT: &'static str = A::ABOUT;
    const CATEGORY: Category = A::CATEGORY;
    const SIDE_EFFECT: SideEffect = SideEffect::External;
    const RISK: Risk = A::RISK;

    type Args = A;

    fn timeout(&self) -> Duration {
        self.shell.timeout()
    }

    fn plan(&self, args: A, place: &ToolPath, seen: &SeenVersions) -> Result<CallPlan, ToolError> {
        let plan = self.shell.plan(shell_args(&args, &place.workspace)?, place, seen)?;
        Ok(CallPlan { risk: plan.risk.max(A::RISK), ..plan })
    }

    async fn run(&self, args: A, cx: RunContext) -> Result<ToolOutput, ToolError> {
        let args = shell_args(&args, &cx.place.workspace)?;
        self.shell.run(args, cx).await
    }

    fn outcome(text: &str) -> String {
        Shell::outcome(text)
    }

    fn failure(text: &str) -> String {
        Shell::failure(text)
    }
}

/// Checks that a text is a name of a branch or a remote, and no option.
fn name<'a>(text: &'a str, what: &str) -> Result<&'a str, ToolError> {
    revision(text).map_err(|_| misuse(format!("{text:?} is no name of a {what}")))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// Files or folders, relative to the workspace; `.` for all.
    paths: Vec<String>,
}

impl Action for Add {
    const NAME: &'static str = "git_add";
    const ABOUT: &'static str = "Stages files for the next commit.";

    fn words(&self, _: &Path) -> Result<Vec<String>, ToolError> {
        if self.paths.is_empty() {
            return Err(misuse("`paths` is empty; name files, or `.` for all"));
        }
        Ok([to_strings(&["git", "add", "--"]), self.paths.clone()].concat())
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Commit {
    /// The message: a subject line, then, after an empty line, the reasons.
    message: String,
    /// Stage all changes of tracked files first.
    #[serde(default)]
    all: bool,
}

impl Action for Commit {
    const NAME: &'static str = "git_commit";
    const ABOUT: &'static str = "Commits what is staged.";

    fn words(&self, _: &Path) -> Result<Vec<String>, ToolError> {
        if self.message.trim().is_empty() {
            return Err(misuse("`message` is empty; say what the commit changes and why"));
        }
        let mut words = to_strings(&["git", "commit", "-m"]);
        words.push(self.message.clone());
        words.extend(self.all.then(|| "--all".to_owned()));
        Ok(words)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkout {
    /// The branch to switch to; with `paths`, the branch or commit to take them from.
    revision: Option<String>,
    /// Create the branch first.
    #[serde(default)]
    create: bool,
    /// Restore these files instead of switching: their changes are lost.
    #[serde(default)]
    paths: Vec<String>,
}

impl Action for Checkout {
    const NAME: &'static str = "git_checkout";
    const ABOUT: &'static str = "Switches to a branch, creates one, or restores files.";

    fn words(&self, _: &Path) -> Result<Vec<String>, ToolError> {
        let wanted = self.revision.as_deref().map(revision).transpose()?;
        let mut words = match (self.create, wanted, self.paths.is_empty()) {
            (true, Some(wanted), true) => to_strings(&["git", "switch", "-c", wanted]),
            (true, ..) => {
                return Err(misuse("`create` needs the name of the branch in `revision`, and no `paths`"));
            }
            (false, Some(wanted), true) => to_strings(&["git", "switch", wanted]),
            (false, None, true) => return Err(misuse("give `revision`, or `paths` to restore")),
            (false, Some(wanted), false) => to_strings(&["git", "checkout", wanted, "--"]),
            (false, None, false) => to_strings(&["git", "checkout", "--"]),
        };
        words.extend(self.paths.iter().cloned());
        Ok(words)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Remote {
    /// The remote; the one that the branch follows when absent.
    remote: Option<String>,
    /// The branch; the current one when absent.
    branch: Option<String>,
    /// Why it must run outside of the sandbox, as "the key for the remote is in ~/.ssh": the sandbox hides keys. The user decides.
    unsandboxed: Option<String>,
}

impl Remote {
    fn words(&self, command: &[&str]) -> Result<Vec<String>, ToolError> {
        if self.branch.is_some() && self.remote.is_none() {
            return Err(misuse("`branch` needs a `remote`, as `origin`"));
        }
        let mut words = to_strings(command);
        words.extend(
            self.remote.as_deref().map(|text| name(text, "remote").map(ToOwned::to_owned)).transpose()?,
        );
        words.extend(
            self.branch.as_deref().map(|text| name(text, "branch").map(ToOwned::to_owned)).transpose()?,
        );
        Ok(words)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Push(Remote);

impl Action for Push {
    const NAME: &'static str = "git_push";
    const ABOUT: &'static str = "Sends commits of a branch to a remote; never by force.";
    const RISK: Risk = Risk::High;

    fn words(&self, _: &Path) -> Result<Vec<String>, ToolError> {
        // A `+` before a branch would force it.
        if self.0.branch.as_deref().is_some_and(|branch| branch.contains(['+', ':'])) {
            return Err(misuse(
                "`branch` is one name; deleting, renaming and forcing are done with a command",
            ));
        }
        self.0.words(&["git", "push"])
    }

    fn unsandboxed_reason(&self) -> Option<String> {
        self.0.unsandboxed.clone()
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Pull(Remote);

impl Action for Pull {
    const NAME: &'static str = "git_pull";
    const ABOUT: &'static str = "Fetches commits of a remote and merges them, if that needs no merge commit.";
    const RISK: Risk = Risk::High;

    fn words(&self, _: &Path) -> Result<Vec<String>, ToolError> {
        self.0.words(&["git", "pull", "--ff-only"])
    }

    fn unsandboxed_reason(&self) -> Option<String> {
        self.0.unsandboxed.clone()
    }
}

/// A kind of project: the file that identifies it, a text in that file, its test command, and the argument before a filter.
struct Project {
    file: &'static str,
    contains: &'static str,
    command: &'static [&'static str],
    filter: &'static [&'static str],
}

const PROJECTS: &[Project] = &[
    Project { file: "Cargo.toml", contains: "", command: &["cargo", "test"], filter: &["--"] },
    Project { file: "go.mod", contains: "", command: &["go", "test", "./..."], filter: &["-run"] },
    Project { file: "package.json", contains: "\"test\"", command: &["npm", "test"], filter: &["--", "-t"] },
    Project { file: "pyproject.toml", contains: "", command: &["python3", "-m", "pytest"], filter: &["-k"] },
    Project { file: "pytest.ini", contains: "", command: &["python3", "-m", "pytest"], filter: &["-k"] },
    Project { file: "setup.py", contains: "", command: &["python3", "-m", "pytest"], filter: &["-k"] },
    Project { file: "pom.xml", contains: "", command: &["mvn", "-q", "test"], filter: &[] },
    Project { file: "gradlew", contains: "", command: &["./gradlew", "test"], filter: &["--tests"] },
    Project { file: "mix.exs", contains: "", command: &["mix", "test"], filter: &["--only"] },
    Project { file: "Rakefile", contains: "test", command: &["rake", "test"], filter: &[] },
    Project { file: "composer.json", contains: "\"test\"", command: &["composer", "test"], filter: &[] },
    Project { file: "Makefile", contains: "\ntest:", command: &["make", "test"], filter: &[] },
];

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tests {
    /// Only tests whose name contains this.
    filter: Option<String>,
}

impl Action for Tests {
    const NAME: &'static str = "run_tests";
    const ABOUT: &'static str = "Runs the tests of the project in the workspace with its usual test command.";
    const CATEGORY: Category = Category::Shell;

    fn words(&self, workspace: &Path) -> Result<Vec<String>, ToolError> {
        let is_here = |project: &&Project| {
            let text = || std::fs::read_to_string(workspace.join(project.file)).unwrap_or_default();
            workspace.join(project.file).is_file()
                && (project.contains.is_empty() || format!("\n{}", text()).contains(project.contains))
        };
        let Some(project) = PROJECTS.iter().find(is_here) else {
            let known: Vec<&str> = PROJECTS.iter().map(|project| project.file).collect();
            return Err(misuse(format!(
                "no test command is known here ({} tell one); run the tests with shell",
                known.join(", ")
            )));
        };
        let mut words = to_strings(project.command);
        if let Some(filter) = &self.filter {
            if project.filter.is_empty() || filter.starts_with('-') {
                return Err(misuse(format!(
                    "`{}` takes no such filter; leave it out, or use shell",
                    words.join(" ")
                )));
            }
            words.extend(to_strings(project.filter));
            words.push(filter.clone());
        }
        Ok(words)
    }
}
