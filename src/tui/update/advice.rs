//! What cards and lists of requests say about a key that did nothing, and the yes that all of them propose.

use crate::frontend::dialogue::Yes;
use crate::frontend::protocol::ClientRequest;
use crate::tui::cards::Card;
use crate::tui::keys::{Action, CardKey, Context, Keymap, Nav};
use crate::tui::model::Model;

/// What was not done for want of a look, and the keys that give it.
pub fn unseen(what: &str, card: &Card, keymap: &Keymap) -> String {
    let unread = (Context::Card, Action::Card(CardKey::YesUnread), "approves it unread");
    let mut keys = if card.is_long() {
        vec![(Context::Card, Action::Card(CardKey::Read), "reads all of it in $EDITOR")]
    } else {
        vec![
            (Context::Global, Action::Nav(Nav::PageDown), "to the end"),
            (Context::Card, Action::Card(CardKey::Whole), "makes room"),
        ]
    };
    keys.extend(card.may_be_unread().then_some(unread));
    keymap.told(what, &keys)
}

/// What a yes to nothing is answered with; where `no` says no.
pub fn nothing_left(keymap: &Keymap, context: Context, no: Action) -> String {
    keymap.told("every hunk is skipped, so nothing is left to do", &[(context, no, "says no")])
}

/// With a hunk skipped nothing is allowed for longer.
pub fn only_once(keymap: &Keymap) -> String {
    let rest = [(Context::Card, Action::Card(CardKey::Yes), "approves the rest")];
    keymap.told("with a hunk skipped only this once", &rest)
}

/// Says in the status line what was put off, and how it comes back.
pub fn say_put_off(model: &mut Model, words: &str, again: &str) {
    let words = model.keymap.told(words, &[(Context::Global, Action::FocusCard, again)]);
    model.flash(&words);
}

/// Says something in the card.
pub fn advise(model: &mut Model, words: &str) {
    if let Some(card) = model.cards.current_mut() {
        card.advice = Some(words.to_owned());
    }
}

/// What becomes of a yes to the card on the screen that would send this. One that is out of sight comes back first.
pub fn propose(model: &mut Model, ask: impl FnOnce(&Card) -> ClientRequest) -> Yes<Vec<ClientRequest>> {
    if !model.transcript.follows() {
        model.transcript.follow();
        model.dialogue.show_again(model.now_ms);
        return Yes::TooSoon;
    }
    let Some(card) = model.cards.current() else { return Yes::TooSoon };
    model.dialogue.yes(vec![ask(card)], card.request.risk, card.seen, model.now_ms)
}
