//! The smallest programs that do the same: what any program of this kind must pay on this machine.
//!
//! A minimal HTTP client, and a minimal screen: raw mode, cells compared with those drawn before, Markdown parsed a
//! block at a time and drawn without colours, a composer of one line. No store, no tools, no safety.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

pub fn run(args: &[String]) {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["--version"] => println!("floor"),
        ["ask", url] => ask_headless(url, 1),
        ["ask", url, times] => ask_headless(url, times.parse().unwrap()),
        ["screen", url] => screen(url),
        other => println!("no such floor: {other:?}"),
    }
}

fn ask_headless(url: &str, times: usize) {
    let mut out = std::io::stdout().lock();
    let mut connection = connect(url);
    for _ in 0..times {
        ask(&mut connection, |text| out.write_all(text.as_bytes()).unwrap());
    }
}

fn connect(url: &str) -> BufReader<TcpStream> {
    let address = url.trim_start_matches("http://").trim_end_matches("/v1");
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    BufReader::new(stream)
}

/// One request; each piece of the answer's text.
fn ask(connection: &mut BufReader<TcpStream>, mut each: impl FnMut(&str)) {
    let body = "{\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}],\"stream\":true}";
    let head =
        format!("POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
    connection.get_mut().write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut line = String::new();
    loop {
        line.clear();
        connection.read_line(&mut line).unwrap();
        let text = line.trim_end();
        if text == "0" {
            connection.read_line(&mut line).unwrap();
            return;
        }
        let Some(data) = text.strip_prefix("data: ").filter(|data| *data != "[DONE]") else { continue };
        let event: serde_json::Value = serde_json::from_str(data).unwrap();
        if let Some(text) = event["choices"][0]["delta"]["content"].as_str() {
            each(text);
        }
    }
}

enum Heard {
    Key(u8),
    Text(String),
    End,
}

fn screen(url: &str) {
    let _raw = Raw::enter();
    let (tell, heard) = channel();
    let keys = tell.clone();
    thread::spawn(move || {
        for byte in std::io::stdin().lock().bytes().map_while(Result::ok) {
            if keys.send(Heard::Key(byte)).is_err() {
                return;
            }
        }
    });
    let url = url.to_owned();
    Canvas::default().live(&heard, || {
        let (tell, url) = (tell.clone(), url.clone());
        thread::spawn(move || {
            let mut connection = connect(&url);
            ask(&mut connection, |text| drop(tell.send(Heard::Text(text.to_owned()))));
            drop(tell.send(Heard::End));
        });
    });
}

struct Raw(rustix::termios::Termios);

impl Raw {
    fn enter() -> Self {
        let former = rustix::termios::tcgetattr(std::io::stdin()).unwrap();
        let mut raw = former.clone();
        raw.make_raw();
        rustix::termios::tcsetattr(std::io::stdin(), rustix::termios::OptionalActions::Now, &raw).unwrap();
        Self(former)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let now = rustix::termios::OptionalActions::Now;
        rustix::termios::tcsetattr(std::io::stdin(), now, &self.0).unwrap();
    }
}

const COLUMNS: usize = 120;
const ROWS: usize = 40;
const FRAME: Duration = Duration::from_millis(33);

#[derive(Default)]
struct Canvas {
    /// Lines of finished blocks.
    frozen: Vec<String>,
    /// The open block.
    open: String,
    typed: String,
    drawn: Vec<Vec<char>>,
}

impl Canvas {
    fn live(&mut self, heard: &Receiver<Heard>, mut send: impl FnMut()) {
        print!("\x1b[?1049h");
        self.draw();
        let mut due: Option<Instant> = None;
        loop {
            let wait =
                due.map_or(Duration::from_secs(3_600), |due| due.saturating_duration_since(Instant::now()));
            match heard.recv_timeout(wait) {
                Ok(Heard::Key(b'\r')) => {
                    self.typed.clear();
                    self.draw();
                    send();
                }
                Ok(Heard::Key(0x15)) => {
                    self.typed.clear();
                    self.draw();
                }
                Ok(Heard::Key(key)) => {
                    self.typed.push(char::from(key));
                    self.draw();
                }
                Ok(Heard::Text(text)) => {
                    self.open.push_str(&text);
                    if text.contains('\n') {
                        self.freeze();
                    }
                    due.get_or_insert_with(|| Instant::now() + FRAME);
                }
                Ok(Heard::End) | Err(RecvTimeoutError::Timeout) => {
                    self.draw();
                    due = None;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Finished blocks are laid out once.
    fn freeze(&mut self) {
        let starts: Vec<usize> = blocks(&self.open);
        if let Some(last) = starts.last().copied().filter(|last| *last > 0) {
            let rest = self.open.split_off(last);
            self.frozen.extend(lines(&self.open));
            self.open = rest;
        }
    }

    fn draw(&mut self) {
        let open = lines(&self.open);
        let room = ROWS - 3;
        let skip = (self.frozen.len() + open.len()).saturating_sub(room);
        let shown = self.frozen.iter().chain(&open).skip(skip);
        let mut rows: Vec<String> = shown.cloned().collect();
        rows.resize(room, String::new());
        rows.extend(["── ask ──".to_owned(), format!(" > {}", self.typed), String::new()]);
        let cells = rows.into_iter().map(|row| {
            let mut cells: Vec<char> = row.chars().take(COLUMNS).collect();
            cells.resize(COLUMNS, ' ');
            cells
        });
        let cells: Vec<Vec<char>> = cells.collect();
        let mut out = String::from("\x1b[?2026h");
        for (row, line) in cells.iter().enumerate() {
            let before = self.drawn.get(row);
            let mut at = None;
            for (column, c) in line.iter().enumerate() {
                if before.map_or(*c == ' ', |before| before[column] == *c) {
                    continue;
                }
                if at != Some(column) {
                    out.push_str(&format!("\x1b[{};{}H", row + 1, column + 1));
                }
                out.push(*c);
                at = Some(column + 1);
            }
        }
        out.push_str("\x1b[?2026l");
        self.drawn = cells;
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(out.as_bytes()).unwrap();
        stdout.flush().unwrap();
    }
}

/// Where the top-level blocks begin.
fn blocks(text: &str) -> Vec<usize> {
    let mut depth = 0;
    let mut starts = Vec::new();
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(_) => {
                if depth == 0 {
                    starts.push(range.start);
                }
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    starts
}

/// A block's text, wrapped.
fn lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut width = 0;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Item) => line.push_str("• "),
            Event::Text(text) | Event::Code(text) => {
                for word in text.split_inclusive([' ', '\n']) {
                    let length = word.chars().count();
                    if width + length > 100 {
                        lines.push(std::mem::take(&mut line));
                        width = 0;
                    }
                    width += length;
                    line.push_str(word.trim_end_matches('\n'));
                    if word.ends_with('\n') {
                        lines.push(std::mem::take(&mut line));
                        width = 0;
                    }
                }
            }
            Event::End(TagEnd::Paragraph | TagEnd::Item | TagEnd::Heading(_) | TagEnd::CodeBlock) => {
                lines.push(std::mem::take(&mut line));
                lines.push(String::new());
                width = 0;
            }
            _ => {}
        }
    }
    lines
}
