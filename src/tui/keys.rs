//! The one table of keys: context × key → action, with the words that help shows for it.
//!
//! Help, hints and (later) rebinding derive from it; no other file tests for a command key. Called by `update::key`
//! and `view::help`.

use super::key::{Code, Key, Mods};

/// Where a key is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Context {
    /// Everywhere, after the contexts below.
    Global,
    /// Wherever text is written.
    Text,
    Composer,
    /// A card has the keys and asks.
    Card,
    /// The reason of a no is being written.
    Reason,
    /// Arguments are being edited.
    Arguments,
    Help,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Closes the innermost thing; with nothing open, interrupts.
    Escape,
    Interrupt,
    Suspend,
    Redraw,
    ToggleFocus,
    FocusCard,
    Scroll(Scroll),
    Top,
    Bottom,
    FoldDetails,
    FoldThinking,
    RetryNow,
    Unqueue,
    Send,
    QuitOrDelete,
    Help,
    Move(Move),
    Change(Change),
    Card(CardKey),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scroll {
    PageUp,
    PageDown,
    LineUp,
    LineDown,
}

/// Moves of the cursor in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Move {
    Left,
    Right,
    Up,
    Down,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
}

/// Changes of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    Newline,
    Backspace,
    Delete,
    KillToEnd,
    KillToStart,
    KillWordBack,
    KillPartBack,
    KillWordForward,
    Yank,
    YankOlder,
    Undo,
    Redo,
}

/// What is done at a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CardKey {
    Yes,
    No,
    Edit,
    Always,
    Whole,
    Why,
    Next,
    Previous,
    SendNo,
    ApproveEdited,
}

/// Under which heading help lists a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Group {
    Write,
    Work,
    Read,
    Decide,
}

impl Group {
    pub const ALL: [Self; 4] = [Self::Write, Self::Work, Self::Read, Self::Decide];

    pub fn title(self) -> &'static str {
        match self {
            Self::Write => "WRITE",
            Self::Work => "WORK",
            Self::Read => "READ",
            Self::Decide => "DECIDE (card has the keys)",
        }
    }
}

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    pub context: Context,
    pub keys: &'static [Key],
    pub action: Action,
    pub group: Group,
    /// What help says; empty for keys everybody knows.
    pub help: &'static str,
}

const fn on(
    context: Context,
    group: Group,
    action: Action,
    keys: &'static [Key],
    help: &'static str,
) -> Binding {
    Binding { context, keys, action, group, help }
}

const ENTER: Key = Key::plain(Code::Enter);
const ESC: Key = Key::plain(Code::Esc);
const CTRL_LEFT: Key = Key::held(Mods::CTRL, Code::Left);
const CTRL_RIGHT: Key = Key::held(Mods::CTRL, Code::Right);
const SHIFT_ENTER: Key = Key::held(Mods::SHIFT, Code::Enter);
const ALT_ENTER: Key = Key::held(Mods::ALT, Code::Enter);
const ALT_BACKSPACE: Key = Key::held(Mods::ALT, Code::Backspace);
/// Terminals send Ctrl+_ in several guises.
const UNDO: &[Key] = &[Key::ctrl('_'), Key::ctrl('-'), Key::ctrl('7'), Key::ctrl('/')];

#[rustfmt::skip]
pub const TABLE: &[Binding] = &[
    on(Context::Composer, Group::Write, Action::Send, &[ENTER], "send; queue while busy"),
    on(Context::Composer, Group::Write, Action::Change(Change::Newline), &[SHIFT_ENTER, ALT_ENTER, Key::ctrl('j')], "newline (or \\ Enter)"),
    on(Context::Composer, Group::Write, Action::Move(Move::Up), &[Key::plain(Code::Up)], "up; history at top"),
    on(Context::Composer, Group::Write, Action::Move(Move::Down), &[Key::plain(Code::Down)], "down; history at end"),
    on(Context::Composer, Group::Write, Action::Unqueue, &[Key::held(Mods::ALT, Code::Up)], "take queued text back"),
    on(Context::Composer, Group::Work, Action::QuitOrDelete, &[Key::ctrl('d')], "quit when empty"),
    on(Context::Composer, Group::Work, Action::Help, &[Key::char('?')], "this help (empty line)"),

    on(Context::Text, Group::Write, Action::Move(Move::Left), &[Key::plain(Code::Left), Key::ctrl('b')], ""),
    on(Context::Text, Group::Write, Action::Move(Move::Right), &[Key::plain(Code::Right), Key::ctrl('f')], ""),
    on(Context::Text, Group::Write, Action::Move(Move::Up), &[Key::plain(Code::Up)], ""),
    on(Context::Text, Group::Write, Action::Move(Move::Down), &[Key::plain(Code::Down)], ""),
    on(Context::Text, Group::Write, Action::Move(Move::WordLeft), &[Key::alt('b'), CTRL_LEFT, Key::held(Mods::ALT, Code::Left)], "word left"),
    on(Context::Text, Group::Write, Action::Move(Move::WordRight), &[Key::alt('f'), CTRL_RIGHT, Key::held(Mods::ALT, Code::Right)], "word right"),
    on(Context::Text, Group::Write, Action::Move(Move::LineStart), &[Key::ctrl('a'), Key::plain(Code::Home)], "start of line"),
    on(Context::Text, Group::Write, Action::Move(Move::LineEnd), &[Key::ctrl('e'), Key::plain(Code::End)], "end of line"),
    on(Context::Text, Group::Write, Action::Change(Change::Backspace), &[Key::plain(Code::Backspace), Key::ctrl('h'), Key::held(Mods::SHIFT, Code::Backspace)], ""),
    on(Context::Text, Group::Write, Action::Change(Change::Delete), &[Key::plain(Code::Delete), Key::ctrl('d')], ""),
    on(Context::Text, Group::Write, Action::Change(Change::KillToEnd), &[Key::ctrl('k')], "cut to the end"),
    on(Context::Text, Group::Write, Action::Change(Change::KillToStart), &[Key::ctrl('u')], "cut to the start"),
    on(Context::Text, Group::Write, Action::Change(Change::KillWordBack), &[Key::ctrl('w')], "cut a word back"),
    on(Context::Text, Group::Write, Action::Change(Change::KillPartBack), &[ALT_BACKSPACE], ""),
    on(Context::Text, Group::Write, Action::Change(Change::KillWordForward), &[Key::alt('d')], "cut a word on"),
    on(Context::Text, Group::Write, Action::Change(Change::Yank), &[Key::ctrl('y')], "put back what was cut"),
    on(Context::Text, Group::Write, Action::Change(Change::YankOlder), &[Key::alt('y')], "then: what before that"),
    on(Context::Text, Group::Write, Action::Change(Change::Undo), UNDO, "undo"),
    on(Context::Text, Group::Write, Action::Change(Change::Redo), &[Key::alt('_'), Key::alt('/')], "redo"),

    on(Context::Global, Group::Work, Action::Escape, &[ESC], "close, then interrupt"),
    on(Context::Global, Group::Work, Action::Interrupt, &[Key::ctrl('c')], "stop, clear; ×2 quits"),
    on(Context::Global, Group::Work, Action::Suspend, &[Key::ctrl('z')], "suspend"),
    on(Context::Global, Group::Work, Action::RetryNow, &[Key::alt('r')], "retry now"),
    on(Context::Global, Group::Work, Action::Redraw, &[Key::ctrl('l')], "redraw"),
    on(Context::Global, Group::Decide, Action::ToggleFocus, &[Key::plain(Code::Tab)], "keys to card, and back"),
    on(Context::Global, Group::Decide, Action::FocusCard, &[Key::alt('a')], "to all that waits"),
    on(Context::Global, Group::Read, Action::Scroll(Scroll::PageUp), &[Key::plain(Code::PageUp)], "scroll up"),
    on(Context::Global, Group::Read, Action::Scroll(Scroll::PageDown), &[Key::plain(Code::PageDown)], "scroll down"),
    on(Context::Global, Group::Read, Action::Scroll(Scroll::LineUp), &[Key::held(Mods::CTRL, Code::Up), Key::held(Mods::SHIFT, Code::Up)], "a line up"),
    on(Context::Global, Group::Read, Action::Scroll(Scroll::LineDown), &[Key::held(Mods::CTRL, Code::Down), Key::held(Mods::SHIFT, Code::Down)], "a line down"),
    on(Context::Global, Group::Read, Action::Top, &[Key::held(Mods::CTRL, Code::Home)], "to the top"),
    on(Context::Global, Group::Read, Action::Bottom, &[Key::held(Mods::CTRL, Code::End)], "to the end, follow"),
    on(Context::Global, Group::Read, Action::FoldDetails, &[Key::ctrl('o')], "fold or show details"),
    on(Context::Global, Group::Read, Action::FoldThinking, &[Key::alt('t')], "fold or show thinking"),

    on(Context::Card, Group::Decide, Action::Card(CardKey::Yes), &[Key::char('y')], "yes (HIGH: twice)"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::No), &[Key::char('n')], "no, with a reason"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Edit), &[Key::char('e')], "edit the arguments"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Always), &[Key::char('a')], "yes, this session"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Whole), &[Key::char('v')], "all, with arguments"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Why), &[Key::char('w')], "why it asks"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Previous), &[Key::plain(Code::Up)], "the card before"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Next), &[Key::plain(Code::Down)], "the next card"),
    on(Context::Reason, Group::Decide, Action::Card(CardKey::SendNo), &[ENTER], ""),
    on(Context::Arguments, Group::Decide, Action::Card(CardKey::ApproveEdited), &[Key::ctrl('s')], "approve the edited"),
    on(Context::Arguments, Group::Decide, Action::Change(Change::Newline), &[ENTER, SHIFT_ENTER, ALT_ENTER, Key::ctrl('j')], ""),

    on(Context::Help, Group::Read, Action::Escape, &[ESC, Key::char('?'), Key::char('q'), Key::ctrl('c')], ""),
    on(Context::Help, Group::Read, Action::Scroll(Scroll::LineUp), &[Key::plain(Code::Up), Key::char('k')], ""),
    on(Context::Help, Group::Read, Action::Scroll(Scroll::LineDown), &[Key::plain(Code::Down), Key::char('j')], ""),
];

/// What `key` does in the first of `contexts` that knows it.
pub fn action(contexts: &[Context], key: Key) -> Option<Action> {
    contexts.iter().find_map(|context| {
        TABLE
            .iter()
            .find(|binding| binding.context == *context && binding.keys.contains(&key))
            .map(|binding| binding.action)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_key_means_two_things_in_one_context() {
        let mut seen = HashSet::new();
        for binding in TABLE {
            for key in binding.keys {
                assert!(seen.insert((binding.context, *key)), "{key} twice in {:?}", binding.context);
            }
        }
    }

    #[test]
    fn help_fits_its_column() {
        for binding in TABLE {
            assert!(binding.help.chars().count() <= 22, "{:?}", binding.help);
        }
    }

    #[test]
    fn no_single_key_of_a_reflex_approves() {
        for key in [ENTER, ESC, Key::char(' '), Key::plain(Code::Tab)] {
            for contexts in [&[Context::Card, Context::Global][..], &[Context::Arguments, Context::Text]] {
                let done = action(contexts, key);
                assert!(!matches!(done, Some(Action::Card(_))), "{key} in {contexts:?}");
            }
        }
    }

    #[test]
    fn letters_are_never_taken_from_the_text() {
        for letter in 'a'..='z' {
            for context in
                [Context::Composer, Context::Text, Context::Reason, Context::Arguments, Context::Global]
            {
                assert_eq!(action(&[context], Key::char(letter)), None, "{letter} in {context:?}");
            }
        }
    }
}
