//! LiteLLM's proxy as a translator: it accepts three wires and asks our own replay server in a fourth.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kit::replay::parse_replies;
use kit::replay::server::{Plan, ReplayServer, ServerAnswer};

use super::{KEY, Wire, converses};
use crate::skip::skipped;

const WIRES: [Wire; 3] = [Wire::Anthropic, Wire::Responses, Wire::Gemini];

/// A reply with calls, and the one to what came of them.
fn script(wire: Wire) -> String {
    let calls = match wire {
        Wire::Chat | Wire::Responses | Wire::Anthropic => 2,
        // LiteLLM drops ids in this dialect and makes new ones of names: two calls of one tool would be one.
        Wire::Gemini => 1,
    };
    let calls = [
        "  call choose_file {\"path\":\"a.txt\",\"whole\":true}\n",
        "  call choose_file {\"path\":\"b.txt\",\"whole\":false}\n",
    ][..calls]
        .concat();
    format!(
        "reply\n  text I choose.\n{calls}  usage 120 30\n\nreply\n  text The choice is made.\n  usage 150 10\n"
    )
}

struct Proxy {
    child: Child,
    url: String,
    _folder: tempfile::TempDir,
}

impl Proxy {
    /// Starts the proxy in front of `upstream`, and waits until it answers.
    async fn start(program: PathBuf, upstream: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = format!(
            "model_list:\n  - model_name: peer\n    litellm_params:\n      model: openai/peer\n      api_base: {upstream}\n      api_key: sk-upstream\nlitellm_settings:\n  telemetry: false\n"
        );
        let file = folder.path().join("config.yaml");
        std::fs::write(&file, config).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new(program)
            .args(["--host", "127.0.0.1", "--port", &port.to_string(), "--config"])
            .arg(&file)
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .env("LITELLM_MASTER_KEY", KEY)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut this = Self { child, url: format!("http://127.0.0.1:{port}"), _folder: folder };
        this.answers().await;
        this
    }

    async fn answers(&mut self) {
        let address = self.url.trim_start_matches("http://").to_owned();
        let mut looks = tokio::time::interval(Duration::from_millis(200));
        for _ in 0..600 {
            looks.tick().await;
            if tokio::net::TcpStream::connect(&address).await.is_ok() {
                return;
            }
            assert!(self.child.try_wait().unwrap().is_none(), "the proxy ended before it answered");
        }
        panic!("the proxy did not start within two minutes");
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn translates_each_wire() {
    let Some(program) = std::env::var_os("CO_TEST_LITELLM").map(PathBuf::from) else {
        skipped("LiteLLM (run scripts/peers all)");
        return;
    };
    let answers = WIRES
        .iter()
        .flat_map(|wire| parse_replies(&script(*wire)).unwrap())
        .map(ServerAnswer::Reply)
        .collect();
    let server = ReplayServer::start(Plan { answers, ..Plan::default() }).await.unwrap();
    let proxy = Proxy::start(program, &server.chat_url()).await;
    for wire in WIRES {
        converses(wire, &proxy.url, "peer").await;
    }
    assert_eq!(server.findings(), Vec::<String>::new());
    assert_eq!(server.requests().len(), 2 * WIRES.len());
}
