//! The cost of the codecs, compared to the least work that any program would do for the same bytes, in the same run.
//!
//! `decode`: a stream in pieces as a network brings them → events, beside `serde_json` parsing each event's data into a
//! `Value` and dropping it. The streams are our own fixtures made long, and recordings where `CO_RECORDINGS` names
//! their folder. `encode`: a request over a history of 1 MB, beside `serde_json` writing that history down as it is.
//!
//! Medians; nothing is asserted. `scripts/bench decode` and `scripts/bench encode` build and run it. A codec is a row.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints, and a failure ends it")]

mod encode;
mod streams;

use std::hint::black_box;
use std::time::{Duration, Instant};

use co::provider::anthropic::Anthropic;
use co::provider::gemini::Gemini;
use co::provider::ollama::Ollama;
use co::provider::openai_chat::{OpenAiChat, Quirks};
use co::provider::openai_responses::OpenAiResponses;
use co::provider::{ModelRequest, StreamDecoder, StreamEvent, WireCodec};
use serde_json::Value;

use self::streams::Stream;

/// How much of a stream comes at once, in bytes.
const PIECE: usize = 16 * 1024;

/// Rounds of which the median counts; each takes both sides in turn.
const ROUNDS: usize = 41;

/// A codec under measurement.
struct Row {
    /// Its folder of fixtures.
    wire: &'static str,
    /// How its folders of recordings begin.
    recorded: &'static [&'static str],
    /// Decodes a stream and gives its events, or `None` where it failed.
    decode: fn(&[u8]) -> Option<Vec<StreamEvent>>,
    /// Decodes a stream as the program does: events are taken and dropped as they come.
    run: fn(&[u8]),
    encode: fn(&ModelRequest) -> usize,
}

/// The row of a codec.
macro_rules! row {
    ($wire:literal, $recorded:expr, $codec:expr) => {
        Row {
            wire: $wire,
            recorded: $recorded,
            decode: |bytes| decode(&$codec, bytes),
            run: |bytes| run(&$codec, bytes),
            encode: |request| $codec.encode(request).unwrap().body.len(),
        }
    };
}

const ROWS: &[Row] = &[
    row!("anthropic", &["anthropic"], Anthropic),
    row!("openai_chat", &["openai_chat", "compat_"], OpenAiChat::new(Quirks::OPENAI)),
    row!("openai_responses", &["openai_responses"], OpenAiResponses),
    row!("gemini", &["gemini"], Gemini),
    row!("ollama", &["ollama_native"], Ollama::default()),
];

fn decode<C: WireCodec>(codec: &C, bytes: &[u8]) -> Option<Vec<StreamEvent>> {
    let mut decoder = codec.decoder("m");
    let mut events = Vec::new();
    decoder.feed(bytes, &mut events).and_then(|()| decoder.finish(&mut events)).ok()?;
    Some(events)
}

fn run<C: WireCodec>(codec: &C, bytes: &[u8]) {
    let mut decoder = codec.decoder("m");
    let mut events = Vec::new();
    for piece in bytes.chunks(PIECE) {
        decoder.feed(piece, &mut events).unwrap();
        black_box(&events);
        events.clear();
    }
    decoder.finish(&mut events).unwrap();
    black_box(&events);
}

fn parse(stream: &Stream) {
    for data in &stream.data {
        black_box(serde_json::from_str::<Value>(data).unwrap());
    }
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let takes = |name: &str| wanted.is_empty() || wanted.iter().any(|arg| arg == name);
    println!("{:<40} {:>10} {:>10} {:>7}  goal", "figure", "co", "floor", "ratio");
    if takes("decode") {
        for row in ROWS {
            decodes("fixtures", row, &streams::fixtures(row.wire, row.decode));
            let recordings = streams::recordings(row.recorded, row.decode);
            if !recordings.is_empty() {
                decodes("recordings", row, &recordings);
            }
        }
    }
    if takes("encode") {
        let request = encode::request();
        for row in ROWS {
            let floor = || drop(black_box(serde_json::to_vec(&request.messages).unwrap()));
            let ours = || {
                black_box((row.encode)(&request));
            };
            print(&format!("encode {} 1 MB", row.wire), &measure(ours, floor), "");
        }
    }
}

fn decodes(from: &str, row: &Row, streams: &[Stream]) {
    let bytes: usize = streams.iter().map(|stream| stream.bytes.len()).sum();
    let ours = || streams.iter().for_each(|stream| (row.run)(&stream.bytes));
    let floor = || streams.iter().for_each(parse);
    let name = format!("decode {} {from} {} kB", row.wire, bytes / 1_000);
    print(&name, &measure(ours, floor), "<= 2.0");
}

/// The times of both sides, taken in turns, as medians; and the median of what one took in terms of the other, which noise that
/// comes and goes moves less.
struct Medians {
    ours: Duration,
    floor: Duration,
    ratio: f64,
}

fn measure(ours: impl Fn(), floor: impl Fn()) -> Medians {
    let time = |work: &dyn Fn()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    let pairs: Vec<(Duration, Duration)> = (0..ROUNDS).map(|_| (time(&ours), time(&floor))).collect();
    let middle = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let seconds = |values: Vec<Duration>| {
        Duration::from_secs_f64(middle(values.iter().map(Duration::as_secs_f64).collect()))
    };
    Medians {
        ours: seconds(pairs.iter().map(|pair| pair.0).collect()),
        floor: seconds(pairs.iter().map(|pair| pair.1).collect()),
        ratio: middle(pairs.iter().map(|pair| pair.0.as_secs_f64() / pair.1.as_secs_f64()).collect()),
    }
}

fn print(name: &str, measured: &Medians, goal: &str) {
    let ms = |time: Duration| format!("{:.3} ms", time.as_secs_f64() * 1e3);
    let (ours, floor) = (ms(measured.ours), ms(measured.floor));
    println!("{name:<40} {ours:>10} {floor:>10} {:>6.2}x  {goal}", measured.ratio);
}
