//! The public reference servers of the protocol: each lists its tools, answers a call, and survives a cancelled one; its
//! schemas fit every wire.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use co::config::{
    OAuthSettings, ServerApproval, ServerSandbox, ServerScope, ServerSettings, ServerTransport,
};
use co::message::{CallId, Message, ReturnPart, ToolName};
use co::provider::anthropic::Anthropic;
use co::provider::gemini::Gemini;
use co::provider::ollama::Ollama;
use co::provider::openai_chat::{OpenAiChat, Quirks};
use co::provider::openai_responses::OpenAiResponses;
use co::provider::{ModelRequest, ToolSchema, WireCodec};
use co::sandbox::subprocess::Subprocess;
use co::tool::mcp::{ServerEnvironment, ServerState, Servers};
use co::tool::{Registry, Tool, ToolContext, ToolError, ToolOutput, Toolset};
use kit::replay::checker::Checker;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::skip::skipped;

/// A server, and a call of it.
struct Peer {
    name: &'static str,
    how: fn(&PeerServers) -> ServerTransport,
    tool: &'static str,
    args: fn(&PeerServers) -> Value,
    answer: &'static str,
}

const EVERYTHING: [Peer; 2] = [
    Peer {
        name: "everything",
        how: |place| place.node("server-everything", &[]),
        tool: "echo",
        args: |_| json!({ "message": "over stdio" }),
        answer: "over stdio",
    },
    Peer {
        name: "network",
        how: |place| ServerTransport::Http {
            url: place.url.clone(),
            headers: BTreeMap::new(),
            oauth: OAuthSettings::default(),
        },
        tool: "get-sum",
        args: |_| json!({ "a": 2, "b": 3 }),
        answer: "5",
    },
];

const OTHERS: [Peer; 6] = [
    Peer {
        name: "filesystem",
        how: |place| place.node("server-filesystem", &[&place.folder()]),
        tool: "read_text_file",
        args: |place| json!({ "path": format!("{}/poem.txt", place.folder()) }),
        answer: "quince",
    },
    Peer {
        name: "memory",
        how: |place| place.node("server-memory", &[]),
        tool: "read_graph",
        args: |_| json!({}),
        answer: "entities",
    },
    Peer {
        name: "thinking",
        how: |place| place.node("server-sequential-thinking", &[]),
        tool: "sequentialthinking",
        args: |_| json!({ "thought": "one", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1 }),
        answer: "thoughtNumber",
    },
    Peer {
        name: "git",
        how: |place| place.python("mcp-server-git", &["--repository", &place.folder()]),
        tool: "git_status",
        args: |place| json!({ "repo_path": place.folder() }),
        answer: "poem.txt",
    },
    Peer {
        name: "time",
        how: |place| place.python("mcp-server-time", &[]),
        tool: "get_current_time",
        args: |_| json!({ "timezone": "UTC" }),
        answer: "UTC",
    },
    Peer {
        name: "fetch",
        how: |place| place.python("mcp-server-fetch", &["--ignore-robots-txt", "--allow-private-ips"]),
        tool: "fetch",
        args: |place| json!({ "url": place.url.replace("/mcp", "/nothing") }),
        answer: "404",
    },
];

/// Where the servers are installed and run.
struct PeerServers {
    peers: PathBuf,
    folder: tempfile::TempDir,
    /// Of the server in the network.
    url: String,
    network: Child,
}

impl Drop for PeerServers {
    fn drop(&mut self) {
        let _ = self.network.kill();
        let _ = self.network.wait();
    }
}

impl PeerServers {
    fn new(peers: PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("poem.txt"), "the quince\n").unwrap();
        let git = Command::new("git").args(["init", "--quiet"]).current_dir(folder.path()).status();
        assert!(git.unwrap().success());
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut network = Command::new(peers.join("node"))
            .arg(peers.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js"))
            .arg("streamableHttp")
            .env("PORT", port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(network.stderr.take().unwrap()).lines().map_while(Result::ok);
        let listens = said.any(|line| line.contains("listening"));
        // Its later output is read too, so that it never waits for us.
        std::thread::spawn(move || said.for_each(drop));
        assert!(listens, "the server in the network did not start");
        Self { peers, folder, url: format!("http://127.0.0.1:{port}/mcp"), network }
    }

    fn folder(&self) -> String {
        self.folder.path().display().to_string()
    }

    fn node(&self, package: &str, args: &[&str]) -> ServerTransport {
        let script = format!("node_modules/@modelcontextprotocol/{package}/dist/index.js");
        let script = self.peers.join(script).display().to_string();
        self.program(&self.peers.join("node"), std::iter::once(script.as_str()).chain(args.iter().copied()))
    }

    fn python(&self, program: &str, args: &[&str]) -> ServerTransport {
        self.program(&self.peers.join("bin").join(program), args.iter().copied())
    }

    fn program<'a>(&self, program: &Path, args: impl Iterator<Item = &'a str>) -> ServerTransport {
        let memory = self.folder.path().join("memory.jsonl").display().to_string();
        ServerTransport::Program {
            command: program.display().to_string(),
            args: args.map(str::to_owned).collect(),
            env: [("MEMORY_FILE_PATH".to_owned(), co::config::Secret::new(memory))].into(),
            cwd: None,
            sandbox: ServerSandbox::None,
        }
    }
}

/// Lists a server's tools, calls one, cancels a call, and calls again.
async fn works(peer: &Peer, place: &PeerServers) {
    let settings = ServerSettings {
        how: (peer.how)(place),
        timeout: Duration::from_mins(1),
        call_timeout: Duration::from_mins(1),
        approval: ServerApproval::Ask,
        trusted: false,
        prefix: "x".to_owned(),
        enabled: true,
        tools: Vec::new(),
        scope: ServerScope::User,
    };
    let of_servers = ServerEnvironment {
        workspace: place.folder.path().to_owned(),
        child_env: vec![("PATH".to_owned(), std::env::var("PATH").unwrap())],
        variables: BTreeMap::new(),
        logs: place.folder.path().join("logs"),
        kept: place.folder.path().join("kept"),
        output_limit: 10_000,
        sandbox: Arc::new(Subprocess::plain()),
        check: Arc::new(|_, _| Ok(())),
        conceal: Arc::new(|_| {}),
    };
    let registry = Registry::new(Vec::new());
    let servers = Servers::new(&[(peer.name.to_owned(), settings)].into(), of_servers, registry.clone());
    servers.connect(None);
    let state = servers.settled_state(peer.name).await.unwrap();
    let ServerState::Ready(facts) = state else { panic!("{}: {}", peer.name, state.line()) };
    assert_eq!(facts.left_out, Vec::<String>::new(), "{}", peer.name);
    fits_all_wires(peer.name, &registry);
    let name = ToolName::new(format!("x_{}", peer.tool));
    let tool = registry.get(&name).unwrap_or_else(|| panic!("{}: no {name}", peer.name));
    let args = (peer.args)(place);
    answers(peer, &run(&*tool, &args, place, &CancellationToken::new()).await);
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let ended = run(&*tool, &args, place, &cancelled).await;
    assert!(matches!(ended, Err(ToolError::Terminal(_))), "{}: {ended:?}", peer.name);
    answers(peer, &run(&*tool, &args, place, &CancellationToken::new()).await);
}

async fn run(
    tool: &dyn Tool,
    args: &Value,
    place: &PeerServers,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let (progress, _none) = tokio::sync::mpsc::channel(8);
    let cx = ToolContext {
        authorship: co::message::Authorship::Inferred,
        call: CallId("c.0".to_owned()),
        workspace: place.folder.path().to_owned(),
        spill: place.folder.path().join("spill"),
        own: Arc::new([]),
        seen: Arc::default(),
        state: None,
        tools: Toolset::default(),
        cancel: cancel.clone(),
        progress,
    };
    tool.run(args, &cx).await
}

fn answers(peer: &Peer, ended: &Result<ToolOutput, ToolError>) {
    let text = match ended {
        Ok(output) => output
            .content
            .iter()
            .filter_map(|part| match part {
                ReturnPart::Text { text } => Some(text.as_str()),
                ReturnPart::Image { .. } => None,
            })
            .collect::<String>(),
        Err(error) => error.to_string(),
    };
    assert!(text.contains(peer.answer), "{}: {text}", peer.name);
}

/// Checks that no service refuses a request for one of these tools.
fn fits_all_wires(name: &str, registry: &Registry) {
    let mut request = ModelRequest::new("m", vec![Message::user("go")]);
    let tools: Vec<ToolSchema> = registry
        .tools()
        .specs()
        .map(|spec| ToolSchema {
            name: spec.name.to_string(),
            description: spec.description.clone(),
            parameters: spec.parameters.clone(),
        })
        .collect();
    request.tools = tools.into();
    assert!(!request.tools.is_empty(), "{name} has no tools");
    Checker::default().gemini("m", &body(&Gemini, &request)).unwrap();
    let bodies: [(Value, &str, &str); 4] = [
        (body(&Anthropic, &request), "", "/input_schema"),
        (body(&OpenAiChat::new(Quirks::OPENAI), &request), "/function", "/parameters"),
        (body(&OpenAiResponses, &request), "", "/parameters"),
        (body(&Ollama::default(), &request), "/function", "/parameters"),
    ];
    for (body, function, schema) in bodies {
        for tool in body["tools"].as_array().unwrap() {
            let named = tool.pointer(&format!("{function}/name")).unwrap();
            let schema = tool.pointer(&format!("{function}{schema}")).unwrap();
            let is_object = schema["type"] == "object" && schema["properties"].is_object();
            let union =
                ["anyOf", "oneOf", "allOf", "enum", "not"].iter().find(|key| schema.get(key).is_some());
            assert!(is_object && union.is_none(), "{name}: {named}: {schema}");
        }
    }
}

fn body(codec: &impl WireCodec, request: &ModelRequest) -> Value {
    serde_json::from_slice(&codec.encode(request).unwrap().body).unwrap()
}

/// Returns the folder of the installed servers.
fn installed(variable: &str, what: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(variable).map(PathBuf::from);
    if folder.is_none() {
        skipped(what);
    }
    folder
}

#[tokio::test]
async fn everything_works_over_both_transports() {
    let Some(peers) = installed("CO_TEST_MCP", "the server `everything` (run scripts/peers)") else { return };
    let place = PeerServers::new(peers);
    for peer in &EVERYTHING {
        works(peer, &place).await;
    }
}

#[tokio::test]
async fn all_reference_servers_work() {
    let Some(peers) = installed("CO_TEST_MCP_ALL", "six reference servers (run scripts/peers mcp)") else {
        return;
    };
    let place = PeerServers::new(peers);
    for peer in &OTHERS {
        works(peer, &place).await;
    }
}
