//! What keys do. A row of the table says by which key, where, and under which name.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Closes the innermost thing; with nothing open, interrupts.
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
    Help,
    Nav(Nav),
    Move(Move),
    Edit(TextEdit),
    Card(CardKey),
    List(ListKey),
    Cap(CapKey),
    Form(FormKey),
    Rule(RuleKey),
    Complete(CompleteKey),
    Pick(PickKey),
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

/// Moves in what has the keys: a list, the cards, the matches of a search, the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Nav {
    /// To the one before: row, card, match or block.
    Up,
    /// To the next one.
    Down,
    PageUp,
    PageDown,
    /// One line of what is shown.
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

/// What is done at a card.
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

/// What is done at a list of requests: those of this session, or the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListKey {
    Mark,
    MarkLow,
    Yes,
    No,
    /// Shows one as a card of its own, or all of it in the inbox, and back.
    Open,
    /// Shows the arguments too.
    Whole,
    Why,
    /// Edits the arguments; only at a list of this session.
    Edit,
    /// Opens the rule that would allow it; only at a list of this session.
    Rule,
    /// Decides later; this and the keys below are of the inbox only.
    Later,
    /// Lets a session go on that nobody has open.
    Resume,
    /// Opens the session in place of this one.
    OpenSession,
    Filter,
    /// Ends the writing of the filter.
    Filtered,
    /// Switches between one session and all.
    Narrow,
}

impl ListKey {
    /// Whether it decides something, or begins to: such a key does nothing in the first moment.
    pub fn decides(self) -> bool {
        match self {
            Self::Yes | Self::No | Self::Later | Self::Mark | Self::MarkLow => true,
            Self::Edit | Self::Rule | Self::Resume | Self::OpenSession => true,
            Self::Open | Self::Whole | Self::Why | Self::Filter | Self::Filtered | Self::Narrow => false,
        }
    }
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
    Accept,
    /// Enter: takes a command that needs nothing more, and sends it.
    Enter,
}

/// What is done at a list to pick from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PickKey {
    /// Between this folder and everything.
    Narrow,
    Accept,
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
    /// Whether the output of tools is searched too.
    Tools,
}

/// What is done in the transcript while it has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SelectKey {
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
    /// Does what the marked key does.
    Run,
    /// The last character of the filter.
    Erase,
    /// The whole filter.
    Clear,
}
