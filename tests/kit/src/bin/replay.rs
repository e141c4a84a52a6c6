//! `co-replay`: serves a script's replies over HTTP on this machine, for development and to try a wire
//! format. Nothing leaves the machine, and nothing but the script is served.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a tool for the command line")]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use kit::replay::parse_replies;
use kit::replay::server::{Plan, ReplayServer, ServerAnswer};

/// Serve the replies of a script on this machine, one a request, until interrupted
#[derive(Debug, Parser)]
#[command(name = "co-replay")]
struct Args {
    /// A file of `reply` blocks
    script: PathBuf,
    /// The wire format to speak
    #[arg(long, value_enum, default_value_t = Wire::Anthropic)]
    wire: Wire,
    /// The port; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
}

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Wire {
    /// Anthropic Messages
    Anthropic,
    /// OpenAI Chat Completions
    Chat,
    /// OpenAI Responses
    Responses,
    /// Gemini
    Gemini,
    /// Ollama
    Ollama,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match serve(Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("co-replay: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until Ctrl+C.
async fn serve(args: Args) -> Result<(), String> {
    let shown = args.script.display();
    let text = std::fs::read_to_string(&args.script).map_err(|error| format!("{shown}: {error}"))?;
    let replies = parse_replies(&text).map_err(|error| format!("{shown}: {error}"))?;
    let answers: Vec<ServerAnswer> = replies.into_iter().map(ServerAnswer::Reply).collect();
    let count = answers.len();
    let server = ReplayServer::start_on(args.port, Plan { answers, ..Plan::default() })
        .await
        .map_err(|error| error.to_string())?;
    let (provider, url) = match args.wire {
        Wire::Anthropic => ("anthropic", server.url()),
        Wire::Chat => ("openai-compatible", server.chat_url()),
        Wire::Responses => ("openai", server.chat_url()),
        Wire::Gemini => ("gemini", server.url()),
        Wire::Ollama => ("ollama", server.url()),
    };
    // At a custom address `openai` uses Chat Completions unless configured otherwise.
    let wire = if args.wire == Wire::Responses { " --set providers.openai.wire=responses" } else { "" };
    let replies = if count == 1 { "reply" } else { "replies" };
    println!("serving {count} {replies} at {url}");
    eprintln!("CO_PROVIDER={provider} CO_BASE_URL={url} CO_MODEL=replay co{wire}");
    tokio::signal::ctrl_c().await.map_err(|error| error.to_string())?;
    for finding in server.findings() {
        eprintln!("co-replay: a request was refused: {finding}");
    }
    Ok(())
}
