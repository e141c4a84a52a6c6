//! Failures of a provider: waits with another model behind, that model at work, refusals. At three sizes,
//! in the full screen; and as lines in the plain front end.

use std::time::Duration;

use co::agent::port::Event;
use co::frontend::plain::{Input, Plain, Setup, Source};
use co::frontend::protocol::Update;
use co::history::TurnEnd;
use co::provider::{ErrorClass, ProviderError};

use crate::tui::kit::{Screen, at_all_sizes};

const FALLBACK: &str = "openai/gpt-5.2-mini";

fn check(name: &str, state: impl Fn(Screen) -> Screen) {
    insta::assert_snapshot!(name, at_all_sizes(|screen| state(screen).shot()));
}

fn retry(then: Option<&str>) -> Event {
    Event::Retry {
        class: ErrorClass::RateLimited,
        message: "Number of request tokens has exceeded your per-minute rate limit (429)".into(),
        wait: Duration::from_secs(20),
        attempt: 1,
        of: 2,
        then: then.map(str::to_owned),
    }
}

fn fell_back() -> Event {
    Event::FellBack {
        from: "anthropic/claude-sonnet-4-6".into(),
        to: FALLBACK.into(),
        class: ErrorClass::Overloaded,
        why: "the service is overloaded: Overloaded (529)".into(),
    }
}

fn refused() -> Event {
    Event::Refused { why: "The model refused: this asks for *somebody's* address.".into() }
}

fn both_failed() -> ProviderError {
    let message = "openai/gpt-5.2-mini: The server had an error (500); before it anthropic/claude-sonnet-4-6: Overloaded (529)";
    ProviderError { status: Some(500), ..ProviderError::new(ErrorClass::Server, message) }
}

#[test]
fn a_wait_with_another_model_behind() {
    check("retry_then_fallback", |screen| {
        screen
            .prompted("and on Monday?")
            .text("Monday has three")
            .event(Event::PartialReset)
            .event(retry(Some(FALLBACK)))
            .wait(6_000)
    });
}

#[test]
fn another_model_goes_on() {
    let fallen = |screen: Screen| screen.prompted("and on Monday?").event(fell_back());
    check("fallback", |screen| fallen(screen).text("Monday has three things."));
    check("fallback_retries", |screen| fallen(screen).event(retry(None)).wait(6_000));
    check("fallback_failed", |screen| {
        fallen(screen).event(Event::TurnEnded { end: TurnEnd::Failed { error: both_failed() } })
    });
}

#[test]
fn a_refusal_is_no_failure() {
    check("refused", |screen| {
        screen
            .prompted("where does she live?")
            .text("I can")
            .event(Event::TextCommitted { text: "I can".into() })
            .event(refused())
            .event(Event::TurnEnded { end: TurnEnd::Completed })
    });
}

#[test]
fn the_plain_face_says_the_same() {
    let mut plain = Plain::new(Setup {
        source: Source::Terminal,
        echoes: true,
        shows_thoughts: false,
        has_editor: false,
    });
    let mut text = String::new();
    for event in [
        retry(Some(FALLBACK)),
        fell_back(),
        retry(None),
        refused(),
        Event::TurnEnded { end: TurnEnd::Failed { error: both_failed() } },
        retry(None),
    ] {
        plain.take(1_000, Input::Update(Box::new(Update::Event(event))));
        text.push_str(&plain.take_output().text);
    }
    insta::assert_snapshot!("plain_failures", text);
}
