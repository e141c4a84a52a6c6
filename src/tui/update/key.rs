//! Keys and pastes: which context has them, and what they do there.

use super::complete::Offered;
use super::select::Direction;
use super::{
    batch, cap, card, close, complete, find, flash, form, help, image, inbox, list, login, mode, outside,
    pick, rule, say, select, send, stop,
};
use crate::tui::cards::{CardStage, Cards};
use crate::tui::cells::Cell;
use crate::tui::completion::Popup;
use crate::tui::composer::{Editor, Moved};
use crate::tui::find::{Find, FindStage};
use crate::tui::form::{LONGEST, Mode};
use crate::tui::key::{Key, Mods};
use crate::tui::keys::{Action, Context, FindKey, Move, Nav, TextEdit, Weight};
use crate::tui::login::LoginStage;
use crate::tui::model::{
    Chord, Focus, GOODBYE_MS, Life, Model, Overlay, PANEL_FROM_COLUMNS, PANEL_FROM_ROWS, Panel,
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
        Chord::Begun => model.keymap.binding(&[Context::Chord], key),
        Chord::None => None,
    };
    let binding = second.or_else(|| model.keymap.binding(contexts, key));
    let action = binding.map(|row| row.action);
    select::before(model, action);
    if inbox::is_guarded(model, binding) {
        return model.dialogue.show_again(model.now_ms);
    }
    if binding.is_some_and(|row| row.weight == Weight::Approves) && model.dialogue.may_be_held(model.now_ms) {
        return model.dialogue.hold(model.now_ms);
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
    model.dialogue.show_again(model.now_ms);
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
        Overlay::Inbox(inbox) => return inbox::contexts(inbox),
        Overlay::Login(_) => return &[Context::Login, Context::Text, Context::Global],
        Overlay::None => {}
    }
    if let (Focus::Composer, Some(find)) = (model.focus, &model.find) {
        return match find.stage {
            FindStage::Writing => &[Context::Find, Context::Text, Context::Global],
            FindStage::Walking => &[Context::Found, Context::Global],
        };
    }
    if model.focus == Focus::Card && model.asks_cap() {
        return &[Context::Cap, Context::Global];
    }
    match (model.focus, model.cards.current().map(|card| &card.stage)) {
        (Focus::Composer, _) if model.completion.is_open() => {
            &[Context::Completion, Context::Composer, Context::Text, Context::Global]
        }
        (Focus::Composer, _) | (Focus::Card, None) => &[Context::Composer, Context::Text, Context::Global],
        (Focus::Transcript, _) => &[Context::Transcript, Context::Global],
        (Focus::Card, Some(_)) if model.is_list() && model.batch.list.is_refusing() => list::REASON,
        (Focus::Card, Some(_)) if model.is_list() => &[Context::Batch, Context::Global],
        (Focus::Card, Some(CardStage::Reason(_))) => list::REASON,
        (Focus::Card, Some(CardStage::Editing(form))) => match form.mode {
            Mode::Fields => &[Context::Form, Context::Text, Context::Global],
            Mode::Raw => &[Context::Arguments, Context::Text, Context::Global],
        },
        (Focus::Card, Some(CardStage::Rule(_))) => &[Context::Rule, Context::Text, Context::Global],
        (Focus::Card, Some(CardStage::Asking | CardStage::Deciding(_))) => &[Context::Card, Context::Global],
    }
}

/// The text that keys and pastes go to, if any.
fn editor(model: &mut Model) -> Option<&mut Editor> {
    if let Overlay::Pick(_) = model.overlay {
        let Overlay::Pick(pick) = &mut model.overlay else { return None };
        return Some(&mut pick.query);
    }
    if let Overlay::Inbox(_) = model.overlay {
        let Overlay::Inbox(inbox) = &mut model.overlay else { return None };
        return inbox::editor(inbox);
    }
    if let Overlay::Login(_) = model.overlay {
        let Overlay::Login(login) = &mut model.overlay else { return None };
        return (login.stage == LoginStage::Address).then_some(&mut login.address);
    }
    if model.overlay != Overlay::None {
        return None;
    }
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

fn typed(model: &mut Model, key: Key, cmds: &mut Vec<Cmd>) {
    let Some(c) = key.typed() else { return };
    if let Overlay::Help(_) = model.overlay {
        return help::typed(model, c);
    }
    if login::typed(model, c, cmds) {
        return;
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
    if login::paste(model, text) {
        return;
    }
    if in_card && text.len() > LONGEST {
        let outside = [(Context::Text, Action::EditOutside, "opens $EDITOR")];
        let words = model.keymap.told("too long to be pasted here", &outside);
        return card::advise(model, &words);
    }
    // What is searched for is one line.
    let picks = matches!(model.overlay, Overlay::Pick(_) | Overlay::Inbox(_));
    let is_query = picks || (model.focus == Focus::Composer && model.find.is_some());
    let Some(editor) = editor(model) else { return };
    if is_query {
        editor.insert(text.lines().next().unwrap_or_default());
    } else if in_card {
        editor.paste_plain(text);
    } else {
        // What is behind `/` and `!` is a command, and so is a path on an empty line until it is known to be an image.
        let names_images = image::may_name(editor);
        editor.paste(text);
        if names_images == image::MayName::Yes {
            image::pasted(model, text, cmds);
        }
    }
    changed(model, cmds);
}

/// The text with the keys was changed.
fn changed(model: &mut Model, cmds: &mut Vec<Cmd>) {
    match model.overlay {
        Overlay::Pick(_) => return pick::changed(model, cmds),
        Overlay::Inbox(_) => return inbox::changed(model, cmds),
        Overlay::Login(_) => return,
        Overlay::Help(_) | Overlay::None => {}
    }
    match model.focus {
        Focus::Composer if model.find.is_some() => find::changed(model),
        Focus::Composer => model.composer.touched(model.now_ms),
        Focus::Card => card::changed(model, cmds),
        Focus::Transcript => {}
    }
}

pub fn act(model: &mut Model, action: Action, cmds: &mut Vec<Cmd>) {
    match action {
        Action::Escape => stop::escape(model, cmds),
        Action::Interrupt => stop::interrupt(model, cmds),
        Action::Suspend => cmds.push(Cmd::Suspend),
        Action::Redraw => cmds.push(Cmd::Redraw),
        Action::RetryNow => stop::retry_now(model, cmds),
        Action::ToggleFocus if complete::offer(model, cmds) == Offered::Yes => {}
        Action::ToggleFocus => card::toggle_focus(model),
        Action::FocusCard => inbox::all_that_waits(model, cmds),
        Action::FoldDetails if send::expand(model) => {}
        Action::FoldDetails => {
            model.details = model.details.turned();
            model.transcript.fold_alike(|_| true);
        }
        Action::FoldThinking => {
            model.thinking = model.thinking.turned();
            model.transcript.fold_alike(Cell::is_thinking);
        }
        Action::Help => help::open(model, ""),
        Action::Nav(nav) => navigate(model, nav, cmds),
        Action::Top => model.transcript.to_top(),
        Action::Bottom => model.transcript.follow(),
        Action::Send => send::send(model, cmds),
        Action::Unqueue => send::unqueue(model, cmds),
        Action::QuitOrDelete if model.composer.is_empty() => close(model, GOODBYE_MS, cmds),
        Action::QuitOrDelete => self::edit(model, TextEdit::Delete, cmds),
        Action::Move(to) => go(model, to),
        Action::Edit(edit) => self::edit(model, edit, cmds),
        Action::Card(key) => card::act(model, key, cmds),
        Action::Inbox(key) => inbox::act(model, key, cmds),
        Action::Cap(key) => cap::act(model, key, cmds),
        Action::Batch(key) => batch::act(model, key, cmds),
        Action::Form(key) => form::act(model, key),
        Action::Rule(key) => rule::act(model, key, cmds),
        Action::Complete(key) => complete::act(model, key, cmds),
        Action::Pick(key) => pick::act(model, key, cmds),
        Action::Login(key) => login::act(model, key, cmds),
        Action::Find(key) => find::act(model, key),
        Action::Select(key) => select::act(model, key, cmds),
        Action::InHelp(key) => help::act(model, key, cmds),
        Action::SearchHistory => pick::search(model, cmds),
        Action::Stash => send::stash(model),
        Action::PasteImage => image::ask(model, cmds),
        Action::EditOutside => outside::open(model, cmds),
        Action::Chord => model.chord = Chord::Begun,
        Action::NextMode => mode::next(model, cmds),
        Action::TogglePanel if model.panel_room() == 0 => {
            let (columns, rows) = (PANEL_FROM_COLUMNS, PANEL_FROM_ROWS);
            say(model, &format!("the side panel needs {columns} columns and {rows} rows"));
        }
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
fn edit(model: &mut Model, edit: TextEdit, cmds: &mut Vec<Cmd>) {
    if login::edit(model, edit) {
        return;
    }
    let Some(editor) = editor(model) else { return };
    match edit {
        TextEdit::Newline => editor.insert("\n"),
        TextEdit::Backspace => editor.backspace(),
        TextEdit::Delete => editor.delete(),
        TextEdit::KillToEnd => editor.kill_to_end(),
        TextEdit::KillToStart => editor.kill_to_start(),
        TextEdit::KillWordBack => editor.kill_word_back(),
        TextEdit::KillPartBack => editor.kill_part_back(),
        TextEdit::KillWordForward => editor.kill_word_forward(),
        TextEdit::Yank => editor.yank(),
        TextEdit::YankOlder => editor.yank_older(),
        TextEdit::Undo => editor.undo(),
        TextEdit::Redo => editor.redo(),
    }
    changed(model, cmds);
}

/// Moves in the text with the keys; past its first and last row lies the history.
fn go(model: &mut Model, to: Move) {
    if form::go(model, to) || rule::go(model, to) {
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

fn toggle_mouse(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let (mode, words) = match model.mouse {
        MouseMode::Ours => (MouseMode::Terminals, "the mouse is the terminal's: it marks and copies"),
        MouseMode::Terminals => (MouseMode::Ours, "the mouse is ours: wheel, clicks, marking"),
    };
    model.mouse = mode;
    cmds.push(Cmd::Mouse(mode));
    flash(model, words);
}

/// Moves in what has the keys.
fn navigate(model: &mut Model, nav: Nav, cmds: &mut Vec<Cmd>) {
    match model.overlay {
        Overlay::Help(_) => return help::navigate(model, nav),
        Overlay::Pick(_) => return pick::navigate(model, nav, cmds),
        Overlay::Inbox(_) => return inbox::navigate(model, nav, cmds),
        Overlay::Login(_) | Overlay::None => {}
    }
    let look = model.look();
    let page = model.areas().pane.saturating_sub(2).max(1);
    match (nav, model.focus) {
        (Nav::Up, Focus::Card) if model.is_list() => batch::step(model, Cards::previous),
        (Nav::Down, Focus::Card) if model.is_list() => batch::step(model, Cards::next),
        (_, Focus::Card) => card::navigate(model, nav),
        (Nav::PageUp, _) => model.transcript.up(page, &look),
        (Nav::PageDown, _) => model.transcript.down(page, &look),
        (Nav::LineUp, _) => model.transcript.up(1, &look),
        (Nav::LineDown, _) => model.transcript.down(1, &look),
        (Nav::Up, Focus::Transcript) => select::step(model, Direction::Up),
        (Nav::Down, Focus::Transcript) => select::step(model, Direction::Down),
        (Nav::Up, Focus::Composer) if model.find.is_some() => find::step(model, Find::previous),
        (Nav::Down, Focus::Composer) if model.find.is_some() => find::step(model, Find::next),
        (Nav::Up, Focus::Composer) => complete::step(model, Popup::up),
        (Nav::Down, Focus::Composer) => complete::step(model, Popup::down),
    }
}
