//! Runs the real binary, shut in a folder of its own, and compares all that it prints: output, errors, exit code.
//!
//! Texts that differ from run to run (ids, paths, ports, process ids) are replaced by names before they are compared.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use kit::replay::parse_replies;
use kit::replay::server::{Page, Plan, ReplayServer, ServerAnswer};
use tempfile::TempDir;

/// A home, a data folder and a workspace, and the environment that points at them.
pub struct Co {
    dir: TempDir,
    env: Vec<(String, String)>,
}

/// The output of a run.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub struct RunOutput {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// A model service on loopback that says what a script says.
pub struct Service {
    pub server: ReplayServer,
    pub runtime: tokio::runtime::Runtime,
}

#[derive(Clone, Copy, Debug)]
pub enum Wire {
    Anthropic,
    Chat,
    Responses,
    Gemini,
    Ollama,
}

impl Wire {
    pub const ALL: [Self; 5] = [Self::Anthropic, Self::Chat, Self::Responses, Self::Gemini, Self::Ollama];
}

impl Co {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["home", "home/work"] {
            std::fs::create_dir(dir.path().join(folder)).unwrap();
        }
        let path = std::env::var("PATH").unwrap();
        let home = dir.path().canonicalize().unwrap().join("home").display().to_string();
        let env = [
            ("PATH", path.as_str()),
            ("HOME", home.as_str()),
            ("CO_DISCOVER_LOCAL", "false"),
            ("CO_WELCOME", "false"),
            // Tests of sandboxes name their own; elsewhere it is the same on every machine.
            ("CO_SANDBOX_BACKEND", "none"),
            // No test waits for a minute.
            ("CO_OVERLOAD_WAIT", "0"),
        ];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Self { dir, env }
    }

    /// The same with a variable set.
    /// The workspace is trusted with what it says now.
    pub fn trusting(self) -> Self {
        let ran = self.run(&["trust", "--yes"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        self
    }

    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.into()));
        self
    }

    /// The same with this service as the model.
    pub fn with(self, service: &Service, wire: Wire) -> Self {
        let (provider, url) = match wire {
            Wire::Anthropic => ("anthropic", service.server.url()),
            Wire::Chat => ("openai-compatible", service.server.chat_url()),
            Wire::Responses => ("openai", service.server.chat_url()),
            Wire::Gemini => ("gemini", service.server.url()),
            Wire::Ollama => ("ollama", service.server.url()),
        };
        let this = match wire {
            // At an address of one's own it would speak Chat Completions.
            Wire::Responses => {
                self.file(".config/co/config.toml", "[providers.openai]\nwire = 'responses'\n")
            }
            Wire::Anthropic | Wire::Chat | Wire::Gemini | Wire::Ollama => self,
        };
        this.env("CO_PROVIDER", provider).env("CO_BASE_URL", url).env("CO_MODEL", "replay")
    }

    pub fn home(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("home")
    }

    pub fn data(&self) -> PathBuf {
        self.home().join(".local/share/co")
    }

    pub fn workspace(&self) -> PathBuf {
        self.home().join("work")
    }

    /// Writes a file below the home folder.
    pub fn file(self, path: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.home().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// A file of the workspace, where it is there.
    pub fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.workspace().join(name)).ok()
    }

    /// Runs in the workspace with nothing on standard input.
    pub fn run(&self, args: &[&str]) -> RunOutput {
        self.run_in(&self.workspace(), args, "")
    }

    pub fn piped(&self, stdin: &str, args: &[&str]) -> RunOutput {
        self.run_in(&self.workspace(), args, stdin)
    }

    pub fn run_in(&self, folder: &Path, args: &[&str], stdin: &str) -> RunOutput {
        let mut child = self.command(folder, args).spawn().unwrap();
        // A program that ends before it read all is no failure of the test.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        self.ended(child)
    }

    /// Starts it with piped ends.
    pub fn start(&self, args: &[&str]) -> Child {
        let mut child = self.command(&self.workspace(), args).spawn().unwrap();
        drop(child.stdin.take());
        child
    }

    /// Waits for a started one.
    pub fn ended(&self, child: Child) -> RunOutput {
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| self.named(&String::from_utf8(bytes).unwrap());
        RunOutput { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    pub fn command(&self, folder: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_co"));
        command.args(args).current_dir(folder).env_clear();
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn variables(&self) -> &[(String, String)] {
        &self.env
    }

    /// The ids of requests that wait, oldest first.
    pub fn waiting(&self) -> Vec<String> {
        let output = self.command(&self.workspace(), &["approvals", "--json"]).output().unwrap();
        let listed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        listed.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    }

    /// The text with names for what differs from run to run.
    pub fn named(&self, text: &str) -> String {
        named_ids(&text.replace(&self.home().display().to_string(), "[HOME]"))
    }
}

impl RunOutput {
    #[track_caller]
    pub fn check(self, code: i32, out: &str, err: &str) {
        assert_eq!(self, RunOutput { code: Some(code), out: out.to_owned(), err: err.to_owned() });
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap()
    }
}

impl Service {
    /// Serves the replies of a script, one a request.
    pub fn new(script: &str) -> Self {
        Self::serving(script, Vec::new())
    }

    /// The same with one page of its own.
    pub fn with_page(script: &str, path: &str, body: &str) -> Self {
        Self::serving(script, vec![Page { path: path.to_owned(), status: 200, body: body.to_owned() }])
    }

    /// The same with pages of its own.
    pub fn serving(script: &str, pages: Vec<Page>) -> Self {
        let answers = parse_replies(script).unwrap().into_iter().map(ServerAnswer::Reply).collect();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let plan = Plan { answers, pages, ..Plan::default() };
        let server = runtime.block_on(ReplayServer::start(plan)).unwrap();
        Self { server, runtime }
    }

    /// The body of a request, counted from 1, as text.
    pub fn asked(&self, number: usize) -> String {
        self.server.requests()[number - 1].body.to_string()
    }

    /// Nothing was wrong with any request.
    #[track_caller]
    pub fn is_content(&self) {
        assert_eq!(self.server.findings(), Vec::<String>::new());
    }
}

/// Replaces session ids, request ids and process ids.
fn named_ids(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let word: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        if word.is_empty() {
            out.push(c);
            rest = rest.split_at(c.len_utf8()).1;
            continue;
        }
        rest = rest.split_at(word.len()).1;
        let hex = word.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        match (word.len(), word.matches('-').count()) {
            (36, 4) if hex => out.push_str("[SESSION]"),
            (13, 1) if hex => out.push_str("[SHORT]"),
            (12, 0) if hex => out.push_str("[REQUEST]"),
            _ if out.ends_with("(process ") => out.push_str("[PID]"),
            _ => out.push_str(&word),
        }
    }
    out
}
