//! The smallest programs that do the same: what any program of this kind must pay on this machine.
//!
//! Made with the libraries that `co` is made with, HTTP included: a client that runs the one tool of the bench, and a
//! minimal screen: what has come is drawn at once, Markdown parsed a block at a time and shown without colours, a
//! composer of one line. No store, no policy, no safety.

use std::io::{BufRead as _, Stdout, Write as _, stdout};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use crossterm::event::{self, KeyCode, KeyModifiers};
use crossterm::terminal::EnterAlternateScreen;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;
use serde_json::{Value, json};

pub fn run(args: &[String]) {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["--version"] => println!("floor"),
        ["ask", url] => turn(url),
        ["screen", url] => screen(url),
        ["tools"] => tools(),
        other => println!("no such floor: {other:?}"),
    }
}

/// One turn: requests with the whole conversation, and the one tool run, until an answer calls nothing.
fn turn(url: &str) {
    let mut out = std::io::stdout().lock();
    let http = Http::of(url);
    let mut messages = vec![json!({"role": "user", "content": "hello"})];
    loop {
        let mut call: Option<(String, String)> = None;
        http.ask(&messages, |delta| {
            if let Some(text) = delta["content"].as_str() {
                out.write_all(text.as_bytes()).unwrap();
            }
            let called = &delta["tool_calls"][0];
            if let (Some(id), Some(args)) = (called["id"].as_str(), called["function"]["arguments"].as_str())
            {
                call = Some((id.to_owned(), args.to_owned()));
            }
        });
        let Some((id, args)) = call else { return };
        let pattern = serde_json::from_str::<Value>(&args).unwrap()["pattern"].as_str().unwrap().to_owned();
        let found = find(".".as_ref(), &pattern).join("\n");
        let function = json!({"name": "find_files", "arguments": args});
        let calls = json!([{"id": id, "type": "function", "function": function}]);
        messages.push(json!({"role": "assistant", "tool_calls": calls}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": found}));
    }
}

/// A tool server with twenty tools.
fn tools() {
    let tool = |at| json!({"name": format!("tool{at}"), "description": "Does it.", "inputSchema": {"type": "object"}});
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let message: Value = serde_json::from_str(&line).unwrap();
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "floor", "version": "1"},
            }),
            Some("tools/list") => json!({"tools": (0..20).map(tool).collect::<Vec<_>>()}),
            _ => continue,
        };
        println!("{}", json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
    }
}

/// Names of files below that hold the pattern.
fn find(folder: &Path, pattern: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map_while(Result::ok) {
        let name = entry.path().display().to_string();
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(find(&entry.path(), pattern)),
            false if name.contains(pattern) => found.push(name),
            false => {}
        }
    }
    found
}

/// The client of one program, on a runtime of one thread.
struct Http {
    runtime: tokio::runtime::Runtime,
    client: reqwest::Client,
    url: String,
}

impl Http {
    fn of(url: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
        Self { runtime, client, url: format!("{url}/chat/completions") }
    }

    /// One request; each delta of the answer.
    fn ask(&self, messages: &[Value], mut each: impl FnMut(&Value)) {
        let parameters = json!({"type": "object", "properties": {"pattern": {"type": "string"}}});
        let function = json!({"name": "find_files", "parameters": parameters});
        let tools = json!([{"type": "function", "function": function}]);
        let body = json!({"messages": messages, "tools": tools, "stream": true}).to_string();
        self.runtime.block_on(async {
            let mut response = self.client.post(&self.url).body(body).send().await.unwrap();
            let mut open = Vec::new();
            while let Some(piece) = response.chunk().await.unwrap() {
                open.extend_from_slice(&piece);
                let whole = open.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                for line in open.drain(..whole).as_slice().split(|byte| *byte == b'\n') {
                    let Some(data) = line.strip_prefix(b"data: ").filter(|data| *data != b"[DONE]") else {
                        continue;
                    };
                    let event: Value = serde_json::from_slice(data).unwrap();
                    each(&event["choices"][0]["delta"]);
                }
            }
        });
    }
}

enum FloorEvent {
    Key(KeyCode, KeyModifiers),
    Text(String),
}

fn screen(url: &str) {
    crossterm::terminal::enable_raw_mode().unwrap();
    let (tell, events) = channel();
    let keys = tell.clone();
    thread::spawn(move || {
        while let Ok(event) = crossterm::event::read() {
            if let event::Event::Key(key) = event
                && keys.send(FloorEvent::Key(key.code, key.modifiers)).is_err()
            {
                return;
            }
        }
    });
    let url = url.to_owned();
    Canvas::open().live(&events, || {
        let (tell, url) = (tell.clone(), url.clone());
        thread::spawn(move || {
            let messages = [json!({"role": "user", "content": "hello"})];
            Http::of(&url).ask(&messages, |delta| {
                if let Some(text) = delta["content"].as_str() {
                    drop(tell.send(FloorEvent::Text(text.to_owned())));
                }
            });
        });
    });
}

struct Canvas {
    /// Lines of finished blocks.
    frozen: Vec<String>,
    /// The open block.
    open: String,
    typed: String,
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Canvas {
    fn open() -> Self {
        crossterm::execute!(stdout(), EnterAlternateScreen).unwrap();
        let terminal = Terminal::new(CrosstermBackend::new(stdout())).unwrap();
        Self { frozen: Vec::new(), open: String::new(), typed: String::new(), terminal }
    }

    fn live(&mut self, events: &Receiver<FloorEvent>, mut send: impl FnMut()) {
        self.draw();
        for first in events {
            // Output that came meanwhile is drawn with it.
            for event in [first].into_iter().chain(events.try_iter()) {
                match event {
                    FloorEvent::Key(KeyCode::Enter, _) => {
                        self.typed.clear();
                        send();
                    }
                    FloorEvent::Key(KeyCode::Char('u'), KeyModifiers::CONTROL) => self.typed.clear(),
                    FloorEvent::Key(KeyCode::Char(key), _) => self.typed.push(key),
                    FloorEvent::Key(..) => {}
                    FloorEvent::Text(text) => {
                        self.open.push_str(&text);
                        if text.contains('\n') {
                            self.freeze();
                        }
                    }
                }
            }
            self.draw();
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
        let room = usize::from(self.terminal.size().unwrap().height) - 3;
        let skip = (self.frozen.len() + open.len()).saturating_sub(room);
        let mut rows: Vec<&str> = self.frozen.iter().chain(&open).skip(skip).map(String::as_str).collect();
        rows.resize(room, "");
        let typed = format!(" > {}", self.typed);
        rows.extend(["── ask ──", &typed]);
        let text: Vec<Line<'_>> = rows.into_iter().map(Line::raw).collect();
        self.terminal.draw(|frame| frame.render_widget(Paragraph::new(text), frame.area())).unwrap();
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
