//! The keys of the inbox, and what the owner tells for it.
//!
//! What is decided goes out as one ask for all of it, and a row waits until the owner tells the list again. No key
//! decides in the first half second of the list, or after the chosen request changed by itself; nothing is approved
//! that was not on the screen, and what is HIGH only by itself and by a second key.

use std::collections::HashSet;

use super::{batch, card, flash, save_draft, say};
use crate::approval::{Approval, RequestId};
use crate::frontend::link::{Ask, Holder, InboxLine};
use crate::store::{RequestState, StoredRequest};
use crate::tool::Risk;
use crate::tui::cards::GUARD_MS;
use crate::tui::cells;
use crate::tui::composer::Editor;
use crate::tui::inbox::{Chosen, Detail, Inbox, Place, Round, Row, Shape, Told, View};
use crate::tui::keys::{Action, Binding, Context, InboxKey, Keymap, Nav, Weight};
use crate::tui::model::{Focus, Model, Overlay};
use crate::tui::msg::Cmd;

/// Who is asked what a key means.
pub fn contexts(inbox: &Inbox) -> &'static [Context] {
    match inbox.round {
        Round::Choosing | Round::Confirming(_) => &[Context::Inbox, Context::Global],
        Round::Filtering => &[Context::InboxFilter, Context::Text, Context::Global],
        Round::Reason { .. } => &[Context::Reason, Context::Text, Context::Global],
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
    model.overlay = Overlay::Inbox(Box::new(Inbox::new(model.now_ms + GUARD_MS)));
    cmds.push(Cmd::Send(Ask::Inbox));
}

fn inbox(model: &mut Model) -> Option<&mut Inbox> {
    if let Overlay::Inbox(inbox) = &mut model.overlay { Some(inbox) } else { None }
}

/// Whether this key does nothing yet: it would decide, and what it would decide has stood there for a moment only.
pub fn is_guarded(model: &mut Model, key: Option<&Binding>) -> bool {
    let now = model.now_ms;
    let Overlay::Inbox(inbox) = &mut model.overlay else { return false };
    let decides = key.is_some_and(|key| {
        if let Action::Inbox(action) = key.action { action.decides() } else { key.weight == Weight::Approves }
    });
    if !decides || !inbox.is_guarded(now) {
        return false;
    }
    // As long as a key is held down none counts.
    inbox.guard(now + GUARD_MS);
    true
}

pub fn act(model: &mut Model, key: InboxKey, cmds: &mut Vec<Cmd>) {
    let Some(inbox) = inbox(model) else { return };
    inbox.advice = None;
    if key != InboxKey::Yes {
        unconfirm(inbox);
    }
    match key {
        InboxKey::Mark => mark(inbox),
        InboxKey::MarkLow => {
            if inbox.mark_low() == 0 {
                inbox.advice = Some("none of these is low".to_owned());
            }
        }
        InboxKey::Yes => yes(model, cmds),
        InboxKey::No => refuse(inbox),
        InboxKey::Later => later(model, cmds),
        InboxKey::Open => look_at(model),
        InboxKey::All => fold(inbox, |card| card.whole = card.whole.turned()),
        InboxKey::Why => fold(inbox, |card| card.why = card.why.turned()),
        InboxKey::Resume => resume(inbox, cmds),
        InboxKey::Go => go(model, cmds),
        InboxKey::Filter => inbox.round = Round::Filtering,
        InboxKey::Filtered => inbox.round = Round::Choosing,
        InboxKey::Narrow => inbox.turn_scope(),
    }
    follow(model, cmds);
}

fn unconfirm(inbox: &mut Inbox) {
    if let Round::Confirming(_) = inbox.round {
        inbox.round = Round::Choosing;
    }
}

/// Asks for the chosen request whole, one request at a time.
fn follow(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let Some(inbox) = inbox(model) else { return };
    let Some(id) = inbox.chosen().map(|line| line.id.clone()) else { return };
    if inbox.details.asked.is_none() && inbox.details.get(&id).is_none() {
        inbox.details.asked = Some(id.clone());
        cmds.push(Cmd::Send(Ask::Request { request: id }));
    }
}

/// Shows more or less of the chosen request; what was seen of it is counted anew.
fn fold(inbox: &mut Inbox, turn: impl FnOnce(&mut crate::tui::cards::Card)) {
    let Some(id) = inbox.chosen().map(|line| line.id.clone()) else { return };
    if let Some(Detail::Whole { card, .. }) = inbox.details.get_mut(&id) {
        turn(card);
        card.unsee_partly();
    }
}

fn mark(inbox: &mut Inbox) {
    let Some(line) = inbox.chosen().filter(|line| inbox.decides(line).is_none()) else { return };
    let id = line.id.clone();
    inbox.turn_mark(&id);
}

/// How more of a request comes to the screen.
fn more(keymap: &Keymap, words: &str) -> String {
    let keys = [
        (Context::Global, Action::Nav(Nav::LineDown), ""),
        (Context::Inbox, Action::Inbox(InboxKey::Open), "makes room"),
    ];
    keymap.told(words, &keys)
}

/// Yes to what is marked and not HIGH, or else to the chosen one.
fn yes(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let now = model.now_ms;
    let Overlay::Inbox(inbox) = &mut model.overlay else { return };
    let marked: Vec<&InboxLine> = inbox.marked().collect();
    let high = marked.iter().filter(|line| line.risk == Risk::High).count();
    let these: Vec<RequestId> =
        marked.iter().filter(|line| line.risk != Risk::High).map(|line| line.id.clone()).collect();
    if these.is_empty() {
        return yes_to_chosen(model, cmds);
    }
    let unseen = marked.iter().find(|line| line.risk != Risk::High && !inbox.is_seen(line));
    if let Some(id) = unseen.map(|line| line.id.clone()) {
        inbox.go_to(&id);
        inbox.advice = Some(more(&model.keymap, "this one was not shown whole yet, here it is"));
        // It comes under the finger that said yes to something else.
        return inbox.guard(now + GUARD_MS);
    }
    decide(inbox, &these, Approval::yes(), ("yes", now), cmds);
    if high > 0 {
        let verb =
            if high == 1 { "stays: it needs a yes of its own" } else { "stay: each needs a yes of its own" };
        inbox.advice = Some(format!("{high} HIGH {verb}"));
    }
    model.cards.said_yes(now);
}

fn yes_to_chosen(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let now = model.now_ms;
    let Overlay::Inbox(inbox) = &mut model.overlay else { return };
    let Some(line) = inbox.chosen().filter(|line| inbox.decides(line).is_none()) else { return };
    let (id, risk, seen) = (line.id.clone(), line.risk, inbox.is_seen(line));
    if !seen {
        inbox.advice = Some(more(&model.keymap, "not all of it was on the screen yet"));
        return;
    }
    if risk == Risk::High && inbox.round != Round::Confirming(id.clone()) {
        inbox.round = Round::Confirming(id);
    } else {
        inbox.round = Round::Choosing;
        decide(inbox, &[id], Approval::yes(), ("yes", now), cmds);
    }
    model.cards.said_yes(now);
}

/// One ask for all of them.
fn decide(
    inbox: &mut Inbox,
    these: &[RequestId],
    approval: Approval,
    (word, now): (&'static str, u64),
    cmds: &mut Vec<Cmd>,
) {
    inbox.send(these, word, now);
    cmds.push(Cmd::Send(Ask::DecideAll { requests: these.to_vec(), approval }));
}

/// What is marked, or else the chosen one.
fn these(inbox: &Inbox) -> Vec<RequestId> {
    let marked: Vec<RequestId> = inbox.marked().map(|line| line.id.clone()).collect();
    if !marked.is_empty() {
        return marked;
    }
    let chosen = inbox.chosen().filter(|line| inbox.decides(line).is_none());
    chosen.map(|line| line.id.clone()).into_iter().collect()
}

/// Begins the no.
fn refuse(inbox: &mut Inbox) {
    let of = these(inbox);
    if !of.is_empty() {
        inbox.round = Round::Reason { editor: Editor::default(), of };
    }
}

/// Sends the no, with one reason for all.
pub fn send_no(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let now = model.now_ms;
    let Some(inbox) = inbox(model) else { return };
    let Round::Reason { editor, of } = std::mem::replace(&mut inbox.round, Round::Choosing) else { return };
    let reason = editor.text().trim().to_owned();
    let reason = (!reason.is_empty()).then_some(reason);
    decide(inbox, &of, Approval::Deny { reason }, ("no", now), cmds);
    follow(model, cmds);
}

fn later(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let now = model.now_ms;
    let Some(inbox) = inbox(model) else { return };
    let waiting = inbox.requests().filter(|line| line.state == RequestState::Waiting);
    let waiting: HashSet<&RequestId> = waiting.map(|line| &line.id).collect();
    let wanted: Vec<RequestId> = these(inbox).into_iter().filter(|id| waiting.contains(id)).collect();
    if wanted.is_empty() {
        inbox.advice = Some("it is for later already".to_owned());
        return;
    }
    decide(inbox, &wanted, Approval::Later, ("later", now), cmds);
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
            cmds.push(Cmd::Send(Ask::ResumeNow { session: line.session.clone() }));
            return;
        }
        Holder::Here => "this session is at hand: it goes on by itself once all is decided",
        Holder::Another => "it is open in another co, and goes on there once all is decided",
        Holder::Beside => "it goes on already",
    };
    inbox.advice = Some(words.to_owned());
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
            cmds.push(Cmd::Send(Ask::Open { session }));
        }
    }
}

/// Backs out of what was begun; last of all, out of the inbox.
pub fn escape(model: &mut Model) {
    let Some(inbox) = inbox(model) else { return };
    inbox.advice = None;
    match &inbox.round {
        Round::Filtering => {
            inbox.round = Round::Choosing;
            clear_filter(inbox);
        }
        Round::Confirming(_) | Round::Reason { .. } => inbox.round = Round::Choosing,
        Round::Choosing if inbox.view == View::Whole => inbox.view = View::List,
        Round::Choosing if !inbox.filter.text().is_empty() => clear_filter(inbox),
        Round::Choosing => model.overlay = Overlay::None,
    }
}

fn clear_filter(inbox: &mut Inbox) {
    inbox.filter.replace("");
    inbox.list_again();
}

/// A text in the inbox was changed.
pub fn changed(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if let Some(inbox) = inbox(model)
        && inbox.round == Round::Filtering
    {
        inbox.list_again();
    }
    follow(model, cmds);
}

/// The text with the keys, if there is one.
pub fn editor(inbox: &mut Inbox) -> Option<&mut Editor> {
    match &mut inbox.round {
        Round::Filtering => Some(&mut inbox.filter),
        Round::Reason { editor, .. } => Some(editor),
        Round::Choosing | Round::Confirming(_) => None,
    }
}

/// By rows and pages through the list, by lines through the chosen request; alone on the screen that takes pages too.
pub fn navigate(model: &mut Model, nav: Nav, cmds: &mut Vec<Cmd>) {
    let shape = shape(model);
    let Some(inbox) = inbox(model) else { return };
    inbox.advice = None;
    let page = shape.list_rows.saturating_sub(1).max(1);
    if let Nav::Up | Nav::Down = nav {
        unconfirm(inbox);
    }
    match (nav, shape.place) {
        (Nav::Up, _) => inbox.up(1),
        (Nav::Down, _) => inbox.down(1),
        (Nav::PageUp, Place::Beside | Place::Below) => inbox.up(page),
        (Nav::PageDown, Place::Beside | Place::Below) => inbox.down(page),
        (Nav::PageUp, Place::Alone) => read(inbox, |at| at.saturating_sub(shape.detail_rows.max(2) / 2)),
        (Nav::PageDown, Place::Alone) => read(inbox, |at| at + shape.detail_rows.max(2) / 2),
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

fn shape(model: &Model) -> Shape {
    let (columns, rows) = (usize::from(model.columns), model.areas().pane);
    match &model.overlay {
        Overlay::Inbox(inbox) => Shape::of(inbox, columns, rows),
        Overlay::Pick(_) | Overlay::Login(_) | Overlay::Help(_) | Overlay::None => {
            Shape::of(&Inbox::new(0), columns, rows)
        }
    }
}

/// What waits changed somewhere: an open inbox is told again.
pub fn renew(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if let Some(inbox) = inbox(model)
        && inbox.told == Told::All
    {
        inbox.told = Told::Before;
        cmds.push(Cmd::Send(Ask::Inbox));
    }
}

/// The screen has another size: what was half seen is counted anew, and what stands there may be new to the person.
pub fn resized(model: &mut Model) {
    let now = model.now_ms;
    if let Some(inbox) = inbox(model) {
        inbox.details.unsee_partly();
        inbox.guard(now + GUARD_MS);
    }
}

/// The owner told what waits.
pub fn tell(model: &mut Model, lines: Vec<InboxLine>, cmds: &mut Vec<Cmd>) {
    let now = model.now_ms;
    let Some(inbox) = inbox(model) else { return };
    match inbox.tell(lines, now) {
        Chosen::Same | Chosen::Decided => {}
        Chosen::Gone => {
            inbox.advice = Some("that request was decided elsewhere, or its time ran out".to_owned());
            inbox.guard(now + GUARD_MS);
            inbox.view = View::List;
        }
    }
    if let Round::Reason { of, .. } = &inbox.round
        && of.is_empty()
    {
        inbox.round = Round::Choosing;
        inbox.advice = Some("it was decided while you were writing".to_owned());
        inbox.guard(now + GUARD_MS);
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
        Some(inbox) => inbox.advice = Some(words.to_owned()),
        None => say(model, words),
    }
}

/// The owner's words, which the inbox would hide.
pub fn overhear(model: &mut Model, text: &str) {
    if let Some(inbox) = inbox(model) {
        inbox.advice = Some(text.lines().next().unwrap_or_default().to_owned());
    }
}

/// Lays the chosen request out as it will be drawn, and notes what of the list and of it stands on the screen.
pub fn lay_out(model: &mut Model) {
    let shape = shape(model);
    let look = model.look();
    let Overlay::Inbox(inbox) = &mut model.overlay else { return };
    for at in shape.list.clone() {
        if let Some(Row::Request(index)) = inbox.rows.get(at) {
            inbox.glance(*index);
        }
    }
    let Some(id) = inbox.chosen().map(|line| line.id.clone()) else { return };
    if shape.detail_rows > 0
        && let Some(Detail::Whole { card, header }) = inbox.details.get_mut(&id)
    {
        let space = cells::inbox::Space {
            look: &look,
            keymap: &model.keymap,
            header: header.as_deref(),
            zone: &model.zone,
            width: shape.detail_width,
            rows: shape.detail_rows,
            place: shape.place,
        };
        cells::inbox::lay_out(card, &space);
    }
    inbox.details.look(&id);
}
