//! The contexts of keys, and their order of precedence. The names of contexts are written into settings files: they
//! never change.

use std::fmt;
use std::hash::{Hash, Hasher};

/// A context of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Context {
    /// Everywhere, after the contexts below.
    Global,
    /// In every text.
    Text,
    Composer,
    /// The first key of a chord was just pressed; precedes the context of that key.
    Chord,
    /// A card has the focus and asks.
    Card,
    /// The reason of a denial is being written.
    Reason,
    /// Arguments are being edited as text.
    Arguments,
    /// Arguments are being edited as a form.
    Form,
    /// A rule is being written at a card.
    Rule,
    /// The width of a rule is being chosen at a card.
    Width,
    /// A list of several requests has the focus: of this session, or the inbox.
    Batch,
    /// The question at a cap has the focus.
    Cap,
    /// The completion popup is open over the composer; precedes the composer's contexts.
    Completion,
    /// The transcript has the focus.
    Transcript,
    /// The query of a search in the transcript is being written.
    Find,
    /// The query is complete, and letters go from match to match.
    Found,
    /// A panel is open; its file describes it.
    Panel(&'static PanelContextRow),
}

/// Whether letters are text in a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Letters {
    AreText,
    AreKeys,
}

/// The orders of precedence outside of panels, one list per place, which begins with the place's own context.
pub const LAYERS: &[&[Context]] = &[
    &[Context::Composer, Context::Text, Context::Global],
    &[Context::Completion, Context::Composer, Context::Text, Context::Global],
    &[Context::Card, Context::Global],
    &[Context::Reason, Context::Text, Context::Global],
    &[Context::Arguments, Context::Text, Context::Global],
    &[Context::Form, Context::Text, Context::Global],
    &[Context::Rule, Context::Text, Context::Global],
    &[Context::Width, Context::Global],
    &[Context::Batch, Context::Global],
    &[Context::Cap, Context::Global],
    &[Context::Transcript, Context::Global],
    &[Context::Find, Context::Text, Context::Global],
    &[Context::Found, Context::Global],
    // Precedes the contexts of the first key, which keep their order.
    &[Context::Chord, Context::Global],
];

/// The name of each context outside of panels, when its keys apply for use after "while" or "where", and its letters; in the order of lists.
const CONTEXTS: [(Context, &str, &str, Letters); 16] = {
    use Letters::{AreKeys, AreText};
    [
        (Context::Composer, "composer", "in the composer", AreText),
        (Context::Text, "text", "in any text field", AreText),
        (Context::Chord, "chord", "after the first key of a chord", AreKeys),
        (Context::Completion, "completion", "while completions are shown", AreText),
        (Context::Global, "global", "everywhere", AreText),
        (Context::Card, "card", "on a focused card", AreKeys),
        (Context::Batch, "batch", "in a list of requests", AreKeys),
        (Context::Cap, "cap", "on a cap request", AreKeys),
        (Context::Reason, "reason", "in the reason for a denial", AreText),
        (Context::Arguments, "arguments", "in arguments edited as text", AreText),
        (Context::Form, "form", "in the form of arguments", AreText),
        (Context::Rule, "rule", "in the rule form of a card", AreText),
        (Context::Width, "width", "in the choice of what to allow", AreKeys),
        (Context::Transcript, "transcript", "while the transcript has focus", AreKeys),
        (Context::Find, "find", "while typing a search", AreText),
        (Context::Found, "found", "while stepping through matches", AreKeys),
    ]
};

/// A context of a panel.
pub struct PanelContextRow {
    /// Written into settings files: it never changes.
    pub name: &'static str,
    /// When its keys apply, for use after "while" or "where".
    pub about: &'static str,
    pub letters: Letters,
    /// The order of precedence, which begins with the context itself.
    pub layer: &'static [Context],
}

impl fmt::Debug for PanelContextRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

// By name, because each row contains itself.
impl PartialEq for PanelContextRow {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for PanelContextRow {}

impl Hash for PanelContextRow {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl Context {
    /// The contexts outside of panels, in the order of lists.
    pub fn outside_panels() -> impl Iterator<Item = Self> {
        CONTEXTS.into_iter().map(|(context, ..)| context)
    }

    /// Returns the contexts that bind keys where this one is the first, in order of precedence.
    pub fn layer(self) -> &'static [Self] {
        if let Self::Panel(row) = self {
            return row.layer;
        }
        let layer = LAYERS.iter().find(|layer| layer.first() == Some(&self));
        layer.expect("every place with keys has its order of precedence")
    }

    pub fn name(self) -> &'static str {
        self.facts().0
    }

    /// Returns when its keys apply, for use after "while" or "where".
    pub fn about(self) -> &'static str {
        self.facts().1
    }

    pub fn letters(self) -> Letters {
        self.facts().2
    }

    fn facts(self) -> (&'static str, &'static str, Letters) {
        if let Self::Panel(row) = self {
            return (row.name, row.about, row.letters);
        }
        let row = CONTEXTS.iter().find(|(context, ..)| *context == self);
        row.map(|(_, name, about, letters)| (*name, *about, *letters)).expect("the table holds every context")
    }
}
