//! A card that takes the keys by itself: when it does, which keys then are for it, and how it gives them back.
//!
//! It takes them while the composer is empty and no key came for a second, or at once if the card before it was decided
//! and nothing was typed since. A character is for the card only if it answers there and no other key follows it; any
//! other character is for the composer, with those before it.

use super::select;
use crate::tui::batch;
use crate::tui::key::Key;
use crate::tui::keys::{Action, CardKey, Context, ListKey};
use crate::tui::model::{Focus, Model};

/// Gives the keys to the shown requests or back to the composer, after every message.
pub fn settle(model: &mut Model) {
    if model.focus == Focus::Card && model.cards.current().is_none() && !model.asks_cap() {
        model.focus = Focus::Composer;
        model.auto_focus.continues = model.turn.is_some() && model.composer.is_empty();
    }
    if model.auto_focus.is_on && !model.composer.is_empty() {
        model.focus = Focus::Composer;
    }
    // Once a reason is being written, letters are text there.
    if model.focus != Focus::Card || batch::keys::writes(model) {
        model.auto_focus.is_on = false;
    }
    if model.takes_keys_at().is_some_and(|due| due <= model.now_ms) {
        model.focus = Focus::Card;
        model.auto_focus.is_on = true;
        model.auto_focus.continues = false;
        model.dialogue.show_again(model.now_ms);
    }
}

/// Records that the user moves away from the shown requests.
pub fn leave(model: &mut Model) {
    model.auto_focus.is_on = false;
    model.auto_focus.left = model.cards.visible().map(|card| card.request.id.clone()).collect();
}

/// The meaning of a key for a card that took the keys by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyMeaning {
    /// It answers, unless another key follows.
    Answer,
    /// It is typed text.
    Text,
    /// It moves the focus to the card.
    Focus,
    /// It is no text: it works as at any card.
    Command,
}

pub fn meaning(model: &Model, key: Key) -> KeyMeaning {
    if key.typed_char().is_none() {
        let action = model.keymap.action(&[Context::Global], key);
        let focuses = matches!(action, Some(Action::ToggleFocus | Action::FocusCard));
        return if focuses { KeyMeaning::Focus } else { KeyMeaning::Command };
    }
    let context = if model.is_list() { Context::Batch } else { Context::Card };
    match model.keymap.action(&[context], key) {
        Some(Action::Card(CardKey::Yes | CardKey::No | CardKey::Whole)) => KeyMeaning::Answer,
        Some(Action::List(ListKey::Yes | ListKey::No | ListKey::Whole)) => KeyMeaning::Answer,
        Some(_) | None => KeyMeaning::Text,
    }
}

/// Gives the keys back to the composer, with the characters that turned out to be text.
pub fn give_back(model: &mut Model, key: Option<(Key, usize)>) {
    model.focus = Focus::Composer;
    model.auto_focus.is_on = false;
    select::drop_mark(model);
    if let Some((c, times)) = key.and_then(|(key, times)| Some((key.typed_char()?, times))) {
        model.composer.editor.insert(&c.to_string().repeat(times));
        model.composer.on_edit(model.now_ms);
    }
}
