//! Where the words of arguments come from: long spans they share with what untrusted sources said.
//!
//! Pure. Called by the turn machine, which tells it everything the conversation holds.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{CallId, Message, Source, ToolReturn};

/// Words in an argument that an untrusted source said first. Stored with requests: only added to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taint {
    /// JSON pointer of the argument, e.g. `/to`.
    pub arg: String,
    /// As they stand in the argument; long ones are cut.
    pub words: String,
    pub source: Source,
    /// The call whose return said them, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<CallId>,
}

/// How far the effect of a call reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Files of the workspace and nothing else: words that came from there may go there.
    Workspace,
    Beyond,
}

/// Everything said in a conversation, by whom. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Provenance {
    messages: Vec<Arc<Message>>,
    returns: Vec<Arc<ToolReturn>>,
}

impl Provenance {
    /// A message of the conversation, in order.
    pub fn hear(&mut self, message: Arc<Message>) {
        self.messages.push(message);
    }

    /// A return that no message holds yet.
    pub fn returned(&mut self, returned: Arc<ToolReturn>) {
        self.returns.push(returned);
    }

    /// Long spans of `args` that come from untrusted sources and not from the person; each once, in the order of the
    /// arguments.
    #[must_use]
    pub fn taints(&self, _args: &Value, _reach: Reach) -> Vec<Taint> {
        Vec::new()
    }
}
