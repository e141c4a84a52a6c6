//! Opaque data never reaches a service that did not make it, though it speaks the same protocol and has a model
//! of the same name: signatures and encrypted reasoning are made for one account.

use std::sync::Arc;

use co::message::Message;
use co::provider::anthropic::Anthropic;
use co::provider::gemini::Gemini;
use co::provider::http::{ApiKey, Endpoint, HttpProvider, KeyHeader, Timeouts};
use co::provider::openai_responses::OpenAiResponses;
use co::provider::{ModelRequest, Provider, ReplyMetadata, WireCodec};
use co::stdx::clock::ManualClock;
use futures::StreamExt;
use kit::replay::parse_replies;
use kit::replay::server::{Plan, ReplayServer, ServerAnswer};
use tokio_util::sync::CancellationToken;

use crate::runtime::assembled::AssembledReply;

/// Is in the first reply, and nothing else in the conversation says it.
const SIGNATURE: &str = "c2lnbmVkLW9ubHktZm9yLW9uZQ==";

async fn server(script: &str) -> ReplayServer {
    let answers = parse_replies(script).unwrap().into_iter().map(ServerAnswer::Reply).collect();
    ReplayServer::start(Plan { answers, ..Plan::default() }).await.unwrap()
}

fn provider<C: WireCodec>(codec: C, name: &str, base_url: String) -> HttpProvider<C> {
    let endpoint = Endpoint {
        name: name.to_owned(),
        base_url,
        key: ApiKey::new("sk-test"),
        key_header: KeyHeader::Bearer,
        headers: Vec::new(),
        network: Default::default(),
        timeouts: Timeouts::default(),
    };
    let clock = Arc::new(ManualClock::at(jiff::Timestamp::UNIX_EPOCH));
    HttpProvider::new(codec, &endpoint, clock).unwrap()
}

async fn ask(provider: &dyn Provider, messages: Vec<Message>) -> AssembledReply {
    let stream = provider.stream(ModelRequest::new("m", messages), CancellationToken::new());
    let items = stream.collect::<Vec<_>>().await;
    let events: Vec<_> = items.into_iter().map(|item| item.expect("the server answers")).collect();
    AssembledReply::of(&events, None, ReplyMetadata::default())
}

/// A conversation that begins at one service and goes on at another, then at the first again.
async fn moves_house<C: WireCodec + Clone>(wire: &str, codec: C, path: &str) {
    let first =
        server(&format!("reply\n  thinking Hm. | sig={SIGNATURE}\n  text Hi.\nreply\n  text Again.\n")).await;
    let second = server("reply\n  text Hello.\n").await;
    let at = |server: &ReplayServer| format!("{}{path}", server.url());
    let one = provider(codec.clone(), "one", at(&first));
    let other = provider(codec.clone(), "other", at(&second));

    let mut messages = vec![Message::user("hi")];
    messages.push(Message::Assistant(ask(&one, messages.clone()).await.message()));
    messages.push(Message::user("go on"));
    ask(&other, messages.clone()).await;
    ask(&one, messages).await;

    let bodies = |server: &ReplayServer| -> Vec<String> {
        server.requests().iter().map(|request| request.body.to_string()).collect()
    };
    let (at_home, abroad) = (bodies(&first), bodies(&second));
    assert!(abroad[0].contains("Hi."), "{wire}: the words are for everybody: {}", abroad[0]);
    assert!(!abroad[0].contains(SIGNATURE), "{wire}: {}", abroad[0]);
    assert!(at_home[1].contains(SIGNATURE), "{wire}: its maker gets it back: {}", at_home[1]);
}

#[tokio::test]
async fn what_one_service_signed_goes_to_no_other_of_the_same_model() {
    moves_house("anthropic", Anthropic, "").await;
    moves_house("gemini", Gemini, "").await;
    moves_house("openai_responses", OpenAiResponses, "/v1").await;
}
