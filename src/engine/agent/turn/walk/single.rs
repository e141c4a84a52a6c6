//! Tests of single turns, besides the random walks.

use super::*;

/// Answers what the turn looks up before a request, so that it is sent.
fn send(turn: &mut Turn) {
    let effects = turn.handle(Input::Late { calls: Vec::new() });
    assert!(matches!(effects[..], [Effect::Weigh { what: EstimateScope::Size, .. }]), "{effects:?}");
    let effects = turn.handle(Input::Weighed { fit: Fit::Fits, figures: None });
    assert!(matches!(effects[..], [.., Effect::CallModel { .. }]), "{effects:?}");
}

/// A provider's notice is shown once per turn, however often it arrives.
#[test]
fn a_notice_is_shown_once() {
    let prompt = vec![UserPart::Text { text: "go".to_owned() }];
    let mut plain = setup(&mut Dice(1), Policy::default(), Grants::default());
    plain.caps = Caps::default();
    let (mut turn, _) = Turn::start(plain, &History::default(), prompt);
    let mut shown = Vec::new();
    for text in ["cut", "cut", "full", "full"] {
        let (stop, usage) = (StopReason::new(StopKind::PauseTurn), Usage::default());
        send(&mut turn);
        let events = [
            StreamEvent::Started { model: "m".to_owned() },
            StreamEvent::PartStarted { index: 0, kind: StartKind::Text },
            StreamEvent::PartDelta { index: 0, delta: "words".to_owned() },
            StreamEvent::PartEnded { index: 0, opaque: None },
            StreamEvent::Notice { text: text.to_owned() },
            StreamEvent::Finished { stop, usage },
        ];
        let effects = events.into_iter().flat_map(|event| turn.handle(Input::Stream(Ok(event))));
        shown.extend(effects.filter_map(|effect| match effect {
            Effect::Show(crate::agent::port::Event::Status { text }) => Some(text),
            _ => None,
        }));
    }
    assert_eq!(shown, ["cut", "full"]);
}

/// The usage that a provider reports for a failed attempt is counted. If an attempt had begun and reported no usage, its
/// cost is unknown.
#[test]
fn failed_attempts_are_counted() {
    let reported = Usage { input: Some(900), output: Some(1), ..Usage::default() };
    let started = StreamEvent::Started { model: "m".to_owned() };
    let usage = |input| StreamEvent::Usage { usage: Usage { input: Some(input), ..reported } };
    let failed = || Input::Stream(Err(ProviderError::new(ErrorClass::Overloaded, "busy")));
    let price = Price { input: 1_000_000, output: 1_000_000, ..Price::default() };
    for (price, events, last, expected, tokens, unpriced) in [
        (price, vec![], failed(), None, 0, 0),
        (price, vec![started.clone()], failed(), Some(Usage::default()), 0, 1),
        (price, vec![started.clone(), usage(7), usage(900)], failed(), Some(reported), 901, 0),
        (price, vec![started.clone()], Input::Interrupt, None, 0, 1),
        (price, vec![started.clone(), usage(900)], Input::Interrupt, Some(reported), 901, 0),
        // A free request costs nothing, however it ends.
        (Price::default(), vec![started.clone()], Input::Interrupt, None, 0, 0),
        (Price::default(), vec![started], failed(), Some(Usage::default()), 0, 0),
    ] {
        let mut plain = setup(&mut Dice(1), Policy::default(), Grants::default());
        (plain.caps, plain.audience) = (Caps::default(), Audience::Present);
        let prompt = vec![UserPart::Text { text: "go".to_owned() }];
        let (mut turn, _) = Turn::start(plain, &History::default(), prompt);
        send(&mut turn);
        turn.asks(RequestedModel { price: Some(price), ..RequestedModel::default() });
        let inputs = events.into_iter().map(|event| Input::Stream(Ok(event))).chain([last]);
        let mut recorded = Vec::new();
        for effect in inputs.flat_map(|input| turn.handle(input)).collect::<Vec<_>>() {
            let Effect::Commit(records, _) = effect else { continue };
            recorded.extend(records.into_iter().filter_map(|record| match record {
                Record::RequestEnded { usage, .. } => Some(usage),
                _ => None,
            }));
        }
        assert_eq!(recorded, [expected]);
        let used = turn.budget.used;
        assert_eq!((used.requests, used.tokens, used.unpriced), (1, tokens, unpriced), "{expected:?}");
    }
}
