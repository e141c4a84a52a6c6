//! The tools of a request, and the JSON that a codec has made of them.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::ToolSchema;

/// Definitions of tools, shared by the requests of a turn. They are most of what a short request sends, so they are
/// encoded once.
#[derive(Debug, Clone, Default)]
pub struct ToolList {
    defined: Arc<DefinedTools>,
}

#[derive(Debug, Default)]
struct DefinedTools {
    tools: Vec<ToolSchema>,
    /// The first form in which they were sent.
    encoded: OnceLock<(&'static str, Box<RawValue>)>,
    bytes: OnceLock<usize>,
}

impl ToolList {
    /// Returns the tools as JSON in the form of this name, in which `encode` returns them: always the same for one form.
    pub fn encoded<T: Serialize>(
        &self,
        form: &'static str,
        encode: impl FnOnce() -> T,
    ) -> serde_json::Result<Cow<'_, RawValue>> {
        if let Some((_, kept)) = self.defined.encoded.get().filter(|(kept, _)| *kept == form) {
            return Ok(Cow::Borrowed(kept));
        }
        let encoded = to_raw_value(&encode())?;
        // Another form stays if it was first.
        let _ = self.defined.encoded.set((form, encoded.clone()));
        Ok(Cow::Owned(encoded))
    }

    /// Returns the length of all of them, in bytes; it is counted once.
    #[must_use]
    pub fn bytes(&self) -> usize {
        *self.defined.bytes.get_or_init(|| self.iter().map(ToolSchema::bytes).sum())
    }
}

impl<T: Into<Vec<ToolSchema>>> From<T> for ToolList {
    fn from(tools: T) -> Self {
        Self { defined: Arc::new(DefinedTools { tools: tools.into(), ..DefinedTools::default() }) }
    }
}

impl Deref for ToolList {
    type Target = [ToolSchema];

    fn deref(&self) -> &[ToolSchema] {
        &self.defined.tools
    }
}

impl PartialEq for ToolList {
    fn eq(&self, other: &Self) -> bool {
        self.defined.tools == other.defined.tools
    }
}
