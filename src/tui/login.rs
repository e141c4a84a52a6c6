//! What a service still needs, entered over the transcript: its address, and its key, which is never shown.
//!
//! The key has a place of its own: it never was in an editor, so no undo, no kill ring, no history and no draft has it,
//! and its text has no `Debug` form. Changed by `update::login`, drawn by `view::login`.

use std::fmt;

use super::composer::Editor;
use super::pick::Pick;
use crate::frontend::protocol::{LoginNeed, ServiceLine, TypedKey};

/// Characters of the longest key.
const LONGEST: usize = 8 * 1024;

/// The form of one service.
#[derive(Debug, Clone, PartialEq)]
pub struct Login {
    pub service: ServiceLine,
    pub stage: LoginStage,
    pub address: Editor,
    pub key: Masked,
    /// Why the last try did not work.
    pub trouble: Option<String>,
    /// The list it was picked from.
    pub list: Box<Pick>,
}

/// What is being entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginStage {
    Address,
    Key,
    /// The owner tries it.
    Trying,
    /// The key would travel unencrypted: it is sent only where the person says so.
    Consent,
}

/// A key that is being typed.
#[derive(Clone, PartialEq, Default)]
pub struct Masked(String);

impl fmt::Debug for Masked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Masked(…)")
    }
}

impl Masked {
    pub fn push(&mut self, c: char) {
        if self.0.len() < LONGEST && !c.is_whitespace() && !c.is_control() {
            self.0.push(c);
        }
    }

    /// The first line of a paste.
    pub fn paste(&mut self, text: &str) {
        text.trim().lines().next().unwrap_or_default().chars().for_each(|c| self.push(c));
    }

    pub fn backspace(&mut self) {
        self.0.pop();
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Characters typed.
    pub fn count(&self) -> usize {
        self.0.chars().count()
    }

    /// The key, to be sent to the owner. It stays here until the owner said what became of it.
    pub fn typed(&self) -> Option<TypedKey> {
        (!self.0.is_empty()).then(|| TypedKey::new(self.0.clone()))
    }
}

impl Login {
    /// The form of a service that was picked from a list.
    pub fn new(service: ServiceLine, list: Pick) -> Self {
        let stage = match (service.address, service.key) {
            (LoginNeed::Needed, _) => LoginStage::Address,
            (_, LoginNeed::Needed | LoginNeed::Optional) => LoginStage::Key,
            (_, LoginNeed::Known) => LoginStage::Trying,
        };
        Self {
            service,
            stage,
            address: Editor::default(),
            key: Masked::default(),
            trouble: None,
            list: Box::new(list),
        }
    }

    /// Whether the form asks for an address at all.
    pub fn has_address(&self) -> bool {
        self.service.address == LoginNeed::Needed
    }

    /// The same for a key.
    pub fn has_key(&self) -> bool {
        self.service.key != LoginNeed::Known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_masked_key_shows_in_no_form() {
        let mut key = Masked::default();
        key.paste("  hunter2-key\nrest\n");
        key.push(' ');
        key.push('x');
        key.backspace();
        assert_eq!((key.count(), format!("{key:?}").as_str()), (11, "Masked(…)"));
        let taken = key.typed();
        assert!(!format!("{taken:?}").contains("hunter2"));
        assert_eq!(taken.map(|key| key.secret().expose().to_owned()).as_deref(), Some("hunter2-key"));
    }
}
