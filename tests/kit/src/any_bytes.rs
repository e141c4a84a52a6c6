//! Properties of every decoder and reader that hold for arbitrary input bytes.
//!
//! One entry point ([`any_bytes`]) for the property test of `cargo test` and for the fuzz target in `fuzz/`.
//! It panics if a property does not hold and has no other effect; the program itself never calls it.

use co_engine::provider::anthropic::Anthropic;
use co_engine::provider::gemini::Gemini;
use co_engine::provider::ollama::Ollama;
use co_engine::provider::openai_chat::{OpenAiChat, Quirks};
use co_engine::provider::openai_responses::OpenAiResponses;
use co_engine::provider::{ProviderError, RetryHeaders, StreamDecoder, StreamEvent, WireCodec};
use co_engine::stdx::json_items::JsonItems;
use co_engine::stdx::sse::SseReader;

/// Bytes that a decoder may hold in addition to its input.
const ROOM: usize = 64 * 1024;

/// The limit of the bare readers here, small enough to be reached.
const LIMIT: usize = 256;

/// Feeds bytes to all readers of server output. The first 16 determine how the rest is split.
pub fn any_bytes(data: &[u8]) {
    let (sizes, bytes) = data.split_at(data.len().min(16));
    let sizes: Vec<usize> = sizes.iter().map(|size| usize::from(*size) + 1).collect();
    check(bytes, &sizes);
}

/// The same with pieces of these sizes and the remainder in one.
pub fn check(bytes: &[u8], sizes: &[usize]) {
    let pieces = pieces(bytes, sizes);
    events(&pieces, bytes);
    items(&pieces, bytes);
    headers(bytes);
    codec(&Anthropic, &pieces, bytes);
    codec(&OpenAiChat::new(Quirks::OPENAI), &pieces, bytes);
    codec(&OpenAiResponses, &pieces, bytes);
    codec(&Gemini, &pieces, bytes);
    codec(&Ollama::default(), &pieces, bytes);
}

fn pieces<'a>(bytes: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    let mut rest = bytes;
    for size in sizes {
        let (piece, after) = rest.split_at((*size).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

/// A reply does not depend on how it is split; it is either finished or failed; nothing follows its end; and
/// no more is held than was received.
fn codec<C: WireCodec>(codec: &C, pieces: &[&[u8]], bytes: &[u8]) {
    let whole = decode(codec.decoder("asked"), &[bytes]);
    let cut = decode(codec.decoder("asked"), pieces);
    assert!(whole == cut, "cuts change a reply: {whole:?}\n{cut:?}");
    let (events, error) = whole;
    let ends = events.iter().filter(|event| matches!(event, StreamEvent::Finished { .. })).count();
    let last = matches!(events.last(), Some(StreamEvent::Finished { .. }));
    assert!(ends == usize::from(last), "something follows the end: {events:?}");
    assert!(last != error.is_some(), "a reply is finished or failed: {events:?} {error:?}");
    for error in error.iter().chain(&[codec.classify(500, &RetryHeaders::default(), bytes)]) {
        assert!(!error.message.trim().is_empty(), "a failure says nothing: {error:?}");
        assert!(error.message.chars().count() <= 4_096, "a failure says too much: {error:?}");
    }
}

fn decode<D: StreamDecoder>(mut decoder: D, pieces: &[&[u8]]) -> (Vec<StreamEvent>, Option<ProviderError>) {
    let mut events = Vec::new();
    let mut fed = 0;
    for piece in pieces {
        fed += piece.len();
        if let Err(error) = decoder.feed(piece, &mut events) {
            return (events, Some(error));
        }
        // A replacement character takes three bytes for one.
        assert!(decoder.held_bytes() <= 3 * fed + ROOM, "{} bytes are held of {fed}", decoder.held_bytes());
    }
    let error = decoder.finish(&mut events).err();
    (events, error)
}

fn events(pieces: &[&[u8]], bytes: &[u8]) {
    let read = |pieces: &[&[u8]]| {
        let mut reader = SseReader::with_limit(LIMIT);
        let mut items = Vec::new();
        for piece in pieces {
            reader.feed(piece);
            while let Ok(Some(item)) = reader.next_item() {
                items.push(item);
            }
            assert!(reader.held_bytes() <= 8 * LIMIT, "{} bytes are held", reader.held_bytes());
        }
        reader.finish();
        let end = loop {
            match reader.next_item() {
                Ok(Some(item)) => items.push(item),
                end => break end,
            }
        };
        (items, end)
    };
    assert!(read(pieces) == read(&[bytes]), "cuts change an event stream");
}

fn items(pieces: &[&[u8]], bytes: &[u8]) {
    let read = |pieces: &[&[u8]]| {
        let mut reader = JsonItems::with_limit(bytes.len() + 1);
        let mut items = Vec::new();
        for piece in pieces {
            reader.feed(piece);
            loop {
                match reader.next_item() {
                    Ok(Some(item)) => items.push(item),
                    Ok(None) => break,
                    Err(error) => return (items, Some(error)),
                }
            }
            assert!(reader.held_bytes() <= bytes.len(), "{} bytes are held", reader.held_bytes());
        }
        (items, None)
    };
    assert!(read(pieces) == read(&[bytes]), "cuts change the items of a JSON body");
}

fn headers(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let read = RetryHeaders::read(jiff::Timestamp::UNIX_EPOCH, |_| Some(&text));
    assert!(read.retry_after.is_none_or(|wait| !wait.is_zero()), "a wait of nothing");
}
