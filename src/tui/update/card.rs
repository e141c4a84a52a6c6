//! The keys of a card. What is decided here goes out as an `Op`; the card waits until the owner says it is settled.
//!
//! Nothing is approved that has not been on the screen whole, nothing by a key pressed within the guard time, and
//! HIGH only by a second key after that time.

use super::{batch, flash, form, rule, select};
use crate::agent::port::Op;
use crate::approval::{Approval, Remember, RequestId};
use crate::frontend::link::Ask;
use crate::tool::Preview;
use crate::tui::batch::Round;
use crate::tui::cards::{Card, Cards, HELD_MS, Stage};
use crate::tui::cells::diff::{LEAST_SPLIT, is_split};
use crate::tui::form::pretty;
use crate::tui::hunks::Sides;
use crate::tui::keys::{Action, CardKey, Context, Keymap, Nav};
use crate::tui::model::{Focus, Model};
use crate::tui::msg::{Cmd, Target};

const UNSEEN: &str = "not all of it was on the screen yet";
const UNSEEN_TO_EDIT: &str = "to edit it, first see all of it";

/// What was not done for want of a look, and the keys that give it.
pub fn unseen(what: &str, card: &Card, keymap: &Keymap) -> String {
    if card.is_long() {
        let outside = [(Context::Card, Action::Card(CardKey::Read), "reads all of it in $EDITOR")];
        return keymap.told(what, &outside);
    }
    let keys = [
        (Context::Global, Action::Nav(Nav::PageDown), "to the end"),
        (Context::Card, Action::Card(CardKey::Whole), "makes room"),
    ];
    keymap.told(what, &keys)
}

/// What a yes to nothing is answered with; where `no` says no.
pub fn nothing_left(keymap: &Keymap, context: Context, no: Action) -> String {
    keymap.told("every hunk is skipped, so nothing is left to do", &[(context, no, "says no")])
}

/// Says in the status line what was put off, and how it comes back.
pub fn say_put_off(model: &mut Model, words: &str, again: &str) {
    let words = model.keymap.told(words, &[(Context::Global, Action::FocusCard, again)]);
    flash(model, &words);
}

/// Whether a card has the keys and takes none yet. Letters that are being written decide nothing.
pub fn is_guarded(model: &Model) -> bool {
    model.focus == Focus::Card
        && !batch::writes(model)
        && model.cards.guarded_until().is_some_and(|until| model.now_ms < until)
}

/// From the text to the card, to the transcript, and back to the text.
pub fn toggle_focus(model: &mut Model) {
    match (model.focus, model.cards.current()) {
        (Focus::Composer, _) if model.asks_cap() => give_keys(model),
        (Focus::Composer, Some(_)) => give_keys(model),
        (Focus::Composer, None) => {
            if !model.cards.is_empty() {
                say_put_off(model, "the requests are put off", "shows them");
            }
            select::enter(model);
        }
        (Focus::Card, _) => select::enter(model),
        (Focus::Transcript, _) => model.focus = Focus::Composer,
    }
}

pub fn focus(model: &mut Model) {
    if model.asks_cap() {
        return give_keys(model);
    }
    if model.cards.is_empty() {
        return flash(model, "nothing waits for you");
    }
    model.cards.bring_back();
    batch::look(model);
    give_keys(model);
}

/// A line of what waits was clicked: it gets the keys. A click never decides.
pub fn click(model: &mut Model, line: usize) {
    if model.cards.current().is_none() && !model.asks_cap() {
        return;
    }
    give_keys(model);
    if model.is_list() {
        batch::click(model, line);
    }
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
    if let (CardKey::SendNo, Round::Reason { .. }) = (key, &model.batch.round) {
        return batch::send_no(model, cmds);
    }
    let Some(card) = model.cards.current_mut() else { return };
    card.advice = None;
    let decided = matches!(card.stage, Stage::Deciding(_));
    match key {
        CardKey::Whole => card.whole = card.whole.turned(),
        CardKey::Why => card.turn_why(model.card_view.body_total),
        CardKey::Sides => turn_sides(model),
        CardKey::Read => read(card, cmds),
        CardKey::NextHunk => to_hunk(model, Way::On),
        CardKey::PreviousHunk => to_hunk(model, Way::Back),
        CardKey::Yes
        | CardKey::No
        | CardKey::Edit
        | CardKey::Always
        | CardKey::SendNo
        | CardKey::ApproveEdited
        | CardKey::Rule
        | CardKey::HunkHere
        | CardKey::Hunk(_)
            if decided => {}
        CardKey::Hunk(hunk) => turn_hunk(card, usize::from(hunk), &model.keymap),
        CardKey::HunkHere if card.hunks.count() == 0 => {}
        CardKey::HunkHere => turn_hunk(card, card.hunks.here(), &model.keymap),
        CardKey::Rule => rule::open(model, cmds),
        CardKey::Yes => match card.yes() {
            Some(approval) => yes(model, approval, cmds),
            None => {
                let no = Action::Card(CardKey::No);
                card.advice = Some(nothing_left(&model.keymap, Context::Card, no));
            }
        },
        CardKey::Always if card.hunks.skipped() > 0 => {
            card.advice = Some(rule::only_once(&model.keymap));
        }
        CardKey::Always if card.request.plan.question.is_some() => {
            card.advice = Some("a question is answered each time".to_owned());
        }
        CardKey::Always if card.is_high() => {
            card.advice = Some("a HIGH request is never allowed for a whole session".to_owned());
        }
        CardKey::Always => {
            yes(model, Approval::for_session(), cmds);
        }
        CardKey::No => card.stage = Stage::Reason(std::mem::take(&mut card.reason)),
        CardKey::SendNo => send_no(model, cmds),
        CardKey::Edit => edit(model),
        CardKey::ApproveEdited => approve_edited(model, cmds),
    }
    if model.cards.current().is_some_and(|card| matches!(card.stage, Stage::Deciding(_))) {
        // Back to the list, if it was opened from there.
        model.batch.opened = None;
    }
}

/// Goes to another card. It is opened in place of the one before, where that was opened from a list.
fn step(model: &mut Model, to: fn(&mut Cards)) {
    if let Some(card) = model.cards.current_mut() {
        card.advice = None;
    }
    to(&mut model.cards);
    if model.batch.opened.is_some() {
        let asks = model.cards.current().filter(|card| !matches!(card.stage, Stage::Deciding(_)));
        model.batch.opened = asks.map(|card| card.request.id.clone());
    }
}

/// Skips a hunk or keeps it after all. A yes that was begun meant something else.
fn turn_hunk(card: &mut Card, hunk: usize, keymap: &Keymap) {
    if !card.hunks.turn(hunk) {
        card.advice = Some(match card.hunks.count() {
            0 => {
                let on = |key, words| (Context::Card, Action::Card(key), words);
                let keys = [on(CardKey::Yes, "all of it"), on(CardKey::Edit, "edit"), on(CardKey::No, "no")];
                keymap.told("nothing of this can be skipped", &keys)
            }
            count => format!("there are hunks 1 to {count} to skip"),
        });
        return;
    }
    if let Stage::Confirming(_) = card.stage {
        card.stage = Stage::Asking;
    }
}

/// Which way the body goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    On,
    Back,
}

/// Goes to the next or the previous hunk, and brings it to the top of the body where there is more than fits.
fn to_hunk(model: &mut Model, way: Way) {
    let view = model.card_view;
    let Some(card) = model.cards.current_mut() else { return };
    let here = card.hunks.here();
    let there = match way {
        Way::Back => here.saturating_sub(1).max(1),
        Way::On => here + 1,
    };
    if let Some(row) = card.hunks.go_to(there) {
        card.scroll = row.min(view.body_total.saturating_sub(view.body_room));
    }
}

/// Shows all of it in the person's own editor, where there is too much of it for a card.
fn read(card: &mut Card, cmds: &mut Vec<Cmd>) {
    card.read_outside();
    let request = &card.request;
    let preview = match &request.plan.preview {
        Preview::Text { text } => format!("{text}\n\n"),
        Preview::None | Preview::Diff { .. } | Preview::Fields { .. } => String::new(),
    };
    let text = format!("{}\n\n{preview}{}", request.plan.summary, pretty(&request.args));
    cmds.push(Cmd::Edit { text, target: Target::Reading(request.id.clone()) });
}

/// The person's own editor showed all of it; what was written there counts for nothing.
pub fn has_read(model: &mut Model, id: &RequestId) {
    if let Some(card) = model.cards.find_mut(id) {
        card.saw_outside();
    }
}

fn turn_sides(model: &mut Model) {
    let columns = model.card_columns();
    let Some(card) = model.cards.current_mut() else { return };
    if !matches!(card.request.plan.preview, Preview::Diff { .. }) {
        return;
    }
    if columns < LEAST_SPLIT {
        card.advice = Some("too narrow for old and new side by side".to_owned());
        return;
    }
    card.hunks.sides = match (card.hunks.sides, is_split(Sides::Fitting, columns)) {
        (Sides::Fitting, true) | (Sides::Split, _) => Sides::Unified,
        (Sides::Fitting, false) | (Sides::Unified, _) => Sides::Split,
    };
    card.unsee_partly();
}

/// Opens the form of the arguments.
pub fn edit(model: &mut Model) {
    let Some(card) = model.cards.current_mut() else { return };
    if card.is_seen() {
        let tool = &card.request.tool;
        card.edit(model.known.tools.iter().find(|spec| spec.name == *tool));
    } else {
        card.advice = Some(unseen(UNSEEN_TO_EDIT, card, &model.keymap));
    }
}

/// Says something in the card.
pub fn advise(model: &mut Model, words: &str) {
    if let Some(card) = model.cards.current_mut() {
        card.advice = Some(words.to_owned());
    }
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
        card.advice = Some(unseen(UNSEEN, card, &model.keymap));
        return;
    }
    match &card.stage {
        Stage::Asking if card.is_high() => {
            card.stage = Stage::Confirming(approval);
        }
        Stage::Confirming(approval) => {
            let approval = approval.clone();
            decide(card, approval, "yes", cmds);
        }
        Stage::Asking => {
            let word = match &approval {
                Approval::Approve { instead: Some(_), .. } => "yes, without what is skipped",
                Approval::Approve { remember: Remember::Session, .. } => "yes, for this session",
                Approval::Approve { .. } | Approval::Deny { .. } | Approval::Later => "yes",
            };
            decide(card, approval, word, cmds);
        }
        Stage::Reason(_) | Stage::Editing(_) | Stage::Rule(_) | Stage::Deciding(_) => return,
    }
    model.cards.said_yes(now);
}

fn send_no(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let Some(card) = model.cards.current_mut() else { return };
    let Stage::Reason(editor) = &card.stage else { return };
    let reason = editor.text().trim().to_owned();
    let reason = (!reason.is_empty()).then_some(reason);
    decide(card, Approval::Deny { reason }, "no", cmds);
}

fn approve_edited(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let now = model.now_ms;
    if !model.transcript.follows() {
        model.transcript.follow();
        return model.cards.guard_again(now);
    }
    let Some(card) = model.cards.current_mut() else { return };
    let high = card.is_high();
    let Stage::Editing(form) = &mut card.stage else { return };
    let args = match &form.check {
        Ok(args) => args.clone(),
        Err(_) => {
            card.advice = Some("not sent".to_owned());
            return;
        }
    };
    // A key that is held down repeats: that is no second thought.
    let confirmed =
        form.confirmed.as_ref().is_some_and(|(before, at)| *before == args && now >= at + HELD_MS);
    if high && !confirmed {
        form.confirmed = Some((args, now));
        let context = form.context();
        let again = [(context, Action::Card(CardKey::ApproveEdited), "once more to approve")];
        card.advice = Some(model.keymap.told("HIGH", &again));
        return;
    }
    let note = form.note_text();
    let word = match (args == card.request.args, &note) {
        (true, None) => "yes",
        (true, Some(_)) => "yes, with a note",
        (false, _) => "yes, edited",
    };
    let instead = (args != card.request.args).then(|| (card.request.tool.clone(), args));
    let approval = Approval::Approve { instead, remember: Remember::Once, note, rule: None };
    decide(card, approval, word, cmds);
    model.cards.said_yes(now);
}

fn decide(card: &mut Card, approval: Approval, word: &'static str, cmds: &mut Vec<Cmd>) {
    card.stage = Stage::Deciding(word);
    let request = card.request.id.clone();
    cmds.push(Cmd::Send(Ask::Op(Op::Decide { request, approval })));
}

/// Esc: back out of what was begun, else put the request off. Never a no.
pub fn escape(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if model.asks_cap() {
        model.focus = Focus::Composer;
        return;
    }
    if model.is_list() {
        return batch::escape(model, cmds);
    }
    let opened = model.batch.opened.is_some();
    let Some(card) = model.cards.current_mut() else {
        model.focus = Focus::Composer;
        return;
    };
    card.advice = None;
    match &card.stage {
        Stage::Confirming(_) | Stage::Reason(_) | Stage::Editing(_) | Stage::Rule(_) => card.rest(),
        Stage::Asking | Stage::Deciding(_) if opened => model.batch.opened = None,
        Stage::Deciding(_) => model.focus = Focus::Composer,
        Stage::Asking => {
            // Between turns it waits in the inbox already.
            if model.turn.is_some() {
                let request = card.request.id.clone();
                cmds.push(Cmd::Send(Ask::Op(Op::Decide { request, approval: Approval::Later })));
            }
            model.cards.put_aside();
            if model.cards.current().is_none() {
                say_put_off(model, "put off", "shows it again");
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
    if let Stage::Editing(form) = &mut card.stage {
        return form.scroll_beside(nav, view.beside);
    }
    let page = view.body_room.saturating_sub(1).max(1);
    let last = view.body_total.saturating_sub(view.body_room);
    card.scroll = match nav {
        Nav::Up => return step(model, Cards::previous),
        Nav::Down => return step(model, Cards::next),
        Nav::PageUp => card.scroll.saturating_sub(page),
        Nav::PageDown => (card.scroll + page).min(last),
        Nav::LineUp => card.scroll.saturating_sub(1),
        Nav::LineDown => (card.scroll + 1).min(last),
    };
    if card.scroll == last {
        card.deepen();
    }
    card.hunks.follow(card.scroll, view.body_room);
    card.advice = None;
}

/// The text in the card was changed.
pub fn changed(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if model.is_list() {
        return batch::changed(model);
    }
    let Some(card) = model.cards.current_mut() else { return };
    card.advice = None;
    match &mut card.stage {
        Stage::Editing(form) => form::changed(form),
        Stage::Rule(written) => rule::changed(written, cmds),
        Stage::Asking | Stage::Confirming(_) | Stage::Reason(_) | Stage::Deciding(_) => {}
    }
}
