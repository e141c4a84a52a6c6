//! The answers of a server.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::replay::Reply;

/// One answer to one model request.
#[derive(Debug, Clone)]
pub enum ServerAnswer {
    /// Sent in the bytes of the wire of the request.
    Reply(Reply),
    /// Sent as it was recorded.
    Recording(Recording),
}

/// An answer, byte for byte.
#[derive(Debug, Clone)]
pub struct Recording {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub delivery: Delivery,
}

/// How a recording is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    Whole,
    /// The connection ends after this many bytes of the body.
    CutAfter(usize),
    /// The body is sent in pieces of this many bytes, each in a separate write.
    InPieces(usize),
    /// This many bytes of the body are sent, then nothing; the connection stays open.
    SilentAfter(usize),
    /// The connection stays open, and nothing is sent.
    Silent,
}

/// Why a recording cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("the recording {path:?} cannot be read: {reason}")]
pub struct RecordingError {
    pub path: PathBuf,
    pub reason: String,
}

/// Headers about the recorded bytes on the wire, which do not apply here.
const STALE: [&str; 4] = ["content-length", "transfer-encoding", "content-encoding", "connection"];

impl Recording {
    /// Reads a folder of a recorded case: `headers.json`, and `response.sse`, `.json` or `.ndjson`.
    pub fn read(folder: &Path) -> Result<Self, RecordingError> {
        let fail = |reason: String| RecordingError { path: folder.to_owned(), reason };
        let head = std::fs::read(folder.join("headers.json")).map_err(|error| fail(error.to_string()))?;
        let head: Value = serde_json::from_slice(&head).map_err(|error| fail(error.to_string()))?;
        let status = head.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
        let (body, kind) = ["sse", "json", "ndjson"]
            .iter()
            .find_map(|kind| Some((std::fs::read(folder.join(format!("response.{kind}"))).ok()?, *kind)))
            .ok_or_else(|| fail("there is no response.sse, response.json or response.ndjson".to_owned()))?;
        let mut headers = recorded_headers(&head);
        if !headers.iter().any(|(name, _)| name == "content-type") {
            let value = match kind {
                "sse" => "text/event-stream",
                "ndjson" => "application/x-ndjson",
                _ => "application/json",
            };
            headers.push(("content-type".to_owned(), value.to_owned()));
        }
        Ok(Self { status: status.unwrap_or(200), headers, body, delivery: Delivery::Whole })
    }
}

fn recorded_headers(head: &Value) -> Vec<(String, String)> {
    let recorded =
        head.get("response").and_then(|response| response.get("headers")).and_then(Value::as_object);
    let mut headers = Vec::new();
    for (name, values) in recorded.into_iter().flatten() {
        let name = name.to_ascii_lowercase();
        if STALE.contains(&name.as_str()) {
            continue;
        }
        let first = values.as_array().and_then(|values| values.first()).unwrap_or(values);
        if let Some(value) = first.as_str() {
            headers.push((name, value.to_owned()));
        }
    }
    headers
}
