//! A screen without a terminal: key strings and updates in, whole screens and asks out.

use co::agent::port::{Event, Op};
use co::approval::{Approval, AutoApprove, Request, RequestId};
use co::config::{Mode, ThemeChoice};
use co::frontend::protocol::{
    ClientQuery, ClientRequest, ContextUse, Header, QueryAnswer, QueryId, ServerMessage, Update,
};
use co::history::SessionId;
use co::message::{CallId, ReturnStatus, ToolCall, ToolName, ToolReturn};
use co::sandbox::Isolation;
use co::tool::{Access, CallPlan, DiffKind, DiffLine, Preview, Risk, Undo};
use co::tui::key::{Code, Key};
use co::tui::keys::parse_key;
use co::tui::msg::{Mouse, PointerEvent};
use co::tui::theme::Glyphs;
use co::tui::{Cmd, Input, Model, TerminalEnv, Theme, paint, update};
use ratatui_core::backend::TestBackend;
use ratatui_core::buffer::Buffer;
use ratatui_core::terminal::{Frame, Terminal};
use serde_json::{Value, json};

/// The sizes every state is drawn at.
pub const SIZES: [(u16, u16); 4] = [(40, 10), (60, 15), (80, 24), (140, 40)];

/// One state at all sizes, each below its title; `draw` gives a screen as text.
pub fn at_all_sizes(draw: impl Fn(Screen) -> String) -> String {
    let one = |(columns, rows): (u16, u16)| {
        let title = format!("=== {columns}x{rows} {}", "=".repeat(usize::from(columns) - 12));
        format!("{title}\n{}", draw(Screen::open(columns, rows)))
    };
    SIZES.map(one).concat()
}

/// Reads the keys of a test: characters, and names in brackets, as in `hi<ret><c-c>`.
pub fn parse_keys(text: &str) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let name = match rest.split_once('>') {
            Some((name, _)) if c == '<' => format!("{name}>"),
            _ => c.to_string(),
        };
        rest = rest.split_at(name.len()).1;
        keys.push(match name.as_str() {
            "\n" => Key::plain(Code::Enter),
            _ if name.len() == c.len_utf8() => Key::char(c),
            _ => parse_key(&name).unwrap(),
        });
    }
    keys
}

pub struct Screen {
    pub model: Model,
    theme: Theme,
    terminal: Terminal<TestBackend>,
    now_ms: u64,
    /// All commands that `update` returned.
    pub cmds: Vec<Cmd>,
}

/// Draws the whole screen into the drawing library's frame.
fn draw(model: &Model, theme: &Theme, frame: &mut Frame<'_>) {
    let painted = paint(model, theme, frame.buffer_mut());
    if let Some(position) = painted.cursor {
        frame.set_cursor_position(position);
    }
}

impl Screen {
    pub fn new(columns: u16, rows: u16) -> Self {
        Self::with(columns, rows, &Glyphs::UNICODE)
    }

    pub fn with(columns: u16, rows: u16, glyphs: &'static Glyphs) -> Self {
        let mut model = Model { columns, rows, glyphs, ..Model::default() };
        // The last key was the one that started the program.
        model.presses.note(Key::plain(Code::Enter), 1_000);
        Self {
            model,
            theme: Theme::choose(ThemeChoice::Dark, &TerminalEnv::default()),
            terminal: Terminal::new(TestBackend::new(columns, rows)).unwrap(),
            now_ms: 1_000,
            cmds: Vec::new(),
        }
    }

    /// A screen that knows its session.
    pub fn open(columns: u16, rows: u16) -> Self {
        Self::new(columns, rows).notice(ServerMessage::Header(header()))
    }

    pub fn feed(&mut self, input: Input) {
        let cmds = update(&mut self.model, self.now_ms, input);
        let sent = |cmd| if let Cmd::Ask(query) = cmd { Cmd::Send(asked(query)) } else { cmd };
        self.cmds.extend(cmds.into_iter().map(sent));
    }

    /// Presses keys, with a frame drawn after each, as the shell does.
    pub fn keys(mut self, keys: &str) -> Self {
        self.press(keys);
        self
    }

    pub fn press(&mut self, keys: &str) {
        for key in parse_keys(keys) {
            self.feed(Input::Key(key));
            self.feed(Input::Frame);
        }
    }

    pub fn tell(&mut self, notice: ServerMessage) {
        self.feed(Input::Update(Box::new(Update::Message(notice))));
    }

    pub fn tell_answer(&mut self, query: ClientQuery, answer: QueryAnswer) {
        self.feed(Input::Answer(Box::new((query, answer))));
    }

    pub fn answer_to(mut self, query: ClientQuery, answer: QueryAnswer) -> Self {
        self.tell_answer(query, answer);
        self
    }

    pub fn tell_event(&mut self, event: Event) {
        self.feed(Input::Update(Box::new(Update::Event(event))));
    }

    pub fn paste(mut self, text: &str) -> Self {
        self.feed(Input::Paste(text.to_owned()));
        self
    }

    pub fn event(mut self, event: Event) -> Self {
        self.tell_event(event);
        self
    }

    pub fn notice(mut self, notice: ServerMessage) -> Self {
        self.tell(notice);
        self
    }

    pub fn text(self, text: &str) -> Self {
        self.event(Event::TextDelta { text: text.to_owned() })
    }

    pub fn thinking(self, text: &str) -> Self {
        self.event(Event::ThinkingDelta { text: text.to_owned() })
    }

    pub fn prompted(self, text: &str) -> Self {
        let parts = vec![co::message::UserPart::Text { text: text.to_owned() }];
        self.notice(ServerMessage::TurnBegan).event(Event::Prompted { parts })
    }

    pub fn asked(self, request: Request) -> Self {
        self.event(Event::ApprovalNeeded { request })
    }

    /// Lets time pass; the screen is drawn before and after.
    pub fn wait(mut self, ms: u64) -> Self {
        self.pass(ms);
        self
    }

    pub fn pass(&mut self, ms: u64) {
        self.feed(Input::Frame);
        self.now_ms += ms;
        self.feed(Input::Tick);
        self.feed(Input::Frame);
    }

    pub fn resize(mut self, columns: u16, rows: u16) -> Self {
        self.size(columns, rows);
        self
    }

    pub fn size(&mut self, columns: u16, rows: u16) {
        self.terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        self.feed(Input::Resize { columns, rows });
        self.feed(Input::Frame);
    }

    /// Draws on a terminal of another size, which the model does not know yet.
    pub fn torn(&mut self, columns: u16, rows: u16) {
        self.feed(Input::Frame);
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        let frame = terminal.draw(|frame| draw(&self.model, &self.theme, frame)).unwrap();
        whole_rows(frame.buffer);
    }

    pub fn coloured(mut self, theme: Theme) -> Self {
        self.theme = theme;
        self
    }

    /// The last painted cells, with their styles.
    pub fn painted(&mut self) -> Buffer {
        self.shot();
        self.terminal.backend().buffer().clone()
    }

    /// The whole screen as text, the cursor's place below it.
    pub fn shot(&mut self) -> String {
        self.feed(Input::Frame);
        let (model, theme) = (&self.model, &self.theme);
        let frame = self.terminal.draw(|frame| draw(model, theme, frame)).unwrap();
        let buffer = frame.buffer.clone();
        let mut text = String::new();
        whole_rows(&buffer);
        for row in 0..buffer.area.height {
            let mut line = String::new();
            let mut skip = 0;
            for column in 0..buffer.area.width {
                let symbol = buffer[(column, row)].symbol();
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                if !is_printable_ascii(symbol) {
                    skip = co::stdx::text::width(symbol).saturating_sub(1);
                }
                line.push_str(symbol);
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        let at = self.terminal.backend().cursor_position();
        let shown = self.terminal.backend().cursor_visible();
        text + &if shown { format!("cursor {},{}\n", at.x, at.y) } else { "cursor hidden\n".to_owned() }
    }

    /// The same, with what is drawn reversed between `«` and `»`.
    pub fn marked_shot(&mut self) -> String {
        let plain = self.shot();
        let buffer = self.terminal.backend().buffer().clone();
        let reversed = |column: u16, row: u16| {
            buffer[(column, row)].modifier.contains(ratatui_core::style::Modifier::REVERSED)
        };
        let mut out = String::new();
        for (row, line) in plain.lines().enumerate() {
            let row = u16::try_from(row).unwrap();
            let mut before = false;
            for (column, grapheme) in line.chars().enumerate() {
                let column = u16::try_from(column).unwrap();
                let now = row < buffer.area.height && column < buffer.area.width && reversed(column, row);
                out.push_str(if now && !before {
                    "«"
                } else if before && !now {
                    "»"
                } else {
                    ""
                });
                out.push(grapheme);
                before = now;
            }
            out.push_str(if before { "»\n" } else { "\n" });
        }
        out
    }

    /// The texts sent to the clipboard, in order.
    pub fn copies(&self) -> Vec<&str> {
        self.cmds
            .iter()
            .filter_map(|cmd| if let Cmd::Copy { text } = cmd { Some(&**text) } else { None })
            .collect()
    }

    pub fn mouse(mut self, what: PointerEvent, column: u16, row: u16) -> Self {
        self.feed(Input::Mouse(Mouse { what, column, row }));
        self.feed(Input::Frame);
        self
    }

    pub fn click(self, column: u16, row: u16) -> Self {
        self.mouse(PointerEvent::Press, column, row).mouse(PointerEvent::Release, column, row)
    }

    pub fn drag(self, from: (u16, u16), to: (u16, u16)) -> Self {
        self.mouse(PointerEvent::Press, from.0, from.1).mouse(PointerEvent::Drag, to.0, to.1).mouse(
            PointerEvent::Release,
            to.0,
            to.1,
        )
    }

    /// The requests sent to the owner, except those for the list of sessions, which each `/` sends.
    pub fn asks(&self) -> Vec<&ClientRequest> {
        let asks = self.cmds.iter().filter_map(|cmd| if let Cmd::Send(ask) = cmd { Some(ask) } else { None });
        asks.filter(|ask| **ask != asked(ClientQuery::Sessions)).collect()
    }
}

/// A query as a request; its id counts outside of the screen only.
pub fn asked(query: ClientQuery) -> ClientRequest {
    ClientRequest::Query { id: QueryId(0), query }
}

/// Every row is as wide as the screen: nothing wide is cut by an edge or by what was drawn over it, and no cell holds
/// what a terminal would not show in it.
pub fn whole_rows(buffer: &Buffer) {
    for row in 0..buffer.area.height {
        let mut column = 0;
        while column < buffer.area.width {
            let symbol = buffer[(column, row)].symbol();
            if is_printable_ascii(symbol) {
                column += 1;
                continue;
            }
            assert!(is_harmless(symbol), "{symbol:?} at {column},{row}");
            let cells = u16::try_from(co::stdx::text::width(symbol)).unwrap();
            let covered = (1..cells)
                .all(|at| column + at < buffer.area.width && buffer[(column + at, row)].symbol() == " ");
            assert!(cells > 0 && covered, "{symbol:?} is cut at {column},{row}");
            column += cells;
        }
    }
}

/// An upper bound of the cells, computed without the tables of Unicode.
fn is_printable_ascii(symbol: &str) -> bool {
    matches!(symbol.as_bytes(), [b' '..=b'~'])
}

/// Whether a cell's text neither moves the cursor nor reorders or hides anything. Emoji are joined by what is invisible
/// elsewhere.
fn is_harmless(symbol: &str) -> bool {
    let joins = symbol.chars().count() > 1 && co::stdx::text::width(symbol) == 2;
    co::stdx::text::sanitize_line(symbol) == symbol
        && symbol.chars().all(|c| match c {
            '\u{200d}' => joins,
            '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
            | '\u{ad}' => false,
            c => !c.is_control(),
        })
}

pub fn header() -> Header {
    Header {
        money: None,
        session: SessionId("01JD8".into()),
        title: "inbox triage".into(),
        workspace: "/home/alex/work".into(),
        provider: "anthropic".into(),
        model: "claude-sonnet-4-6".into(),
        isolation: Isolation::NONE,
        mode: Mode::Ask,
        auto_approve: AutoApprove::Asking,
        read_only: None,
        context: Some(ContextUse { used: 62_000, window: Some(200_000) }),
    }
}

pub fn id(number: u32) -> RequestId {
    RequestId(format!("{number:012x}"))
}

pub fn decided(number: u32, approval: Approval) -> ClientRequest {
    ClientRequest::Op(Op::decide(id(number), approval))
}

/// The same decision on these, sent as one.
pub fn round(numbers: &[u32], approval: &Approval) -> ClientRequest {
    let requests: Vec<RequestId> = numbers.iter().map(|number| id(*number)).collect();
    ClientRequest::Op(Op::decide_alike(&requests, approval))
}

/// The decisions that an ask holds.
pub fn decisions(ask: &ClientRequest) -> &[(RequestId, Approval)] {
    if let ClientRequest::Op(Op::Decide { decisions }) = ask { decisions } else { &[] }
}

/// The requests that an ask approves.
pub fn approved(ask: &ClientRequest) -> impl Iterator<Item = &RequestId> {
    let approves = |(_, approval): &&_| matches!(approval, Approval::Approve { .. });
    decisions(ask).iter().filter(approves).map(|(request, _)| request)
}

pub fn line(text: &str) -> ClientRequest {
    ClientRequest::Line { text: text.to_owned() }
}

pub fn call(number: u32, tool: &str, args: Value) -> ToolCall {
    ToolCall {
        id: CallId(format!("s/1.1.{number}")),
        wire_id: format!("w{number}"),
        name: ToolName::new(tool),
        args,
    }
}

pub fn returned(number: u32, status: ReturnStatus, text: &str) -> ToolReturn {
    ToolReturn::program(CallId(format!("s/1.1.{number}")), status, text)
}

pub fn plan(summary: &str, preview: Preview, risk: Risk) -> CallPlan {
    CallPlan {
        summary: summary.into(),
        preview,
        risk,
        access: Access::Anything,
        basis: Vec::new(),
        undo: Undo::None,
        effect: co::tool::Effect::OfTool,
        question: None,
        needs_person: None,
    }
}

fn request(number: u32, tool: &str, args: Value, plan: CallPlan) -> Request {
    Request {
        id: id(number),
        call: CallId(format!("s/1.1.{number}")),
        tool: ToolName::new(tool),
        args,
        risk: plan.risk,
        plan,
        why: vec!["write_file changes files".into(), "the mode is ask".into()],
        after: Vec::new(),
        depends: Vec::new(),
        taint: Vec::new(),
        expires: None,
        again: None,
        parameters: None,
    }
}

pub fn shell_request(number: u32, command: &str, risk: Risk) -> Request {
    let plan = plan("run a command in work", Preview::Text { text: command.into() }, risk);
    request(number, "shell", json!({ "command": command }), plan)
}

pub fn diff_request(number: u32, changed: usize) -> Request {
    let line = |kind, number, text: String| DiffLine { kind, number, text };
    let mut lines = vec![
        line(DiffKind::Hunk, 10, "## Billing".into()),
        line(DiffKind::Context, 10, "Contact: Dana Reyes".into()),
        line(DiffKind::Removed, 11, "PO: 4471".into()),
    ];
    for at in 0..changed {
        lines.push(line(DiffKind::Added, 11 + at, format!("PO: 4471-B, line {at} of what is new")));
    }
    lines.push(line(DiffKind::Context, 11 + changed, "\tend".into()));
    let preview = Preview::Diff { path: "notes/billing.md".into(), lines };
    let plan = plan("edit notes/billing.md", preview, Risk::Medium);
    let args = json!({ "path": "notes/billing.md", "old": "PO: 4471", "new": "PO: 4471-B" });
    request(number, "edit_file", args, plan)
}
