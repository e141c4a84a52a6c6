//! Texts edited in the user's editor. A failure there loses no text.

use super::card;
use crate::tui::form;
use crate::tui::list::ListStage;
use crate::tui::model::{Focus, Model};
use crate::tui::msg::{Cmd, EditTarget, EditedText};
use crate::tui::rule;

/// Shown if the edited text belongs to a card that is settled by now.
const GONE: &str = "the card that was edited is no longer open";

/// Opens the focused text in the user's editor.
pub fn open(model: &Model, cmds: &mut Vec<Cmd>) {
    if model.panel.is_some() || model.find.is_some() {
        return;
    }
    match model.focus {
        Focus::Composer => {
            cmds.push(Cmd::Edit { text: model.composer.editor.text(), target: EditTarget::Composer });
        }
        Focus::Card if model.is_list() => {
            if let ListStage::Reason { editor, of } = &model.batch.list.stage {
                cmds.push(Cmd::Edit { text: editor.text(), target: EditTarget::Reasons(of.clone()) });
            }
        }
        Focus::Card => {
            if let Some(card) = model.cards.current() {
                form::keys::open_outside(card, cmds);
            }
        }
        Focus::Transcript => {}
    }
}

/// Takes the edited text back, unless its card is settled by now.
pub fn take(model: &mut Model, edited: EditedText, cmds: &mut Vec<Cmd>) {
    let text = match edited.text {
        Ok(text) => text,
        Err(reason) => return model.say(&format!("{reason}; the text is unchanged")),
    };
    match edited.target {
        EditTarget::Composer if model.composer.editor.text() == text => model.say("nothing was changed"),
        EditTarget::Composer => {
            model.composer.editor.replace(&text);
            model.composer.on_edit(model.now_ms);
        }
        EditTarget::Arguments(id) => form::keys::take(model, &id, &text),
        EditTarget::Rule(id) => rule::keys::take(model, &id, &text, cmds),
        EditTarget::Reading(id) => card::has_read(model, &id),
        EditTarget::Reason(id) => form::keys::take_reason(model, &id, &text),
        EditTarget::Reasons(ids) if model.batch.list.refused_ids() == ids => {
            model.batch.list.advice = None;
            if let Some(editor) = model.batch.list.editor_mut() {
                editor.replace(text.trim_end_matches('\n'));
            }
        }
        EditTarget::Reasons(_) => model.say(GONE),
    }
}
