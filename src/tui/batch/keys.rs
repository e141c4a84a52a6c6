//! The keys of the list that shows the pending requests of this session.
//!
//! One round decides all marked requests; after a row appears or disappears, the list ignores keys for a moment. The
//! conditions for an approval are defined by `frontend::dialogue`.

use crate::agent::port::Op;
use crate::approval::rules::RuleScope;
use crate::approval::{Approval, Request, RequestId};
use crate::frontend::protocol::ClientRequest;
use crate::tui::batch::{Question, awaited_cards, dropped_rows, numbers, rows};
use crate::tui::cards::{Card, Cards, SentDecision};
use crate::tui::cells::CallState;
use crate::tui::form;
use crate::tui::keys::ListKey;
use crate::tui::list::{ApprovalOutcome, GONE_WHILE_WRITING, ListStage, OpenRows};
use crate::tui::model::{Focus, Model};
use crate::tui::msg::Cmd;
use crate::tui::rule;
use crate::tui::transcript::Transcript;
use crate::tui::update::advice::{say_postponed, scroll_back};
use crate::tui::update::panel;

/// Updates the dialogue after a message: the question on the screen, since when it is shown, and the open text.
pub fn refresh(model: &mut Model) {
    let renewed = std::mem::take(&mut model.cards.renewed);
    if !renewed.is_empty() {
        // The mark and the first approval were for other arguments.
        renewed.iter().for_each(|id| model.batch.list.unmark(id));
        model.dialogue.withdraw();
        model.dialogue.hide();
    }
    prune(model);
    if model.dialogue.show(model.question(), model.now_ms) {
        // The advice belonged to another question.
        model.batch.list.advice = None;
    }
    leave_what_is_gone(model);
}

/// Drops the list state of requests that are no longer pending.
fn prune(model: &mut Model) {
    let (cards, batch) = (&model.cards, &mut model.batch);
    if batch.opened.as_ref() != cards.current().map(|card| &card.request.id) {
        batch.opened = None;
    }
    let is_open = |card: &Card| !card.is_postponed && !card.is_decided();
    batch.list.retain(|id| cards.find(id).is_some_and(is_open));
}

/// Returns to the composer if the text being written lost its request, so that keys still to come reach no other card.
fn leave_what_is_gone(model: &mut Model) {
    let is_gone = |id: &RequestId| model.cards.find(id).is_none_or(|card| card.is_postponed);
    let gone = !model.batch.writing.is_empty() && model.batch.writing.iter().all(is_gone);
    model.batch.writing = match model.cards.current() {
        _ if model.batch.list.is_refusing() => model.batch.list.refused_ids().to_vec(),
        Some(card) if card.is_opened() => vec![card.request.id.clone()],
        Some(_) | None => Vec::new(),
    };
    if gone && model.batch.writing.is_empty() && model.focus == Focus::Card {
        model.focus = Focus::Composer;
        model.flash(GONE_WHILE_WRITING);
    }
}

/// Gives pending calls the labels of the model and marks their rows as waiting. Must be called when either changes.
pub fn name(model: &mut Model) {
    let (cards, transcript) = (&mut model.cards, &mut model.transcript);
    for card in cards.iter() {
        // A reloaded conversation marks such a call as planned only.
        let row = transcript.call_mut(&card.request.call).filter(|row| row.state == CallState::Planned);
        if let Some(row) = row {
            row.wait(&card.request.args);
        }
    }
    cards.name(|request| {
        (transcript.call(&request.call).and_then(|row| row.label.clone()), after(transcript, request))
    });
}

/// Returns what must succeed before a call runs: the labels given by the model, or else short descriptions.
fn after(transcript: &Transcript, request: &Request) -> Vec<String> {
    let mut names = request.after.clone();
    for row in request.depends.iter().filter_map(|call| transcript.call(call)) {
        let is_named = row.label.as_ref().is_some_and(|label| names.contains(label));
        if !is_named {
            names.push(row.label.clone().unwrap_or_else(|| format!("{} {}", row.name, row.subject)));
        }
    }
    names
}

/// Moves the cursor to another row.
pub fn step(model: &mut Model, to: fn(&mut Cards)) {
    if takes_key(model) {
        model.dialogue.withdraw();
        to(&mut model.cards);
    }
}

/// Clears the advice. If the list is out of sight, the key only scrolls it back.
fn takes_key(model: &mut Model) -> bool {
    if scroll_back(model) {
        return false;
    }
    model.batch.list.advice = None;
    if let Some(card) = model.cards.current_mut() {
        card.advice = None;
    }
    true
}

pub fn act(model: &mut Model, key: ListKey, cmds: &mut Vec<Cmd>) {
    if !takes_key(model) {
        return;
    }
    if key != ListKey::Yes {
        model.dialogue.withdraw();
    }
    let Some(card) = model.cards.current_mut() else { return };
    match key {
        ListKey::Whole => panel::page(model, cmds),
        ListKey::Why => card.turn_why(model.card_view.body_total),
        ListKey::Open => model.batch.opened = Some(card.request.id.clone()),
        ListKey::Mark | ListKey::MarkLow | ListKey::MarkMost | ListKey::No => {
            model.batch.list.act(key, open(&model.cards), &model.keymap);
        }
        // A decided row has nothing to edit.
        ListKey::Edit | ListKey::Rule if card.is_decided() => {}
        ListKey::Edit => form::keys::open(model),
        ListKey::Rule => rule::keys::open(model, RuleScope::Project, cmds),
        ListKey::Yes => yes(model, cmds),
    }
}

/// Returns the rows that can be decided, and the current one of them.
fn open(cards: &Cards) -> OpenRows {
    (cards.visible().filter_map(Card::open).collect(), cards.current().and_then(Card::open))
}

/// Approves the marked requests in one round, or else the chosen one.
fn yes(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let Model { cards, keymap, dialogue, now_ms, .. } = model;
    let ask = |these: &[RequestId]| cards.approvals(these);
    match model.batch.list.yes(open(cards), ask, dialogue, keymap, *now_ms) {
        ApprovalOutcome::Nothing => {}
        ApprovalOutcome::Unseen(id) | ApprovalOutcome::Empty(id) => cards.go_to(Some(&id)),
        ApprovalOutcome::Sent(ids, ask) => {
            cmds.push(Cmd::Send(ask));
            model.cards.send(&ids, SentDecision::Approve);
            model.batch.list.advice = waits(model, &ids);
            model.cards.to_open();
        }
    }
}

/// Sends the denial, with one reason for all.
pub fn send_no(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let Some((no, of)) = model.batch.list.take_no() else { return };
    cmds.push(Cmd::Send(ClientRequest::Op(Op::decide_alike(&of, &no))));
    model.cards.send(&of, SentDecision::Deny);
    say_dropped(model, &of);
}

/// Names the approved requests that wait for unapproved ones.
fn waits(model: &Model, approved: &[RequestId]) -> Option<String> {
    let rows = rows(&model.cards, &model.batch.list);
    let mut words = Vec::new();
    for (index, row) in rows.iter().enumerate().filter(|(_, row)| approved.contains(&row.card.request.id)) {
        let awaited: Vec<&RequestId> =
            awaited_cards(&model.cards, row.card).into_iter().map(|card| &card.request.id).collect();
        let holds =
            |at: &usize| !rows[*at].card.is_decided() && awaited.contains(&&rows[*at].card.request.id);
        let open: Vec<usize> = (0..rows.len()).filter(holds).collect();
        if !open.is_empty() {
            words.push(format!("{} is approved and runs after {}", index + 1, numbers(&open)));
        }
    }
    (!words.is_empty()).then(|| words.join("; "))
}

/// Shows which rows cannot run any more after these denials.
fn say_dropped(model: &mut Model, denied: &[RequestId]) {
    let rows = rows(&model.cards, &model.batch.list);
    let at = |id: &RequestId| rows.iter().position(|row| row.card.request.id == *id);
    let lost = dropped_rows(&rows, &denied.iter().filter_map(at).collect::<Vec<_>>());
    let lost = (!lost.is_empty()).then(|| format!("also cancelled: {}", numbers(&lost)));
    model.batch.list.advice = lost;
}

/// Esc: cancels the current step, or else postpones all requests. Never denies.
pub fn escape(model: &mut Model, cmds: &mut Vec<Cmd>) {
    model.batch.list.advice = None;
    if model.dialogue.withdraw() {
        return;
    }
    if model.batch.list.is_refusing() {
        model.batch.list.stage = ListStage::Choosing;
        return;
    }
    // Between turns the requests are in the inbox already.
    if model.turn.is_some() {
        let undecided = model.cards.visible().filter(|card| !card.is_decided());
        let these: Vec<RequestId> = undecided.map(|card| card.request.id.clone()).collect();
        if !these.is_empty() {
            cmds.push(Cmd::Send(ClientRequest::Op(Op::decide_alike(&these, &Approval::Later))));
        }
    }
    model.cards.postpone_all();
    model.focus = Focus::Composer;
    if model.cards.current().is_none() {
        say_postponed(model, "all postponed", "shows them again");
    }
}

/// Moves to the clicked row. A click never marks and never decides.
pub fn click(model: &mut Model, line: usize) {
    let list = model.card_view.list;
    let Some(row) = line.checked_sub(list.line).filter(|row| *row < list.count) else { return };
    let wanted = model.cards.visible().nth(list.from + row).map(|card| card.request.id.clone());
    if !model.batch.list.is_refusing()
        && !model.dialogue.is_approved_once()
        && let Some(wanted) = wanted
    {
        model.cards.go_to(Some(&wanted));
    }
}

/// Whether keys write text instead of acting on the list.
pub fn writes(model: &Model) -> bool {
    let is_card = || matches!(model.question(), Question::Card(_));
    model.batch.list.is_refusing() || (model.cards.current().is_some_and(Card::is_written_to) && is_card())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agent::port::Event;
    use crate::frontend::protocol::Update;
    use crate::message::{CallId, ToolName};
    use crate::tool::{Access, CallPlan, Risk};
    use crate::tui::list::RowMark;
    use crate::tui::msg::Input;
    use crate::tui::update::{card, update};

    fn request(number: u32) -> Request {
        let plan = CallPlan::new("run a command".to_owned(), Risk::Low, Access::Anything);
        let (id, call) = (RequestId(number.to_string()), CallId(format!("s/1.1.{number}")));
        Request::new(id, call, ToolName::new("shell"), json!({ "command": "ls" }), plan)
    }

    #[test]
    fn a_click_goes_to_a_row_and_decides_nothing() {
        let mut model = Model { columns: 80, rows: 24, ..Model::default() };
        let feed = |model: &mut Model, input| assert_eq!(update(model, 1, input), []);
        card::click(&mut model, 0);
        assert_eq!(model.focus, Focus::Composer, "nothing waits");
        for number in 1..=3 {
            let event = Event::ApprovalNeeded { request: request(number) };
            feed(&mut model, Input::Update(Box::new(Update::Event(event))));
        }
        feed(&mut model, Input::Frame);
        // The border, the column names, then the rows.
        for (line, row) in [(3, 2), (4, 3), (2, 1), (0, 1), (1, 1), (9, 1), (99, 1)] {
            card::click(&mut model, line);
            assert_eq!((model.focus, model.cards.position().0), (Focus::Card, row), "line {line}");
            feed(&mut model, Input::Frame);
        }
        assert!(
            model
                .cards
                .visible()
                .all(|card| !card.is_decided() && model.batch.list.mark(&card.request.id) == RowMark::Off)
        );
    }
}
