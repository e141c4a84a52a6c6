//! Memories in a conversation: the origin of their text, and which of them were added to a prompt.

use serde::{Deserialize, Serialize};

use crate::stdx::names::names;
use crate::stdx::text::{count, one_line_summary};

/// The author of a text, as far as the program can determine it. Stored: variants may only be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Authorship {
    /// The user's own.
    Said,
    /// The model's, in a turn in which it read nothing that is untrusted.
    #[default]
    Inferred,
    /// Of untrusted text, or written by the model after it read some.
    External,
}

names! {
    Authorship, word {
        Said = "said by you", Inferred = "noted by the model", External = "from untrusted text",
    }
}

/// A memory that was added to a prompt. Stored: fields may only be added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedMemory {
    /// As the user types it.
    pub id: String,
    /// Its beginning, on one line.
    pub about: String,
    /// The words of the prompt for which it was found.
    pub words: Vec<String>,
    /// The fingerprint of its file.
    pub version: String,
}

impl UsedMemory {
    /// Whether it is a file of the project.
    #[must_use]
    pub fn is_of_project(&self) -> bool {
        self.id.starts_with('p')
    }
}

/// The width of a memory in a list, in terminal cells.
const WIDTH: usize = 60;

impl UsedMemory {
    /// Says on one line which memories were used: `used 2 memories: #12 Prefers tabs, #31 …`.
    #[must_use]
    pub fn line(used: &[Self]) -> String {
        let named = |one: &Self| format!("#{} {}", one.id, one_line_summary(&one.about, WIDTH));
        let named: Vec<String> = used.iter().map(named).collect();
        format!("used {}: {}", count(used.len(), "memory"), named.join(", "))
    }

    /// Says why it was used.
    #[must_use]
    pub fn why(&self) -> String {
        format!("#{} for: {}", self.id, one_line_summary(&self.words.join(", "), WIDTH))
    }
}
