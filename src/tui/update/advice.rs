//! Advice shown for a key that did nothing, and the approval step that cards and request lists share.

use crate::frontend::dialogue::{ApprovalEffect, SeenPart};
use crate::frontend::protocol::ClientRequest;
use crate::tui::cards::Card;
use crate::tui::keys::{Action, CardKey, Context, Keymap, Nav};
use crate::tui::model::Model;

/// Returns advice for an action refused because the request was not fully shown, with the keys that show more of it.
pub fn unseen(what: &str, card: &Card, keymap: &Keymap) -> String {
    let unread = (Context::Card, Action::Card(CardKey::YesUnread), "approves it unread");
    let mut keys = vec![
        (Context::Global, Action::Nav(Nav::PageDown), "to the end"),
        (Context::Card, Action::Card(CardKey::Whole), "shows all of it"),
    ];
    keys.extend(card.is_long().then_some((
        Context::Card,
        Action::Card(CardKey::Read),
        "opens it in $EDITOR",
    )));
    keys.extend(card.may_be_unread().then_some(unread));
    keymap.with_hints(what, &keys)
}

/// Returns advice for a lasting approval that was refused because a hunk is skipped.
pub fn only_once(keymap: &Keymap) -> String {
    let rest = [(Context::Card, Action::Card(CardKey::Yes), "approves the rest")];
    keymap.with_hints("only once while a hunk is skipped", &rest)
}

/// Shows in the status line what was postponed, and the key that brings it back.
pub fn say_postponed(model: &mut Model, words: &str, again: &str) {
    let words = model.keymap.with_hints(words, &[(Context::Global, Action::FocusCard, again)]);
    model.flash(&words);
}

/// Sets the advice of the current card.
pub fn advise(model: &mut Model, words: &str) {
    if let Some(card) = model.cards.current_mut() {
        card.advice = Some(words.to_owned());
    }
}

/// Proposes an approval of the current card to the dialogue. If the card is out of sight, it is scrolled back first.
pub fn propose(
    model: &mut Model,
    seen: Option<SeenPart>,
    ask: impl FnOnce(&Card) -> ClientRequest,
) -> ApprovalEffect<ClientRequest> {
    if scroll_back(model) {
        return ApprovalEffect::TooSoon;
    }
    let Some(card) = model.cards.current() else { return ApprovalEffect::TooSoon };
    model.dialogue.yes(ask(card), card.request.risk, seen.unwrap_or(card.seen), model.now_ms)
}

/// Scrolls back to a card, list or question out of sight, and guards it again, like a new one; returns whether it was.
pub fn scroll_back(model: &mut Model) -> bool {
    let is_hidden = !model.transcript.follows();
    if is_hidden {
        model.transcript.follow();
        model.dialogue.show_again(model.now_ms);
    }
    is_hidden
}
