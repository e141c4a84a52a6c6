//! The contexts of keys, and their order of precedence. The names of contexts are written into settings files: they
//! never change.

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
    Panel(&'static ContextRow),
}

/// Whether letters are text in a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Letters {
    AreText,
    AreKeys,
}

const TEXT: &[Context] = &[Context::Text, Context::Global];
const KEYS: &[Context] = &[Context::Global];
const COMPOSER: &[Context] = &[Context::Composer, Context::Text, Context::Global];

/// The contexts outside of panels, in the order of lists.
const CONTEXTS: [(Context, ContextRow); 16] = {
    use Letters::{AreKeys, AreText};
    let row = ContextRow::new;
    [
        (Context::Composer, row("composer", "in the composer", AreText, TEXT)),
        (Context::Text, row("text", "in any text field", AreText, &[])),
        (Context::Chord, row("chord", "after the first key of a chord", AreKeys, KEYS)),
        (Context::Completion, row("completion", "while completions are shown", AreText, COMPOSER)),
        (Context::Global, row("global", "everywhere", AreText, &[])),
        (Context::Card, row("card", "on a focused card", AreKeys, KEYS)),
        (Context::Batch, row("batch", "in a list of requests", AreKeys, KEYS)),
        (Context::Cap, row("cap", "on a cap request", AreKeys, KEYS)),
        (Context::Reason, row("reason", "in the reason for a denial", AreText, TEXT)),
        (Context::Arguments, row("arguments", "in arguments edited as text", AreText, TEXT)),
        (Context::Form, row("form", "in the form of arguments", AreText, TEXT)),
        (Context::Rule, row("rule", "in the rule form of a card", AreText, TEXT)),
        (Context::Width, row("width", "in the choice of what to allow", AreKeys, KEYS)),
        (Context::Transcript, row("transcript", "while the transcript has focus", AreKeys, KEYS)),
        (Context::Find, row("find", "while typing a search", AreText, TEXT)),
        (Context::Found, row("found", "while stepping through matches", AreKeys, KEYS)),
    ]
};

/// The facts about a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContextRow {
    /// Written into settings files: it never changes.
    name: &'static str,
    /// When its keys apply, for use after "while" or "where".
    about: &'static str,
    letters: Letters,
    /// The contexts that bind keys after it, in order of precedence; empty for one that is never the first.
    behind: &'static [Context],
}

impl ContextRow {
    pub const fn new(
        name: &'static str,
        about: &'static str,
        letters: Letters,
        behind: &'static [Context],
    ) -> Self {
        Self { name, about, letters, behind }
    }
}

impl Context {
    /// The contexts outside of panels, in the order of lists.
    pub fn outside_panels() -> impl Iterator<Item = Self> {
        CONTEXTS.into_iter().map(|(context, _)| context)
    }

    /// Returns the contexts that bind keys where this one is the first, in order of precedence.
    pub fn layer(self) -> Vec<Self> {
        std::iter::once(self).chain(self.row().behind.iter().copied()).collect()
    }

    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns when its keys apply, for use after "while" or "where".
    pub fn about(self) -> &'static str {
        self.row().about
    }

    pub fn letters(self) -> Letters {
        self.row().letters
    }

    fn row(self) -> ContextRow {
        if let Self::Panel(row) = self {
            return *row;
        }
        let row = CONTEXTS.iter().find(|(context, _)| *context == self);
        row.map(|(_, row)| *row).expect("the table holds every context")
    }
}
