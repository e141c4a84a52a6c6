//! The rows of the table of keys, in the order of the help.

use super::{
    Action, CardKey, CompleteKey, Context, FindKey, FormKey, ListKey, Move, Nav, RuleKey, SelectKey,
    TextEdit, parse_key,
};
use crate::agent::caps::CapAnswer;
use crate::config::Source;
use crate::tui::key::Key;

/// The heading in help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HelpGroup {
    Write,
    Work,
    Read,
    Decide,
}

impl HelpGroup {
    pub const ALL: [Self; 4] = [Self::Write, Self::Work, Self::Read, Self::Decide];

    pub fn title(self) -> &'static str {
        match self {
            Self::Write => "WRITE",
            Self::Work => "WORK",
            Self::Read => "READ",
            Self::Decide => "DECIDE (card has focus)",
        }
    }
}

/// Whether an action needs protection from accidental keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyProtection {
    None,
    /// It decides something, or begins to: the inbox ignores it for a moment after it changed.
    Decides,
    /// It approves something: reflex keys never do that.
    Approves,
    /// Interrupt or Escape: some key always has this action.
    WayOut,
}

/// One row of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Binding {
    pub context: Context,
    /// Unique in its context. Written into settings files: it never changes.
    pub name: &'static str,
    pub action: Action,
    /// The default keys.
    pub keys: Vec<Key>,
    pub group: HelpGroup,
    /// The description in help, at most 22 characters; empty for generally known keys.
    pub help: &'static str,
    pub protection: KeyProtection,
}

impl Binding {
    /// Returns the name in the settings: `context.name`.
    pub fn path(&self) -> String {
        format!("{}.{}", self.context.name(), self.name)
    }

    /// Returns the description in help, or else one derived from the name.
    pub fn label(&self) -> String {
        if self.help.is_empty() { self.name.replace('-', " ") } else { self.help.to_owned() }
    }
}

/// One row of the table, with its current keys.
#[derive(Debug, Clone, PartialEq)]
pub struct BindingRow {
    pub binding: &'static Binding,
    pub keys: Vec<Key>,
    /// Where the keys were set.
    pub source: Source,
}

impl BindingRow {
    pub fn default_of(binding: &'static Binding) -> Self {
        Self { binding, keys: binding.keys.clone(), source: Source::Default }
    }

    pub fn is_set(&self) -> bool {
        self.source != Source::Default
    }
}

/// The table of keys.
#[derive(Debug, PartialEq)]
pub struct KeyTable {
    /// In the order of lists.
    contexts: Vec<Context>,
    /// In the order of the help.
    rows: Vec<Binding>,
}

impl KeyTable {
    /// Creates the table with the keys of these panels.
    pub fn with(panels: &[&[Section]]) -> Self {
        let of_panels = || panels.iter().copied().flatten();
        let sections = TABLE.iter().chain(of_panels());
        let mut contexts: Vec<Context> = Context::outside_panels().collect();
        contexts.extend(of_panels().map(|section| section.context));
        contexts.dedup();
        let rows = sections.flat_map(|section| section.rows.iter().map(|row| section.binding(row))).collect();
        Self { contexts, rows }
    }

    pub fn contexts(&self) -> impl Iterator<Item = Context> {
        self.contexts.iter().copied()
    }

    pub fn rows(&self) -> std::slice::Iter<'_, Binding> {
        self.rows.iter()
    }

    /// Returns the orders of precedence, one for each place with keys.
    pub fn layers(&self) -> impl Iterator<Item = Vec<Context>> {
        self.contexts().map(Context::layer).filter(|layer| layer.len() > 1)
    }
}

/// Rows with the same context and heading.
pub struct Section {
    context: Context,
    group: HelpGroup,
    rows: &'static [KeyRow],
}

pub struct KeyRow {
    name: &'static str,
    action: Action,
    /// In the form of [`parse_key`], separated by spaces.
    keys: &'static str,
    help: &'static str,
    protection: KeyProtection,
}

/// Begins a section of the table.
pub const fn at(context: Context, group: HelpGroup) -> Section {
    Section { context, group, rows: &[] }
}

/// Returns a row of the table. `keys` are in the form of [`parse_key`], separated by spaces.
pub const fn row(name: &'static str, action: Action, keys: &'static str, help: &'static str) -> KeyRow {
    KeyRow { name, action, keys, help, protection: KeyProtection::None }
}

impl Section {
    pub const fn rows(self, rows: &'static [KeyRow]) -> Self {
        Self { rows, ..self }
    }

    fn binding(&self, row: &KeyRow) -> Binding {
        let &KeyRow { name, action, keys, help, protection } = row;
        let key = |text| parse_key(text).expect("the keys of the table are written as people write them");
        let keys = keys.split(' ').map(key).collect();
        Binding { context: self.context, name, action, keys, group: self.group, help, protection }
    }
}

impl KeyRow {
    pub const fn decides(self) -> Self {
        Self { protection: KeyProtection::Decides, ..self }
    }

    pub const fn approves(self) -> Self {
        Self { protection: KeyProtection::Approves, ..self }
    }

    pub const fn way_out(self) -> Self {
        Self { protection: KeyProtection::WayOut, ..self }
    }
}

const TABLE: &[Section] = &[
    at(Context::Composer, HelpGroup::Write).rows(&[
        row("send", Action::Send, "Enter", "send; queue while busy"),
        row(
            "newline",
            Action::Edit(TextEdit::Newline),
            "Shift+Enter Alt+Enter Ctrl+J",
            "newline (or \\ Enter)",
        ),
        row("move-up", Action::Move(Move::Up), "Up", "up; history at top"),
        row("move-down", Action::Move(Move::Down), "Down", "down; history at end"),
        row("unqueue", Action::Unqueue, "Alt+Up", "edit queued text"),
    ]),
    at(Context::Composer, HelpGroup::Work).rows(&[
        row("quit-or-delete", Action::QuitOrDelete, "Ctrl+D", "quit when empty"),
        row("to-background", Action::ToBackground, "Ctrl+B", "command to background"),
        row("help", Action::Help, "?", "this help (empty line)"),
    ]),
    at(Context::Text, HelpGroup::Write).rows(&[
        row("move-left", Action::Move(Move::Left), "Left Ctrl+B", ""),
        row("move-right", Action::Move(Move::Right), "Right Ctrl+F", ""),
        row("move-up", Action::Move(Move::Up), "Up", ""),
        row("move-down", Action::Move(Move::Down), "Down", ""),
        row("move-word-left", Action::Move(Move::WordLeft), "Alt+B Ctrl+Left Alt+Left", "word left"),
        row("move-word-right", Action::Move(Move::WordRight), "Alt+F Ctrl+Right Alt+Right", "word right"),
        row("move-line-start", Action::Move(Move::LineStart), "Ctrl+A Home", "start of line"),
        row("move-line-end", Action::Move(Move::LineEnd), "Ctrl+E End", "end of line"),
        row("backspace", Action::Edit(TextEdit::Backspace), "Backspace Ctrl+H Shift+Backspace", ""),
        row("delete", Action::Edit(TextEdit::Delete), "Delete Ctrl+D", ""),
        row("cut-to-end", Action::Edit(TextEdit::KillToEnd), "Ctrl+K", "cut to the end"),
        row("cut-to-start", Action::Edit(TextEdit::KillToStart), "Ctrl+U", "cut to the start"),
        row("cut-word-back", Action::Edit(TextEdit::KillWordBack), "Ctrl+W", "cut word left"),
        row("cut-part-back", Action::Edit(TextEdit::KillPartBack), "Alt+Backspace", ""),
        row("cut-word-forward", Action::Edit(TextEdit::KillWordForward), "Alt+D", "cut word right"),
        row("yank", Action::Edit(TextEdit::Yank), "Ctrl+Y", "paste what was cut"),
        row("yank-older", Action::Edit(TextEdit::YankOlder), "Alt+Y", "then: older cuts"),
        row("undo", Action::Edit(TextEdit::Undo), "Ctrl+_ Ctrl+- Ctrl+7 Ctrl+/", "undo"),
        row("redo", Action::Edit(TextEdit::Redo), "Alt+_ Alt+/", "redo"),
    ]),
    at(Context::Composer, HelpGroup::Read).rows(&[row(
        "find-open",
        Action::Find(FindKey::Open),
        "Ctrl+F",
        "find (empty line)",
    )]),
    at(Context::Composer, HelpGroup::Write).rows(&[
        row("stash", Action::Stash, "Ctrl+S", "stash text, restore"),
        row("paste-image", Action::PasteImage, "Ctrl+V", "paste image"),
        row("search-history", Action::SearchHistory, "Ctrl+R", "search history"),
    ]),
    at(Context::Text, HelpGroup::Write).rows(&[
        row("edit-outside", Action::EditOutside, "Ctrl+G", "edit in $EDITOR"),
        row("chord", Action::Chord, "Ctrl+X", ""),
    ]),
    at(Context::Chord, HelpGroup::Write).rows(&[row("edit-outside", Action::EditOutside, "Ctrl+E", "")]),
    at(Context::Completion, HelpGroup::Write).rows(&[
        row("accept", Action::Complete(CompleteKey::Accept), "Tab", "complete"),
        row("enter", Action::Complete(CompleteKey::Enter), "Enter", ""),
        row("previous", Action::Nav(Nav::Up), "Up Ctrl+P", ""),
        row("next", Action::Nav(Nav::Down), "Down Ctrl+N", ""),
    ]),
    at(Context::Global, HelpGroup::Work).rows(&[
        row("escape", Action::Escape, "Esc", "close, then interrupt").way_out(),
        row("interrupt", Action::Interrupt, "Ctrl+C", "stop, clear; ×2 quits").way_out(),
        row("suspend", Action::Suspend, "Ctrl+Z", "suspend"),
        row("pick-model", Action::PickModel, "Alt+P", "model"),
        row("retry-now", Action::RetryNow, "Alt+R", "retry now"),
        row("redraw", Action::Redraw, "Ctrl+L", "redraw"),
    ]),
    at(Context::Global, HelpGroup::Decide).rows(&[
        row("toggle-focus", Action::ToggleFocus, "Tab", "focus card, and back"),
        row("focus-card", Action::FocusCard, "Alt+A", "cards, then inbox"),
        row("next-mode", Action::NextMode, "Shift+Tab", "ask, auto, plan, dry…"),
    ]),
    at(Context::Global, HelpGroup::Read).rows(&[
        row("page-up", Action::Nav(Nav::PageUp), "PgUp", "scroll up"),
        row("page-down", Action::Nav(Nav::PageDown), "PgDn", "scroll down"),
        row("line-up", Action::Nav(Nav::LineUp), "Ctrl+Up Shift+Up", "a line up"),
        row("line-down", Action::Nav(Nav::LineDown), "Ctrl+Down Shift+Down", "a line down"),
        row("top", Action::Top, "Ctrl+Home", "to the top"),
        row("bottom", Action::Bottom, "Ctrl+End", "to the end, follow"),
        row("fold-details", Action::FoldDetails, "Ctrl+O", "fold or show details"),
        row("fold-thinking", Action::FoldThinking, "Alt+T", "fold or show thinking"),
        row("toggle-panel", Action::TogglePanel, "Ctrl+T", "side panel"),
        row("toggle-mouse", Action::ToggleMouse, "Alt+M", "mouse: app / terminal"),
    ]),
    at(Context::Card, HelpGroup::Decide).rows(&[
        row("yes", Action::Card(CardKey::Yes), "y", "yes (HIGH: twice)").approves(),
        row("yes-unread", Action::Card(CardKey::YesUnread), "Y", "approve file unread").approves(),
        row("no", Action::Card(CardKey::No), "n", "no, with a reason"),
        row("edit", Action::Card(CardKey::Edit), "e", "edit the arguments"),
        row("always", Action::Card(CardKey::Always), "a", "yes, for more now"),
        row("rule", Action::Card(CardKey::Rule), "r", "yes, by a rule"),
        row("whole", Action::Card(CardKey::Whole), "v", "view it in the pager"),
        row("why", Action::Card(CardKey::Why), "w", "why, and text sources"),
        row("read", Action::Card(CardKey::Read), "Ctrl+G", "read it in $EDITOR"),
        row("top", Action::Top, "Home", ""),
        row("bottom", Action::Bottom, "End G", "end of the card"),
        row("previous", Action::Nav(Nav::Up), "Up", "previous card"),
        row("next", Action::Nav(Nav::Down), "Down", "next card"),
        row("hunk-1", Action::Card(CardKey::Hunk(1)), "1", "to 9: skip that hunk"),
        row("hunk-2", Action::Card(CardKey::Hunk(2)), "2", ""),
        row("hunk-3", Action::Card(CardKey::Hunk(3)), "3", ""),
        row("hunk-4", Action::Card(CardKey::Hunk(4)), "4", ""),
        row("hunk-5", Action::Card(CardKey::Hunk(5)), "5", ""),
        row("hunk-6", Action::Card(CardKey::Hunk(6)), "6", ""),
        row("hunk-7", Action::Card(CardKey::Hunk(7)), "7", ""),
        row("hunk-8", Action::Card(CardKey::Hunk(8)), "8", ""),
        row("hunk-9", Action::Card(CardKey::Hunk(9)), "9", ""),
        row("hunk-here", Action::Card(CardKey::HunkHere), "Space", "skip this hunk"),
        row("next-hunk", Action::Card(CardKey::NextHunk), "] Alt+Down", "next hunk"),
        row("previous-hunk", Action::Card(CardKey::PreviousHunk), "[ Alt+Up", "previous hunk"),
        row("sides", Action::Card(CardKey::Sides), "s", "toggle side by side"),
    ]),
    at(Context::Card, HelpGroup::Work).rows(&[row("help", Action::Help, "? F1", "these keys")]),
    at(Context::Batch, HelpGroup::Work).rows(&[row("help", Action::Help, "? F1", "")]),
    at(Context::Transcript, HelpGroup::Work).rows(&[row("help", Action::Help, "? F1", "")]),
    at(Context::Reason, HelpGroup::Decide).rows(&[row(
        "send-no",
        Action::Card(CardKey::SendNo),
        "Enter",
        "",
    )]),
    at(Context::Arguments, HelpGroup::Decide).rows(&[
        row("approve-edited", Action::Card(CardKey::ApproveEdited), "Ctrl+S", "approve edited call")
            .approves(),
        row("newline", Action::Edit(TextEdit::Newline), "Enter Shift+Enter Alt+Enter Ctrl+J", ""),
    ]),
    at(Context::Batch, HelpGroup::Decide).rows(&[
        row("previous", Action::Nav(Nav::Up), "Up", ""),
        row("next", Action::Nav(Nav::Down), "Down", ""),
        row("mark", Action::List(ListKey::Mark), "Space", "mark, unmark").decides(),
        row("mark-low", Action::List(ListKey::MarkLow), "a", "mark all LOW").decides(),
        row("mark-most", Action::List(ListKey::MarkMost), "A", "mark all but HIGH, ▲").decides(),
        row("open", Action::List(ListKey::Open), "Enter", "open the row"),
        row("edit", Action::List(ListKey::Edit), "e", "").decides(),
        row("rule", Action::List(ListKey::Rule), "r", "").decides(),
        row("yes", Action::List(ListKey::Yes), "y", "").approves(),
        row("no", Action::List(ListKey::No), "n", "").decides(),
        row("whole", Action::List(ListKey::Whole), "v", "view all of a list"),
        row("why", Action::List(ListKey::Why), "w", ""),
    ]),
    at(Context::Cap, HelpGroup::Decide).rows(&[
        row("go-on", Action::Cap(CapAnswer::GoOn), "g", "continue over cap once").approves(),
        row("raise", Action::Cap(CapAnswer::Raise), "r", "raise a cap").approves(),
        row("stop", Action::Cap(CapAnswer::Stop), "s", "stop at a cap"),
    ]),
    at(Context::Form, HelpGroup::Decide).rows(&[
        row("next-field", Action::Form(FormKey::NextField), "Tab", "next field"),
        row("previous-field", Action::Form(FormKey::PreviousField), "Shift+Tab", "previous field"),
        row("enter", Action::Form(FormKey::Enter), "Enter", ""),
        row("reset-field", Action::Form(FormKey::ResetField), "Ctrl+R", "reset the field"),
        row("raw", Action::Form(FormKey::Raw), "F2", "raw JSON / fields"),
        row("approve-edited", Action::Card(CardKey::ApproveEdited), "Ctrl+S", "").approves(),
        row("newline", Action::Edit(TextEdit::Newline), "Shift+Enter Alt+Enter Ctrl+J", ""),
    ]),
    at(Context::Arguments, HelpGroup::Decide).rows(&[
        row("reset-field", Action::Form(FormKey::ResetField), "Ctrl+R", ""),
        row("raw", Action::Form(FormKey::Raw), "F2", ""),
    ]),
    at(Context::Rule, HelpGroup::Decide).rows(&[
        row("save", Action::Rule(RuleKey::Save), "Ctrl+S", "save the rule, approve").approves(),
        row("scope", Action::Rule(RuleKey::Scope), "Tab", "scope of the rule"),
        row("reset", Action::Rule(RuleKey::Reset), "Ctrl+R", "reset the rule"),
        row("newline", Action::Edit(TextEdit::Newline), "Enter Shift+Enter Alt+Enter Ctrl+J", ""),
    ]),
    at(Context::Width, HelpGroup::Decide).rows(&[
        row("previous", Action::Nav(Nav::Up), "Up", ""),
        row("next", Action::Nav(Nav::Down), "Down", ""),
        row("width-1", Action::Rule(RuleKey::Width(1)), "1", "to 3: choose"),
        row("width-2", Action::Rule(RuleKey::Width(2)), "2", ""),
        row("width-3", Action::Rule(RuleKey::Width(3)), "3", ""),
        row("save", Action::Rule(RuleKey::Save), "y Ctrl+S", "").approves(),
        row("scope", Action::Rule(RuleKey::Scope), "Tab", ""),
        row("write", Action::Rule(RuleKey::Write), "e", "edit the rule as text"),
    ]),
    at(Context::Transcript, HelpGroup::Read).rows(&[
        row("previous", Action::Nav(Nav::Up), "Up k", "previous block"),
        row("next", Action::Nav(Nav::Down), "Down j", "next block"),
        row("fold", Action::Select(SelectKey::Fold), "Enter Space", "fold or show this one"),
        row("copy", Action::Select(SelectKey::Copy), "y c", "copy this one"),
        row("lines", Action::Select(SelectKey::Lines), "v", "mark lines"),
        row("run-outside", Action::Select(SelectKey::RunOutside), "u", "run failed unsandboxed"),
        row("extend-up", Action::Select(SelectKey::ExtendUp), "Shift+Up", ""),
        row("extend-down", Action::Select(SelectKey::ExtendDown), "Shift+Down", ""),
        row("find-open", Action::Find(FindKey::Open), "/ Ctrl+F", "find"),
    ]),
    at(Context::Find, HelpGroup::Read).rows(&[
        row("next", Action::Nav(Nav::Down), "Enter Down", ""),
        row("previous", Action::Nav(Nav::Up), "Alt+Enter Shift+Enter Up", ""),
        row("tools", Action::Find(FindKey::Tools), "Alt+T", "find: output too"),
    ]),
    at(Context::Found, HelpGroup::Read).rows(&[
        row("next", Action::Nav(Nav::Down), "n Enter Down", "next match"),
        row("previous", Action::Nav(Nav::Up), "N Alt+Enter Shift+Enter Up", "previous match"),
        row("edit", Action::Find(FindKey::Edit), "/ Ctrl+F", ""),
        row("tools", Action::Find(FindKey::Tools), "Alt+T", ""),
    ]),
];
