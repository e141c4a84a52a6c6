//! The names by which contexts and actions are rebound, and what of them must be known to do so safely.
//!
//! Names are written into settings files: they never change. A name is one of a kind in its context.

use super::{
    Action, BatchKey, CapKey, CardKey, Change, CompleteKey, Context, FindKey, FormKey, HelpKey, InboxKey,
    LoginKey, Move, PickKey, RuleKey, Scroll, SelectKey,
};

/// What an action can do that a key must not do by accident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    Light,
    /// It lets something happen: the keys of a reflex never do that.
    Approves,
    /// The way out: some key always does it.
    WayOut,
}

/// Whether letters are text in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Letters {
    AreText,
    AreKeys,
}

/// In which order contexts are asked, one list a place. `update::key` asks in no other order.
pub const LAYERS: &[&[Context]] = &[
    &[Context::Composer, Context::Text, Context::Global],
    &[Context::Completion, Context::Composer, Context::Text, Context::Global],
    &[Context::Card, Context::Global],
    &[Context::Reason, Context::Text, Context::Global],
    &[Context::Arguments, Context::Text, Context::Global],
    &[Context::Form, Context::Text, Context::Global],
    &[Context::Rule, Context::Text, Context::Global],
    &[Context::Batch, Context::Global],
    &[Context::Cap, Context::Global],
    &[Context::Transcript, Context::Global],
    &[Context::Find, Context::Text, Context::Global],
    &[Context::Found, Context::Global],
    &[Context::Inbox, Context::Global],
    &[Context::InboxFilter, Context::Text, Context::Global],
    &[Context::Pick, Context::Text, Context::Global],
    &[Context::Login, Context::Text, Context::Global],
    &[Context::Help, Context::Global],
    // Asked before what the first key was pressed in, which then is asked as ever.
    &[Context::Chord, Context::Global],
];

impl Context {
    /// All of them, in the order in which lists show them.
    pub const ALL: [Self; 20] = [
        Self::Composer,
        Self::Text,
        Self::Chord,
        Self::Completion,
        Self::Global,
        Self::Card,
        Self::Batch,
        Self::Cap,
        Self::Reason,
        Self::Arguments,
        Self::Form,
        Self::Rule,
        Self::Transcript,
        Self::Find,
        Self::Found,
        Self::Inbox,
        Self::InboxFilter,
        Self::Pick,
        Self::Login,
        Self::Help,
    ];

    pub fn name(self) -> &'static str {
        self.facts().0
    }

    /// When its keys count, behind "while" or "where".
    pub fn about(self) -> &'static str {
        self.facts().1
    }

    pub fn letters(self) -> Letters {
        self.facts().2
    }

    fn facts(self) -> (&'static str, &'static str, Letters) {
        use Letters::{AreKeys, AreText};
        match self {
            Self::Global => ("global", "everywhere", AreText),
            Self::Text => ("text", "wherever text is written", AreText),
            Self::Composer => ("composer", "in the composer", AreText),
            Self::Chord => ("chord", "right after the first key of a chord", AreKeys),
            Self::Card => ("card", "at a card that has the keys", AreKeys),
            Self::Reason => ("reason", "in the reason of a no", AreText),
            Self::Arguments => ("arguments", "in arguments edited as text", AreText),
            Self::Form => ("form", "in the form of arguments", AreText),
            Self::Rule => ("rule", "in a rule at a card", AreText),
            Self::Batch => ("batch", "at a list of requests", AreKeys),
            Self::Cap => ("cap", "at the question of a cap", AreKeys),
            Self::Completion => ("completion", "while completions are shown", AreText),
            Self::Transcript => ("transcript", "while the transcript has the keys", AreKeys),
            Self::Find => ("find", "while something is searched for", AreText),
            Self::Found => ("found", "while matches are walked through", AreKeys),
            Self::Inbox => ("inbox", "in the inbox", AreKeys),
            Self::InboxFilter => ("inbox-filter", "in the filter of the inbox", AreText),
            Self::Pick => ("pick", "in a list to pick from", AreText),
            Self::Login => ("login", "where a service is set up", AreText),
            Self::Help => ("help", "in the list of keys", AreText),
        }
    }
}

impl Action {
    pub fn name(self) -> &'static str {
        self.facts().0
    }

    pub fn weight(self) -> Weight {
        self.facts().1
    }

    fn facts(self) -> (&'static str, Weight) {
        let name = match self {
            Self::Escape => return ("escape", Weight::WayOut),
            Self::Interrupt => return ("interrupt", Weight::WayOut),
            Self::Card(key) => return card(key),
            Self::Batch(key) => return batch(key),
            Self::Cap(CapKey::GoOn) => return ("go-on", Weight::Approves),
            Self::Cap(CapKey::Raise) => return ("raise", Weight::Approves),
            Self::Cap(CapKey::Stop) => return ("stop", Weight::Light),
            Self::Form(key) => return form(key),
            Self::Inbox(key) => return inbox(key),
            Self::Rule(key) => return rule(key),
            Self::Suspend => "suspend",
            Self::Redraw => "redraw",
            Self::ToggleFocus => "toggle-focus",
            Self::FocusCard => "focus-card",
            Self::Scroll(Scroll::PageUp) => "page-up",
            Self::Scroll(Scroll::PageDown) => "page-down",
            Self::Scroll(Scroll::LineUp) => "line-up",
            Self::Scroll(Scroll::LineDown) => "line-down",
            Self::Top => "top",
            Self::Bottom => "bottom",
            Self::FoldDetails => "fold-details",
            Self::FoldThinking => "fold-thinking",
            Self::RetryNow => "retry-now",
            Self::Unqueue => "unqueue",
            Self::Send => "send",
            Self::QuitOrDelete => "quit-or-delete",
            Self::Help => "help",
            Self::Move(to) => moved(to),
            Self::Change(change) => changed(change),
            Self::Complete(CompleteKey::Previous) => "previous",
            Self::Complete(CompleteKey::Next) => "next",
            Self::Complete(CompleteKey::Accept) => "accept",
            Self::Complete(CompleteKey::Enter) => "enter",
            Self::Pick(PickKey::Previous) => "previous",
            Self::Pick(PickKey::Next) => "next",
            Self::Pick(PickKey::Narrow) => "narrow",
            Self::Pick(PickKey::Accept) => "accept",
            Self::Login(LoginKey::Next) => "next",
            Self::Login(LoginKey::Turn) => "turn",
            Self::Find(FindKey::Open) => "find-open",
            Self::Find(FindKey::Previous) => "previous",
            Self::Find(FindKey::Next) => "next",
            Self::Find(FindKey::Edit) => "edit",
            Self::Find(FindKey::Tools) => "tools",
            Self::Select(SelectKey::Previous) => "previous",
            Self::Select(SelectKey::Next) => "next",
            Self::Select(SelectKey::Fold) => "fold",
            Self::Select(SelectKey::Copy) => "copy",
            Self::Select(SelectKey::Lines) => "lines",
            Self::Select(SelectKey::ExtendUp) => "extend-up",
            Self::Select(SelectKey::ExtendDown) => "extend-down",
            Self::InHelp(HelpKey::Previous) => "previous",
            Self::InHelp(HelpKey::Next) => "next",
            Self::InHelp(HelpKey::Run) => "run",
            Self::InHelp(HelpKey::Erase) => "erase",
            Self::InHelp(HelpKey::Clear) => "clear",
            Self::SearchHistory => "search-history",
            Self::Stash => "stash",
            Self::PasteImage => "paste-image",
            Self::EditOutside => "edit-outside",
            Self::Chord => "chord",
            Self::TogglePanel => "toggle-panel",
            Self::ToggleMouse => "toggle-mouse",
            Self::NextMode => "next-mode",
        };
        (name, Weight::Light)
    }
}

fn moved(to: Move) -> &'static str {
    match to {
        Move::Left => "move-left",
        Move::Right => "move-right",
        Move::Up => "move-up",
        Move::Down => "move-down",
        Move::WordLeft => "move-word-left",
        Move::WordRight => "move-word-right",
        Move::LineStart => "move-line-start",
        Move::LineEnd => "move-line-end",
    }
}

fn changed(change: Change) -> &'static str {
    match change {
        Change::Newline => "newline",
        Change::Backspace => "backspace",
        Change::Delete => "delete",
        Change::KillToEnd => "cut-to-end",
        Change::KillToStart => "cut-to-start",
        Change::KillWordBack => "cut-word-back",
        Change::KillPartBack => "cut-part-back",
        Change::KillWordForward => "cut-word-forward",
        Change::Yank => "yank",
        Change::YankOlder => "yank-older",
        Change::Undo => "undo",
        Change::Redo => "redo",
    }
}

const HUNKS: [&str; 9] =
    ["hunk-1", "hunk-2", "hunk-3", "hunk-4", "hunk-5", "hunk-6", "hunk-7", "hunk-8", "hunk-9"];

fn card(key: CardKey) -> (&'static str, Weight) {
    match key {
        CardKey::Yes => ("yes", Weight::Approves),
        CardKey::Always => ("always", Weight::Approves),
        CardKey::ApproveEdited => ("approve-edited", Weight::Approves),
        CardKey::No => ("no", Weight::Light),
        CardKey::Edit => ("edit", Weight::Light),
        CardKey::Whole => ("whole", Weight::Light),
        CardKey::Why => ("why", Weight::Light),
        CardKey::Next => ("next", Weight::Light),
        CardKey::Previous => ("previous", Weight::Light),
        CardKey::SendNo => ("send-no", Weight::Light),
        CardKey::Hunk(hunk) => (HUNKS[usize::from(hunk.clamp(1, 9) - 1)], Weight::Light),
        CardKey::Rule => ("rule", Weight::Light),
        CardKey::Read => ("read", Weight::Light),
        CardKey::HunkHere => ("hunk-here", Weight::Light),
        CardKey::NextHunk => ("next-hunk", Weight::Light),
        CardKey::PreviousHunk => ("previous-hunk", Weight::Light),
        CardKey::Sides => ("sides", Weight::Light),
    }
}

fn batch(key: BatchKey) -> (&'static str, Weight) {
    match key {
        BatchKey::Yes => ("yes", Weight::Approves),
        BatchKey::Previous => ("previous", Weight::Light),
        BatchKey::Next => ("next", Weight::Light),
        BatchKey::Mark => ("mark", Weight::Light),
        BatchKey::MarkLow => ("mark-low", Weight::Light),
        BatchKey::Open => ("open", Weight::Light),
        BatchKey::Edit => ("edit", Weight::Light),
        BatchKey::Rule => ("rule", Weight::Light),
        BatchKey::No => ("no", Weight::Light),
        BatchKey::Whole => ("whole", Weight::Light),
        BatchKey::Why => ("why", Weight::Light),
    }
}

fn inbox(key: InboxKey) -> (&'static str, Weight) {
    match key {
        InboxKey::Yes => ("yes", Weight::Approves),
        InboxKey::Previous => ("previous", Weight::Light),
        InboxKey::Next => ("next", Weight::Light),
        InboxKey::Mark => ("mark", Weight::Light),
        InboxKey::MarkLow => ("mark-low", Weight::Light),
        InboxKey::No => ("no", Weight::Light),
        InboxKey::Later => ("later", Weight::Light),
        InboxKey::Open => ("open", Weight::Light),
        InboxKey::All => ("whole", Weight::Light),
        InboxKey::Why => ("why", Weight::Light),
        InboxKey::Resume => ("resume", Weight::Light),
        InboxKey::Go => ("go", Weight::Light),
        InboxKey::Filter => ("filter", Weight::Light),
        InboxKey::Filtered => ("filtered", Weight::Light),
        InboxKey::Narrow => ("narrow", Weight::Light),
    }
}

fn rule(key: RuleKey) -> (&'static str, Weight) {
    match key {
        RuleKey::Save => ("save", Weight::Approves),
        RuleKey::Scope => ("scope", Weight::Light),
        RuleKey::Reset => ("reset", Weight::Light),
    }
}

fn form(key: FormKey) -> (&'static str, Weight) {
    match key {
        FormKey::NextField => ("next-field", Weight::Light),
        FormKey::PreviousField => ("previous-field", Weight::Light),
        FormKey::ResetField => ("reset-field", Weight::Light),
        FormKey::Raw => ("raw", Weight::Light),
        FormKey::Enter => ("enter", Weight::Light),
    }
}
