//! The keys of several requests shown as one list.
//!
//! One round decides what is marked: nothing of it counts that was not on the screen whole, HIGH needs a second key
//! after the guard time, and a list that gains or loses a row takes no key for a moment.

use super::{card, flash, rule};
use crate::agent::port::Op;
use crate::approval::{Approval, Request, RequestId};
use crate::frontend::link::Ask;
use crate::tool::Risk;
use crate::tui::batch::{Face, Round, awaited, dropped, numbers, rows};
use crate::tui::cards::{Card, Cards, Change, Mark, Place, Stage};
use crate::tui::cells::{CallState, call};
use crate::tui::composer::Editor;
use crate::tui::keys::{Action, BatchKey, Context, Keymap, Nav};
use crate::tui::model::{Focus, Model};
use crate::tui::msg::Cmd;
use crate::tui::transcript::Transcript;

const MARKS_ONE: (Context, Action, &str) = (Context::Batch, Action::Batch(BatchKey::Mark), "marks one");

/// Words, and the keys that show more of a row.
fn room(keymap: &Keymap, words: &str) -> String {
    let keys = [
        (Context::Global, Action::Nav(Nav::PageDown), ""),
        (Context::Batch, Action::Batch(BatchKey::Whole), "makes room"),
    ];
    keymap.told(words, &keys)
}

/// What must hold of the queue after every message: what is on the screen, since when, and who is written to.
pub fn look(model: &mut Model) {
    prune(model);
    let now = model.now_ms;
    let face = model.face();
    if model.cards.look(face.clone(), now) == Change::New {
        // What was said and what was about to be confirmed stood on another screen.
        model.batch.advice = None;
        if let Round::Confirming(_) = model.batch.round {
            model.batch.round = Round::Marking;
        }
        model.cards.unconfirm(&face);
    }
    leave_what_is_gone(model);
}

/// Drops what the list says of requests that do not wait any more.
fn prune(model: &mut Model) {
    let (cards, batch) = (&model.cards, &mut model.batch);
    if batch.opened.as_ref() != cards.current().map(|card| &card.request.id) {
        batch.opened = None;
    }
    if let Round::Reason { of, .. } = &mut batch.round {
        of.retain(|id| cards.find(id).is_some_and(is_open));
        if of.is_empty() {
            batch.round = Round::Marking;
        }
    }
}

/// Somebody else decided what the person was writing to: the letters on their way must not meet another card.
fn leave_what_is_gone(model: &mut Model) {
    let is_gone = |id: &RequestId| model.cards.find(id).is_none_or(|card| card.place == Place::Aside);
    let gone = !model.batch.writing.is_empty() && model.batch.writing.iter().all(is_gone);
    model.batch.writing = match (&model.batch.round, model.cards.current()) {
        (Round::Reason { of, .. }, _) => of.clone(),
        (_, Some(card)) if card.is_written_to() => vec![card.request.id.clone()],
        (Round::Marking | Round::Confirming(_), _) => Vec::new(),
    };
    if gone && model.batch.writing.is_empty() && model.focus == Focus::Card {
        model.focus = Focus::Composer;
        flash(model, "it was decided or put off, while you were writing");
    }
}

/// Notes what the model calls the calls that wait, and on their rows that they do; to be done when there are other
/// ones, or other rows of calls.
pub fn name(model: &mut Model) {
    let (cards, transcript) = (&mut model.cards, &mut model.transcript);
    for card in cards.iter() {
        // A conversation that is read again says of such a call only that the model wanted it.
        let row = transcript.call_mut(&card.request.call).filter(|row| row.state == CallState::Planned);
        if let Some(row) = row {
            row.state = CallState::Waiting;
            row.subject = call::subject(&card.request.args);
        }
    }
    cards.name(|request| {
        (transcript.call(&request.call).and_then(|row| row.label.clone()), after(transcript, request))
    });
}

/// What has to end well before a call runs: by the labels its model gave, else by what the calls do.
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

fn is_open(card: &Card) -> bool {
    !matches!(card.stage, Stage::Deciding(_))
}

fn is_marked(card: &Card) -> bool {
    card.mark == Mark::On && is_open(card)
}

/// Goes to another row.
pub fn step(model: &mut Model, to: fn(&mut Cards)) {
    if takes_key(model) {
        model.batch.round = Round::Marking;
        to(&mut model.cards);
    }
}

/// Clears what was said before, unless the list is out of sight: then the key only brings it back.
fn takes_key(model: &mut Model) -> bool {
    if !model.transcript.follows() {
        model.transcript.follow();
        model.cards.guard_again(model.now_ms);
        return false;
    }
    model.batch.advice = None;
    if let Some(card) = model.cards.current_mut() {
        card.advice = None;
    }
    true
}

pub fn act(model: &mut Model, key: BatchKey, cmds: &mut Vec<Cmd>) {
    if !takes_key(model) {
        return;
    }
    if key != BatchKey::Yes {
        model.batch.round = Round::Marking;
    }
    let Some(card) = model.cards.current_mut() else { return };
    match key {
        BatchKey::Whole => card.whole = card.whole.turned(),
        BatchKey::Why => card.turn_why(model.card_view.body_total),
        BatchKey::Open => model.batch.opened = Some(card.request.id.clone()),
        BatchKey::Mark => mark(model),
        BatchKey::MarkLow => mark_low(model),
        // A row that is decided already has nothing to be written.
        BatchKey::Edit | BatchKey::Rule if !is_open(card) => {}
        BatchKey::Edit => card::edit(model),
        BatchKey::Rule => rule::open(model, cmds),
        BatchKey::Yes => run(model, cmds),
        BatchKey::No => refuse(model),
    }
}

/// Marks the row under the cursor, or takes its mark away.
fn mark(model: &mut Model) {
    let (number, _) = model.cards.position();
    let Some(card) = model.cards.current_mut() else { return };
    if !is_open(card) {
        return;
    }
    card.mark = match card.mark {
        Mark::On => Mark::Off,
        Mark::Off if card.is_high() && !card.is_seen() => {
            let words = format!("{number} is HIGH, to be marked once all of it was shown");
            model.batch.advice = Some(room(&model.keymap, &words));
            return;
        }
        Mark::Off => Mark::On,
    };
}

/// Marks every LOW row and no other.
fn mark_low(model: &mut Model) {
    let mut found = 0;
    for card in model.cards.shown_mut().filter(|card| is_open(card)) {
        match card.request.risk {
            Risk::Low => {
                card.mark = Mark::On;
                found += 1;
            }
            Risk::Medium | Risk::High => {}
        }
    }
    if found == 0 {
        model.batch.advice = Some(model.keymap.told("none of these is low", &[MARKS_ONE]));
    }
}

/// Approves what is marked, in one round.
fn run(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let now = model.now_ms;
    let marked: Vec<RequestId> = ids(model, is_marked);
    if marked.is_empty() {
        model.batch.round = Round::Marking;
        model.batch.advice = Some(model.keymap.told("nothing is marked", &[MARKS_ONE]));
        return;
    }
    let unseen = ids(model, |card| is_marked(card) && !card.is_seen());
    if let Some(first) = unseen.first() {
        model.batch.round = Round::Marking;
        model.cards.go_to(Some(first));
        let (number, _) = model.cards.position();
        let words = room(&model.keymap, &format!("{number} was not shown whole yet, here it is"));
        let again = model.keymap.shown(Context::Batch, Action::Batch(BatchKey::Yes));
        model.batch.advice = Some(format!("{words}, then {again} again"));
        // It comes under the finger that said yes to something else.
        return model.cards.guard_again(now);
    }
    if let Some(empty) = ids(model, |card| is_marked(card) && card.yes().is_none()).first() {
        model.batch.round = Round::Marking;
        model.cards.go_to(Some(empty));
        model.batch.advice =
            Some(card::nothing_left(&model.keymap, Context::Batch, Action::Batch(BatchKey::No)));
        return model.cards.guard_again(now);
    }
    let high = model.cards.shown().any(|card| is_marked(card) && card.is_high());
    if high && model.batch.round != Round::Confirming(marked.clone()) {
        model.batch.round = Round::Confirming(marked);
        return model.cards.said_yes(now);
    }
    model.cards.said_yes(now);
    model.batch.round = Round::Marking;
    decide(model, &marked, |card| card.yes().unwrap_or(Approval::Later), "yes", cmds);
    model.batch.advice = waits(model, &marked);
}

/// Which of these approved ones wait for others that are not.
fn waits(model: &Model, approved: &[RequestId]) -> Option<String> {
    let rows = rows(&model.cards);
    let mut words = Vec::new();
    for (index, row) in rows.iter().enumerate().filter(|(_, row)| approved.contains(&row.card.request.id)) {
        let awaited: Vec<&RequestId> =
            awaited(&model.cards, row.card).into_iter().map(|card| &card.request.id).collect();
        let holds = |at: &usize| is_open(rows[*at].card) && awaited.contains(&&rows[*at].card.request.id);
        let open: Vec<usize> = (0..rows.len()).filter(holds).collect();
        if !open.is_empty() {
            words.push(format!("{} is approved and waits for {}", index + 1, numbers(&open)));
        }
    }
    (!words.is_empty()).then(|| words.join("; "))
}

/// Begins the no to what is marked, or to the row under the cursor.
fn refuse(model: &mut Model) {
    let mut of = ids(model, is_marked);
    if of.is_empty() {
        of.extend(model.cards.current().filter(|card| is_open(card)).map(|card| card.request.id.clone()));
    }
    if !of.is_empty() {
        model.batch.round = Round::Reason { editor: Editor::default(), of };
    }
}

/// Sends the no, with one reason for all.
pub fn send_no(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let round = std::mem::take(&mut model.batch.round);
    let Round::Reason { editor, of } = round else { return };
    let reason = editor.text().trim().to_owned();
    let reason = (!reason.is_empty()).then_some(reason);
    decide(model, &of, |_| Approval::Deny { reason: reason.clone() }, "no", cmds);
    let rows = rows(&model.cards);
    let at = |id: &RequestId| rows.iter().position(|row| row.card.request.id == *id);
    let lost = dropped(&rows, &of.iter().filter_map(at).collect::<Vec<_>>());
    let lost = (!lost.is_empty()).then(|| format!("dropped with it: {}", numbers(&lost)));
    model.batch.advice = lost;
}

/// All decisions of a round go out together, in the order of the list.
fn decide(
    model: &mut Model,
    these: &[RequestId],
    approval: impl Fn(&Card) -> Approval,
    word: &'static str,
    cmds: &mut Vec<Cmd>,
) {
    for card in model.cards.shown_mut().filter(|card| is_open(card) && these.contains(&card.request.id)) {
        let approval = approval(card);
        card.stage = Stage::Deciding(word);
        card.mark = Mark::Off;
        let request = card.request.id.clone();
        cmds.push(Cmd::Send(Ask::Op(Op::Decide { request, approval })));
    }
}

fn ids(model: &Model, which: impl Fn(&Card) -> bool) -> Vec<RequestId> {
    model.cards.shown().filter(|card| which(card)).map(|card| card.request.id.clone()).collect()
}

/// Esc: back out of what was begun, else everything is for later. Never a no.
pub fn escape(model: &mut Model, cmds: &mut Vec<Cmd>) {
    model.batch.advice = None;
    if model.batch.round != Round::Marking {
        model.batch.round = Round::Marking;
        return;
    }
    // Between turns they wait in the inbox already.
    if model.turn.is_some() {
        for request in ids(model, is_open) {
            cmds.push(Cmd::Send(Ask::Op(Op::Decide { request, approval: Approval::Later })));
        }
    }
    model.cards.put_all_aside();
    model.focus = Focus::Composer;
    if model.cards.current().is_none() {
        card::say_put_off(model, "all put off", "shows them again");
    }
}

/// The list was clicked at this line of it: the row there is gone to. A click never marks and never decides.
pub fn click(model: &mut Model, line: usize) {
    let list = model.card_view.list;
    let Some(row) = line.checked_sub(list.line).filter(|row| *row < list.count) else { return };
    let wanted = model.cards.shown().nth(list.from + row).map(|card| card.request.id.clone());
    if model.batch.round == Round::Marking
        && let Some(wanted) = wanted
    {
        model.cards.go_to(Some(&wanted));
    }
}

/// The text of the reason was changed.
pub fn changed(model: &mut Model) {
    model.batch.advice = None;
}

/// The reason that is being written, if one is.
pub fn editor(model: &mut Model) -> Option<&mut Editor> {
    match &mut model.batch.round {
        Round::Reason { editor, .. } => Some(editor),
        Round::Marking | Round::Confirming(_) => None,
    }
}

/// Whether letters are written rather than keys pressed.
pub fn writes(model: &Model) -> bool {
    match (&model.batch.round, model.face()) {
        (Round::Reason { .. }, _) => true,
        (_, Face::One(_)) => model.cards.current().is_some_and(Card::is_written_to),
        (Round::Marking | Round::Confirming(_), Face::Nothing | Face::List(_) | Face::Cap(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agent::port::Event;
    use crate::frontend::link::Update;
    use crate::message::{CallId, ToolName};
    use crate::tool::{Access, CallPlan, Preview, Undo};
    use crate::tui::cells::{Fold, Motion};
    use crate::tui::model::Setup;
    use crate::tui::msg::{Input, Msg};
    use crate::tui::theme::Glyphs;
    use crate::tui::update::update;

    fn request(number: u32) -> Request {
        let plan = CallPlan {
            summary: "run a command".to_owned(),
            preview: Preview::None,
            risk: Risk::Low,
            access: Access::Anything,
            basis: Vec::new(),
            undo: Undo::None,
            effect: crate::tool::Effect::OfTool,
            question: None,
            needs_person: None,
        };
        Request {
            id: RequestId(number.to_string()),
            call: CallId(format!("s/1.1.{number}")),
            tool: ToolName::new("shell"),
            args: json!({ "command": "ls" }),
            plan,
            risk: Risk::Low,
            why: Vec::new(),
            after: Vec::new(),
            depends: Vec::new(),
            taint: Vec::new(),
            expires: None,
            again: None,
        }
    }

    #[test]
    fn a_click_goes_to_a_row_and_decides_nothing() {
        let glyphs = &Glyphs::UNICODE;
        let motion = Motion::Full;
        let keymap = Keymap::default();
        let setup = Setup { columns: 80, rows: 24, glyphs, motion, thinking: Fold::Folded, keymap };
        let mut model = Model::new(setup);
        let feed = |model: &mut Model, input| assert_eq!(update(model, Msg::new(1, input)), []);
        card::click(&mut model, 0);
        assert_eq!(model.focus, Focus::Composer, "nothing waits");
        for number in 1..=3 {
            let event = Event::ApprovalNeeded { request: request(number) };
            feed(&mut model, Input::Update(Box::new(Update::Event(event))));
        }
        feed(&mut model, Input::Frame);
        // The border, the names of the columns, and then the rows.
        for (line, row) in [(3, 2), (4, 3), (2, 1), (0, 1), (1, 1), (9, 1), (99, 1)] {
            card::click(&mut model, line);
            assert_eq!((model.focus, model.cards.position().0), (Focus::Card, row), "line {line}");
            feed(&mut model, Input::Frame);
        }
        assert!(model.cards.shown().all(|card| card.mark == Mark::Off && is_open(card)));
    }
}
