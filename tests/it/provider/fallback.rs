//! How long a model that was given up is remembered, and what a switch of models in mid-turn does. With a paused clock.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use co::agent::driver::{self, ActiveModel, AgentEnv, FallbackModel};
use co::message::{StopKind, StopReason, Usage, UserPart};
use co::provider::{ErrorClass, ProviderError, StartKind, StreamEvent};
use co::session::Session;
use co::store::{Store, StoreOptions};
use kit::recording::RecordingFrontend;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::provider::failures::{FixedProvider, Items, environment, fine};

type RequestLog = Arc<Mutex<Vec<(&'static str, Instant)>>>;

fn model(name: &'static str, items: Items, asked: &RequestLog) -> Arc<ActiveModel> {
    Arc::new(ActiveModel::new(Arc::new(FixedProvider { items, asked: Arc::clone(asked), name }), "m"))
}

fn busy() -> Items {
    vec![Err(ProviderError::new(ErrorClass::Overloaded, "busy"))]
}

/// A reply that calls a tool which is not there, so that the turn goes on.
fn calls() -> Items {
    let kind = StartKind::ToolCall { wire_id: "c".into(), name: "nothing".into() };
    let stop = StopReason::new(StopKind::ToolUse);
    [
        StreamEvent::Started { model: "m".into() },
        StreamEvent::PartStarted { index: 0, kind },
        StreamEvent::PartEnded { index: 0, opaque: None },
        StreamEvent::Finished { stop, usage: Usage::default() },
    ]
    .map(Ok)
    .into()
}

async fn session() -> (tempfile::TempDir, Session) {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions::new(folder.path().join("data"), folder.path().join("run"));
    let store = Store::open(options).await.unwrap();
    let session = Session::create(&store, std::path::Path::new("/w")).await.unwrap();
    (folder, session)
}

/// Who is asked in one turn, in order.
async fn turn(
    session: &mut Session,
    env: &AgentEnv,
    client: &RecordingFrontend,
    asked: &RequestLog,
) -> Vec<&'static str> {
    asked.lock().unwrap().clear();
    let prompt = vec![UserPart::Text { text: "go".to_owned() }];
    driver::run_turn(session, prompt, env, client, CancellationToken::new()).await.unwrap();
    asked.lock().unwrap().iter().map(|(name, _)| *name).collect()
}

#[tokio::test(start_paused = true)]
async fn a_model_that_was_given_up_gets_one_try_for_five_minutes() {
    let asked = RequestLog::default();
    let fallback = FallbackModel::new(model("spare", fine(), &asked));
    let env = environment(watch::channel(model("first", busy(), &asked)).1, Some(fallback));
    let (_folder, mut session) = session().await;
    let client = RecordingFrontend::watching();
    let usual = vec!["first", "first", "spare"];
    assert_eq!(turn(&mut session, &env, &client, &asked).await, usual);
    assert_eq!(turn(&mut session, &env, &client, &asked).await, ["first", "spare"]);
    tokio::time::advance(Duration::from_secs(301)).await;
    assert_eq!(turn(&mut session, &env, &client, &asked).await, usual);
}

/// A user who chooses a model during a failover gets the chosen model.
#[tokio::test(start_paused = true)]
async fn a_switch_ends_the_standing_in() {
    let asked = RequestLog::default();
    let fallback = FallbackModel::new(model("spare", calls(), &asked));
    let (chosen, first) = watch::channel(model("first", busy(), &asked));
    let env = environment(first, Some(fallback));
    let (_folder, mut session) = session().await;
    let other = model("other", fine(), &asked);
    let client = RecordingFrontend::reacting(move |event| {
        if matches!(event, co::agent::port::Event::ToolReturn { .. }) {
            chosen.send_replace(Arc::clone(&other));
        }
        Vec::new()
    });
    assert_eq!(turn(&mut session, &env, &client, &asked).await, ["first", "first", "spare", "other"]);
}

/// A reply that the service threw away is asked for once more, with and without another model.
#[tokio::test(start_paused = true)]
async fn a_spoilt_reply_is_asked_for_once_more() {
    let spoilt = || vec![Err(ProviderError::new(ErrorClass::BadReply, "Malformed function call"))];
    for (spare, expected) in [(true, vec!["first", "first", "spare"]), (false, vec!["first", "first"])] {
        let asked = RequestLog::default();
        let fallback = spare.then(|| FallbackModel::new(model("spare", fine(), &asked)));
        let env = environment(watch::channel(model("first", spoilt(), &asked)).1, fallback);
        let (_folder, mut session) = session().await;
        assert_eq!(turn(&mut session, &env, &RecordingFrontend::watching(), &asked).await, expected);
    }
}

/// A fallback that is the chosen model itself has no effect.
#[tokio::test(start_paused = true)]
async fn nobody_stands_in_for_itself() {
    let asked = RequestLog::default();
    let first = model("first", busy(), &asked);
    let env = environment(watch::channel(Arc::clone(&first)).1, Some(FallbackModel::new(first)));
    let (_folder, mut session) = session().await;
    let client = RecordingFrontend::watching();
    assert_eq!(turn(&mut session, &env, &client, &asked).await, ["first", "first", "first"]);
}
