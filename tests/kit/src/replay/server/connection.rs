//! One connection: answers requests until one is cut or is for a page, or the client disconnects.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::answer::{Delivery, Recording, ServerAnswer};
use super::frames::{Frame, Head, HttpResponse};
use super::{ReceivedRequest, Shared, wire};

/// The longest request head, in bytes.
const LONGEST_HEAD: usize = 64 * 1024;

/// The longest request body, in bytes.
const LONGEST_BODY: usize = 64 * 1024 * 1024;

/// The end of a body.
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// The wire that a path belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wire {
    Anthropic,
    OpenAiChat,
    OpenAiResponses,
    Gemini,
    Ollama,
}

impl Wire {
    /// Returns the wire of this path.
    fn of(path: &str) -> Option<Self> {
        let ends: [(&str, Self); 6] = [
            ("/messages", Self::Anthropic),
            ("/chat/completions", Self::OpenAiChat),
            ("/responses", Self::OpenAiResponses),
            (":streamGenerateContent", Self::Gemini),
            (":generateContent", Self::Gemini),
            ("/api/chat", Self::Ollama),
        ];
        let path = path.split('?').next().unwrap_or_default();
        ends.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, wire)| wire)
    }

    /// Returns the model that a request asks for.
    fn model(self, path: &str, body: &Value) -> String {
        let in_path = path.rsplit('/').next().and_then(|last| last.split(':').next());
        let in_body = body.get("model").and_then(Value::as_str);
        let model = if self == Self::Gemini { in_path } else { in_body };
        model.unwrap_or_default().to_owned()
    }
}

/// The result of sending an answer.
enum SendOutcome {
    All,
    /// All of it was sent, but it has no proper end.
    Cut,
    /// The client disconnected.
    Gone,
}

/// Whether a connection is kept after an answer.
#[derive(Clone, Copy, PartialEq)]
enum KeepAlive {
    Kept,
    Closed,
}

impl KeepAlive {
    fn word(self) -> &'static str {
        match self {
            Self::Kept => "keep-alive",
            Self::Closed => "close",
        }
    }
}

pub async fn serve(mut stream: TcpStream, shared: &Shared) {
    while let Some(request) = read(&mut stream).await {
        match Wire::of(&request.path).filter(|_| request.method == "POST") {
            Some(wire) => match model_request(&mut stream, shared, request, wire).await {
                SendOutcome::All => {}
                SendOutcome::Cut | SendOutcome::Gone => return,
            },
            None => {
                let (status, kind, body) = page(shared, &request).await;
                let frames = vec![Frame::Send(body.into_bytes())];
                let answer = HttpResponse { head: Some(Head::new(status, kind)), frames };
                // Whether a page was received is not logged.
                let _ = send(&mut stream, shared, answer, KeepAlive::Closed).await;
                return;
            }
        }
    }
}

async fn model_request(
    stream: &mut TcpStream,
    shared: &Shared,
    request: ReceivedRequest,
    wire: Wire,
) -> SendOutcome {
    let path = request.path.clone();
    let (number, answer, finding) = take(shared, request, wire);
    shared.note(format!("request {number} {path}"));
    if let Some(finding) = finding {
        shared.note(format!("refused {number} {finding}"));
    }
    let sent = send(stream, shared, answer, KeepAlive::Kept).await;
    match sent {
        SendOutcome::All | SendOutcome::Cut => shared.note(format!("sent {number}")),
        SendOutcome::Gone => shared.note(format!("gone {number}")),
    }
    sent
}

/// Records the request, checks it, and takes the next answer if it is valid.
fn take(shared: &Shared, request: ReceivedRequest, wire: Wire) -> (usize, HttpResponse, Option<String>) {
    let mut state = shared.lock();
    let body = request.body.clone();
    let path = request.path.clone();
    let model = wire.model(&path, &body);
    state.requests.push(request);
    let number = state.requests.len();
    let checked = match wire {
        Wire::Anthropic => state.checker.anthropic(&body),
        Wire::OpenAiChat => state.checker.openai_chat(&body),
        Wire::OpenAiResponses => state.checker.openai_responses(&body),
        Wire::Gemini => state.checker.gemini(&model, &body),
        Wire::Ollama => state.checker.ollama(&body),
    };
    if let Err(finding) = checked {
        let finding = finding.to_string();
        state.findings.push(finding.clone());
        return (number, error(400, "invalid_request_error", &finding), Some(finding));
    }
    match state.answers.pop_front() {
        None => (
            number,
            error(404, "script_exhausted", &format!("the script has no reply for request {number}")),
            None,
        ),
        Some(ServerAnswer::Recording(recording)) => {
            state.checker.give_recorded(&recording.body);
            (number, recorded(recording), None)
        }
        Some(ServerAnswer::Reply(reply)) => {
            match wire {
                Wire::Ollama => state.checker.give(&reply.unsigned(), number, &model),
                Wire::Anthropic | Wire::OpenAiChat | Wire::OpenAiResponses | Wire::Gemini => {
                    state.checker.give(&reply, number, &model);
                }
            }
            let answer = match wire {
                Wire::Anthropic => wire::anthropic(&reply, number, &model),
                Wire::OpenAiChat => wire::openai_chat(&reply, number, &model),
                Wire::OpenAiResponses => wire::openai_responses(&reply, number, &model),
                Wire::Gemini => wire::gemini(&reply, number, &model, wire::framing(&path)),
                Wire::Ollama => wire::ollama(&reply, number, &model),
            };
            (number, answer, None)
        }
    }
}

/// Returns an error that the clients of all wires can read.
fn error(status: u16, code: &str, message: &str) -> HttpResponse {
    let body = json!({ "type": "error", "error": { "type": code, "code": code, "message": message } });
    let frames = vec![Frame::Send(body.to_string().into_bytes())];
    HttpResponse { head: Some(Head::new(status, "application/json")), frames }
}

fn recorded(recording: Recording) -> HttpResponse {
    let head = Head { status: recording.status, headers: recording.headers };
    let frames = match recording.delivery {
        Delivery::Whole => vec![Frame::Send(recording.body)],
        Delivery::CutAfter(length) => {
            let length = length.min(recording.body.len());
            vec![Frame::Send(recording.body.get(..length).unwrap_or_default().to_vec()), Frame::Cut]
        }
        Delivery::SilentAfter(length) => {
            let length = length.min(recording.body.len());
            vec![Frame::Send(recording.body.get(..length).unwrap_or_default().to_vec()), Frame::Hang]
        }
        Delivery::InPieces(size) => {
            recording.body.chunks(size.max(1)).map(|piece| Frame::Send(piece.to_vec())).collect()
        }
        Delivery::Silent => return HttpResponse { head: None, frames: vec![Frame::Hang] },
    };
    HttpResponse { head: Some(head), frames }
}

async fn page(shared: &Shared, request: &ReceivedRequest) -> (u16, &'static str, String) {
    let json = "application/json";
    let path = request.path.split('?').next().unwrap_or_default();
    if let Some(page) = shared.pages.iter().find(|page| page.path == path) {
        return (page.status, json, page.body.clone());
    }
    if let Some(name) = path.strip_prefix("/control/release/") {
        shared.gate.release(name);
        return (200, json, json!({ "released": name }).to_string());
    }
    if let Some(name) = path.strip_prefix("/control/reached/") {
        shared.gate.reached(name).await;
        return (200, json, json!({ "reached": name }).to_string());
    }
    match path {
        "/control/log" => (200, "text/plain; charset=utf-8", shared.log.borrow().join("\n")),
        "/v1/models" => {
            let model = json!({ "id": "replay", "object": "model", "owned_by": "co" });
            (200, json, json!({ "object": "list", "data": [model] }).to_string())
        }
        path => {
            (404, json, json!({ "error": { "message": format!("there is nothing at {path}") } }).to_string())
        }
    }
}

/// Sends an answer; its body is chunked, so that a cut can be detected.
async fn send(
    stream: &mut TcpStream,
    shared: &Shared,
    answer: HttpResponse,
    after: KeepAlive,
) -> SendOutcome {
    let mut head = answer.head.map(|head| (head, after));
    let mut frames = answer.frames.into_iter().peekable();
    while let Some(frame) = frames.next() {
        // The end is sent with the last piece, as by most servers.
        let end = if frames.peek().is_none() { LAST_CHUNK } else { b"" };
        let sent = match frame {
            Frame::Gate(name) => {
                shared.note(format!("gate {name}"));
                if !waits(stream, shared.gate.pass(&name)).await {
                    return SendOutcome::Gone;
                }
                write(stream, &mut head, &[], 0, end).await
            }
            Frame::Hang => {
                waits(stream, std::future::pending()).await;
                return SendOutcome::Gone;
            }
            // Dropping the stream without the last chunk is a cut.
            Frame::Cut => return SendOutcome::Cut,
            Frame::Send(bytes) => write(stream, &mut head, &bytes, 1, end).await,
            Frame::Repeat { bytes, times } => write(stream, &mut head, &bytes, times, end).await,
        };
        if sent.is_err() {
            return SendOutcome::Gone;
        }
    }
    let closed = match after {
        KeepAlive::Kept => Ok(()),
        KeepAlive::Closed => stream.shutdown().await,
    };
    if closed.is_err() { SendOutcome::Gone } else { SendOutcome::All }
}

/// Waits for a future while the client is connected; false if it disconnected.
async fn waits(stream: &mut TcpStream, something: impl Future<Output = ()>) -> bool {
    let mut byte = [0u8; 1];
    tokio::select! {
        () = something => true,
        // A client sends nothing while it waits: anything that arrives is its end.
        _ = stream.read(&mut byte) => false,
    }
}

/// Writes the same bytes many times, each time as a separate chunk, and `end` with the last.
async fn write(
    stream: &mut TcpStream,
    head: &mut Option<(Head, KeepAlive)>,
    bytes: &[u8],
    times: usize,
    end: &[u8],
) -> std::io::Result<()> {
    if times == 0 && end.is_empty() {
        return Ok(());
    }
    write_head(stream, head).await?;
    let times = if bytes.is_empty() { 0 } else { times };
    for left in (0..times).rev() {
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        if left == 0 {
            chunk.extend_from_slice(end);
        }
        stream.write_all(&chunk).await?;
    }
    if times == 0 {
        stream.write_all(end).await?;
    }
    stream.flush().await
}

async fn write_head(stream: &mut TcpStream, head: &mut Option<(Head, KeepAlive)>) -> std::io::Result<()> {
    let Some((head, after)) = head.take() else { return Ok(()) };
    let mut text = format!("HTTP/1.1 {} Replayed\r\n", head.status);
    for (name, value) in &head.headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("transfer-encoding: chunked\r\nconnection: {}\r\n\r\n", after.word()));
    stream.write_all(text.as_bytes()).await
}

/// Reads one request. `None` if it is invalid, or the client disconnected.
async fn read(stream: &mut TcpStream) -> Option<ReceivedRequest> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if bytes.len() > LONGEST_HEAD || stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(bytes.get(..head_end)?).into_owned();
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length =
        headers.iter().find(|(name, _)| name == "content-length").map_or("0", |(_, value)| value.as_str());
    let length: usize = length.parse().ok().filter(|length| *length <= LONGEST_BODY)?;
    let body_start = head_end + 4;
    while bytes.len() < body_start + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = serde_json::from_slice(bytes.get(body_start..body_start + length)?).unwrap_or_default();
    Some(ReceivedRequest { method, path, headers, body })
}
