//! `co replay serve`: a script's replies over HTTP on this machine, for development and for trying a wire format.
//! Nothing leaves the machine, and nothing but the script is served.

use std::path::Path;

use super::args::{Replay, ReplayWhat, Wire};
use super::console::Console;
use super::error::{CliError, Kind};
use super::signals::Stop;
use crate::provider::replay::parse_replies;
use crate::provider::replay::server::{Plan, ReplayServer, Served};

/// Serves until a signal comes.
pub(super) async fn run(what: Replay, console: &mut Console) -> Result<(), CliError> {
    let ReplayWhat::Serve { script, wire, port } = what.what;
    let answers = read(&script)?;
    let count = answers.len();
    let stop = Stop::on_signals()?;
    let server = ReplayServer::start_on(port, Plan { answers, ..Plan::default() }).await?;
    let (provider, url) = match wire {
        Wire::Anthropic => ("anthropic", server.url()),
        Wire::Chat => ("openai-compatible", server.chat_url()),
        Wire::Responses => ("openai", server.chat_url()),
        Wire::Gemini => ("gemini", server.url()),
        Wire::Ollama => ("ollama", server.url()),
    };
    // At an address of one's own `openai` speaks Chat Completions unless told otherwise.
    let wire = if wire == Wire::Responses { " --set providers.openai.wire=responses" } else { "" };
    let replies = if count == 1 { "reply" } else { "replies" };
    console.out(&format!("serving {count} {replies} at {url}\n"))?;
    console.note(&format!("CO_PROVIDER={provider} CO_BASE_URL={url} CO_MODEL=replay co{wire}"));
    stop.token.cancelled().await;
    for finding in server.findings() {
        console.note(&format!("co: a request was refused: {finding}"));
    }
    Ok(())
}

fn read(script: &Path) -> Result<Vec<Served>, CliError> {
    let shown = script.display();
    let text = std::fs::read_to_string(script)
        .map_err(|error| CliError::message(Kind::Error, format!("{shown} cannot be read: {error}")))?;
    let replies =
        parse_replies(&text).map_err(|error| CliError::message(Kind::Error, format!("{shown}: {error}")))?;
    Ok(replies.into_iter().map(Served::Reply).collect())
}
