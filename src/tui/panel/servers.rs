//! The tool servers: their states, with the tools of an open one below it. A key switches a server or a tool; a project's
//! server is shown before the user agrees to it.

use super::{PanelContext, PanelEffect, PanelState, Screen};
use crate::command::Tone;
use crate::frontend::protocol::{
    ClientRequest, ServerChange, ServerLine, ServerList, ServerMessage, ServerOrigin,
};
use crate::tool::mcp::ListedTool;
use crate::tui::bordered_box::BorderedBox;
use crate::tui::completion::window;
use crate::tui::keys::{
    Action, CHOOSE, Context, ContextRow, HelpGroup, Keymap, Letters, Nav, Section, StatusHint, at, row,
};
use crate::tui::line::{Line, Margin, Span, TextStyle, wrap_spans};
use crate::tui::theme::Role;

/// The widest column of names, in cells.
const NAME: usize = 24;

/// The width of the screen from which the title says what is saved.
const ROOMY: usize = 80;

/// The most lines of one fact.
const FACT: usize = 3;

const CONTEXT: Context = Context::Panel(&ContextRow::new(
    "servers",
    "in the list of tool servers",
    Letters::AreKeys,
    &[Context::Global],
));

/// Switches a server, or one of its tools, on or off.
const SWITCH: Action = Action::Panel("switch");
/// Shows the tools of a server, or hides them.
const OPEN: Action = Action::Panel("open");
const RECONNECT: Action = Action::Panel("reconnect");
const LOGIN: Action = Action::Panel("login");
const CLOSE: Action = Action::Panel("close");

pub const KEYS: &[Section] = &[at(CONTEXT, HelpGroup::Work).rows(&[
    row("previous", Action::Nav(Nav::Up), "Up k", ""),
    row("next", Action::Nav(Nav::Down), "Down j", ""),
    row("switch", SWITCH, "Space", ""),
    row("open", OPEN, "Enter", ""),
    row("reconnect", RECONNECT, "r", ""),
    row("login", LOGIN, "l", ""),
    row("close", CLOSE, "q", ""),
])];

const HINTS: &[StatusHint] = &[
    (CONTEXT, CHOOSE, " choose"),
    (CONTEXT, &[SWITCH], " on, off"),
    (CONTEXT, &[OPEN], " tools"),
    (CONTEXT, &[RECONNECT], " reconnect"),
    (CONTEXT, &[LOGIN], " log in"),
    (Context::Global, &[Action::Escape], " close"),
];

/// The open list.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolServers {
    list: ServerList,
    /// The name of the server whose facts and tools are shown.
    open: Option<String>,
    chosen: ChosenRow,
    /// The content of a project's server that the user was asked about.
    asked: Option<String>,
    /// The effect of the last key, or what the owner said since.
    advice: String,
}

/// Returns how many lines of facts fit.
fn most_facts(screen: &Screen<'_>) -> usize {
    screen.rows.saturating_sub(2) / 2
}

/// The chosen row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct ChosenRow {
    /// By name, because the list is replaced at any time.
    server: String,
    tool: Option<String>,
}

/// A row that can be chosen.
#[derive(Clone, Copy)]
struct ServerRow<'a> {
    server: &'a ServerLine,
    tool: Option<&'a ListedTool>,
}

impl ServerRow<'_> {
    fn is(&self, chosen: &ChosenRow) -> bool {
        self.server.name == chosen.server
            && self.tool.map(|tool| tool.own_name.as_str()) == chosen.tool.as_deref()
    }
}

impl ToolServers {
    #[must_use]
    pub fn new(list: ServerList) -> Self {
        let mut panel = Self { list, ..Self::default() };
        panel.go(0);
        panel
    }

    fn rows(&self) -> Vec<ServerRow<'_>> {
        let mut rows = Vec::new();
        for server in &self.list.lines {
            rows.push(ServerRow { server, tool: None });
            if self.open.as_ref() == Some(&server.name) {
                rows.extend(server.tools.iter().map(|tool| ServerRow { server, tool: Some(tool) }));
            }
        }
        rows
    }

    fn at(&self) -> usize {
        self.rows().iter().position(|row| row.is(&self.chosen)).unwrap_or(0)
    }

    fn go(&mut self, to: usize) {
        let rows = self.rows();
        let Some(row) = rows.get(to.min(rows.len().saturating_sub(1))) else { return };
        self.chosen =
            ChosenRow { server: row.server.name.clone(), tool: row.tool.map(|tool| tool.own_name.clone()) };
        self.asked = None;
    }

    /// Switches the chosen server or tool.
    fn switch(&mut self, cx: &mut PanelContext<'_>) {
        let rows = self.rows();
        let Some(ServerRow { server, tool }) = rows.get(self.at()).copied() else { return };
        let name = server.name.clone();
        if let Some(tool) = tool {
            let (tool, on) = (tool.own_name.clone(), !tool.is_on);
            return cx.send(ClientRequest::Server(ServerChange::SwitchTool { name, tool, on }));
        }
        let on = !server.is_on;
        let content = match &server.origin {
            ServerOrigin::Project { content } => content.clone(),
            ServerOrigin::Settings | ServerOrigin::Preset => None,
        };
        if content.is_some() && self.asked != content {
            if self.facts(BorderedBox::room_of(cx.screen.columns)).len() >= most_facts(&cx.screen) {
                self.advice = format!("too long to be shown here; `co mcp enable {name}` shows it");
                return;
            }
            let key = cx.screen.keymap.key_label(CONTEXT, SWITCH);
            self.advice = format!("this project wants to use {name} as shown: {key} again agrees");
            (self.open, self.asked) = (Some(name), content);
            return;
        }
        self.advice = format!("{name} is switched {}", if on { "on" } else { "off" });
        cx.send(ClientRequest::Server(ServerChange::Switch { name, on, content }));
    }

    /// Shows the tools of the chosen server, or hides them.
    fn turn_open(&mut self) {
        self.chosen.tool = None;
        let name = self.chosen.server.clone();
        self.open = if self.open.as_ref() == Some(&name) { None } else { Some(name) };
    }

    fn line(&self, row: ServerRow<'_>, screen: &Screen<'_>) -> Line {
        let is_chosen = row.is(&self.chosen);
        let mark = if is_chosen { screen.context.glyphs.folded } else { " " };
        let style = if is_chosen { TextStyle::of(Role::Text).bold() } else { TextStyle::of(Role::Text) };
        let on = |is_on: bool| if is_on { "[x] " } else { "[ ] " };
        let mut line = Line::of(mark, Role::User).with(" ", Role::Text);
        let (indent, is_on, name, words, role) = match row.tool {
            None => {
                let role = match row.server.tone {
                    Tone::Plain => Role::Dim,
                    Tone::Warning => Role::Waiting,
                    Tone::Error => Role::Fail,
                };
                ("", row.server.is_on, &row.server.name, row.server.state.clone(), role)
            }
            Some(tool) => ("  ", tool.is_on, &tool.own_name, tool.description(), Role::Dim),
        };
        line = line.with(indent, Role::Text).with(on(is_on), if is_on { Role::Ok } else { Role::Dim });
        line.push(Span::styled(name, style));
        let mut line = line.cut(NAME + 6);
        line.pad_to(self.names() + 6);
        line.with("  ", Role::Text).with(words, role)
    }

    /// Returns the cells of the widest name.
    fn names(&self) -> usize {
        let width = |row: &ServerRow<'_>| match row.tool {
            None => Line::of(&row.server.name, Role::Text).width(),
            Some(tool) => 2 + Line::of(&tool.own_name, Role::Text).width(),
        };
        self.rows().iter().map(width).max().unwrap_or(0).min(NAME)
    }

    /// Returns the facts of the chosen server.
    fn facts(&self, room: usize) -> Vec<Line> {
        let chosen = self.list.lines.iter().find(|server| server.name == self.chosen.server);
        let Some(server) = chosen else { return Vec::new() };
        let margin = Margin::new(Line::new(), Line::of("  ", Role::Text));
        let is_agreed = !matches!(&server.origin, ServerOrigin::Project { content: Some(_) });
        let wrapped = |fact: &String| {
            let spans = [Span::new(fact, Role::Dim)];
            let most = if is_agreed { FACT } else { usize::MAX };
            wrap_spans(&spans, room, &margin).into_iter().take(most).collect::<Vec<_>>()
        };

        server.facts.iter().flat_map(wrapped).collect()
    }
}

impl PanelState for ToolServers {
    fn context(&self) -> Context {
        CONTEXT
    }

    fn act(&mut self, action: Action, cx: &mut PanelContext<'_>) -> Option<PanelEffect> {
        let page = (cx.screen.rows / 2).max(1);
        self.advice.clear();
        match action {
            Action::Escape | CLOSE => {
                return Some(PanelEffect::Close);
            }
            Action::Nav(nav) => self.go(nav.row(self.at(), page)),
            SWITCH => self.switch(cx),
            OPEN => self.turn_open(),
            RECONNECT => {
                let name = self.chosen.server.clone();
                self.advice = format!("connecting {name}…");
                cx.send(ClientRequest::Server(ServerChange::Reconnect { name }));
            }
            LOGIN => {
                // The address to log in at is shown in the transcript.
                cx.send(ClientRequest::Server(ServerChange::Login { name: self.chosen.server.clone() }));
                return Some(PanelEffect::Close);
            }
            _ => return None,
        }
        Some(PanelEffect::Stay)
    }

    fn tell(&mut self, message: ServerMessage, _cx: &mut PanelContext<'_>) -> PanelEffect {
        if let ServerMessage::ServersChanged { servers } = message {
            let at = self.at();
            self.list = servers;
            if !self.rows().iter().any(|row| row.is(&self.chosen)) {
                self.go(at);
            }
        }
        PanelEffect::Stay
    }

    fn observe_message(&mut self, text: &str) {
        self.advice = text.lines().next().unwrap_or_default().to_owned();
    }

    fn draw(&self, screen: &Screen<'_>) -> Vec<Line> {
        let on = self.list.lines.iter().filter(|server| server.is_on).count();
        let mut count = format!("{on} of {} on", self.list.lines.len());
        if let Some((tools, tokens)) = self.list.omitted.filter(|_| screen.columns >= ROOMY) {
            count = format!("{tools} tools only named, {tokens} tokens saved · {count}");
        }
        let title = Line::of("tool servers", Role::Heading);
        let mut boxed =
            BorderedBox::new(screen.context.glyphs, screen.columns, title, Line::of(count, Role::Dim));
        let rows = self.rows();
        let room = screen.rows.saturating_sub(2);
        let mut foot = self.facts(boxed.room());
        foot.truncate(most_facts(screen));
        if !self.advice.is_empty() {
            foot.push(Line::of(&self.advice, Role::Waiting));
        }
        let gap = usize::from(!foot.is_empty() && room > rows.len() + foot.len());
        let listed = room.saturating_sub(foot.len() + gap).max(1);
        let mut lines: Vec<Line> = window(rows.len(), self.at(), listed)
            .filter_map(|at| Some(self.line(*rows.get(at)?, screen)))
            .collect();
        if lines.is_empty() {
            lines.push(Line::of("no tool servers: `co mcp add NAME -- COMMAND` adds one", Role::Dim));
        }
        lines.resize(listed + gap, Line::new());
        lines.into_iter().chain(foot).for_each(|line| boxed.push(line));
        boxed.end(Line::new(), Line::new())
    }

    fn hints(&self, keymap: &Keymap) -> String {
        keymap.status(HINTS)
    }

    fn title(&self) -> Option<&'static str> {
        Some("tool servers")
    }
}
