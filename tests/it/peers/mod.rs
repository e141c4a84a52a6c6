//! Conversations with servers that others wrote, on loopback. `scripts/peers` installs them and runs these tests; without
//! it they say loudly that they were skipped.

mod litellm;
mod llamacpp;
mod mcp;
mod otel;

use std::sync::Arc;

use co::message::{CallId, Message, ReturnStatus, StopKind, ToolReturn};
use co::provider::anthropic::Anthropic;
use co::provider::gemini::Gemini;
use co::provider::http::{ApiKey, Endpoint, HttpProvider, KeyHeader, Network, Timeouts};
use co::provider::openai_chat::{OpenAiChat, Quirks};
use co::provider::openai_responses::OpenAiResponses;
use co::provider::{ModelRequest, Provider, ReplyMetadata, ToolChoice, ToolSchema};
use co::stdx::clock::ManualClock;
use futures::StreamExt;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::runtime::assembled::AssembledReply;

/// The key that peers with keys are set to require: long enough that none of them calls it weak.
const KEY: &str = "sk-0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0";

/// A wire that a peer speaks.
#[derive(Debug, Clone, Copy)]
enum Wire {
    Chat,
    Responses,
    Anthropic,
    Gemini,
}

impl Wire {
    fn provider(self, url: &str) -> Box<dyn Provider> {
        let clock = Arc::new(ManualClock::at(jiff::Timestamp::UNIX_EPOCH));
        let endpoint = |path: &str, key_header| Endpoint {
            name: "peer".to_owned(),
            base_url: format!("{url}{path}"),
            key: ApiKey::new(KEY),
            key_header,
            headers: Vec::new(),
            network: Network::default(),
            timeouts: Timeouts::default(),
        };
        match self {
            Self::Chat => {
                let codec = OpenAiChat::new(Quirks::COMPATIBLE);
                Box::new(HttpProvider::new(codec, &endpoint("/v1", KeyHeader::Bearer), clock).unwrap())
            }
            Self::Responses => {
                let endpoint = endpoint("/v1", KeyHeader::Bearer);
                Box::new(HttpProvider::new(OpenAiResponses, &endpoint, clock).unwrap())
            }
            Self::Anthropic => {
                Box::new(HttpProvider::new(Anthropic, &endpoint("", KeyHeader::XApiKey), clock).unwrap())
            }
            Self::Gemini => {
                Box::new(HttpProvider::new(Gemini, &endpoint("", KeyHeader::XGoogApiKey), clock).unwrap())
            }
        }
    }
}

/// A tool whose every call a test can judge.
fn tool() -> ToolSchema {
    ToolSchema {
        name: "choose_file".to_owned(),
        description: "Chooses a file.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "enum": ["a.txt", "b.txt"] },
                "whole": { "type": "boolean" },
            },
            "required": ["path", "whole"],
        }),
    }
}

fn request(model: &str, messages: Vec<Message>, tool_choice: ToolChoice) -> ModelRequest {
    ModelRequest {
        system: "Be brief.".to_owned(),
        tools: [tool()].into(),
        tool_choice,
        max_output_tokens: Some(2_000),
        ..ModelRequest::new(model, messages)
    }
}

async fn ask(provider: &dyn Provider, request: ModelRequest) -> AssembledReply {
    let mut stream = provider.stream(request, CancellationToken::new());
    let (mut events, mut error) = (Vec::new(), None);
    while let Some(item) = stream.next().await {
        match item {
            Ok(event) => events.push(event),
            Err(failed) => error = Some(failed),
        }
    }
    AssembledReply::of(&events, error, ReplyMetadata::default())
}

/// A call that was asked for, its answer, and what the model says to it.
async fn converses(wire: Wire, url: &str, model: &str) {
    let provider = wire.provider(url);
    let mut messages = vec![Message::user("Which file?")];
    let called = ask(provider.as_ref(), request(model, messages.clone(), ToolChoice::Required)).await;
    let reply = called.message();
    let calls: Vec<(CallId, Value)> =
        reply.calls().map(|call| (call.id.clone(), call.args.clone())).collect();
    assert_eq!(called.error, None, "{wire:?}");
    assert!(!calls.is_empty(), "{wire:?} made no call: {called:#?}");
    for (_, args) in &calls {
        let chosen = args["path"].as_str();
        assert!(matches!(chosen, Some("a.txt" | "b.txt")) && args["whole"].is_boolean(), "{wire:?}: {args}");
    }
    let (stop, usage) = called.finished.expect("an end");
    assert_eq!(stop.kind, StopKind::ToolUse, "{wire:?}");
    match wire {
        Wire::Chat | Wire::Responses | Wire::Anthropic => {
            assert!(usage.input > Some(10) && usage.output > Some(1), "{wire:?}: {usage:?}");
        }
        // LiteLLM asks for no usage on behalf of this dialect's streams, and says zeros.
        Wire::Gemini => {}
    }
    let answer = |(id, _): &(CallId, Value)| ToolReturn::program(id.clone(), ReturnStatus::Ok, "chosen");
    let returns = calls.iter().map(answer).collect();
    messages.extend([Message::Assistant(reply), Message::ToolReturns { returns }]);
    let ended = ask(provider.as_ref(), request(model, messages, ToolChoice::None)).await;
    assert_eq!(ended.error, None, "{wire:?}: the continuation was refused");
    match wire {
        Wire::Chat | Wire::Responses | Wire::Gemini => {
            assert_eq!(ended.calls().len(), 0, "{wire:?}: no call was allowed");
        }
        // llama.cpp does not know the choice `none` in this dialect, and its model says anything.
        Wire::Anthropic => {}
    }
    assert!(ended.finished.is_some(), "{wire:?}");
}
