//! Dispatches keys and pastes to the context that has the focus.

use super::auto_focus::{self, KeyMeaning};
use super::{Direction, advice, card, complete, image, mode, outside, panel, recent, select, send, stop};
use crate::frontend::protocol::ClientRequest;
use crate::frontend::{GOODBYE_MS, Lifecycle};
use crate::tui::batch::{self, Question};
use crate::tui::cap;
use crate::tui::cards::{CardStage, Cards};
use crate::tui::cells::Cell;
use crate::tui::completion::Popup;
use crate::tui::composer::{Editor, Item};
use crate::tui::find::{self, Find, FindStage};
use crate::tui::form::{self, LONGEST};
use crate::tui::key::{Key, Mods};
use crate::tui::keys::{Action, Binding, Context, FindKey, KeyProtection, Move, Nav, TextEdit};
use crate::tui::model::{Focus, Model, PANEL_FROM_COLUMNS, PANEL_FROM_ROWS};
use crate::tui::msg::{Cmd, MouseMode};
use crate::tui::panel::{Help, Panel};
use crate::tui::press::{DeferredKey, DeferredKeyOutcome};
use crate::tui::rule;

pub fn press(model: &mut Model, key: Key, cmds: &mut Vec<Cmd>) {
    let global = model.keymap.action(&[Context::Global], key);
    if !matches!(model.life, Lifecycle::Open) {
        if global == Some(Action::Interrupt) {
            model.close(GOODBYE_MS, cmds);
        }
        return;
    }
    if global != Some(Action::Interrupt) {
        model.disarm();
    }
    if model.is_too_small() {
        return too_small(model, key, cmds);
    }
    model.auto_focus.continues = false;
    let again = model.presses.note(key, model.now_ms);
    match model.presses.follow(key, again, model.now_ms) {
        DeferredKeyOutcome::Nothing => {}
        DeferredKeyOutcome::Repeated => return,
        DeferredKeyOutcome::Other(_) if global == Some(Action::Escape) => return,
        DeferredKeyOutcome::Other(deferred) if deferred.may_be_text => {
            auto_focus::give_back(model, Some((deferred.key, deferred.events)));
        }
        DeferredKeyOutcome::Other(deferred) => execute_deferred(model, &deferred, cmds),
    }
    if model.auto_focus.is_on && model.panel.is_none() {
        match auto_focus::meaning(model, key) {
            KeyMeaning::Answer => return defer(model, key),
            KeyMeaning::Text => auto_focus::give_back(model, None),
            // It is the user's from now on; the guard time goes on.
            KeyMeaning::Focus => return model.auto_focus.is_on = false,
            KeyMeaning::Command => {}
        }
    }
    take(model, key, again, cmds);
}

/// Executes a key only if no other one follows.
fn defer(model: &mut Model, key: Key) {
    if let Some(question) = model.dialogue.subject().cloned() {
        let is_armed = model.dialogue.is_armed(model.now_ms);
        model.presses.defer(key, question, is_armed, model.auto_focus.is_on, model.now_ms);
    }
}

/// Executes a key that was deferred.
pub fn execute(model: &mut Model, key: Key, cmds: &mut Vec<Cmd>) {
    if let Some(binding) = model.keymap.binding(&model.place().layer(), key) {
        perform(model, key, binding, cmds);
    }
}

/// Does what a key is bound to; records whether it approved something.
fn perform(model: &mut Model, key: Key, binding: &Binding, cmds: &mut Vec<Cmd>) {
    let before = cmds.len();
    act(model, binding.action, cmds);
    if binding.protection == KeyProtection::Approves
        && (cmds.len() > before || model.dialogue.is_approved_once())
    {
        model.presses.on_approval(key, model.now_ms);
    }
}

fn take(model: &mut Model, key: Key, again: bool, cmds: &mut Vec<Cmd>) {
    let chord_begun = std::mem::take(&mut model.chord_begun);
    let layer = model.place().layer();
    if card::is_guarded(model) {
        return on_guarded_key(model, key, cmds);
    }
    let second = chord_begun.then(|| model.keymap.binding(&[Context::Chord], key)).flatten();
    let binding = second.or_else(|| model.keymap.binding(&layer, key));
    let action = binding.map(|row| row.action);
    select::before(model, action);
    if is_guarded(model, binding) {
        return model.dialogue.show_again(model.now_ms);
    }
    if binding.is_some_and(|row| row.protection == KeyProtection::Approves) {
        if again {
            return;
        }
        if model.presses.may_be_held(key, model.now_ms) {
            return defer(model, key);
        }
    }
    match action {
        Some(action @ (Action::Help | Action::Find(FindKey::Open)))
            if model.focus == Focus::Composer && !model.composer.is_empty() =>
        {
            with_text(model, action, key, cmds);
        }
        Some(_) | None => match binding {
            Some(binding) => perform(model, key, binding, cmds),
            None => on_unbound_key(model, key, cmds),
        },
    }
}

/// Handles a key that opens something on an empty line: in a text it writes or moves instead, if it can.
fn with_text(model: &mut Model, action: Action, key: Key, cmds: &mut Vec<Cmd>) {
    match model.keymap.action(&[Context::Text], key) {
        Some(action) => act(model, action, cmds),
        None if key.typed_char().is_some() => on_unbound_key(model, key, cmds),
        None => act(model, action, cmds),
    }
}

/// Handles a key while a card is guarded: global chords work; any other key restarts the guard time.
fn on_guarded_key(model: &mut Model, key: Key, cmds: &mut Vec<Cmd>) {
    if key.mods != Mods::NONE
        && let Some(action) = model.keymap.action(&[Context::Global], key)
    {
        return act(model, action, cmds);
    }
    model.dialogue.show_again(model.now_ms);
}

/// Whether this key is ignored because it would decide something that was shown only a moment ago.
fn is_guarded(model: &Model, key: Option<&Binding>) -> bool {
    let decides =
        key.is_some_and(|key| matches!(key.protection, KeyProtection::Decides | KeyProtection::Approves));
    decides && model.dialogue.subject() == Some(&Question::Inbox) && !model.dialogue.is_armed(model.now_ms)
}

/// Shows pending requests: first the cards of this session; if repeated, or without cards, the inbox.
fn all_that_waits(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let has_keys = model.focus == Focus::Card && model.cards.iter().count() == model.cards.visible().count();
    if model.asks_cap() || (!model.cards.is_empty() && !has_keys) {
        return card::focus(model);
    }
    panel::open(model, Panel::Inbox(Box::default()), cmds);
}

/// On a screen too small to show anything, keys neither decide nor type.
fn too_small(model: &mut Model, key: Key, cmds: &mut Vec<Cmd>) {
    match model.keymap.action(&[Context::Global], key) {
        Some(Action::Interrupt) => model.close(GOODBYE_MS, cmds),
        Some(Action::Suspend) => cmds.push(Cmd::Suspend),
        Some(_) | None => {}
    }
}

/// Returns the text that receives keys and pastes, if any.
fn editor(model: &mut Model) -> Option<&mut Editor> {
    match model.focus {
        Focus::Transcript => None,
        Focus::Composer => match &mut model.find {
            Some(find) => (find.stage == FindStage::Writing).then_some(&mut find.editor),
            None => Some(&mut model.composer.editor),
        },
        Focus::Card if model.asks_cap() => None,
        Focus::Card if model.is_list() => model.batch.list.editor_mut(),
        Focus::Card => match &mut model.cards.current_mut()?.stage {
            CardStage::Reason(editor) => Some(editor),
            CardStage::Editing(form) => form.editor_mut(),
            CardStage::Rule(rule) => rule.editor_mut(),
            CardStage::Asking | CardStage::Deciding(_) => None,
        },
    }
}

fn on_unbound_key(model: &mut Model, key: Key, cmds: &mut Vec<Cmd>) {
    let Some(c) = key.typed_char() else { return };
    model.recent = None;
    if panel::with(model, cmds, |panel, cx| panel.on_char(c, cx)).is_some() || form::keys::on_char(model, c) {
        return;
    }
    if let Some(editor) = editor(model) {
        let mut buffer = [0; 4];
        editor.insert(c.encode_utf8(&mut buffer));
        on_change(model, cmds);
    }
}

pub fn paste(model: &mut Model, text: &str, cmds: &mut Vec<Cmd>) {
    model.auto_focus.continues = false;
    let deferred = model.presses.take_due(u64::MAX).map(|deferred| (deferred.key, deferred.events));
    if model.auto_focus.is_on && model.panel.is_none() {
        auto_focus::give_back(model, deferred);
    }
    model.disarm();
    model.recent = None;
    let in_card = model.focus == Focus::Card;
    if card::is_guarded(model) {
        return;
    }
    select::drop_mark(model);
    if panel::with(model, cmds, |panel, cx| panel.paste(text, cx)).is_some() {
        return;
    }
    if in_card && text.len() > LONGEST {
        let outside = [(Context::Text, Action::EditOutside, "opens $EDITOR")];
        let words = model.keymap.with_hints("too long to paste here", &outside);
        return advice::advise(model, &words);
    }
    // A search query is one line.
    let is_query = model.focus == Focus::Composer && model.find.is_some();
    let Some(editor) = editor(model) else { return };
    if is_query {
        editor.insert(text.lines().next().unwrap_or_default());
    } else if in_card {
        editor.paste_plain(text);
    } else {
        // Text after `/` or `!` is a command; a path on an empty line also begins with `/` and may name an image.
        // In commands paths stay text.
        let names_images = !matches!(editor.items().first().map(Item::text), Some("!" | "/"));
        editor.paste(text);
        if names_images {
            image::on_paste(model, text, cmds);
        }
    }
    on_change(model, cmds);
}

/// Handles a change of the focused text.
fn on_change(model: &mut Model, cmds: &mut Vec<Cmd>) {
    match model.focus {
        Focus::Composer if model.find.is_some() => find::keys::on_change(model),
        Focus::Composer => model.composer.on_edit(model.now_ms),
        Focus::Card => card::on_change(model, cmds),
        Focus::Transcript => {}
    }
}

fn act(model: &mut Model, action: Action, cmds: &mut Vec<Cmd>) {
    let Some(action) = panel::act(model, action, cmds) else { return };
    if recent::act(model, action, cmds) {
        return;
    }
    match action {
        Action::Escape => stop::escape(model, cmds),
        Action::Interrupt => stop::interrupt(model, cmds),
        Action::Suspend => cmds.push(Cmd::Suspend),
        Action::Redraw => cmds.push(Cmd::Redraw),
        Action::RetryNow => stop::retry_now(model, cmds),
        Action::ToggleFocus if complete::offer(model, cmds) => {}
        Action::ToggleFocus => card::toggle_focus(model),
        Action::FocusCard => all_that_waits(model, cmds),
        Action::FoldDetails if send::expand(model) => {}
        Action::FoldDetails => {
            model.details = model.details.turned();
            model.transcript.fold_alike(|_| true);
        }
        Action::FoldThinking => {
            model.thinking = model.thinking.turned();
            model.transcript.fold_alike(Cell::is_thinking);
        }
        Action::Help => panel::open(model, Panel::Help(Help::here(model.place().layer())), cmds),
        Action::Nav(nav) => navigate(model, nav),
        Action::Top if card::to_edge(model, Direction::Up) => {}
        Action::Bottom if card::to_edge(model, Direction::Down) => {}
        Action::Top => model.transcript.to_top(),
        Action::Bottom => model.transcript.follow(),
        Action::Send => send::send(model, cmds),
        Action::Unqueue => send::unqueue(model, cmds),
        Action::QuitOrDelete if model.composer.is_empty() => model.close(GOODBYE_MS, cmds),
        Action::QuitOrDelete => self::edit(model, TextEdit::Delete, cmds),
        Action::ToBackground if model.composer.is_empty() && model.runs_calls() => {
            cmds.push(Cmd::Send(ClientRequest::Background));
        }
        Action::ToBackground => go(model, Move::Left),
        Action::Move(to) => go(model, to),
        Action::Edit(edit) => self::edit(model, edit, cmds),
        Action::Card(key) => card::act(model, key, cmds),
        Action::Cap(answer) => cap::keys::act(model, answer, cmds),
        Action::List(key) => batch::keys::act(model, key, cmds),
        Action::Form(key) => form::keys::act(model, key),
        Action::Rule(key) => rule::keys::act(model, key, cmds),
        Action::Complete(key) => complete::act(model, key, cmds),
        Action::Find(key) => find::keys::act(model, key),
        Action::Select(key) => select::act(model, key, cmds),
        // Handled by the panel.
        Action::Panel(_) => {}
        Action::PickModel => cmds.push(Cmd::Send(ClientRequest::ListModels)),
        Action::SearchHistory => panel::search(model, cmds),
        Action::Stash => send::stash(model),
        Action::PasteImage => image::ask(model, cmds),
        Action::EditOutside => outside::open(model, cmds),
        Action::Chord => model.chord_begun = true,
        Action::NextMode => mode::next(model, cmds),
        Action::TogglePanel if model.panel_room() == 0 => {
            let (columns, rows) = (PANEL_FROM_COLUMNS, PANEL_FROM_ROWS);
            model.say(&format!("the side panel needs {columns} columns and {rows} rows"));
        }
        Action::TogglePanel => model.hides_side_panel = !model.hides_side_panel,
        Action::ToggleMouse => toggle_mouse(model, cmds),
    }
}

/// Edits the focused text.
fn edit(model: &mut Model, edit: TextEdit, cmds: &mut Vec<Cmd>) {
    let Some(editor) = editor(model) else { return };
    editor.edit(edit);
    on_change(model, cmds);
}

/// Moves in the focused text; beyond its first and last row lies the history.
fn go(model: &mut Model, to: Move) {
    if form::keys::go(model, to) || rule::keys::go(model, to) {
        return;
    }
    let width = match model.focus {
        Focus::Composer | Focus::Transcript => model.composer_width(),
        Focus::Card => model.card_text_width(),
    };
    let writes = model.focus == Focus::Composer && model.find.is_none();
    let Some(editor) = editor(model) else { return };
    if editor.step(to, width) || !writes {
        return;
    }
    match to {
        Move::Up => model.composer.older(),
        Move::Down => model.composer.newer(),
        Move::Left | Move::Right | Move::WordLeft | Move::WordRight | Move::LineStart | Move::LineEnd => {}
    }
}

fn toggle_mouse(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let (mode, words) = match model.mouse {
        MouseMode::Ours => (MouseMode::Terminals, "mouse: terminal (selects and copies)"),
        MouseMode::Terminals => (MouseMode::Ours, "mouse: app (wheel, clicks, selection)"),
    };
    model.mouse = mode;
    cmds.push(Cmd::Mouse(mode));
    model.flash(words);
}

/// Scrolls or moves in the focused element.
fn navigate(model: &mut Model, nav: Nav) {
    let context = model.context();
    let page = model.areas().pane.saturating_sub(2).max(1);
    match (nav, model.focus) {
        (Nav::Up, Focus::Card) if model.is_list() => batch::keys::step(model, Cards::previous),
        (Nav::Down, Focus::Card) if model.is_list() => batch::keys::step(model, Cards::next),
        (_, Focus::Card) => card::navigate(model, nav),
        (Nav::PageUp, _) => model.transcript.up(page, &context),
        (Nav::PageDown, _) => model.transcript.down(page, &context),
        (Nav::LineUp, _) => model.transcript.up(1, &context),
        (Nav::LineDown, _) => model.transcript.down(1, &context),
        (Nav::Up, Focus::Transcript) => select::step(model, Direction::Up),
        (Nav::Down, Focus::Transcript) => select::step(model, Direction::Down),
        (Nav::Up, Focus::Composer) if model.find.is_some() => find::keys::step(model, Find::previous),
        (Nav::Down, Focus::Composer) if model.find.is_some() => find::keys::step(model, Find::next),
        (Nav::Up, Focus::Composer) => complete::step(model, Popup::up),
        (Nav::Down, Focus::Composer) => complete::step(model, Popup::down),
    }
}

/// Executes the deferred key if no other followed it.
pub fn execute_due(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if let Some(due) = model.presses.take_due(model.now_ms) {
        execute_deferred(model, &due, cmds);
    }
}

/// Executes a deferred key. It counts only for the question that it was pressed at.
fn execute_deferred(model: &mut Model, deferred: &DeferredKey, cmds: &mut Vec<Cmd>) {
    if model.dialogue.subject() != Some(&deferred.question) || deferred.is_held() {
        return;
    }
    if deferred.is_armed {
        execute(model, deferred.key, cmds);
    } else {
        model.dialogue.show_again(model.now_ms);
    }
}
