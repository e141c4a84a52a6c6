//! The keys of a card. What is decided here goes out as an `Op`; the card waits until the owner says it is settled.
//!
//! Nothing is approved that has not been on the screen whole, nothing by a key pressed within the guard time, and
//! HIGH only by a second key after that time.

use super::{flash, select};
use crate::agent::port::Op;
use crate::approval::{Approval, Remember};
use crate::frontend::link::Ask;
use crate::tui::cards::{Card, Stage, edited};
use crate::tui::composer::Editor;
use crate::tui::keys::{CardKey, Scroll};
use crate::tui::model::{Focus, Model};
use crate::tui::msg::Cmd;

const UNSEEN: &str = "not all of it was on the screen yet: PgDn to the end, v makes room";

/// Whether a card has the keys and takes none yet.
pub fn is_guarded(model: &Model) -> bool {
    model.focus == Focus::Card && model.cards.guarded_until().is_some_and(|until| model.now_ms < until)
}

/// From the text to the card, to the transcript, and back to the text.
pub fn toggle_focus(model: &mut Model) {
    match (model.focus, model.cards.current()) {
        (Focus::Composer, Some(_)) => give_keys(model),
        (Focus::Composer, None) => {
            if !model.cards.is_empty() {
                flash(model, "the requests are put off: Alt+A shows them");
            }
            select::enter(model);
        }
        (Focus::Card, _) => select::enter(model),
        (Focus::Transcript, _) => model.focus = Focus::Composer,
    }
}

pub fn focus(model: &mut Model) {
    if model.cards.is_empty() {
        return flash(model, "nothing waits for you");
    }
    model.cards.bring_back();
    model.cards.look(model.now_ms);
    give_keys(model);
}

/// What was out of sight is guarded again, as if it had just appeared.
fn give_keys(model: &mut Model) {
    if !model.transcript.follows() {
        model.transcript.follow();
        model.cards.guard_again(model.now_ms);
    }
    model.focus = Focus::Card;
}

pub fn act(model: &mut Model, key: CardKey, cmds: &mut Vec<Cmd>) {
    let now = model.now_ms;
    let Some(card) = model.cards.current_mut() else { return };
    card.advice = None;
    let decided = matches!(card.stage, Stage::Deciding(_));
    match key {
        CardKey::Next => model.cards.next(),
        CardKey::Previous => model.cards.previous(),
        CardKey::Whole => card.whole = card.whole.turned(),
        CardKey::Why => card.why = card.why.turned(),
        CardKey::Yes
        | CardKey::No
        | CardKey::Edit
        | CardKey::Always
        | CardKey::SendNo
        | CardKey::ApproveEdited
            if decided => {}
        CardKey::Yes => yes(model, Approval::yes(), cmds),
        CardKey::Always if card.is_high() => {
            card.advice = Some("a HIGH request is never allowed for a whole session".to_owned());
        }
        CardKey::Always => {
            yes(model, Approval::Approve { instead: None, remember: Remember::Session }, cmds);
        }
        CardKey::No => card.stage = Stage::Reason(Editor::default()),
        CardKey::SendNo => send_no(model, cmds),
        CardKey::Edit if card.is_seen() => card.edit(),
        CardKey::Edit => card.advice = Some(UNSEEN.to_owned()),
        CardKey::ApproveEdited => approve_edited(model, cmds),
    }
    model.cards.look(now);
}

/// A yes of some kind: at once, or for HIGH when it is said again.
fn yes(model: &mut Model, approval: Approval, cmds: &mut Vec<Cmd>) {
    let now = model.now_ms;
    if !model.transcript.follows() {
        model.transcript.follow();
        return model.cards.guard_again(now);
    }
    let Some(card) = model.cards.current_mut() else { return };
    if !card.is_seen() {
        card.advice = Some(UNSEEN.to_owned());
        return;
    }
    match &card.stage {
        Stage::Asking if card.is_high() => {
            card.stage = Stage::Confirming(approval);
            // A key that is held down repeats: that is no second thought.
            model.cards.guard_again(now);
        }
        Stage::Confirming(approval) => {
            let approval = approval.clone();
            decide(card, approval, "yes", cmds);
        }
        Stage::Asking => {
            let word = match &approval {
                Approval::Approve { remember: Remember::Session, .. } => "yes, for this session",
                Approval::Approve { .. } | Approval::Deny { .. } | Approval::Later => "yes",
            };
            decide(card, approval, word, cmds);
        }
        Stage::Reason(_) | Stage::Editing(_) | Stage::Deciding(_) => {}
    }
}

fn send_no(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let Some(card) = model.cards.current_mut() else { return };
    let Stage::Reason(editor) = &card.stage else { return };
    let reason = editor.text().trim().to_owned();
    let reason = (!reason.is_empty()).then_some(reason);
    decide(card, Approval::Deny { reason }, "no", cmds);
}

fn approve_edited(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let Some(card) = model.cards.current_mut() else { return };
    let high = card.is_high();
    let Stage::Editing(editing) = &mut card.stage else { return };
    let args = match &editing.check {
        Ok(args) => args.clone(),
        Err(problem) => {
            card.advice = Some(format!("not sent: {problem}"));
            return;
        }
    };
    if high && editing.confirmed.as_ref() != Some(&args) {
        editing.confirmed = Some(args);
        card.advice = Some("HIGH: Ctrl+S once more to approve".to_owned());
        return;
    }
    let approval = if args == card.request.args { Approval::yes() } else { edited(&card.request, args) };
    decide(card, approval, "yes, edited", cmds);
}

fn decide(card: &mut Card, approval: Approval, word: &'static str, cmds: &mut Vec<Cmd>) {
    card.stage = Stage::Deciding(word);
    let request = card.request.id.clone();
    cmds.push(Cmd::Send(Ask::Op(Op::Decide { request, approval })));
}

/// Esc: back out of what was begun, else put the request off. Never a no.
pub fn escape(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let Some(card) = model.cards.current_mut() else {
        model.focus = Focus::Composer;
        return;
    };
    card.advice = None;
    match &card.stage {
        Stage::Confirming(_) | Stage::Reason(_) | Stage::Editing(_) => card.stage = Stage::Asking,
        Stage::Deciding(_) => model.focus = Focus::Composer,
        Stage::Asking => {
            // Between turns it waits in the inbox already.
            if model.turn.is_some() {
                let request = card.request.id.clone();
                cmds.push(Cmd::Send(Ask::Op(Op::Decide { request, approval: Approval::Later })));
            }
            model.cards.put_aside();
            model.cards.look(model.now_ms);
            if model.cards.current().is_none() {
                flash(model, "put off · Alt+A shows it again");
            }
        }
    }
}

pub fn scroll(model: &mut Model, by: Scroll) {
    let view = model.card_view;
    let Some(card) = model.cards.current_mut() else { return };
    let page = view.body_room.saturating_sub(1).max(1);
    let last = view.body_total.saturating_sub(view.body_room);
    card.scroll = match by {
        Scroll::PageUp => card.scroll.saturating_sub(page),
        Scroll::PageDown => (card.scroll + page).min(last),
        Scroll::LineUp => card.scroll.saturating_sub(1),
        Scroll::LineDown => (card.scroll + 1).min(last),
    };
    card.advice = None;
}

/// The text in the card was changed.
pub fn changed(model: &mut Model) {
    let Some(card) = model.cards.current_mut() else { return };
    card.advice = None;
    if let Stage::Editing(editing) = &mut card.stage {
        editing.validate();
        editing.confirmed = None;
    }
}
