//! Long streams of each wire: hand-written ones whose pieces are said many times, and recorded ones as they are.

use std::path::{Path, PathBuf};

use co::provider::StreamEvent;
use co::stdx::json_items::JsonItems;
use co::stdx::sse::{SseItem, SseReader};

/// How often a piece is said.
const TIMES: usize = 100;

/// A stream, and the data of its events for those who only parse.
pub struct Stream {
    pub bytes: Vec<u8>,
    pub data: Vec<String>,
}

type Decode = fn(&[u8]) -> Option<Vec<StreamEvent>>;

/// The fixtures of a wire that are good streams, each event said many times where that only makes the reply longer.
pub fn fixtures(wire: &str, decode: Decode) -> Vec<Stream> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/wire").join(wire);
    let bodies = files(&folder).into_iter().filter_map(|path| {
        let text = std::fs::read_to_string(path).ok()?;
        let (head, body) = text.split_once("--- body\n")?;
        let plain =
            !head.lines().any(|line| line == "json" || line == "escapes" || line.starts_with("status"));
        plain.then(|| body.as_bytes().to_vec())
    });
    bodies.filter_map(|body| enlarged(&body, decode)).map(Stream::of).collect()
}

/// The recorded streams of folders whose names begin so, if `CO_RECORDINGS` names where they are.
pub fn recordings(folders: &[&str], decode: Decode) -> Vec<Stream> {
    let Some(root) = std::env::var_os("CO_RECORDINGS").map(PathBuf::from) else { return Vec::new() };
    let of_wire = files(&root).into_iter().filter(|folder| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        folders.iter().any(|start| name.starts_with(start))
    });
    let cases = of_wire.flat_map(|folder| files(&folder));
    let bodies = cases.filter_map(|case| {
        let names = ["response.sse", "response.ndjson"];
        names.iter().find_map(|name| std::fs::read(case.join(name)).ok())
    });
    bodies.filter(|body| decode(body).is_some()).map(Stream::of).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// `None` where the stream is no good one or nothing in it can be said again.
fn enlarged(body: &[u8], decode: Decode) -> Option<Vec<u8>> {
    let said = |bytes: &[u8]| {
        let deltas = |event: &StreamEvent| matches!(event, StreamEvent::PartDelta { .. });
        let parts = |event: &StreamEvent| matches!(event, StreamEvent::PartStarted { .. });
        let events = decode(bytes)?;
        Some((
            events.iter().filter(|event| deltas(event)).count(),
            events.iter().filter(|event| parts(event)).count(),
        ))
    };
    let (deltas, parts) = said(body)?;
    let text = std::str::from_utf8(body).ok()?;
    let end = if text.contains("\n\n") { "\n\n" } else { "\n" };
    let events: Vec<&str> = text.split_inclusive(end).collect();
    let mut repeats = vec![1; events.len()];
    let joined = |repeats: &[usize]| -> Vec<u8> {
        let pieces = events.iter().zip(repeats).flat_map(|(event, times)| event.as_bytes().repeat(*times));
        pieces.collect()
    };
    for at in 0..events.len() {
        let mut twice = vec![1; events.len()];
        twice[at] = 2;
        let longer = said(&joined(&twice));
        if longer.is_some_and(|(more, same)| more > deltas && same == parts) {
            repeats[at] = TIMES;
        }
    }
    let long = joined(&repeats);
    let good = repeats.iter().any(|times| *times > 1) && said(&long).is_some();
    good.then_some(long)
}

impl Stream {
    fn of(bytes: Vec<u8>) -> Self {
        let mut data = Vec::new();
        if matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'[')) {
            let mut items = JsonItems::default();
            items.feed(&bytes);
            // Data after a reply's end need not be JSON.
            while let Ok(Some(item)) = items.next_item() {
                data.push(String::from_utf8(item).unwrap());
            }
        } else {
            let mut reader = SseReader::default();
            reader.feed(&bytes);
            reader.finish();
            while let Some(item) = reader.next_item().unwrap() {
                if let SseItem::Event { data: text, .. } = item {
                    data.push(text);
                }
            }
        }
        data.retain(|data| serde_json::from_str::<serde_json::Value>(data).is_ok());
        Self { bytes, data }
    }
}
