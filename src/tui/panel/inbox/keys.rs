//! The keys of the inbox, and the owner's answers to it.
//!
//! All decisions of a round are sent as one request; a row waits until the owner sends the list again. What the keys of
//! all lists do is in `tui::list`.

use std::collections::HashSet;

use super::details::Detail;
use super::shape::{DetailPosition, InboxShape};
use super::{
    CONTEXT, FILTER, FILTER_CONTEXT, FILTERED, Inbox, InboxRow, LATER, LoadState, NARROW, OPEN_SESSION,
    RESUME, draw,
};
use crate::agent::port::Op;
use crate::approval::{Approval, RequestId};
use crate::frontend::protocol::{ClientQuery, ClientRequest, Holder, InboxLine, QueryAnswer, ServerMessage};
use crate::store::RequestState;
use crate::tui::batch::Question;
use crate::tui::cards::{Card, Cards};
use crate::tui::cells;
use crate::tui::composer::Editor;
use crate::tui::keys::{Action, CHOOSE, CardKey, Context, Keymap, ListKey, Nav, StatusHint};
use crate::tui::line::Line;
use crate::tui::list::{ApprovalOutcome, GONE_WHILE_WRITING, ListStage, OpenRows, REASON_HINTS};
use crate::tui::panel::{PanelContext, PanelEffect, PanelState, Screen, stop_first};

const INBOX_FILTER: &[StatusHint] = &[
    (FILTER_CONTEXT, &[], "text of the request, its tool, risk or session"),
    (FILTER_CONTEXT, &[FILTERED], " back to the list"),
];

impl PanelState for Inbox {
    fn context(&self) -> Context {
        match self.list.stage {
            ListStage::Choosing => CONTEXT,
            ListStage::Filtering => FILTER_CONTEXT,
            ListStage::Reason { .. } => Context::Reason,
        }
    }

    fn question(&self) -> Question {
        Question::Inbox
    }

    fn on_open(&mut self, cx: &mut PanelContext<'_>) {
        cx.ask(ClientQuery::Inbox);
    }

    fn act(&mut self, action: Action, cx: &mut PanelContext<'_>) -> Option<PanelEffect> {
        match action {
            Action::FocusCard => return Some(PanelEffect::Close),
            // Help would take the place of the list, and of its marks.
            Action::Help => {}
            Action::Escape => return Some(self.escape(cx)),
            Action::List(key) => return Some(self.list_key(key, cx)),
            Action::Panel(_) => return Some(self.own_key(action, cx)),
            Action::Card(CardKey::SendNo) => {
                if let Some((no, of)) = self.list.take_no() {
                    self.decide(&of, &no, "no", cx);
                }
            }
            Action::Nav(nav) => self.navigate(nav, cx),
            _ => return None,
        }
        self.follow(cx);
        Some(PanelEffect::Stay)
    }

    fn editor(&mut self) -> Option<&mut Editor> {
        if self.list.stage == ListStage::Filtering { Some(&mut self.filter) } else { self.list.editor_mut() }
    }

    fn on_change(&mut self, cx: &mut PanelContext<'_>) {
        if self.list.stage == ListStage::Filtering {
            self.list_again();
        }
        self.follow(cx);
    }

    fn tell(&mut self, message: ServerMessage, cx: &mut PanelContext<'_>) -> PanelEffect {
        // Pending requests changed: the open list is requested again.
        if let ServerMessage::Elsewhere { .. } = message {
            self.load_state = match self.load_state {
                LoadState::Loaded => LoadState::Outdated,
                LoadState::Failed => LoadState::NotLoaded,
                LoadState::NotLoaded | LoadState::Outdated => return PanelEffect::Stay,
            };
            cx.ask(ClientQuery::Inbox);
        }
        PanelEffect::Stay
    }

    fn answer(&mut self, query: ClientQuery, answer: QueryAnswer, cx: &mut PanelContext<'_>) {
        match (query, answer) {
            (_, QueryAnswer::Inbox { lines }) => self.set_lines(lines, cx),
            (ClientQuery::Request { request: id }, QueryAnswer::Request { request }) => {
                self.details.tell(id, request, cx.screen.header);
            }
            (ClientQuery::Inbox, QueryAnswer::Failed) if self.lines.is_empty() => {
                self.load_state = LoadState::Failed;
            }
            // The list stays as it was; the next change sends the query again.
            (ClientQuery::Inbox, QueryAnswer::Failed) => self.load_state = LoadState::Loaded,
            _ => return,
        }
        self.follow(cx);
    }

    fn observe_message(&mut self, text: &str) {
        self.advise(text.lines().next().unwrap_or_default());
    }

    fn on_decisions_lost(&mut self, requests: &[RequestId], text: &str) {
        self.deciding.retain(|id, _| !requests.contains(id));
        self.observe_message(text);
    }

    fn on_resize(&mut self) {
        self.details.unsee_partly();
    }

    fn lay_out(&mut self, screen: &Screen<'_>, _cards: &mut Cards) {
        let shape = InboxShape::of(self, screen);
        for at in shape.list.clone() {
            if let Some(InboxRow::Request(index)) = self.rows.get(at) {
                self.glanced.insert(self.lines[*index].row.id.clone());
            }
        }
        let Some(id) = self.chosen_id() else { return };
        if shape.detail_rows > 0
            && let Some(Detail::Whole { card, header }) = self.details.known.get_mut(&id)
        {
            let screen = draw::detail_screen(screen, header.as_deref(), &shape);
            cells::list::lay_out(card, &screen, shape.detail_width, shape.detail_rows);
        }
        self.details.context(&id);
    }

    fn draw(&self, screen: &Screen<'_>) -> Vec<Line> {
        draw::lines(screen, self)
    }

    fn cursor(&self, screen: &Screen<'_>) -> Option<(usize, usize)> {
        draw::cursor(screen, self)
    }

    fn hints(&self, keymap: &Keymap) -> String {
        let narrow = if self.one_session { " all sessions" } else { " one session" };
        match self.list.stage {
            ListStage::Reason { .. } => keymap.status(REASON_HINTS),
            ListStage::Filtering => keymap.status(INBOX_FILTER),
            ListStage::Choosing if self.lines.is_empty() => String::new(),
            ListStage::Choosing => keymap.status(&[
                (Context::Batch, CHOOSE, " choose"),
                (CONTEXT, &[FILTER], " filter"),
                (CONTEXT, &[NARROW], narrow),
                (CONTEXT, &[RESUME], " resume"),
                (CONTEXT, &[OPEN_SESSION], " open session"),
            ]),
        }
    }

    fn title(&self) -> Option<&'static str> {
        Some(if self.list.is_refusing() { "denying" } else { "inbox" })
    }
}

impl Inbox {
    fn list_key(&mut self, key: ListKey, cx: &mut PanelContext<'_>) -> PanelEffect {
        if key != ListKey::Yes {
            cx.dialogue.withdraw();
        }
        self.list.advice = None;
        match key {
            ListKey::Mark | ListKey::MarkLow | ListKey::MarkMost | ListKey::No => {
                self.list.act(key, self.open_rows(), cx.screen.keymap);
            }
            ListKey::Yes => self.yes(cx),
            ListKey::Open | ListKey::Edit => return self.look_at(cx),
            ListKey::Whole => self.is_whole = !self.is_whole,
            ListKey::Why => {
                if let Some(card) = self.chosen_card() {
                    card.why = card.why.turned();
                    card.unsee_partly();
                }
            }
            // A rule is written at the card of a request.
            ListKey::Rule => {}
        }
        self.follow(cx);
        PanelEffect::Stay
    }

    fn own_key(&mut self, action: Action, cx: &mut PanelContext<'_>) -> PanelEffect {
        cx.dialogue.withdraw();
        self.list.advice = None;
        match action {
            LATER => self.later(cx),
            RESUME => self.resume(cx),
            OPEN_SESSION => return self.open_session(cx),
            FILTER => self.list.stage = ListStage::Filtering,
            FILTERED => self.list.stage = ListStage::Choosing,
            NARROW => self.turn_scope(),
            _ => {}
        }
        self.follow(cx);
        PanelEffect::Stay
    }

    /// Requests the details of the chosen request, one request at a time.
    fn follow(&mut self, cx: &mut PanelContext<'_>) {
        let Some(id) = self.chosen_id() else { return };
        if self.details.asked.is_none() && !self.details.known.contains_key(&id) {
            self.details.asked = Some(id.clone());
            cx.ask(ClientQuery::Request { request: id });
        }
    }

    fn chosen_id(&self) -> Option<RequestId> {
        self.chosen_line().map(|line| line.row.id.clone())
    }

    /// Returns the listed requests that can be decided, in the order of the list, and the chosen one of them.
    pub fn open_rows(&self) -> OpenRows {
        let chosen = self.chosen_line().and_then(|line| self.open(line));
        (self.requests().filter_map(|line| self.open(line)).collect(), chosen)
    }

    fn chosen_card(&mut self) -> Option<&mut Card> {
        match self.details.known.get_mut(&self.chosen_id()?)? {
            Detail::Whole { card, .. } => Some(card),
            Detail::Gone(_) => None,
        }
    }

    /// Approves the marked requests in one round, or else the chosen one.
    fn yes(&mut self, cx: &mut PanelContext<'_>) {
        let ask = |these: &[RequestId]| Ok(decision(these, &Approval::yes()));
        let rows = self.open_rows();
        match self.list.yes(rows, ask, cx.dialogue, cx.screen.keymap, cx.now_ms) {
            ApprovalOutcome::Nothing => {}
            ApprovalOutcome::Unseen(id) | ApprovalOutcome::Empty(id) => self.go_to(&id),
            ApprovalOutcome::Sent(ids, ask) => {
                cx.send(ask);
                self.mark_sent(&ids, "yes", cx.now_ms);
                self.list.advice = self.resumable(&ids, cx.screen.keymap);
            }
        }
    }

    /// Says that approved requests run only once their session is resumed, if it is not open anywhere.
    fn resumable(&self, ids: &[RequestId], keymap: &Keymap) -> Option<String> {
        let is_closed = |line: &&InboxLine| ids.contains(&line.row.id) && line.holder == Holder::NoProcess;
        self.lines.iter().find(is_closed)?;
        let resume = [(CONTEXT, RESUME, "resumes it now")];
        Some(keymap.with_hints("approved; its session is not open anywhere", &resume))
    }

    /// Sends the same decision for all of these.
    fn decide(
        &mut self,
        these: &[RequestId],
        approval: &Approval,
        word: &'static str,
        cx: &mut PanelContext<'_>,
    ) {
        cx.send(decision(these, approval));
        self.mark_sent(these, word, cx.now_ms);
    }

    fn later(&mut self, cx: &mut PanelContext<'_>) {
        let these = self.list.marked_or(self.open_rows());
        let waiting = self.requests().filter(|line| line.row.state == RequestState::Waiting);
        let waiting: HashSet<&RequestId> = waiting.map(|line| &line.row.id).collect();
        let wanted = these.into_iter().map(|one| one.id).filter(|id| waiting.contains(id));
        let wanted: Vec<RequestId> = wanted.collect();
        if wanted.is_empty() {
            self.advise("already postponed");
        } else {
            self.decide(&wanted, &Approval::Later, "later", cx);
        }
    }

    /// Goes to the card if the request is of this session; else shows all of it here.
    fn look_at(&mut self, cx: &mut PanelContext<'_>) -> PanelEffect {
        if let Some(line) = self.chosen_line() {
            if line.holder == Holder::Here && cx.cards.find(&line.row.id).is_some() {
                return PanelEffect::ToCard(line.row.id.clone());
            }
            self.is_whole = !self.is_whole;
        }
        self.follow(cx);
        PanelEffect::Stay
    }

    /// Continues the session of the chosen request, if no process holds it.
    fn resume(&mut self, cx: &mut PanelContext<'_>) {
        let Some(line) = self.chosen_line() else { return };
        match line.holder {
            Holder::NoProcess => cx.send(ClientRequest::ResumeNow { session: line.row.session.clone() }),
            Holder::Here => {
                self.advise("this is the current session: it continues once everything is decided");
            }
            Holder::Another => {
                self.advise("open in another co; it continues there once everything is decided");
            }
            Holder::Background => self.advise("it is already running"),
        }
    }

    /// Opens the session of the chosen request in place of the current one.
    fn open_session(&mut self, cx: &mut PanelContext<'_>) -> PanelEffect {
        let Some(line) = self.chosen_line() else { return PanelEffect::Stay };
        let session = line.row.session.clone();
        match line.holder {
            Holder::Here => return PanelEffect::Close,
            Holder::Another | Holder::NoProcess if cx.turn_runs => cx.flash(stop_first(cx.screen.keymap)),
            Holder::Another | Holder::NoProcess => return PanelEffect::OpenSession(session),
            Holder::Background => {
                self.advise("it is running in the background; open it when it stops");
            }
        }
        self.follow(cx);
        PanelEffect::Stay
    }

    /// Cancels the current step; without one, closes the inbox.
    fn escape(&mut self, cx: &mut PanelContext<'_>) -> PanelEffect {
        let approved_once = cx.dialogue.withdraw();
        self.list.advice = None;
        match &self.list.stage {
            ListStage::Filtering => {
                self.list.stage = ListStage::Choosing;
                self.clear_filter();
            }
            ListStage::Reason { .. } => self.list.stage = ListStage::Choosing,
            ListStage::Choosing if approved_once => {}
            ListStage::Choosing if self.is_whole => self.is_whole = false,
            ListStage::Choosing if !self.filter.text().is_empty() => self.clear_filter(),
            ListStage::Choosing => return PanelEffect::Close,
        }
        PanelEffect::Stay
    }

    fn clear_filter(&mut self) {
        self.filter.replace("");
        self.list_again();
    }

    /// Moves by rows and pages through the list, and by lines through the chosen request; by pages too if only that is
    /// shown.
    fn navigate(&mut self, nav: Nav, cx: &mut PanelContext<'_>) {
        let before = self.chosen_id();
        let shape =
            InboxShape::of(self, &Screen { approved_once: cx.dialogue.is_approved_once(), ..cx.screen });
        self.list.advice = None;
        let page = shape.list_rows.saturating_sub(1).max(1);
        let read = shape.detail_rows.max(2) / 2;
        let reads = match nav {
            Nav::Up | Nav::Down => false,
            Nav::PageUp | Nav::PageDown => shape.place == DetailPosition::Alone,
            Nav::LineUp | Nav::LineDown => true,
        };
        if !reads {
            self.step(nav, page);
        } else if let Some(card) = self.chosen_card() {
            // The layout limits it to the last line.
            card.scroll = nav.row(card.scroll, read);
        }
        if self.chosen_id() != before {
            cx.dialogue.withdraw();
        }
    }

    fn set_lines(&mut self, lines: Vec<InboxLine>, cx: &mut PanelContext<'_>) {
        let was_refusing = self.list.is_refusing();
        let proposed = |inbox: &Self| inbox.list.marked_or(inbox.open_rows());
        let before = cx.dialogue.is_approved_once().then(|| proposed(self));
        let is_gone = self.replace(lines, cx.now_ms);
        if before.is_some_and(|before| before != proposed(self)) {
            cx.dialogue.withdraw();
        }
        if is_gone {
            self.advise("that request was decided elsewhere or has expired");
            self.is_whole = false;
            cx.dialogue.withdraw();
            cx.dialogue.show_again(cx.now_ms);
        }
        if was_refusing && !self.list.is_refusing() {
            self.advise(GONE_WHILE_WRITING);
            cx.dialogue.show_again(cx.now_ms);
        }
    }

    pub fn advise(&mut self, words: &str) {
        self.list.advice = Some(words.to_owned());
    }
}

/// Returns the request for one decision on all of these, whichever process has their sessions.
fn decision(these: &[RequestId], approval: &Approval) -> ClientRequest {
    ClientRequest::Op(Op::decide_alike(these, approval))
}
