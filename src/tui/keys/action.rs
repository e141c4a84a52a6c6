//! The actions of keys. A row of the table assigns the key, the context and the name.

use crate::agent::caps::CapAnswer;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Closes the innermost element; with nothing open, interrupts.
    Escape,
    Interrupt,
    Suspend,
    Redraw,
    ToggleFocus,
    FocusCard,
    Top,
    Bottom,
    FoldDetails,
    FoldThinking,
    RetryNow,
    Unqueue,
    Send,
    QuitOrDelete,
    /// Lets running commands go on in the background; moves left while nothing runs or something is written.
    ToBackground,
    Help,
    Nav(Nav),
    Move(Move),
    Edit(TextEdit),
    Card(CardKey),
    List(ListKey),
    Cap(CapAnswer),
    Form(FormKey),
    Rule(RuleKey),
    Complete(CompleteKey),
    /// An action that only the open panel has, by its name there.
    Panel(&'static str),
    Find(FindKey),
    Select(SelectKey),
    /// Opens the list of models.
    PickModel,
    /// Opens the search in the input history.
    SearchHistory,
    /// Stashes the text, or restores it.
    Stash,
    /// Pastes the clipboard's image, or its text.
    PasteImage,
    /// Opens the focused text in the user's editor.
    EditOutside,
    /// Waits for the second key of a chord.
    Chord,
    TogglePanel,
    ToggleMouse,
    /// Switches to the next mode.
    NextMode,
}

/// Moves in the focused element: a list, the cards, the matches of a search, the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Nav {
    /// To the previous row, card, match or block.
    Up,
    /// To the next one.
    Down,
    PageUp,
    PageDown,
    /// One line of the content.
    LineUp,
    LineDown,
}

impl Nav {
    /// Returns the row to go to from row `at`, which may be beyond the last one.
    pub fn row(self, at: usize, page: usize) -> usize {
        match self {
            Self::PageUp => at.saturating_sub(page),
            Self::PageDown => at + page,
            Self::Up | Self::LineUp => at.saturating_sub(1),
            Self::Down | Self::LineDown => at + 1,
        }
    }
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
pub enum TextEdit {
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

/// Actions at a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CardKey {
    Yes,
    /// Yes to the contents of a file that were not all on the screen.
    YesUnread,
    No,
    Edit,
    Always,
    Whole,
    Why,
    SendNo,
    ApproveEdited,
    /// Opens the rule that would allow it.
    Rule,
    /// Opens the whole request in the user's editor, for reading only.
    Read,
    /// Skips the hunk of this number, or includes it again.
    Hunk(u8),
    /// The same for the current hunk.
    HunkHere,
    NextHunk,
    PreviousHunk,
    /// Old and new side by side, or one below the other.
    Sides,
}

/// Actions at a list of requests: those of this session, or the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListKey {
    Mark,
    MarkLow,
    /// Marks all except HIGH ones and those with untrusted text.
    MarkMost,
    Yes,
    No,
    /// Shows one as a card of its own, or all of it in the inbox, and back.
    Open,
    /// Opens the pager.
    Whole,
    Why,
    /// Edits the arguments; only at a list of this session.
    Edit,
    /// Opens the rule that would allow it; only at a list of this session.
    Rule,
}

/// Actions in a form of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FormKey {
    NextField,
    PreviousField,
    ResetField,
    /// A line break in a field with lines, else the next field.
    Enter,
    /// The same arguments as JSON text, and back.
    Raw,
}

/// Actions in a rule being chosen or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RuleKey {
    /// Chooses the width of this number, from 1.
    Width(u8),
    /// Shows the rule as text.
    Write,
    /// Saves it and approves the request.
    Save,
    /// Switches the scope.
    Scope,
    /// Restores the draft.
    Reset,
}

/// Actions at the completion popup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompleteKey {
    Accept,
    /// Enter: accepts a command that needs no argument, and sends it.
    Enter,
}

/// Actions of the search in the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FindKey {
    Open,
    /// Goes to the next or previous match; only in the pager.
    Next,
    Previous,
    /// Returns to the editing of the query.
    Edit,
    /// Switches whether the output of tools is searched.
    Tools,
}

/// Actions in the focused transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SelectKey {
    Fold,
    Copy,
    /// Writes a command that failed into the composer, to be run outside of the sandbox by the user.
    RunOutside,
    /// Begins to mark lines, which moves then extend.
    Lines,
    ExtendUp,
    ExtendDown,
}
