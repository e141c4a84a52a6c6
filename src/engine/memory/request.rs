//! Requests of a person about memories, from `/memory` and `co memory`, carried out and put in words.

use std::path::Path;

use super::change::{MemoryChange, NewMemory, SaveOutcome};
use super::folder::MemoryScope;
use super::text::{details, line, list, review};
use super::{Memories, MemoryError, MemoryId};
use crate::config::DecayConsent;
use crate::message::Authorship;

/// Memories that are listed of each place.
const LISTED: usize = 500;

/// Memories that a search shows.
const FOUND: usize = 20;

/// A person's request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryRequest {
    List,
    Search(String),
    Add {
        text: String,
        tags: Vec<String>,
        scope: MemoryScope,
    },
    /// Shows all of it: its source, and when it was used.
    Show(MemoryId),
    /// Replaces its text.
    Edit {
        id: MemoryId,
        text: String,
    },
    Forget(MemoryId),
    Review,
    /// The proposals of the review.
    Decay,
}

impl Memories {
    /// Does it and says what came of it, in lines of plain text. `command` begins the commands of the place that asks:
    /// `/memory` or `co memory`.
    pub fn carry_out(
        &self,
        project: &Path,
        request: MemoryRequest,
        command: &str,
    ) -> Result<String, MemoryError> {
        Ok(match request {
            MemoryRequest::List => list(&self.list(project, LISTED)?),
            MemoryRequest::Search(words) => {
                let found = self.search(project, &words, FOUND)?;
                let lines: String = found.iter().map(|one| format!("{}\n", line(&one.found))).collect();
                if lines.is_empty() { "No memory has these words.\n".to_owned() } else { lines }
            }
            MemoryRequest::Add { text, tags, scope } => {
                let authorship = Authorship::Said;
                let new = NewMemory { text, tags, scope, authorship, session: None, call: None };
                self.said_of(&self.save(project, new)?, command)
            }
            MemoryRequest::Show(id) => {
                let rows = details(&self.find(project, id)?, self.now());
                rows.iter()
                    .map(|(name, value)| format!("{name}: {}\n", value.replace('\n', "\n  ")))
                    .collect()
            }
            MemoryRequest::Edit { id, text } => {
                let old = self.find(project, id)?;
                let change = MemoryChange {
                    text: Some(text),
                    authorship: Authorship::Said,
                    ..MemoryChange::default()
                };
                format!("Changed {}\n", line(&self.update(project, &old, change)?))
            }
            MemoryRequest::Forget(id) => {
                let old = self.find(project, id)?;
                self.forget(project, &old)?;
                format!("Forgot {}\n", line(&old))
            }
            MemoryRequest::Review => review(&self.review(project)?, self.settings(), &yes(command)),
            MemoryRequest::Decay => {
                let decayed = self.decay(project)?;
                match decayed.gone + decayed.kept {
                    0 => "There are not too many memories; nothing was changed.\n".to_owned(),
                    _ => format!(
                        "{}.\n",
                        decayed.sentence(DecayConsent::Allow, self.settings().decay_strategy)
                    ),
                }
            }
        })
    }

    /// Says what was saved or replaced, and what decayed or would.
    #[must_use]
    pub fn said_of(&self, saved: &SaveOutcome, command: &str) -> String {
        let stored = line(&saved.stored);
        let mut text = match &saved.replaced {
            None => format!("Saved {stored}\n"),
            Some((old, alike)) => format!("Saved {stored}\nIt replaced what is {alike} % alike: {old}\n"),
        };
        if let Some((consent, decayed)) = &saved.decay {
            let words = decayed.sentence(*consent, self.settings().decay_strategy);
            text.push_str(&match consent {
                DecayConsent::Propose => {
                    format!(
                        "There are too many memories: {words}. `{command} review` shows them, {} does it.\n",
                        yes(command)
                    )
                }
                DecayConsent::Allow => format!("There were too many memories: {words}.\n"),
            });
        }
        text
    }
}

/// Returns the command that carries out a proposed decay.
fn yes(command: &str) -> String {
    format!("`{command} review {}`", if command.starts_with('/') { "yes" } else { "--yes" })
}
