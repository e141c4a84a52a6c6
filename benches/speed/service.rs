//! A model service on loopback that speaks Chat Completions, as fast as it is asked or at a pace of its own.
//!
//! Plain threads and sockets, one thread a connection, so that it costs as little as possible compared to what is measured.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The answer of the service.
#[derive(Clone)]
pub enum Answer {
    /// The same text each time, at once.
    Text(String),
    /// These tokens one after another, so many a second.
    Paced { tokens: Vec<String>, a_second: u32 },
    /// So many rounds of a search for files, then a text.
    Rounds { rounds: usize },
    /// So many rounds of a command that prints its number, then a text.
    Commands { rounds: usize },
    /// So many searches in one reply, each of which is answered after a while, then a text.
    Searches { searches: usize, each: Duration },
}

/// When a request came in whole, and when the last byte of its answer had been written.
#[derive(Clone, Copy)]
pub struct RequestTimes {
    pub asked: Instant,
    pub answered: Instant,
}

pub struct Service {
    pub url: String,
    served: Receiver<RequestTimes>,
}

impl Service {
    /// Listens on a free port until the process ends.
    pub fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (tell, served) = channel();
        thread::spawn(move || {
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            NEXT.store(0, Ordering::SeqCst);
            for stream in listener.incoming().map_while(Result::ok) {
                let (answer, tell) = (answer.clone(), tell.clone());
                thread::spawn(move || serve(&stream, &answer, &NEXT, &tell));
            }
        });
        Self { url, served }
    }

    /// The requests served since the last call.
    pub fn served(&self) -> Vec<RequestTimes> {
        self.served.try_iter().collect()
    }
}

/// Requests of one connection, until it is closed.
fn serve(stream: &TcpStream, answer: &Answer, next: &AtomicUsize, tell: &Sender<RequestTimes>) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream);
    while let Some(wanted) = request(&mut reader) {
        let asked = Instant::now();
        if let (Answer::Searches { each, .. }, RequestPurpose::Search) = (answer, wanted) {
            thread::sleep(*each);
            if found(stream).is_none() {
                return;
            }
            continue;
        }
        let number = next.fetch_add(1, Ordering::SeqCst);
        if respond(stream, answer, number).is_none() {
            return;
        }
        // The bench may be over.
        let _ = tell.send(RequestTimes { asked, answered: Instant::now() });
    }
}

/// The purpose of a request.
enum RequestPurpose {
    Reply,
    Search,
}

/// Answers a search as a SearXNG server does.
fn found(mut stream: &TcpStream) -> Option<()> {
    let body = r#"{"results":[{"title":"A","url":"https://a.invalid/","content":"about a"}]}"#;
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).ok()
}

/// Reads one request; `None` at the end of the connection.
fn request(reader: &mut BufReader<&TcpStream>) -> Option<RequestPurpose> {
    let mut length = 0;
    let mut wanted = RequestPurpose::Reply;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.starts_with("GET /search?") {
            wanted = RequestPurpose::Search;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.is_empty() {
            break;
        }
    }
    std::io::copy(&mut reader.take(length), &mut std::io::sink()).ok().map(|_| wanted)
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn respond(mut stream: &TcpStream, answer: &Answer, number: usize) -> Option<()> {
    stream.write_all(HEAD.as_bytes()).ok()?;
    match answer {
        Answer::Text(text) => {
            for piece in whole(text).chunks(PIECE) {
                stream.write_all(piece).ok()?;
            }
        }
        Answer::Rounds { rounds } if number % (rounds + 1) < *rounds => {
            let arguments = format!("{{\\\"pattern\\\":\\\"none-{number}\\\"}}");
            stream.write_all(&chunk(&call(number, "find_files", &arguments))).ok()?;
        }
        Answer::Commands { rounds } if number % (rounds + 1) < *rounds => {
            let arguments = format!("{{\\\"command\\\":\\\"echo {number}\\\"}}");
            stream.write_all(&chunk(&call(number, "shell", &arguments))).ok()?;
        }
        Answer::Searches { searches, .. } if number.is_multiple_of(2) => {
            let calls: String = (0..*searches).map(|at| search(number, at)).collect();
            stream.write_all(&chunk(&(calls + &end("tool_calls")))).ok()?;
        }
        Answer::Searches { .. } | Answer::Rounds { .. } | Answer::Commands { .. } => {
            stream.write_all(&whole("done")).ok()?;
        }
        Answer::Paced { tokens, a_second } => {
            let start = Instant::now();
            for (at, token) in tokens.iter().enumerate() {
                let due = start + Duration::from_secs(1) * u32::try_from(at).unwrap() / *a_second;
                thread::sleep(due.saturating_duration_since(Instant::now()));
                stream.write_all(&chunk(&delta(token))).ok()?;
            }
            stream.write_all(&chunk(&end("stop"))).ok()?;
        }
    }
    stream.write_all(b"0\r\n\r\n").ok()
}

/// Bytes that are written at once: more than one event comes with each read.
const PIECE: usize = 16 * 1024;

/// A text as deltas of about four characters, each event a chunk of its own, as servers send them.
fn whole(text: &str) -> Vec<u8> {
    let chars: Vec<char> = text.chars().collect();
    let deltas = chars.chunks(4).map(|piece| delta(&piece.iter().collect::<String>()));
    deltas.chain([end("stop")]).flat_map(|event| chunk(&event)).collect()
}

fn delta(text: &str) -> String {
    let text = serde_json::Value::from(text);
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{text}}}}}]}}\n\n")
}

/// A call of a tool; the arguments are escaped JSON.
fn call(number: usize, name: &str, arguments: &str) -> String {
    let call = format!(
        "{{\"index\":0,\"id\":\"c{number}\",\"type\":\"function\",\"function\":{{\"name\":\"{name}\",\"arguments\":\"{arguments}\"}}}}"
    );
    format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{call}]}}}}]}}

{}",
        end("tool_calls")
    )
}

/// One of several searches; no two ask for the same.
fn search(number: usize, at: usize) -> String {
    let call = format!(
        "{{\"index\":{at},\"id\":\"c{number}-{at}\",\"type\":\"function\",\"function\":{{\"name\":\"web_search\",\"arguments\":\"{{\\\"query\\\":\\\"{number} {at}\\\"}}\"}}}}"
    );
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{call}]}}}}]}}\n\n")
}

fn end(reason: &str) -> String {
    let usage = "{\"prompt_tokens\":1000,\"completion_tokens\":100,\"total_tokens\":1100}";
    format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{reason}\"}}],\"usage\":{usage}}}\n\ndata: [DONE]\n\n"
    )
}

fn chunk(bytes: &str) -> Vec<u8> {
    format!("{:x}\r\n{bytes}\r\n", bytes.len()).into_bytes()
}
