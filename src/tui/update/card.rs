//! The keys of a card. A decision is sent as an `Op`; the card stays until the owner reports the settlement. The
//! conditions for an approval are defined by `frontend::dialogue`.

use super::advice::{advise, propose, say_postponed, scroll_back, unseen};
use super::{Direction, auto_focus, panel, select};
use crate::agent::port::Op;
use crate::approval::rules::RuleScope;
use crate::approval::{Approval, RequestId};
use crate::frontend::dialogue::{self, ApprovalEffect, SeenPart};
use crate::frontend::protocol::ClientRequest;
use crate::frontend::sentences;
use crate::tool::Preview;
use crate::tui::batch::{self, Question};
use crate::tui::cards::{Card, CardStage, Cards, SentDecision};
use crate::tui::cells::Fold;
use crate::tui::cells::diff::{LEAST_SPLIT, is_split};
use crate::tui::form::{self, pretty};
use crate::tui::hunks::Sides;
use crate::tui::keys::{Action, CardKey, Context, Keymap, Nav};
use crate::tui::list::nothing_left;
use crate::tui::model::{Focus, Model};
use crate::tui::msg::{Cmd, EditTarget};
use crate::tui::rule;
use std::collections::BTreeSet;

/// Whether a card has the keys but ignores them for now. Letters of a text decide nothing and are not held back.
pub fn is_guarded(model: &Model) -> bool {
    let asks =
        matches!(model.dialogue.subject(), Some(Question::Card(_) | Question::List(_) | Question::Cap(_)));
    asks && model.focus == Focus::Card
        && !batch::keys::writes(model)
        && !model.dialogue.is_armed(model.now_ms)
}

/// Moves the focus from the composer to the card, to the transcript and back.
pub fn toggle_focus(model: &mut Model) {
    match (model.focus, model.cards.current()) {
        (Focus::Composer, _) if model.asks_cap() => give_keys(model),
        (Focus::Composer, Some(_)) => give_keys(model),
        (Focus::Composer, None) => {
            if !model.cards.is_empty() {
                say_postponed(model, "the requests are postponed", "shows them");
            }
            select::enter(model);
        }
        (Focus::Card, _) => {
            auto_focus::leave(model);
            select::enter(model);
        }
        (Focus::Transcript, _) => model.focus = Focus::Composer,
    }
}

pub fn focus(model: &mut Model) {
    if model.asks_cap() {
        return give_keys(model);
    }
    if model.cards.is_empty() {
        return model.flash("no requests waiting");
    }
    model.cards.bring_back();
    batch::keys::refresh(model);
    give_keys(model);
}

/// Gives a clicked card or list the keys. A click never decides.
pub fn click(model: &mut Model, line: usize) {
    if model.cards.current().is_none() && !model.asks_cap() {
        return;
    }
    give_keys(model);
    if model.is_list() {
        batch::keys::click(model, line);
    }
}

/// Gives the card the keys. One that was out of sight is guarded again, like a new one.
fn give_keys(model: &mut Model) {
    scroll_back(model);
    model.focus = Focus::Card;
    model.auto_focus.is_on = false;
}

pub fn act(model: &mut Model, key: CardKey, cmds: &mut Vec<Cmd>) {
    if key == CardKey::SendNo && model.batch.list.is_refusing() {
        return batch::keys::send_no(model, cmds);
    }
    let looks = matches!(key, CardKey::Why | CardKey::Sides | CardKey::Read)
        || matches!(key, CardKey::NextHunk | CardKey::PreviousHunk);
    if !looks && !matches!(key, CardKey::Yes | CardKey::YesUnread | CardKey::ApproveEdited) {
        model.dialogue.withdraw();
    }
    let Some(card) = model.cards.current_mut() else { return };
    card.advice = None;
    let decided = card.is_decided();
    match key {
        CardKey::Whole => panel::page(model, cmds),
        CardKey::Why => card.turn_why(model.card_view.body_total),
        CardKey::Sides => turn_sides(model),
        CardKey::Read => read(card, cmds),
        CardKey::NextHunk => to_hunk(model, Direction::Down),
        CardKey::PreviousHunk => to_hunk(model, Direction::Up),
        _ if decided => {}
        CardKey::Hunk(number) if card.request.plan.question.is_some() => {
            choose(model, usize::from(number), cmds);
        }
        CardKey::Hunk(hunk) => turn_hunk(card, usize::from(hunk), &model.keymap),
        CardKey::HunkHere if card.hunks.count() == 0 => {}
        CardKey::HunkHere => turn_hunk(card, card.hunks.here(), &model.keymap),
        CardKey::Rule => rule::keys::open(model, RuleScope::Project, cmds),
        CardKey::YesUnread if !card.may_be_unread() => {
            card.advice = Some(sentences::MAY_BE_UNREAD.to_owned());
        }
        // Only after it was offered: Caps Lock makes a `Y` of each `y`.
        CardKey::Yes | CardKey::YesUnread => match card.yes() {
            Some(approval) => {
                let unread = key == CardKey::YesUnread && card.is_offered_unread;
                yes(model, approval, unread.then_some(SeenPart::All), cmds);
            }
            None if card.request.plan.question.is_some() => explain_answering(model),
            None => {
                let no = Action::Card(CardKey::No);
                card.advice = Some(nothing_left(&model.keymap, Context::Card, no));
            }
        },
        CardKey::Always => match card.request.only_once() {
            Some(why) => card.advice = Some(why.to_owned()),
            None => rule::keys::open(model, RuleScope::Session, cmds),
        },
        CardKey::No => card.stage = CardStage::Reason(std::mem::take(&mut card.reason)),
        CardKey::SendNo => send_no(model, cmds),
        CardKey::Edit => form::keys::open(model),
        CardKey::ApproveEdited => approve_edited(model, cmds),
    }
    if model.cards.current().is_some_and(Card::is_decided) {
        // Return to the list if the card was opened from it.
        model.batch.opened = None;
    }
}

/// Chooses an option of a question: the only one is the answer at once.
fn choose(model: &mut Model, number: usize, cmds: &mut Vec<Cmd>) {
    let Some(card) = model.cards.current_mut() else { return };
    let Some(question) = &card.request.plan.question else { return };
    if number > question.options.len() {
        return explain_answering(model);
    }
    if question.many {
        if !card.chosen.remove(&number) {
            card.chosen.insert(number);
        }
        return;
    }
    card.chosen = BTreeSet::from([number]);
    if let Some(approval) = card.yes() {
        yes(model, approval, None, cmds);
    }
}

/// Says how a question is answered; one without options is answered in its form.
fn explain_answering(model: &mut Model) {
    let Some(card) = model.cards.current_mut() else { return };
    let Some(question) = &card.request.plan.question else { return };
    match question.options.len() {
        0 => form::keys::open(model),
        1 => card.advice = Some("1 is the only option; or write an answer".to_owned()),
        many => card.advice = Some(format!("choose with 1 to {many}, or write an answer")),
    }
}

/// Goes to another card. If the current one was opened from a list, so is the next.
fn step(model: &mut Model, to: fn(&mut Cards)) {
    model.dialogue.withdraw();
    if let Some(card) = model.cards.current_mut() {
        card.advice = None;
    }
    to(&mut model.cards);
    if model.batch.opened.is_some() {
        model.batch.opened = model.cards.current().map(|card| card.request.id.clone());
    }
}

/// Skips a hunk or includes it again.
fn turn_hunk(card: &mut Card, hunk: usize, keymap: &Keymap) {
    if !card.hunks.turn(hunk) {
        card.advice = Some(match card.hunks.count() {
            0 => {
                let on = |key, words| (Context::Card, Action::Card(key), words);
                let keys =
                    [on(CardKey::Yes, "approve all"), on(CardKey::Edit, "edit"), on(CardKey::No, "no")];
                keymap.with_hints("no part of this can be skipped", &keys)
            }
            count => format!("only hunks 1 to {count} can be skipped"),
        });
    }
}

/// Goes to the next or previous hunk; if the body scrolls, brings it to the top.
fn to_hunk(model: &mut Model, to: Direction) {
    let view = model.card_view;
    let Some(card) = model.cards.current_mut() else { return };
    let here = card.hunks.here();
    let there = match to {
        Direction::Up => here.saturating_sub(1).max(1),
        Direction::Down => here + 1,
    };
    if let Some(row) = card.hunks.go_to(there) {
        card.scroll = row.min(view.body_total.saturating_sub(view.body_room));
    }
}

/// Opens the whole request in the user's editor, for reading only.
fn read(card: &mut Card, cmds: &mut Vec<Cmd>) {
    card.is_read_outside = true;
    let request = &card.request;
    let preview = match &request.plan.preview {
        Preview::Text { text } => format!("{text}\n\n"),
        Preview::None | Preview::Diff { .. } | Preview::Fields { .. } => String::new(),
    };
    let text = format!("{}\n\n{preview}{}", request.plan.summary, pretty(&request.args));
    cmds.push(Cmd::Edit { text, target: EditTarget::Reading(request.id.clone()) });
}

/// Records that the editor showed the whole request; changes made there are ignored.
pub fn has_read(model: &mut Model, id: &RequestId) {
    if let Some(card) = model.cards.find_mut(id).filter(|card| card.is_read_outside) {
        card.seen = SeenPart::All;
    }
}

fn turn_sides(model: &mut Model) {
    let columns = model.card_columns();
    let Some(card) = model.cards.current_mut() else { return };
    if !matches!(card.request.plan.preview, Preview::Diff { .. }) {
        return;
    }
    if columns < LEAST_SPLIT {
        card.advice = Some("too narrow for side by side".to_owned());
        return;
    }
    card.hunks.sides = match (card.hunks.sides, is_split(Sides::Fitting, columns)) {
        (Sides::Fitting, true) | (Sides::Split, _) => Sides::Unified,
        (Sides::Fitting, false) | (Sides::Unified, _) => Sides::Split,
    };
    card.unsee_partly();
}

/// Sends an approval; a high-risk request needs it twice.
fn yes(model: &mut Model, approval: Approval, seen: Option<SeenPart>, cmds: &mut Vec<Cmd>) {
    let is_question = model.cards.current().is_some_and(|card| card.request.plan.question.is_some());
    let sent = match &approval {
        _ if is_question => SentDecision::Answer,
        _ if model.dialogue.is_approved_once() => SentDecision::Approve,
        Approval::Approve { instead: Some(_), .. } => SentDecision::ApproveSomeHunks,
        Approval::Approve { .. } | Approval::Deny { .. } | Approval::Later => SentDecision::Approve,
    };
    match propose(model, seen, |card| decision(card, approval)) {
        ApprovalEffect::Send(ask) => decide(model, ask, sent, cmds),
        ApprovalEffect::Unseen => {
            let Some(card) = model.cards.current_mut() else { return };
            card.is_offered_unread = card.may_be_unread();
            card.advice = Some(unseen(sentences::UNREAD, card, &model.keymap));
        }
        ApprovalEffect::TooSoon | ApprovalEffect::Once => {}
    }
}

fn send_no(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let Some(card) = model.cards.current() else { return };
    let CardStage::Reason(editor) = &card.stage else { return };
    let ask = decision(card, dialogue::no(&editor.text()));
    decide(model, ask, SentDecision::Deny, cmds);
}

fn approve_edited(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let Some(card) = model.cards.current_mut() else { return };
    let CardStage::Editing(form) = &card.stage else { return };
    let Ok(args) = form.check.clone() else {
        card.advice = Some("not sent".to_owned());
        return;
    };
    let (context, note) = (form.context(), form.note_text());
    let sent = match (args == card.request.args, &note) {
        (true, None) => SentDecision::Approve,
        (true, Some(_)) => SentDecision::ApproveWithNote,
        (false, _) => SentDecision::ApproveEdited,
    };
    match propose(model, None, |card| decision(card, dialogue::yes_to(&card.request, args, note))) {
        ApprovalEffect::Send(ask) => decide(model, ask, sent, cmds),
        ApprovalEffect::Once => {
            let again = [(context, Action::Card(CardKey::ApproveEdited), "again to approve")];
            let words = model.keymap.with_hints("HIGH", &again);
            advise(model, &words);
        }
        ApprovalEffect::TooSoon | ApprovalEffect::Unseen => {}
    }
}

fn decision(card: &Card, approval: Approval) -> ClientRequest {
    ClientRequest::Op(Op::decide(card.request.id.clone(), approval))
}

fn decide(model: &mut Model, ask: ClientRequest, sent: SentDecision, cmds: &mut Vec<Cmd>) {
    if let Some(card) = model.cards.current_mut() {
        card.stage = CardStage::Deciding(sent);
        cmds.push(Cmd::Send(ask));
    }
}

/// Esc: cancels the current step, or else postpones the request. Never denies.
pub fn escape(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if model.asks_cap() {
        model.focus = Focus::Composer;
        return;
    }
    if model.is_list() {
        return batch::keys::escape(model, cmds);
    }
    let opened = model.batch.opened.is_some();
    let approved_once = model.dialogue.withdraw();
    let Some(card) = model.cards.current_mut() else {
        model.focus = Focus::Composer;
        return;
    };
    card.advice = None;
    if let CardStage::Rule(rule) = &mut card.stage
        && !approved_once
        && rule.leave_text()
    {
        return;
    }
    if matches!(card.stage, CardStage::Asking) && !approved_once && card.why == Fold::Open {
        return card.turn_why(0);
    }
    match &card.stage {
        CardStage::Asking if approved_once => {}
        CardStage::Reason(_) | CardStage::Editing(_) | CardStage::Rule(_) => card.rest(),
        CardStage::Asking | CardStage::Deciding(_) if opened => model.batch.opened = None,
        CardStage::Deciding(_) => {
            model.focus = Focus::Composer;
            auto_focus::leave(model);
        }
        CardStage::Asking => {
            // Between turns the request is in the inbox already.
            if model.turn.is_some() {
                let request = card.request.id.clone();
                cmds.push(Cmd::Send(ClientRequest::Op(Op::decide(request, Approval::Later))));
            }
            card.postpone();
            if model.cards.current().is_none() {
                say_postponed(model, "postponed", "shows it again");
            }
        }
    }
}

pub fn navigate(model: &mut Model, nav: Nav) {
    if model.asks_cap() {
        return;
    }
    let view = model.card_view;
    let Some(card) = model.cards.current_mut() else { return };
    match &mut card.stage {
        CardStage::Editing(form) => return form.scroll_side_pane(nav, view.side_scroll),
        CardStage::Rule(_) => return rule::keys::step(model, nav),
        CardStage::Asking | CardStage::Reason(_) | CardStage::Deciding(_) => {}
    }
    let page = view.body_room.saturating_sub(1).max(1);
    let last = view.body_total.saturating_sub(view.body_room);
    card.scroll = match nav {
        Nav::Up => return step(model, Cards::previous),
        Nav::Down => return step(model, Cards::next),
        Nav::PageUp | Nav::PageDown | Nav::LineUp | Nav::LineDown => nav.row(card.scroll, page).min(last),
    };
    if card.scroll == last {
        card.deepen();
    }
    card.hunks.follow(card.scroll, view.body_room);
    card.advice = None;
}

/// Scrolls the card that has the keys to an end of its body; returns whether there is such a card.
pub fn to_edge(model: &mut Model, end: Direction) -> bool {
    let view = model.card_view;
    if model.focus != Focus::Card || model.panel.is_some() || model.is_list() || model.asks_cap() {
        return false;
    }
    let Some(card) = model.cards.current_mut().filter(|card| !card.is_opened()) else { return false };
    match end {
        Direction::Up => card.scroll = 0,
        Direction::Down => {
            card.scroll = view.body_total.saturating_sub(view.body_room);
            card.deepen();
        }
    }
    card.hunks.follow(card.scroll, view.body_room);
    card.advice = None;
    true
}

/// Handles a change of the text in the card.
pub fn on_change(model: &mut Model, cmds: &mut Vec<Cmd>) {
    model.dialogue.withdraw();
    if model.is_list() {
        model.batch.list.advice = None;
        return;
    }
    let Some(card) = model.cards.current_mut() else { return };
    card.advice = None;
    match &mut card.stage {
        CardStage::Editing(form) => form.validate(),
        CardStage::Rule(written) => rule::keys::on_change(written, cmds),
        CardStage::Asking | CardStage::Reason(_) | CardStage::Deciding(_) => {}
    }
}
