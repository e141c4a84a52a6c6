//! The one table of keys: context × key → action, with the words that help shows for it.
//!
//! Help, hints and rebinding derive from it; no other file tests for a command key. The rows stand in one file a
//! place; [`Keymap`] is the table as this person has it. Called by `update::key` and the views.

#![cfg_attr(
    not(test),
    expect(clippy::wildcard_imports, reason = "the files of rows are parts of this table")
)]

mod batch;
mod cap;
mod card;
mod complete;
mod conflict;
mod form;
mod global;
mod help;
mod hint;
mod inbox;
mod keymap;
mod list;
mod login;
mod names;
mod pick;
mod problem;
mod rule;
mod transcript;
mod write;
mod written;

pub use self::hint::Hint;
pub use self::keymap::{Bound, Keymap};
pub use self::list::{Listed, list, reference_table, words};
pub use self::names::{LAYERS, Letters, Weight};
pub use self::problem::{KeyProblem, Refusal};
pub use self::written::{WrittenKeyError, parse_key};
use super::key::{Code, Key, Mods};

/// Where a key is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Context {
    /// Everywhere, after the contexts below.
    Global,
    /// Wherever text is written.
    Text,
    Composer,
    /// The first key of a chord was pressed just now; before the context it was pressed in.
    Chord,
    /// A card has the keys and asks.
    Card,
    /// The reason of a no is being written.
    Reason,
    /// Arguments are being edited as text.
    Arguments,
    /// Arguments are being edited as a form.
    Form,
    /// A rule is being written at a card.
    Rule,
    /// Several requests shown as one list have the keys.
    Batch,
    /// The question at a cap has the keys.
    Cap,
    /// The completion popup is open over the composer; before its contexts.
    Completion,
    /// The transcript has the keys.
    Transcript,
    /// What is searched for in the transcript is being written.
    Find,
    /// It was written, and letters go from match to match.
    Found,
    /// The inbox lies over the transcript.
    Inbox,
    /// Its filter is being written.
    InboxFilter,
    /// A list to pick from lies over the transcript.
    Pick,
    /// A service is being set up.
    Login,
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
    Batch(BatchKey),
    Cap(CapKey),
    Form(FormKey),
    Rule(RuleKey),
    Complete(CompleteKey),
    Pick(PickKey),
    Inbox(InboxKey),
    Login(LoginKey),
    Find(FindKey),
    Select(SelectKey),
    InHelp(HelpKey),
    /// Opens the search in what was entered before.
    SearchHistory,
    /// Puts the text aside, or brings it back.
    Stash,
    /// Pastes the clipboard's image, or its text.
    PasteImage,
    /// Opens the text with the keys in the person's own editor.
    EditOutside,
    /// Waits for the second key of a chord.
    Chord,
    TogglePanel,
    ToggleMouse,
    /// What is asked for: the next of the four modes.
    NextMode,
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
    /// Opens the rule that would allow it.
    Rule,
    /// Opens all of it in the person's own editor, to be read.
    Read,
    /// Skips the hunk of this number, or keeps it after all.
    Hunk(u8),
    /// The same for the hunk the person is at.
    HunkHere,
    NextHunk,
    PreviousHunk,
    /// Old and new side by side, or one below the other.
    Sides,
}

/// What is done at a list of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BatchKey {
    Previous,
    Next,
    Mark,
    MarkLow,
    /// Opens one as a card of its own.
    Open,
    Edit,
    Rule,
    Yes,
    No,
    Whole,
    Why,
}

/// What is said at a cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CapKey {
    GoOn,
    Raise,
    Stop,
}

/// What is done in a form of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FormKey {
    NextField,
    PreviousField,
    ResetField,
    /// A line break where the field has lines, else the next field.
    Enter,
    /// The same arguments as JSON text, and back.
    Raw,
}

/// What is done in a rule that is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RuleKey {
    /// Saves it and approves the request.
    Save,
    /// For how long it counts.
    Scope,
    /// As it was drafted.
    Reset,
}

/// What is done at the completion popup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompleteKey {
    Previous,
    Next,
    Accept,
    /// Enter: takes a command that needs nothing more, and sends it.
    Enter,
}

/// What is done at a list to pick from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PickKey {
    Previous,
    Next,
    /// Between this folder and everything.
    Narrow,
    Accept,
}

/// What is done at the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InboxKey {
    Previous,
    Next,
    Mark,
    MarkLow,
    Yes,
    No,
    Later,
    /// As a card where it is of this session; else all of it, and back.
    Open,
    /// The arguments too.
    All,
    Why,
    /// Lets a session go on that nobody has open.
    Resume,
    /// Opens the session in place of this one.
    Go,
    Filter,
    /// The filter is written.
    Filtered,
    /// Between one session and all.
    Narrow,
}

/// What is done where a service is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LoginKey {
    /// To the next field, and behind the last one tries it.
    Next,
    Turn,
}

/// What is done about the search in the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FindKey {
    Open,
    /// What is searched for can be written again.
    Edit,
    Previous,
    Next,
    /// Whether the output of tools is searched too.
    Tools,
}

/// What is done in the transcript while it has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SelectKey {
    Previous,
    Next,
    Fold,
    Copy,
    /// Begins to mark lines, which moves then extend.
    Lines,
    ExtendUp,
    ExtendDown,
}

/// What is done in the list of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HelpKey {
    Previous,
    Next,
    /// Does what the marked key does.
    Run,
    /// The last character of the filter.
    Erase,
    /// The whole filter.
    Clear,
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
#[derive(Debug, Clone, Copy, PartialEq)]
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
const SHIFT_TAB: Key = Key::held(Mods::SHIFT, Code::Tab);
const ALT_BACKSPACE: Key = Key::held(Mods::ALT, Code::Backspace);
/// Terminals send Ctrl+_ in several guises.
const UNDO: &[Key] = &[Key::ctrl('_'), Key::ctrl('-'), Key::ctrl('7'), Key::ctrl('/')];

/// All rows, by place.
const TABLES: &[&[Binding]] = &[
    write::ROWS,
    complete::ROWS,
    global::ROWS,
    card::ROWS,
    batch::ROWS,
    cap::ROWS,
    form::ROWS,
    rule::ROWS,
    transcript::ROWS,
    inbox::ROWS,
    pick::ROWS,
    login::ROWS,
    help::ROWS,
];

/// Every row of the table, in the order in which help lists them.
pub fn rows() -> impl Iterator<Item = &'static Binding> {
    TABLES.iter().flat_map(|rows| rows.iter())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_key_means_two_things_in_one_context() {
        let mut seen = HashSet::new();
        for binding in rows() {
            for key in binding.keys {
                assert!(seen.insert((binding.context, *key)), "{key} twice in {:?}", binding.context);
            }
        }
    }

    #[test]
    fn help_fits_its_column() {
        for binding in rows() {
            assert!(binding.help.chars().count() <= 22, "{:?}", binding.help);
        }
    }

    #[test]
    fn names_are_one_of_a_kind_and_can_be_written() {
        let mut seen = HashSet::new();
        for binding in rows() {
            let (context, action) = (binding.context.name(), binding.action.name());
            assert!(seen.insert((context, action)), "{context}.{action} twice");
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(context.chars().chain(action.chars()).all(plain), "{context}.{action}");
        }
    }

    #[test]
    fn every_context_is_listed_and_asked_somewhere() {
        for context in rows().map(|row| row.context) {
            assert!(Context::ALL.contains(&context), "{context:?}");
            assert!(LAYERS.iter().any(|layer| layer.contains(&context)), "{context:?}");
        }
    }

    #[test]
    fn no_single_key_of_a_reflex_approves() {
        for key in [ENTER, ESC, Key::char(' '), Key::plain(Code::Tab), SHIFT_ENTER, ALT_ENTER, Key::ctrl('j')]
        {
            for contexts in LAYERS {
                let done = Keymap::default().action(contexts, key);
                assert!(
                    done.is_none_or(|action| action.weight() != Weight::Approves),
                    "{key} in {contexts:?}"
                );
            }
            let done = Keymap::default().action(&[Context::Batch, Context::Global], key);
            assert!(!matches!(done, Some(Action::Batch(BatchKey::Yes | BatchKey::No))), "{key} in a list");
        }
    }

    #[test]
    fn letters_are_never_taken_from_the_text() {
        for letter in 'a'..='z' {
            for context in [
                Context::Composer,
                Context::Text,
                Context::Reason,
                Context::Arguments,
                Context::Rule,
                Context::Global,
            ] {
                assert_eq!(
                    Keymap::default().action(&[context], Key::char(letter)),
                    None,
                    "{letter} in {context:?}"
                );
            }
        }
    }
}
