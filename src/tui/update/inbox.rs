//! The keys of the inbox, and what the owner tells for it.
//!
//! What all lists of requests have in common is `update::list`. What is decided goes out as one ask for all of it, and
//! a row waits until the owner tells the list again. What is HIGH is approved only by itself.

use std::collections::HashSet;

use super::{batch, card, flash, list, save_draft, say};
use crate::approval::{Approval, RequestId};
use crate::frontend::protocol::{ClientRequest, Holder, InboxLine};
use crate::store::{RequestState, StoredRequest};
use crate::tui::batch::Question;
use crate::tui::cards::Card;
use crate::tui::cells;
use crate::tui::composer::Editor;
use crate::tui::inbox::{Chosen, Detail, DetailPlace, Inbox, InboxRow, InboxShape, Listing, View};
use crate::tui::keys::{Action, Binding, Context, InboxKey, Nav, Weight};
use crate::tui::list::ListStage;
use crate::tui::model::{Focus, Model, Overlay};
use crate::tui::msg::Cmd;

/// Who is asked what a key means.
pub fn contexts(inbox: &Inbox) -> &'static [Context] {
    match inbox.list.stage {
        ListStage::Choosing => &[Context::Inbox, Context::Global],
        ListStage::Filtering => &[Context::InboxFilter, Context::Text, Context::Global],
        ListStage::Reason { .. } => list::REASON,
    }
}

/// What waits: first this session's cards, then, asked again or with nothing waiting here, the inbox.
pub fn all_that_waits(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if let Overlay::Inbox(_) = model.overlay {
        model.overlay = Overlay::None;
        return;
    }
    let has_keys = model.focus == Focus::Card && model.cards.iter().count() == model.cards.shown().count();
    if model.asks_cap() || (!model.cards.is_empty() && !has_keys) {
        return card::focus(model);
    }
    open(model, cmds);
}

fn open(model: &mut Model, cmds: &mut Vec<Cmd>) {
    model.completion.close();
    model.overlay = Overlay::Inbox(Box::default());
    cmds.push(Cmd::Send(ClientRequest::Inbox));
}

fn inbox(model: &mut Model) -> Option<&mut Inbox> {
    if let Overlay::Inbox(inbox) = &mut model.overlay { Some(inbox) } else { None }
}

/// Whether this key does nothing yet: it would decide, and what it would decide has stood there for a moment only.
pub fn is_guarded(model: &Model, key: Option<&Binding>) -> bool {
    let decides = key.is_some_and(|key| {
        if let Action::Inbox(action) = key.action { action.decides() } else { key.weight == Weight::Approves }
    });
    decides && model.dialogue.subject() == Some(&Question::Inbox) && !model.dialogue.is_armed(model.now_ms)
}

pub fn act(model: &mut Model, key: InboxKey, cmds: &mut Vec<Cmd>) {
    if key != InboxKey::Yes {
        model.dialogue.withdraw();
    }
    let Some(inbox) = inbox(model) else { return };
    inbox.list.advice = None;
    match key {
        InboxKey::Mark => list::mark(model),
        InboxKey::MarkLow => list::mark_low(model),
        InboxKey::Yes => list::yes(model, cmds),
        InboxKey::No => list::refuse(model),
        InboxKey::Later => later(model, cmds),
        InboxKey::Open => look_at(model),
        InboxKey::All => fold(inbox, |card| card.whole = card.whole.turned()),
        InboxKey::Why => fold(inbox, |card| card.why = card.why.turned()),
        InboxKey::Resume => resume(inbox, cmds),
        InboxKey::Go => go(model, cmds),
        InboxKey::Filter => inbox.list.stage = ListStage::Filtering,
        InboxKey::Filtered => inbox.list.stage = ListStage::Choosing,
        InboxKey::Narrow => inbox.turn_scope(),
    }
    follow(model, cmds);
}

/// Asks for the chosen request whole, one request at a time.
pub fn follow(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let Some(inbox) = inbox(model) else { return };
    let Some(id) = inbox.chosen().map(|line| line.id.clone()) else { return };
    if inbox.details.asked.is_none() && inbox.details.get(&id).is_none() {
        inbox.details.asked = Some(id.clone());
        cmds.push(Cmd::Send(ClientRequest::Request { request: id }));
    }
}

/// Shows more or less of the chosen request; what was seen of it is counted anew.
fn fold(inbox: &mut Inbox, turn: impl FnOnce(&mut Card)) {
    let Some(id) = inbox.chosen().map(|line| line.id.clone()) else { return };
    if let Some(Detail::Whole { card, .. }) = inbox.details.get_mut(&id) {
        turn(card);
        card.unsee_partly();
    }
}

/// What a yes to those that were marked left as it was: HIGH ones.
pub fn left(high: usize) -> Option<String> {
    let verb = match high {
        0 => return None,
        1 => "stays: it needs a yes of its own",
        _ => "stay: each needs a yes of its own",
    };
    Some(format!("{high} HIGH {verb}"))
}

fn later(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let these = list::marked_or_chosen(model);
    let Some(inbox) = inbox(model) else { return };
    let waiting = inbox.requests().filter(|line| line.state == RequestState::Waiting);
    let waiting: HashSet<&RequestId> = waiting.map(|line| &line.id).collect();
    let wanted: Vec<RequestId> = these.into_iter().filter(|id| waiting.contains(id)).collect();
    if wanted.is_empty() {
        inbox.list.advice = Some("it is for later already".to_owned());
        return;
    }
    list::decide(model, &wanted, &Approval::Later, "later", cmds);
}

/// To the card, where the request is of this session; else all of it, here.
fn look_at(model: &mut Model) {
    let Overlay::Inbox(inbox) = &mut model.overlay else { return };
    let Some(line) = inbox.chosen() else { return };
    let id = line.id.clone();
    if line.holder == Holder::Here && model.cards.find(&id).is_some() {
        model.overlay = Overlay::None;
        model.cards.bring_back();
        model.cards.go_to(Some(&id));
        model.batch.opened = Some(id);
        batch::look(model);
        model.focus = Focus::Card;
        return;
    }
    inbox.view = match inbox.view {
        View::List => View::Whole,
        View::Whole => View::List,
    };
}

fn resume(inbox: &mut Inbox, cmds: &mut Vec<Cmd>) {
    let Some(line) = inbox.chosen() else { return };
    let words = match line.holder {
        Holder::Nobody => {
            cmds.push(Cmd::Send(ClientRequest::ResumeNow { session: line.session.clone() }));
            return;
        }
        Holder::Here => "this session is at hand: it goes on by itself once all is decided",
        Holder::Another => "it is open in another co, and goes on there once all is decided",
        Holder::Beside => "it goes on already",
    };
    inbox.list.advice = Some(words.to_owned());
}

/// Opens the session of the chosen request in place of the one at hand.
fn go(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let Overlay::Inbox(inbox) = &model.overlay else { return };
    let Some(line) = inbox.chosen() else { return };
    let (session, holder) = (line.session.clone(), line.holder);
    match holder {
        Holder::Here => model.overlay = Overlay::None,
        Holder::Beside => advise(model, "it goes on beside this session, and can be opened once it rests"),
        Holder::Another | Holder::Nobody if model.turn.is_some() => {
            let key = model.keymap.shown(Context::Global, Action::Escape);
            flash(model, &format!("a turn is running: stop it first ({key}, {key})"));
        }
        Holder::Another | Holder::Nobody => {
            model.overlay = Overlay::None;
            save_draft(model, cmds);
            cmds.push(Cmd::Send(ClientRequest::Open { session }));
        }
    }
}

/// Backs out of what was begun; last of all, out of the inbox.
pub fn escape(model: &mut Model) {
    let approved_once = model.dialogue.withdraw();
    let Some(inbox) = inbox(model) else { return };
    inbox.list.advice = None;
    match &inbox.list.stage {
        ListStage::Filtering => {
            inbox.list.stage = ListStage::Choosing;
            clear_filter(inbox);
        }
        ListStage::Reason { .. } => inbox.list.stage = ListStage::Choosing,
        ListStage::Choosing if approved_once => {}
        ListStage::Choosing if inbox.view == View::Whole => inbox.view = View::List,
        ListStage::Choosing if !inbox.filter.text().is_empty() => clear_filter(inbox),
        ListStage::Choosing => model.overlay = Overlay::None,
    }
}

fn clear_filter(inbox: &mut Inbox) {
    inbox.filter.replace("");
    inbox.list_again();
}

/// A text in the inbox was changed.
pub fn changed(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if let Some(inbox) = inbox(model)
        && inbox.list.stage == ListStage::Filtering
    {
        inbox.list_again();
    }
    follow(model, cmds);
}

/// The text with the keys, if there is one.
pub fn editor(inbox: &mut Inbox) -> Option<&mut Editor> {
    if inbox.list.stage == ListStage::Filtering { Some(&mut inbox.filter) } else { inbox.list.editor_mut() }
}

/// Moves by rows and pages through the list, by lines through the chosen request; alone on the screen that takes pages
/// too.
pub fn navigate(model: &mut Model, nav: Nav, cmds: &mut Vec<Cmd>) {
    if let Nav::Up | Nav::Down = nav {
        model.dialogue.withdraw();
    }
    let (Some(shape), Some(inbox)) = (shape(model), inbox(model)) else { return };
    inbox.list.advice = None;
    let page = shape.list_rows.saturating_sub(1).max(1);
    match (nav, shape.place) {
        (Nav::Up, _) => inbox.up(1),
        (Nav::Down, _) => inbox.down(1),
        (Nav::PageUp, DetailPlace::Beside | DetailPlace::Below) => inbox.up(page),
        (Nav::PageDown, DetailPlace::Beside | DetailPlace::Below) => inbox.down(page),
        (Nav::PageUp, DetailPlace::Alone) => {
            read(inbox, |at| at.saturating_sub(shape.detail_rows.max(2) / 2));
        }
        (Nav::PageDown, DetailPlace::Alone) => read(inbox, |at| at + shape.detail_rows.max(2) / 2),
        (Nav::LineUp, _) => read(inbox, |at| at.saturating_sub(1)),
        (Nav::LineDown, _) => read(inbox, |at| at + 1),
    }
    follow(model, cmds);
}

fn read(inbox: &mut Inbox, to: impl FnOnce(usize) -> usize) {
    let Some(id) = inbox.chosen().map(|line| line.id.clone()) else { return };
    if let Some(Detail::Whole { card, .. }) = inbox.details.get_mut(&id) {
        // The layout brings it back to the last line.
        card.scroll = to(card.scroll);
    }
}

fn shape(model: &Model) -> Option<InboxShape> {
    let Overlay::Inbox(inbox) = &model.overlay else { return None };
    let (columns, rows) = (usize::from(model.columns), model.areas().pane);
    Some(InboxShape::of(inbox, model.dialogue.is_approved_once(), columns, rows))
}

/// What waits changed somewhere: an open inbox is told again.
pub fn renew(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if let Some(inbox) = inbox(model)
        && inbox.listing == Listing::Loaded
    {
        inbox.listing = Listing::Outdated;
        cmds.push(Cmd::Send(ClientRequest::Inbox));
    }
}

/// The screen has another size: what was half seen is counted anew.
pub fn resized(model: &mut Model) {
    if let Some(inbox) = inbox(model) {
        inbox.details.unsee_partly();
    }
}

/// The owner told what waits.
pub fn tell(model: &mut Model, lines: Vec<InboxLine>, cmds: &mut Vec<Cmd>) {
    let now = model.now_ms;
    let Overlay::Inbox(inbox) = &mut model.overlay else { return };
    let was_refusing = inbox.list.is_refusing();
    match inbox.tell(lines, now) {
        Chosen::Same | Chosen::Decided => {}
        Chosen::Gone => {
            inbox.list.advice = Some("that request was decided elsewhere, or its time ran out".to_owned());
            inbox.view = View::List;
            model.dialogue.withdraw();
            model.dialogue.show_again(now);
        }
    }
    if was_refusing && !inbox.list.is_refusing() {
        inbox.list.advice = Some("it was decided while you were writing".to_owned());
        model.dialogue.show_again(now);
    }
    follow(model, cmds);
}

/// The owner told one request whole.
pub fn tell_request(model: &mut Model, told: Result<Box<StoredRequest>, String>, cmds: &mut Vec<Cmd>) {
    let Overlay::Inbox(inbox) = &mut model.overlay else { return };
    inbox.details.tell(told, model.header.as_ref());
    follow(model, cmds);
}

/// Says something in the inbox, where it is open.
pub fn advise(model: &mut Model, words: &str) {
    match inbox(model) {
        Some(inbox) => inbox.list.advice = Some(words.to_owned()),
        None => say(model, words),
    }
}

/// The owner's words, which the inbox would hide.
pub fn overhear(model: &mut Model, text: &str) {
    if let Some(inbox) = inbox(model) {
        inbox.list.advice = Some(text.lines().next().unwrap_or_default().to_owned());
    }
}

/// Lays the chosen request out as it will be drawn, and notes what of the list and of it stands on the screen.
pub fn lay_out(model: &mut Model) {
    let Some(shape) = shape(model) else { return };
    let look = model.look();
    let Overlay::Inbox(inbox) = &mut model.overlay else { return };
    for at in shape.list.clone() {
        if let Some(InboxRow::Request(index)) = inbox.rows.get(at) {
            inbox.glance(*index);
        }
    }
    let Some(id) = inbox.chosen().map(|line| line.id.clone()) else { return };
    if shape.detail_rows > 0
        && let Some(Detail::Whole { card, header }) = inbox.details.get_mut(&id)
    {
        let frame = cells::list::detail_frame(&look, &model.keymap, header.as_deref(), &model.zone, &shape);
        cells::list::lay_out(card, &frame, shape.detail_width, shape.detail_rows);
    }
    inbox.details.look(&id);
}
