//! Hand-written replies of every shape that `wire.md` describes and that was not recorded, decoded exactly.
//!
//! A fixture (`tests/fixtures/wire/<wire>/<case>.txt`) says in a comment what it shows, then in its head how it is sent
//! (`status N` and `header NAME: VALUE` for a refused request, `json` for a whole body, `escapes` where `\xNN` means
//! a byte), then the expected result, then the body.

use std::path::{Path, PathBuf};

use co::provider::anthropic::Anthropic;
use co::provider::gemini::Gemini;
use co::provider::ollama::Ollama;
use co::provider::openai_chat::{OpenAiChat, Quirks};
use co::provider::openai_responses::OpenAiResponses;
use co::provider::{
    ErrorClass, ProviderError, RetryHeaders, StartKind, StreamDecoder, StreamEvent, WireCodec,
};
use proptest::prelude::*;

struct Fixture {
    path: PathBuf,
    head: Vec<String>,
    expected: String,
    body: Vec<u8>,
}

impl Fixture {
    fn status(&self) -> Option<u16> {
        self.head.iter().find_map(|line| line.strip_prefix("status ")).map(|status| status.parse().unwrap())
    }

    fn is_json(&self) -> bool {
        self.head.iter().any(|line| line == "json")
    }

    fn headers(&self) -> RetryHeaders {
        let pairs: Vec<(&str, &str)> = self
            .head
            .iter()
            .filter_map(|line| line.strip_prefix("header "))
            .map(|header| header.split_once(": ").expect("a header has a name and a value"))
            .collect();
        let get = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        RetryHeaders::read(jiff::Timestamp::UNIX_EPOCH, get)
    }
}

fn fixtures(wire: &str) -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/wire").join(wire);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(read).collect()
}

fn read(path: PathBuf) -> Fixture {
    let text = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = text.split_once("--- expect\n").expect("a part `expect`");
    let (expected, body) = rest.split_once("--- body\n").expect("a part `body`");
    let head: Vec<String> = head.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
    let escapes = head.iter().any(|line| line == "escapes");
    let body = if escapes { unescape(body) } else { body.as_bytes().to_vec() };
    Fixture { path, head, expected: expected.to_owned(), body }
}

fn unescape(text: &str) -> Vec<u8> {
    let mut pieces = text.split("\\x");
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let (hex, rest) = piece.split_at(2);
        bytes.push(u8::from_str_radix(hex, 16).expect("two hexadecimal digits"));
        bytes.extend_from_slice(rest.as_bytes());
    }
    bytes
}

/// One line per event, then one for the error if there is one.
fn lines(events: &[StreamEvent], error: Option<&ProviderError>) -> String {
    let mut text: String = events.iter().map(|event| line(event) + "\n").collect();
    if let Some(error) = error {
        text.push_str(&error_line(error));
        text.push('\n');
    }
    text
}

fn line(event: &StreamEvent) -> String {
    match event {
        StreamEvent::Started { model } => format!("started {model}"),
        StreamEvent::PartStarted { index, kind } => match kind {
            StartKind::Text => format!("{index} text"),
            StartKind::Thinking => format!("{index} thinking"),
            StartKind::ToolCall { wire_id, name } => format!("{index} call {name:?} {wire_id:?}"),
            StartKind::Native => format!("{index} native"),
        },
        StreamEvent::PartDelta { index, delta } => format!("{index} + {delta:?}"),
        StreamEvent::PartEnded { index, opaque: None } => format!("{index} ."),
        StreamEvent::PartEnded { index, opaque: Some(opaque) } => {
            format!("{index} . {}/{} {}", opaque.wire, opaque.model, opaque.data)
        }
        StreamEvent::Notice { text } => format!("notice {text:?}"),
        StreamEvent::Usage { usage } => format!("usage {:?}/{:?}", usage.input, usage.output),
        StreamEvent::Finished { stop, usage } => {
            let count = |count: Option<u64>| count.map_or("-".to_owned(), |count| count.to_string());
            let counts = [usage.input, usage.output, usage.cached_input, usage.cache_write, usage.reasoning];
            format!(
                "finished {:?} raw={:?} detail={:?} usage={}",
                stop.kind,
                stop.raw.as_deref().unwrap_or("-"),
                stop.detail.as_deref().unwrap_or("-"),
                counts.map(count).join("/"),
            )
        }
    }
}

fn error_line(error: &ProviderError) -> String {
    let mut text = format!("error {:?}", error.class);
    if let Some(status) = error.status {
        text.push_str(&format!(" status={status}"));
    }
    if let Some(code) = &error.code {
        text.push_str(&format!(" code={code}"));
    }
    if let Some(wait) = error.retry_after {
        text.push_str(&format!(" wait={wait:?}"));
    }
    if let Some(retry) = error.should_retry {
        text.push_str(&format!(" should_retry={retry}"));
    }
    if let Some(id) = &error.request_id {
        text.push_str(&format!(" request={id}"));
    }
    format!("{text} | {}", error.message)
}

type Outcome = (Vec<StreamEvent>, Option<ProviderError>);

fn decode<'a, D: StreamDecoder>(mut decoder: D, chunks: impl IntoIterator<Item = &'a [u8]>) -> Outcome {
    let mut events = Vec::new();
    for chunk in chunks {
        if let Err(error) = decoder.feed(chunk, &mut events) {
            return (events, Some(error));
        }
    }
    let error = decoder.finish(&mut events).err();
    (events, error)
}

/// The same stream with other line ends, and with comments between its events.
fn variants(body: &[u8]) -> [Vec<u8>; 3] {
    let text: Vec<&[u8]> = body.split(|byte| *byte == b'\n').collect();
    let commented = body.split_inclusive(|byte| *byte == b'\n').fold(vec![], |mut all: Vec<u8>, line| {
        all.extend_from_slice(line);
        if line == b"\n" {
            all.extend_from_slice(b": still here\n\n");
        }
        all
    });
    [text.join(b"\r\n".as_slice()), text.join(b"\r".as_slice()), commented]
}

fn check<C: WireCodec>(codec: &C, fixture: &Fixture) -> Result<(), String> {
    let fresh = || codec.decoder("asked");
    let told = |how: &str, (events, error): &Outcome| {
        let found = lines(events, error.as_ref());
        if found == fixture.expected {
            return Ok(());
        }
        Err(format!("@@ {} ({how})\n{found}@@ expected\n{}@@\n", fixture.path.display(), fixture.expected))
    };
    if let Some(status) = fixture.status() {
        let error = codec.classify(status, &fixture.headers(), &fixture.body);
        return told("classified", &(Vec::new(), Some(error)));
    }
    told("whole", &decode(fresh(), [fixture.body.as_slice()]))?;
    told("byte by byte", &decode(fresh(), fixture.body.chunks(1)))?;
    if fixture.is_json() {
        return Ok(());
    }
    for (number, variant) in variants(&fixture.body).iter().enumerate() {
        told(&format!("variant {number}"), &decode(fresh(), variant.chunks(7)))?;
    }
    Ok(())
}

#[test]
fn fixtures_are_decoded_exactly() {
    fn failures<C: WireCodec>(codec: &C, wire: &str, least: usize) -> String {
        let fixtures = fixtures(wire);
        assert!(fixtures.len() >= least, "{} fixtures of {wire}", fixtures.len());
        fixtures.iter().filter_map(|fixture| check(codec, fixture).err()).collect()
    }
    let failures = [
        failures(&Anthropic, "anthropic", 50),
        failures(&OpenAiChat::new(Quirks::OPENAI), "openai_chat", 70),
        failures(&OpenAiResponses, "openai_responses", 120),
        failures(&Gemini, "gemini", 100),
        failures(&Ollama::default(), "ollama", 30),
    ]
    .concat();
    assert!(failures.is_empty(), "{failures}");
}

/// Every proper prefix of a good stream is incomplete, and no call that ends in it differs from the final one.
#[test]
fn prefixes_are_incomplete() {
    fn check_prefixes<C: WireCodec>(codec: &C, wire: &str)
    where
        C::Decoder: Clone,
    {
        let good =
            fixtures(wire).into_iter().filter(|fixture| fixture.status().is_none() && !fixture.is_json());
        for fixture in good {
            let (whole, error) = decode(codec.decoder("asked"), [fixture.body.as_slice()]);
            if error.is_some() {
                continue;
            }
            let mut decoder = codec.decoder("asked");
            let mut events = Vec::new();
            for (end, byte) in fixture.body.iter().enumerate() {
                let mut last = Vec::new();
                let error = decoder.clone().finish(&mut last).err();
                let finished = matches!(last.last().or(events.last()), Some(StreamEvent::Finished { .. }));
                assert_ne!(finished, error.is_some(), "{} up to {end}", fixture.path.display());
                let same = last.iter().zip(&whole[events.len()..]).take_while(|(one, other)| one == other);
                let ends_call = |event: &StreamEvent| matches!(event, StreamEvent::PartEnded { .. });
                assert!(
                    finished || !last[same.count()..].iter().any(ends_call),
                    "{} up to {end} ends a part that the whole does not",
                    fixture.path.display()
                );
                let before = events.len();
                decoder.feed(&[*byte], &mut events).unwrap();
                assert_eq!(
                    events[before..],
                    whole[before..events.len()],
                    "{} at {end}",
                    fixture.path.display()
                );
            }
        }
    }
    check_prefixes(&Anthropic, "anthropic");
    check_prefixes(&OpenAiChat::new(Quirks::OPENAI), "openai_chat");
    check_prefixes(&OpenAiResponses, "openai_responses");
    check_prefixes(&Ollama::default(), "ollama");
    check_prefixes(&Gemini, "gemini");
}

/// An endless reply is given up with a typed error, in bounded memory.
#[test]
fn endless_streams_are_given_up() {
    let piece = "x".repeat(1024 * 1024);
    let signature = format!(
        "data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"signature_delta\",\"signature\":\"{piece}\"}}}}\n\n"
    );
    let thinking = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n";
    let arguments = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":0,\"function\":{{\"arguments\":\"{piece}\"}}}}]}}}}]}}\n\n"
    );
    let chat = OpenAiChat::new(Quirks::OPENAI);
    given_up(Anthropic.decoder("asked"), "data: ", &piece);
    given_up(chat.decoder("asked"), "", &piece);
    given_up(Anthropic.decoder("asked"), thinking, &signature);
    given_up(chat.decoder("asked"), "", &arguments);
    let refusal =
        format!("data: {{\"type\":\"response.refusal.delta\",\"output_index\":0,\"delta\":\"{piece}\"}}\n\n");
    let unnamed = refusal.replace("refusal.delta", "function_call_arguments.delta");
    given_up(OpenAiResponses.decoder("asked"), "data: ", &piece);
    given_up(OpenAiResponses.decoder("asked"), "", &refusal);
    given_up(OpenAiResponses.decoder("asked"), "", &unnamed);
    given_up(Ollama::default().decoder("asked"), "{\"message\":{\"content\":\"", &piece);
    let begun = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"f\",\"willContinue\":true}}]}}]}\n\n";
    let pieces = format!(
        "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"functionCall\":{{\"partialArgs\":[{{\"jsonPath\":\"$.a\",\"stringValue\":\"{piece}\"}}],\"willContinue\":true}}}}]}}}}]}}\n\n"
    );
    given_up(Gemini.decoder("asked"), begun, &pieces);
    given_up(Gemini.decoder("asked"), "data: ", &piece);
    given_up(Gemini.decoder("asked"), "[{\"a\":\"", &piece);
}

fn given_up<D: StreamDecoder>(mut decoder: D, first: &str, repeated: &str) {
    let mut events = Vec::new();
    decoder.feed(first.as_bytes(), &mut events).unwrap();
    let error = (0..64).find_map(|_| decoder.feed(repeated.as_bytes(), &mut events).err());
    assert_eq!(error.expect("an endless stream is an error").class, ErrorClass::Malformed);
    let said: usize = events.iter().map(|event| line(event).len()).sum();
    assert!(said < 1024, "what is held back is not said");
}

/// Bytes near a protocol: bodies of fixtures with some bytes changed, or anything at all.
fn bytes_near(wire: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let bodies: Vec<Vec<u8>> = fixtures(wire).into_iter().map(|fixture| fixture.body).collect();
    let changes = proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..4);
    let near = (proptest::sample::select(bodies), changes).prop_map(|(mut body, changes)| {
        for (at, byte) in changes {
            if !body.is_empty() {
                let at = at.index(body.len());
                body[at] = byte;
            }
        }
        body
    });
    prop_oneof![4 => near, 1 => proptest::collection::vec(any::<u8>(), 0..200)]
}

proptest! {
    #[test]
    fn any_bytes_end_well(
        bytes in prop_oneof![
            bytes_near("anthropic"),
            bytes_near("openai_chat"),
            bytes_near("openai_responses"),
            bytes_near("gemini"),
            bytes_near("ollama"),
        ],
        sizes in proptest::collection::vec(1usize..80, 0..30),
    ) {
        kit::any_bytes::check(&bytes, &sizes);
    }
}
