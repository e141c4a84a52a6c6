//! Titles that a model makes: one request while nothing runs, if the settings allow it; and the model of a session.

use co::frontend::protocol::{ServerMessage, Update};
use co::history::History;
use co::runtime::SessionTarget;
use co::session::Session;
use co::store::SessionFilter;

use crate::co::{Co, Service};
use crate::runtime::interactive::{Client, elsewhere, open, run, with};

/// A service with these replies, and titles by a model.
fn naming(script: &str) -> (Co, Service) {
    let (co, service) = with(script);
    (co.env("CO_HISTORY_MODEL_TITLES", "true"), service)
}

async fn turn(client: &mut Client, prompt: &str) {
    client.line(prompt).await;
    client.reply().await;
    client.idle().await;
}

/// The only session as it is stored, with its title in lists.
async fn stored(co: &Co) -> (History, Option<String>) {
    let store = elsewhere(co).await;
    let listed = store.sessions(SessionFilter::All, 10).await.unwrap();
    let [one] = listed.as_slice() else { panic!("{listed:?}") };
    (Session::read(&store, &one.id).await.unwrap(), one.title.clone())
}

#[test]
fn a_model_names_a_session_once() {
    let (co, service) = naming("reply\n  text One.\nreply\n  text \"Count the birds\"\nreply\n  text Two.");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("first").await;
        client.reply().await;
        client.header(|header| header.title == "Count the birds").await;
        turn(&mut client, "second").await;
        client.close().await;
        let mut client = open(&co, SessionTarget::Latest);
        client.idle().await;
        client.close().await;
        let (history, listed) = stored(&co).await;
        assert_eq!((history.title(), listed.as_deref()), (Some("Count the birds"), Some("Count the birds")));
        assert_eq!(
            (history.total_usage().requests, history.turns()),
            (3, 2),
            "the request is counted, in no turn"
        );
    });
    assert_eq!(service.server.requests().len(), 3);
    let asked = service.asked(2);
    assert!(asked.contains("Name this conversation") && asked.contains("> first"), "{asked}");
    assert!(!service.asked(3).contains("Count the birds"));
}

/// No request is made.
#[test]
fn a_title_is_not_asked_for() {
    for (what, name, value, rename) in [
        ("the setting is off", "CO_HISTORY_MODEL_TITLES", "false", false),
        ("a cap stands before it", "CO_CAP_SESSION_TOKENS", "1000100", false),
        ("the user named it", "CO_THEME", "dark", true),
    ] {
        let (co, service) = naming("reply\n  text One.\n  usage 1000000 5\nreply\n  text A title.");
        let co = co.env(name, value);
        run(&service, async {
            let mut client = open(&co, SessionTarget::New);
            if rename {
                client.line("/rename mine").await;
                client.local().await;
            }
            turn(&mut client, "first").await;
            client.close().await;
            let (history, _) = stored(&co).await;
            assert_eq!(history.title(), rename.then_some("mine"), "{what}");
        });
        assert_eq!(service.server.requests().len(), 1, "{what}");
    }
}

/// A failure is silent, counts, and is not repeated.
#[test]
fn a_title_that_fails_is_not_asked_for_again() {
    let (co, service) = naming(
        "reply\n  text One.\nreply\n  error 400 invalid_request_error no\nreply\n  text Two.\nreply\n  text Three.",
    );
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        turn(&mut client, "first").await;
        // The header comes again once the request has ended.
        client.header(|_| true).await;
        turn(&mut client, "second").await;
        let is_said = |update: &Update| matches!(update, Update::Message(ServerMessage::Local { .. }));
        assert!(!client.seen.iter().any(is_said), "{:#?}", client.seen);
        client.close().await;
        let mut client = open(&co, SessionTarget::Latest);
        turn(&mut client, "third").await;
        client.close().await;
        let (history, listed) = stored(&co).await;
        assert_eq!((history.title(), listed.as_deref()), (None, Some("first")));
        assert_eq!(history.total_usage().requests, 4);
    });
    assert_eq!(service.server.requests().len(), 4);
}

/// A prompt while the title is under way: the request is dropped, and the turn runs alone.
#[test]
fn a_turn_ends_the_request_for_a_title() {
    let (co, service) = naming("reply\n  text One.\nreply\n  text Late\n  hang\nreply\n  text Two.");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        turn(&mut client, "first").await;
        while service.server.requests().len() < 2 {
            tokio::task::yield_now().await;
        }
        turn(&mut client, "second").await;
        client.close().await;
        let (history, listed) = stored(&co).await;
        assert_eq!((history.title(), listed.as_deref()), (None, Some("first")));
        assert!(history.is_title_asked());
    });
    assert_eq!(service.server.requests().len(), 3);
}

#[test]
fn a_session_goes_on_with_its_model() {
    let (co, service) = with("reply\n  text One.\nreply\n  text Two.");
    let is_said = |client: &Client| {
        client.seen.iter().any(|update| {
            matches!(update, Update::Message(ServerMessage::Local { title, .. }) if title == "model")
        })
    };
    let co = co.env("CO_MODEL", "other");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        turn(&mut client, "first").await;
        client.close().await;
    });
    // The setting has changed since.
    let co = co.env("CO_MODEL", "replay");
    run(&service, async {
        let mut client = open(&co, SessionTarget::Latest);
        client.header(|header| header.model == "other").await;
        turn(&mut client, "second").await;
        assert!(is_said(&client), "it is said");
        client.close().await;
        let mut client = open(&co, SessionTarget::New);
        client.header(|header| header.model == "replay").await;
        client.close().await;
    });
    assert!(service.asked(2).contains("\"other\""), "{}", service.asked(2));
}
