//! The pager: requests on the whole pane, one below the other, with their arguments, a search, and moves from hunk to
//! hunk. It approves all of them at once, except those that need a card of their own.

use std::ops::Range;

use super::{PanelContext, PanelEffect, PanelState, Screen};
use crate::approval::RequestId;
use crate::frontend::dialogue::{OpenRequest, SeenPart};
use crate::frontend::sentences;
use crate::tool::Risk;
use crate::tui::batch::Question;
use crate::tui::cards::{BodyForm, Card, Cards};
use crate::tui::cells::card::{fitting, heading, lay_out, size};
use crate::tui::composer::{Editor, Rows};
use crate::tui::find::{Piece, Query};
use crate::tui::keys::{
    Action, CardKey, Context, ContextRow, FindKey, HelpGroup, Keymap, Letters, Nav, Section, StatusHint, at,
    row,
};
use crate::tui::line::{Line, TextStyle};
use crate::tui::list::{ApprovalOutcome, approve};
use crate::tui::theme::Role;

/// Rows of the pane for the title and for the keys.
const EDGES: usize = 2;

/// Cells at both sides of a line.
const SIDES: usize = 2;

const CONTEXT: Context =
    Context::Panel(&ContextRow::new("pager", "in the pager", Letters::AreKeys, &[Context::Global]));

pub const KEYS: &[Section] = &[at(CONTEXT, HelpGroup::Decide).rows(&[
    row("yes", Action::Card(CardKey::Yes), "y", "").approves(),
    row("yes-unread", Action::Card(CardKey::YesUnread), "Y", "").approves(),
    row("previous", Action::Nav(Nav::Up), "Up k", ""),
    row("next", Action::Nav(Nav::Down), "Down j", ""),
    row("page-up", Action::Nav(Nav::PageUp), "b", ""),
    row("page-down", Action::Nav(Nav::PageDown), "Space", ""),
    row("top", Action::Top, "Home g", ""),
    row("bottom", Action::Bottom, "End G", ""),
    row("next-hunk", Action::Card(CardKey::NextHunk), "] Alt+Down", ""),
    row("previous-hunk", Action::Card(CardKey::PreviousHunk), "[ Alt+Up", ""),
    row("find-open", Action::Find(FindKey::Open), "/ Ctrl+F", "pager: find"),
    row("find-next", Action::Find(FindKey::Next), "n", "pager: next match"),
    row("find-previous", Action::Find(FindKey::Previous), "N", ""),
    row("close", Action::Card(CardKey::Whole), "v q", "pager: back"),
])];

const PAGING: &[StatusHint] = &[
    (Context::Global, &[Action::Nav(Nav::PageDown)], " scroll"),
    (CONTEXT, &[Action::Bottom], " end"),
    (CONTEXT, &[Action::Card(CardKey::NextHunk), Action::Card(CardKey::PreviousHunk)], " hunks"),
    (CONTEXT, &[Action::Find(FindKey::Open)], " find"),
    (Context::Global, &[Action::Escape], " back"),
];
const SEARCHING: &[StatusHint] =
    &[(Context::Find, &[Action::Nav(Nav::Down)], " finds it"), (Context::Global, &[Action::Escape], " back")];

/// The open pager.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pager {
    of: Vec<RequestId>,
    /// The first line that is shown.
    scroll: usize,
    /// Why the last key did nothing.
    advice: Option<String>,
    search: Option<Search>,
    page: PagerPage,
}

/// The page as last laid out.
#[derive(Debug, Clone, PartialEq, Default)]
struct PagerPage {
    title: Line,
    /// The lines on the screen.
    lines: Vec<Line>,
    rows: usize,
    total: usize,
    /// The lines at which hunks and requests begin.
    stops: Vec<usize>,
    /// The number of lines that were not on the screen yet.
    unseen: usize,
    /// Whether the rest may be approved unread.
    may_be_unread: bool,
    /// The requests that the approving key would approve.
    approvable: usize,
    /// Whether a part of a long text is not laid out.
    is_cut: bool,
}

/// A search in the page.
#[derive(Debug, Clone, PartialEq, Default)]
struct Search {
    editor: Editor,
    is_written: bool,
    /// The query and layout that `hits` belong to.
    of: (String, usize),
    /// The pieces of matches, by lines of the page.
    hits: Vec<Piece>,
}

impl Pager {
    pub fn new(of: Vec<RequestId>) -> Self {
        Self { of, ..Self::default() }
    }

    /// Drops the requests that can no longer be decided here; returns whether any is left.
    pub fn retain(&mut self, cards: &Cards) -> bool {
        self.of.retain(|id| cards.find(id).is_some_and(|card| !card.is_decided()));
        !self.of.is_empty()
    }

    /// Returns the requests that one key approves: of several, neither HIGH nor with untrusted text.
    fn approvable<'a>(&'a self, cards: &'a Cards) -> impl Iterator<Item = &'a Card> {
        let is_only = self.of.len() == 1;
        let may = move |one: OpenRequest| is_only || one.goes_with_others(Risk::Medium);
        self.of.iter().filter_map(|id| cards.find(id)).filter(move |card| card.open().is_some_and(may))
    }

    fn yes(&mut self, unread: bool, cx: &mut PanelContext<'_>) -> PanelEffect {
        let is_seen = |card: &Card| card.is_seen() || unread && card.may_be_unread();
        let seen = |card: &Card| if is_seen(card) { SeenPart::All } else { card.seen };
        let open = |card: &Card| Some(OpenRequest { seen: seen(card), ..card.open()? });
        let these: Vec<OpenRequest> = self.approvable(cx.cards).filter_map(open).collect();
        let ask = |these: &[RequestId]| cx.cards.approvals(these);
        self.advice = match approve(&these, ask, cx.dialogue, cx.now_ms) {
            ApprovalOutcome::Nothing if these.is_empty() => {
                Some("each of these needs a card of its own".to_owned())
            }
            ApprovalOutcome::Nothing => None,
            ApprovalOutcome::Unseen(id) => {
                cx.cards.find(&id).map(|card| unseen(card, unread, cx.screen.keymap))
            }
            ApprovalOutcome::Empty(_) => Some(sentences::NOTHING_LEFT.to_owned()),
            ApprovalOutcome::Sent(ids, ask) => {
                cx.send(ask);
                return PanelEffect::Approved(ids);
            }
        };
        PanelEffect::Stay
    }

    fn scroll_to(&mut self, line: usize) {
        self.scroll = line.min(self.page.total.saturating_sub(self.page.rows));
    }

    fn navigate(&mut self, nav: Nav) {
        let page = self.page.rows.saturating_sub(1).max(1);
        self.scroll_to(nav.row(self.scroll, page));
    }

    /// Returns the line of the next or previous match, and of the first or last one beyond the end.
    fn match_line(&self, forward: bool) -> Option<usize> {
        let hits = &self.search.as_ref()?.hits;
        let found = if forward {
            hits.iter().find(|hit| hit.line > self.scroll).or(hits.first())
        } else {
            hits.iter().rev().find(|hit| hit.line < self.scroll).or(hits.last())
        };
        found.map(|hit| hit.line)
    }

    fn find(&mut self, key: FindKey, cards: &Cards) {
        match key {
            FindKey::Open | FindKey::Edit => self.search.get_or_insert_default().is_written = true,
            FindKey::Tools => {}
            FindKey::Next | FindKey::Previous => {
                if let Some(search) = &mut self.search {
                    search.is_written = false;
                }
                self.search_in(cards);
                match self.match_line(key == FindKey::Next) {
                    Some(line) => self.scroll_to(line),
                    None => self.advice = Some("no match".to_owned()),
                }
            }
        }
    }

    /// Finds all matches, unless query and layout are the same as before.
    fn search_in(&mut self, cards: &Cards) {
        let Some(search) = &mut self.search else { return };
        let bodies = || self.of.iter().filter_map(|id| cards.find(id)).map(|card| &card.body);
        let of = (search.editor.text(), bodies().map(|body| body.layouts).sum());
        if search.of == of {
            return;
        }
        let query = Query::new(&of.0);
        search.of = of;
        search.hits.clear();
        let mut from = 0;
        for body in bodies() {
            from += usize::from(self.of.len() > 1);
            let places = query.places(body.lines().iter()).into_iter().flatten();
            search.hits.extend(places.map(|piece| Piece { line: from + piece.line, ..piece }));
            from += body.lines().len() + 1;
        }
    }

    fn is_written(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.is_written)
    }

    /// Returns the lower edge: the query being written, the advice, or the keys.
    fn foot(&self, screen: &Screen<'_>) -> Line {
        let room = screen.columns.saturating_sub(SIDES);
        let line = match &self.search {
            Some(search) if search.is_written => {
                Line::of("/", Role::Key).joined(Rows::of(&search.editor, room).line(&search.editor, 0))
            }
            Some(_) | None if screen.approved_once => {
                let keys = [(CONTEXT, Action::Card(CardKey::Yes), "again to approve")];
                Line::of(screen.keymap.with_hints("HIGH", &keys), Role::High)
            }
            Some(_) | None => match &self.advice {
                Some(advice) => Line::of(format!("! {advice}"), Role::Waiting),
                None => self.keys(screen, room),
            },
        };
        Line::of(" ", Role::Text).joined(line).cut(room)
    }

    fn keys(&self, screen: &Screen<'_>, room: usize) -> Line {
        let yes = match (self.of.len(), self.page.approvable) {
            (1, _) => "yes".to_owned(),
            (all, count) if all == count => format!("yes to all {count}"),
            (_, count) => format!("yes to {count}, not HIGH or {}", screen.context.glyphs.taint),
        };
        let on = |key, words| (CONTEXT, Action::Card(key), words);
        let mut keys = screen.keymap.hints(&[on(CardKey::Yes, yes.as_str())]);
        if self.page.may_be_unread && self.page.unseen > 0 {
            keys.extend(screen.keymap.hints(&[on(CardKey::YesUnread, "yes, unread")]));
        }
        keys.extend(screen.keymap.hints(&[
            (CONTEXT, Action::Find(FindKey::Open), "find"),
            (Context::Global, Action::Escape, "back"),
        ]));
        fitting(keys, screen.context.glyphs.dot, room)
    }

    /// Returns the lines of the page for each request: its heading if there are several, its body, a blank line.
    fn starts(&self, cards: &Cards) -> Vec<Range<usize>> {
        let head = usize::from(self.of.len() > 1);
        let mut from = 0;
        let one = |id: &RequestId| {
            let lines = cards.find(id).map_or(0, |card| card.body.lines().len());
            let range = from..from + head + lines + 1;
            from = range.end;
            range
        };
        self.of.iter().map(one).collect()
    }
}

fn unseen(card: &Card, unread: bool, keymap: &Keymap) -> String {
    if unread {
        return format!("{} needs to be read: {}", card.request.tool, sentences::MAY_BE_UNREAD);
    }
    let mut keys = vec![(Context::Global, Action::Nav(Nav::PageDown), "shows more")];
    if card.may_be_unread() {
        keys.push((CONTEXT, Action::Card(CardKey::YesUnread), "approves it unread"));
    }
    keymap.with_hints(sentences::UNREAD, &keys)
}

impl PanelState for Pager {
    fn context(&self) -> Context {
        if self.is_written() { Context::Find } else { CONTEXT }
    }

    fn question(&self) -> Question {
        match &self.of[..] {
            [only] => Question::Card(only.clone()),
            all => Question::List(all.to_vec()),
        }
    }

    fn act(&mut self, action: Action, cx: &mut PanelContext<'_>) -> Option<PanelEffect> {
        self.advice = None;
        if !matches!(action, Action::Card(CardKey::Yes | CardKey::YesUnread) | Action::Redraw)
            && cx.dialogue.withdraw()
        {
            return Some(PanelEffect::Stay);
        }
        match action {
            Action::Escape if self.search.is_some() => self.search = None,
            Action::Escape | Action::Card(CardKey::Whole) => return Some(PanelEffect::Close),
            Action::Card(CardKey::Yes) => return Some(self.yes(false, cx)),
            Action::Card(CardKey::YesUnread) => return Some(self.yes(true, cx)),
            Action::Nav(Nav::Down) if self.is_written() => self.find(FindKey::Next, cx.cards),
            Action::Nav(Nav::Up) if self.is_written() => self.find(FindKey::Previous, cx.cards),
            Action::Nav(nav) => self.navigate(nav),
            Action::Top => self.scroll = 0,
            Action::Bottom => self.scroll_to(usize::MAX),
            Action::Card(CardKey::NextHunk) => {
                let next = self.page.stops.iter().find(|line| **line > self.scroll);
                self.scroll_to(next.copied().unwrap_or(usize::MAX));
            }
            Action::Card(CardKey::PreviousHunk) => {
                let before = self.page.stops.iter().rfind(|line| **line < self.scroll);
                self.scroll = before.copied().unwrap_or(0);
            }
            Action::Find(key) => self.find(key, cx.cards),
            Action::FocusCard | Action::ToggleFocus => {}
            _ => return None,
        }
        Some(PanelEffect::Stay)
    }

    fn editor(&mut self) -> Option<&mut Editor> {
        self.search.as_mut().filter(|search| search.is_written).map(|search| &mut search.editor)
    }

    fn wheel(&self, _step: Nav, line: Nav) -> Vec<Nav> {
        vec![line; 3]
    }

    fn lay_out(&mut self, screen: &Screen<'_>, cards: &mut Cards) {
        let width = screen.columns.saturating_sub(SIDES);
        let form = if self.of.len() == 1 { BodyForm::WithArguments } else { BodyForm::Change };
        for id in &self.of {
            if let Some(card) = cards.find_mut(id) {
                if self.page.is_cut && self.scroll + self.page.rows >= self.page.total {
                    card.deepen();
                }
                lay_out(card, screen, width, form);
            }
        }
        let mut page = PagerPage { rows: screen.rows.saturating_sub(EDGES), ..PagerPage::default() };
        let starts = self.starts(cards);
        page.total = starts.last().map_or(0, |range| range.end);
        self.scroll = self.scroll.min(page.total.saturating_sub(page.rows));
        let shown = self.scroll..self.scroll + page.rows;
        for (id, range) in self.of.iter().zip(starts) {
            let Some(card) = cards.find_mut(id) else { continue };
            page.add(card, range, &shown, self.of.len() > 1, screen);
        }
        page.approvable = self.approvable(cards).count();
        page.may_be_unread = self.approvable(cards).any(|card| !card.is_seen() && card.may_be_unread());
        page.title = title(self, cards, &page, screen);
        self.page = page;
        self.search_in(cards);
    }

    fn draw(&self, screen: &Screen<'_>) -> Vec<Line> {
        let mut lines = vec![self.page.title.clone()];
        let hits = self.search.as_ref().map_or(&[][..], |search| &search.hits);
        for (at, line) in self.page.lines.iter().enumerate() {
            let mut line = line.clone();
            for hit in hits.iter().filter(|hit| hit.line == self.scroll + at) {
                line = line.painted(&hit.columns, |style| TextStyle { reversed: true, ..style });
            }
            lines.push(Line::of(" ", Role::Text).joined(line));
        }
        lines.resize(screen.rows.saturating_sub(1), Line::new());
        lines.push(self.foot(screen));
        lines
    }

    fn cursor(&self, screen: &Screen<'_>) -> Option<(usize, usize)> {
        let search = self.search.as_ref().filter(|search| search.is_written)?;
        let column = Rows::of(&search.editor, screen.columns.saturating_sub(SIDES)).cursor.column;
        Some((screen.rows.saturating_sub(1), 2 + column))
    }

    fn hints(&self, keymap: &Keymap) -> String {
        keymap.status(if self.is_written() { SEARCHING } else { PAGING })
    }

    fn title(&self) -> Option<&'static str> {
        Some("pager")
    }
}

impl PagerPage {
    /// Adds the lines of a request that are on the screen, and records that they are.
    fn add(
        &mut self,
        card: &mut Card,
        range: Range<usize>,
        shown: &Range<usize>,
        has_head: bool,
        screen: &Screen<'_>,
    ) {
        let width = screen.columns.saturating_sub(SIDES);
        let body = range.start + usize::from(has_head);
        if has_head {
            self.stops.push(range.start);
            if shown.contains(&range.start) {
                let rule = screen.context.glyphs.rule;
                let words = Line::of(rule, Role::Dim)
                    .with(" ", Role::Text)
                    .joined(heading(card, screen.context.glyphs));
                self.lines.push(Line::spread(words, size(card, screen.context.glyphs, width), width));
            }
        }
        self.stops.extend(card.body.page.hunks.iter().map(|line| body + line));
        let total = card.body.lines().len();
        let visible = shown.start.max(body) - body..shown.end.max(body).min(range.end - 1).max(body) - body;
        if !visible.is_empty() {
            self.lines.extend(card.body.lines()[visible.clone()].iter().cloned());
            card.saw(width, visible, total);
        }
        if shown.contains(&(range.end - 1)) {
            self.lines.push(Line::new());
        }
        self.is_cut |= card.body.more > 0;
        self.unseen += card.seen.lines_left(total);
    }
}

/// Returns the upper edge: the request or their number, the position, and what was not seen.
fn title(pager: &Pager, cards: &Cards, page: &PagerPage, screen: &Screen<'_>) -> Line {
    let glyphs = screen.context.glyphs;
    let dot = format!(" {} ", glyphs.dot);
    let (words, badge) = match (&pager.of[..], pager.of.first().and_then(|id| cards.find(id))) {
        ([_], Some(card)) => (heading(card, glyphs), size(card, glyphs, screen.columns)),
        (all, _) => (Line::of(format!("{} changes", all.len()), Role::Heading), Line::new()),
    };
    let last = (pager.scroll + page.rows).min(page.total);
    let mut right = badge;
    if !right.spans.is_empty() {
        right = right.with(&dot, Role::Dim);
    }
    right = right.with(format!("{last} of {} lines", page.total), Role::Dim);
    if page.unseen > 0 {
        right = right.with(&dot, Role::Dim).with(format!("{} not seen", page.unseen), Role::Waiting);
    }
    let left = Line::of(format!(" {} ", glyphs.waiting), Role::Waiting).joined(words);
    let room = screen.columns.saturating_sub(right.width() + 3);
    Line::spread(left.cut(room), right.with(" ", Role::Text), screen.columns)
}
