//! The keys of the arguments form, and its round trip through the user's editor.

use crate::approval::RequestId;
use crate::tui::cards::{Card, CardStage};
use crate::tui::composer::Editor;
use crate::tui::form::draw::text_width;
use crate::tui::form::{Form, FormSwitchError, Mode};
use crate::tui::keys::{Action, Context, FormKey, Keymap, Move};
use crate::tui::model::{Focus, Model};
use crate::tui::msg::{Cmd, EditTarget};
use crate::tui::update::advice::unseen;

const UNSEEN_TO_EDIT: &str = "read all of it before editing";

/// Opens the form of the arguments.
pub fn open(model: &mut Model) {
    let Some(card) = model.cards.current_mut() else { return };
    if card.is_seen() {
        let tool = &card.request.tool;
        card.edit(model.known.tools.iter().find(|spec| spec.name == *tool));
    } else {
        card.advice = Some(unseen(UNSEEN_TO_EDIT, card, &model.keymap));
    }
}

pub fn act(model: &mut Model, key: FormKey) {
    model.dialogue.withdraw();
    let Some(card) = model.cards.current_mut() else { return };
    card.advice = None;
    let CardStage::Editing(form) = &mut card.stage else { return };
    match key {
        FormKey::NextField => form.next(),
        FormKey::PreviousField => form.previous(),
        FormKey::Enter if form.field().is_some_and(crate::tui::form::Field::has_lines) => {
            if let Some(editor) = form.editor_mut() {
                editor.insert("\n");
            }
            form.validate();
        }
        FormKey::Enter => form.next(),
        FormKey::ResetField => form.reset(),
        FormKey::Raw => {
            let unturned = form.turn().err();
            card.advice = unturned.map(|why| unturned_words(why, &model.keymap));
        }
    }
}

fn unturned_words(why: FormSwitchError, keymap: &Keymap) -> String {
    match why {
        FormSwitchError::TooLong => {
            let outside = [(Context::Text, Action::EditOutside, "opens it in $EDITOR")];
            keymap.with_hints("too long to show as one text", &outside)
        }
        FormSwitchError::NotJson => "no fields to show until this is valid JSON".to_owned(),
        FormSwitchError::NoFields => "no fields to show".to_owned(),
    }
}

/// Handles a character in a field without text: a space selects the next choice. Returns whether it did.
pub fn on_char(model: &mut Model, c: char) -> bool {
    c == ' ' && turn(model, true)
}

/// Handles a move between choices or fields. Returns false if it belongs to the text.
pub fn go(model: &mut Model, to: Move) -> bool {
    match to {
        Move::Left => turn(model, false),
        Move::Right => turn(model, true),
        Move::Up => rows(model, Editor::up, Form::previous),
        Move::Down => rows(model, Editor::down, Form::next),
        Move::WordLeft | Move::WordRight | Move::LineStart | Move::LineEnd => false,
    }
}

fn turn(model: &mut Model, forward: bool) -> bool {
    let Some(form) = form_mut(model) else { return false };
    let turned = form.field_mut().is_some_and(|field| field.turn(forward));
    if turned {
        form.validate();
        model.dialogue.withdraw();
    }
    turned
}

/// Moves a row up or down in the text, at its edge to another field.
fn rows(model: &mut Model, step: fn(&mut Editor, usize) -> bool, leave: fn(&mut Form)) -> bool {
    let card_width = model.card_columns();
    let Some(form) = form_mut(model) else { return false };
    let width = text_width(form, card_width);
    let moved = form.editor_mut().is_some_and(|editor| step(editor, width));
    if !moved && form.mode == Mode::Fields {
        leave(form);
    }
    true
}

/// Returns the form if it has the keys.
fn form_mut(model: &mut Model) -> Option<&mut Form> {
    if model.focus != Focus::Card {
        return None;
    }
    if let CardStage::Editing(form) = &mut model.cards.current_mut()?.stage { Some(form) } else { None }
}

/// Opens the text being written in the card in the user's editor.
pub fn open_outside(card: &Card, cmds: &mut Vec<Cmd>) {
    let id = card.request.id.clone();
    let (text, target) = match &card.stage {
        CardStage::Editing(form) => (form.text(), EditTarget::Arguments(id)),
        CardStage::Reason(editor) => (editor.text(), EditTarget::Reason(id)),
        CardStage::Rule(rule) if rule.is_written => (rule.text.text(), EditTarget::Rule(id)),
        CardStage::Asking | CardStage::Rule(_) | CardStage::Deciding(_) => return,
    };
    cmds.push(Cmd::Edit { text, target });
}

/// Takes arguments back from the user's editor.
pub fn take(model: &mut Model, id: &RequestId, text: &str) {
    model.dialogue.withdraw();
    let Some(card) = edited_card(model, id) else { return };
    if let CardStage::Editing(form) = &mut card.stage {
        form.take(text.trim_end_matches('\n'));
        card.advice = None;
    } else {
        card.advice = Some("the form was closed in the meantime; the edit was discarded".to_owned());
    }
}

/// Returns the card of a request whose text was edited, unless it was decided in the meantime.
pub fn edited_card<'a>(model: &'a mut Model, id: &RequestId) -> Option<&'a mut Card> {
    if model.cards.find(id).is_none() {
        model.flash("the edited request was decided in the meantime");
    }
    model.cards.find_mut(id)
}

/// Takes the reason of a denial back from the user's editor.
pub fn take_reason(model: &mut Model, id: &RequestId, text: &str) {
    let Some(card) = edited_card(model, id) else { return };
    let text = text.trim_end_matches('\n');
    if let CardStage::Reason(editor) = &mut card.stage {
        editor.replace(text);
    } else {
        card.reason.replace(text);
    }
}
