//! Keys and pastes: which context has them, and what they do there.

use super::complete::Offered;
use super::{batch, card, close, complete, find, flash, form, help, outside, pick, say, select};
use crate::agent::port::Op;
use crate::command::{Entry, dispatch};
use crate::frontend::link::Ask;
use crate::message::UserPart;
use crate::tui::batch::Round;
use crate::tui::cards::Stage;
use crate::tui::cells::Cell;
use crate::tui::composer::{Editor, Expanded, Moved, Stashed};
use crate::tui::form::{LONGEST, Mode};
use crate::tui::key::{Key, Mods};
use crate::tui::keys::{Action, Change, Context, FindKey, Move, Scroll, Weight};
use crate::tui::model::{
    ARMED_MS, Activity, Chord, Focus, GOODBYE_MS, Life, Model, Overlay, Panel, RetryState, Stop,
};
use crate::tui::msg::{Cmd, MouseMode};

pub fn press(model: &mut Model, key: Key, cmds: &mut Vec<Cmd>) {
    if !matches!(model.life, Life::Open) {
        if model.keymap.action(&[Context::Global], key) == Some(Action::Interrupt) {
            close(model, GOODBYE_MS, cmds);
        }
        return;
    }
    if model.is_too_small() {
        return blind(model, key, cmds);
    }
    let chord = std::mem::take(&mut model.chord);
    let contexts = contexts(model);
    if card::is_guarded(model) {
        return guarded(model, key, cmds);
    }
    let second = match chord {
        Chord::Begun => model.keymap.action(&[Context::Chord], key),
        Chord::None => None,
    };
    let action = second.or_else(|| model.keymap.action(contexts, key));
    select::before(model, action);
    if action.is_some_and(|action| action.weight() == Weight::Approves) && model.cards.may_be_held(model.now_ms) {
        return model.cards.said_yes(model.now_ms);
    }
    match action {
        Some(action @ (Action::Help | Action::Find(FindKey::Open)))
            if model.focus == Focus::Composer && !model.composer.is_empty() =>
        {
            with_text(model, action, key, cmds);
        }
        Some(action) => act(model, action, cmds),
        None => typed(model, key, cmds),
    }
}

/// What opens something from an empty line writes or moves where there is a text, if its key can do that.
fn with_text(model: &mut Model, action: Action, key: Key, cmds: &mut Vec<Cmd>) {
    match model.keymap.action(&[Context::Text], key) {
        Some(action) => act(model, action, cmds),
        None if key.typed().is_some() => typed(model, key, cmds),
        None => act(model, action, cmds),
    }
}

/// A card that just appeared takes no key, and none as long as one is held down; a chord that works everywhere has nothing to do with it.
fn guarded(model: &mut Model, key: Key, cmds: &mut Vec<Cmd>) {
    if key.mods != Mods::NONE
        && let Some(action) = model.keymap.action(&[Context::Global], key)
    {
        return act(model, action, cmds);
    }
    model.cards.guard_again(model.now_ms);
}

/// On a screen too small to show anything, keys decide and type nothing.
fn blind(model: &mut Model, key: Key, cmds: &mut Vec<Cmd>) {
    match model.keymap.action(&[Context::Global], key) {
        Some(Action::Interrupt) => close(model, GOODBYE_MS, cmds),
        Some(Action::Suspend) => cmds.push(Cmd::Suspend),
        Some(_) | None => {}
    }
}

/// Who is asked what a key means, in order.
fn contexts(model: &Model) -> &'static [Context] {
    match &model.overlay {
        Overlay::Help { .. } => return &[Context::Help, Context::Global],
        Overlay::Pick(_) => return &[Context::Pick, Context::Text, Context::Global],
        Overlay::None => {}
    }
    if let (Focus::Composer, Some(find)) = (model.focus, &model.find) {
        return match find.stage {
            find::Stage::Writing => &[Context::Find, Context::Text, Context::Global],
            find::Stage::Walking => &[Context::Found, Context::Global],
        };
    }
    match (model.focus, model.cards.current().map(|card| &card.stage)) {
        (Focus::Composer, _) if model.completion.is_open() => {
            &[Context::Completion, Context::Composer, Context::Text, Context::Global]
        }
        (Focus::Composer, _) | (Focus::Card, None) => &[Context::Composer, Context::Text, Context::Global],
        (Focus::Transcript, _) => &[Context::Transcript, Context::Global],
        (Focus::Card, Some(_)) if model.is_list() => match model.batch.round {
            Round::Reason { .. } => &[Context::Reason, Context::Text, Context::Global],
            Round::Marking | Round::Confirming(_) => &[Context::Batch, Context::Global],
        },
        (Focus::Card, Some(Stage::Reason(_))) => &[Context::Reason, Context::Text, Context::Global],
        (Focus::Card, Some(Stage::Editing(form))) => match form.mode {
            Mode::Fields => &[Context::Form, Context::Text, Context::Global],
            Mode::Raw => &[Context::Arguments, Context::Text, Context::Global],
        },
        (Focus::Card, Some(Stage::Asking | Stage::Confirming(_) | Stage::Deciding(_))) => {
            &[Context::Card, Context::Global]
        }
    }
}

/// The text that keys and pastes go to, if any.
fn editor(model: &mut Model) -> Option<&mut Editor> {
    if let Overlay::Pick(_) = model.overlay {
        let Overlay::Pick(pick) = &mut model.overlay else { return None };
        return Some(&mut pick.query);
    }
    if model.overlay != Overlay::None {
        return None;
    }
    match model.focus {
        Focus::Transcript => None,
        Focus::Composer => match &mut model.find {
            Some(find) => (find.stage == find::Stage::Writing).then_some(&mut find.editor),
            None => Some(&mut model.composer.editor),
        },
        Focus::Card if model.is_list() => batch::editor(model),
        Focus::Card => match &mut model.cards.current_mut()?.stage {
            Stage::Reason(editor) => Some(editor),
            Stage::Editing(form) => form.editor_mut(),
            Stage::Asking | Stage::Confirming(_) | Stage::Deciding(_) => None,
        },
    }
}

fn typed(model: &mut Model, key: Key, cmds: &mut Vec<Cmd>) {
    let Some(c) = key.typed() else { return };
    if let Overlay::Help(_) = model.overlay {
        return help::typed(model, c);
    }
    if form::typed(model, c) {
        return;
    }
    if let Some(editor) = editor(model) {
        let mut buffer = [0; 4];
        editor.insert(c.encode_utf8(&mut buffer));
        changed(model, cmds);
    }
}

pub fn paste(model: &mut Model, text: &str, cmds: &mut Vec<Cmd>) {
    let in_card = model.focus == Focus::Card;
    if card::is_guarded(model) {
        return;
    }
    select::drop_mark(model);
    if in_card && text.len() > LONGEST {
        return card::advise(model, "too long to be pasted here: Ctrl+G opens $EDITOR");
    }
    // What is searched for is one line.
    let picks = matches!(model.overlay, Overlay::Pick(_));
    let is_query = picks || (model.focus == Focus::Composer && model.find.is_some());
    let Some(editor) = editor(model) else { return };
    if is_query {
        editor.insert(text.lines().next().unwrap_or_default());
    } else if in_card {
        editor.paste_plain(text);
    } else {
        editor.paste(text);
    }
    changed(model, cmds);
}

/// The text with the keys was changed.
fn changed(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if let Overlay::Pick(_) = model.overlay {
        return pick::changed(model, cmds);
    }
    match model.focus {
        Focus::Composer if model.find.is_some() => find::changed(model),
        Focus::Composer => model.composer.touched(model.now_ms),
        Focus::Card => card::changed(model),
        Focus::Transcript => {}
    }
}

pub fn act(model: &mut Model, action: Action, cmds: &mut Vec<Cmd>) {
    match action {
        Action::Escape => escape(model, cmds),
        Action::Interrupt => interrupt(model, cmds),
        Action::Suspend => cmds.push(Cmd::Suspend),
        Action::Redraw => cmds.push(Cmd::Redraw),
        Action::RetryNow => retry_now(model, cmds),
        Action::ToggleFocus if complete::offer(model, cmds) == Offered::Yes => {}
        Action::ToggleFocus => card::toggle_focus(model),
        Action::FocusCard => card::focus(model),
        Action::FoldDetails if expand(model) => {}
        Action::FoldDetails => {
            model.details = model.details.turned();
            model.transcript.fold_alike(|_| true);
        }
        Action::FoldThinking => {
            model.thinking = model.thinking.turned();
            model.transcript.fold_alike(Cell::is_thinking);
        }
        Action::Help => help::open(model, ""),
        Action::Scroll(by) if matches!(model.overlay, Overlay::Pick(_)) => pick::scroll(model, by, cmds),
        Action::Scroll(scroll) => self::scroll(model, scroll),
        Action::Top => model.transcript.to_top(),
        Action::Bottom => model.transcript.follow(),
        Action::Send => send(model, cmds),
        Action::Unqueue => unqueue(model, cmds),
        Action::QuitOrDelete if model.composer.is_empty() => close(model, GOODBYE_MS, cmds),
        Action::QuitOrDelete => change(model, Change::Delete, cmds),
        Action::Move(to) => go(model, to),
        Action::Change(change) => self::change(model, change, cmds),
        Action::Card(key) => card::act(model, key, cmds),
        Action::Batch(key) => batch::act(model, key, cmds),
        Action::Form(key) => form::act(model, key, cmds),
        Action::Complete(key) => complete::act(model, key, cmds),
        Action::Pick(key) => pick::act(model, key, cmds),
        Action::Find(key) => find::act(model, key, cmds),
        Action::Select(key) => select::act(model, key, cmds),
        Action::InHelp(key) => help::act(model, key, cmds),
        Action::SearchHistory => pick::search(model, cmds),
        Action::Stash => stash(model),
        Action::EditOutside => outside::open(model, cmds),
        Action::Chord => model.chord = Chord::Begun,
        Action::TogglePanel => {
            model.panel = match model.panel {
                Panel::Shown => Panel::Hidden,
                Panel::Hidden => Panel::Shown,
            };
        }
        Action::ToggleMouse => toggle_mouse(model, cmds),
    }
}

/// Changes the text with the keys.
fn change(model: &mut Model, change: Change, cmds: &mut Vec<Cmd>) {
    let Some(editor) = editor(model) else { return };
    match change {
        Change::Newline => editor.insert("\n"),
        Change::Backspace => editor.backspace(),
        Change::Delete => editor.delete(),
        Change::KillToEnd => editor.kill_to_end(),
        Change::KillToStart => editor.kill_to_start(),
        Change::KillWordBack => editor.kill_word_back(),
        Change::KillPartBack => editor.kill_part_back(),
        Change::KillWordForward => editor.kill_word_forward(),
        Change::Yank => editor.yank(),
        Change::YankOlder => editor.yank_older(),
        Change::Undo => editor.undo(),
        Change::Redo => editor.redo(),
    }
    changed(model, cmds);
}

/// Moves in the text with the keys; past its first and last row lies the history.
fn go(model: &mut Model, to: Move) {
    if form::go(model, to) {
        return;
    }
    let width = match model.focus {
        Focus::Composer | Focus::Transcript => model.composer_width(),
        Focus::Card => model.card_text_width(),
    };
    let writes = model.focus == Focus::Composer && model.find.is_none() && model.overlay == Overlay::None;
    let Some(editor) = editor(model) else { return };
    match to {
        Move::Left => editor.left(),
        Move::Right => editor.right(),
        Move::WordLeft => editor.word_left(),
        Move::WordRight => editor.word_right(),
        Move::LineStart => editor.line_start(),
        Move::LineEnd => editor.line_end(),
        Move::Up => {
            if editor.up(width) == Moved::AtEdge && writes {
                model.composer.older();
            }
        }
        Move::Down => {
            if editor.down(width) == Moved::AtEdge && writes {
                model.composer.newer();
            }
        }
    }
}

pub fn send(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if model.composer.editor.break_at_backslash() {
        return model.composer.touched(model.now_ms);
    }
    if model.composer.editor.text().trim().is_empty() {
        return;
    }
    let text = model.composer.take();
    // The kept draft is out of date now; an empty one replaces it.
    model.composer.unsaved_since = Some(model.now_ms);
    // The owner understands the line in the same way; all else than prompts it answers at once.
    if let (Some(_), Entry::Prompt { text }) = (&model.turn, dispatch(&text)) {
        model.queue.push(text);
    }
    model.transcript.follow();
    cmds.push(Cmd::Send(Ask::Line { text }));
}

fn toggle_mouse(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let (mode, words) = match model.mouse {
        MouseMode::Ours => (MouseMode::Terminals, "the mouse is the terminal's: it marks and copies"),
        MouseMode::Terminals => (MouseMode::Ours, "the mouse is ours: wheel, clicks, marking"),
    };
    model.mouse = mode;
    cmds.push(Cmd::Mouse(mode));
    flash(model, words);
}

/// Shows the pasted block right before the cursor as the text it is; tells whether there was one.
fn expand(model: &mut Model) -> bool {
    if model.focus != Focus::Composer || model.overlay != Overlay::None || model.find.is_some() {
        return false;
    }
    match model.composer.editor.expand() {
        Expanded::NoChip => return false,
        Expanded::Yes => model.composer.touched(model.now_ms),
        Expanded::TooLarge => {
            let editor = key_and(model, Context::Text, Action::EditOutside, " opens it in your editor");
            say(model, &format!("too large to be shown here{editor}"));
        }
    }
    true
}

/// Two spaces, this person's key for an action, and the words behind it; nothing where no key does it.
fn key_and(model: &Model, context: Context, action: Action, words: &str) -> String {
    match model.keymap.shown(context, action) {
        key if key.is_empty() => key,
        key => format!("  {key}{words}"),
    }
}

fn stash(model: &mut Model) {
    match model.composer.stash() {
        Stashed::Aside => {
            let back = key_and(model, Context::Composer, Action::Stash, " on an empty line brings it back");
            flash(model, &format!("put aside{back}"));
        }
        Stashed::Swapped => flash(model, "changed places with the text put aside"),
        Stashed::Back => {}
        Stashed::Nothing => return flash(model, "nothing to put aside"),
    }
    model.composer.touched(model.now_ms);
}

/// Takes the newest queued line back into the composer.
fn unqueue(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let Some(mut text) = model.queue.pop() else { return };
    cmds.push(Cmd::Send(Ask::Op(Op::TakeBack { parts: vec![UserPart::Text { text: text.clone() }] })));
    if !model.composer.is_empty() {
        text = format!("{text}\n{}", model.composer.editor.text());
    }
    model.composer.editor.replace(&text);
    model.composer.touched(model.now_ms);
}

/// Closes the innermost thing; with nothing open, interrupts.
fn escape(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if model.overlay != Overlay::None {
        help::escape(model);
    } else if model.find.is_some() && model.focus == Focus::Composer {
        model.find = None;
    } else if model.completion.is_open() {
        model.completion.dismiss();
    } else if model.focus == Focus::Transcript {
        select::escape(model);
    } else if model.focus == Focus::Card {
        card::escape(model, cmds);
    } else if model.runs() {
        stop(model, cmds);
    } else {
        stop_beginning(cmds);
        model.flash = None;
        model.transcript.follow();
    }
}

/// Ctrl+C: stops what runs, else clears the draft into the history; twice, quits.
fn interrupt(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if model.armed_until.is_some() {
        return close(model, GOODBYE_MS, cmds);
    }
    let again = again(model);
    if model.runs() {
        stop(model, cmds);
        flash(model, &stopping(&again));
    } else if model.composer.is_empty() {
        stop_beginning(cmds);
        flash(model, &again);
    } else {
        model.composer.take();
        model.composer.touched(model.now_ms);
        let back = model.keymap.shown(Context::Composer, Action::Move(Move::Up));
        flash(model, &format!("cleared, {back} brings it back  {again}"));
    }
    model.armed_until = Some(model.now_ms + ARMED_MS);
}

/// What was told to stop has ended: of the words for it, those hold on that tell what the key does next.
pub(super) fn stopped(model: &mut Model) {
    let again = again(model);
    if model.armed_until.is_some()
        && let Some((words, _)) = &mut model.flash
        && *words == stopping(&again)
    {
        *words = again;
    }
}

fn again(model: &Model) -> String {
    format!("{} again quits", model.keymap.shown(Context::Global, Action::Interrupt))
}

fn stopping(again: &str) -> String {
    format!("stopping…  {again}")
}

/// What was just sent may have begun without our knowing yet. The owner drops the word where nothing runs.
fn stop_beginning(cmds: &mut Vec<Cmd>) {
    cmds.push(Cmd::Send(Ask::Op(Op::Interrupt)));
}

fn stop(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if let Some(turn) = &mut model.turn {
        turn.stop = Stop::Asked;
        cmds.push(Cmd::Send(Ask::Op(Op::Interrupt)));
    }
    if model.shell == Activity::Running {
        cmds.push(Cmd::Send(Ask::StopShell));
    }
}

fn retry_now(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if let Some(retry) = &mut model.retry
        && retry.state == RetryState::Counting
    {
        retry.state = RetryState::Sent;
        cmds.push(Cmd::Send(Ask::Op(Op::RetryNow)));
    }
}

fn scroll(model: &mut Model, by: Scroll) {
    let look = model.look();
    let page = model.areas().pane.saturating_sub(2).max(1);
    if let Overlay::Help(_) = model.overlay {
        return help::scroll(model, by);
    }
    if model.focus == Focus::Card {
        return card::scroll(model, by);
    }
    match by {
        Scroll::PageUp => model.transcript.up(page, &look),
        Scroll::PageDown => model.transcript.down(page, &look),
        Scroll::LineUp => model.transcript.up(1, &look),
        Scroll::LineDown => model.transcript.down(1, &look),
    }
}
