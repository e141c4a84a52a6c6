//! A small HTTP server whose answers a function makes of the requests: a model, or a collector.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// The answer to a request.
pub struct HttpAnswer {
    status: u16,
    body: Vec<u8>,
}

impl HttpAnswer {
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, body: body.into() }
    }
}

type AnswerFn = dyn Fn(&str, &[u8]) -> HttpAnswer + Send + Sync;

/// Serves until the process of the tests ends; one request a connection.
pub struct HttpServer {
    address: SocketAddr,
}

impl HttpServer {
    /// `answer` gets the path and the body of each request.
    pub fn start(answer: impl Fn(&str, &[u8]) -> HttpAnswer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, answer): (_, Arc<AnswerFn>) = (listener.local_addr().unwrap(), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answer = Arc::clone(&answer);
                // A client that goes away is no failure of the server.
                thread::spawn(move || drop(serve(&stream, &*answer)));
            }
        });
        Self { address }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

fn serve(mut stream: &TcpStream, answer: &AnswerFn) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length, mut path) = (String::new(), 0, String::new());
    while reader.read_line(&mut line)? > 0 {
        let text = line.trim().to_ascii_lowercase();
        if path.is_empty() {
            line.split(' ').nth(1).unwrap_or_default().clone_into(&mut path);
        }
        if let Some(value) = text.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if text.is_empty() {
            break;
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let HttpAnswer { status, body } = answer(&path, &body);
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)
}
