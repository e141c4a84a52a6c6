//! Where keys are pressed, and in which order these places are asked what a key does.
//!
//! The names of contexts are written into settings files: they never change.

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
