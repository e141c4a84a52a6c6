//! `offline`: the built-in provider for a first look without a key and without network.
//!
//! It is no language model and says so. A fixed set of rules turns plain requests into real tool calls, which go
//! through the same turn and the same approvals as any model's, and tells honestly what came of them. Equal
//! conversations get equal replies. It opens no connection and reads no file. Called by `app` where nothing else is
//! configured.

mod answer;
mod outcome;
mod understand;
mod words;

use std::collections::VecDeque;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{ModelRequest, Provider, ProviderError, StartKind, StreamEvent};
use crate::message::{StopKind, StopReason, Usage};

/// Between two words at reading speed.
const BETWEEN_WORDS: Duration = Duration::from_millis(24);

/// How fast it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Word by word, as one reads: on a terminal.
    Reading,
    /// All at once.
    Instant,
}

/// The provider.
#[derive(Debug, Clone, Copy)]
pub struct Offline {
    pace: Pace,
}

impl Offline {
    pub const NAME: &'static str = "offline";

    /// The name of what stands in for a model.
    pub const MODEL: &'static str = "tour";

    #[must_use]
    pub fn new(pace: Pace) -> Self {
        Self { pace }
    }
}

/// What is said in one reply, in order.
#[derive(Debug, Clone, PartialEq)]
enum Say {
    Thinking(String),
    Text(String),
    Call { name: &'static str, args: Value },
}

impl Provider for Offline {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn stream(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let said = answer::reply(&request);
        let events = events(said, answer::replies_so_far(&request), self.pace);
        let pace = self.pace;
        stream::unfold(events, move |mut events| async move {
            let event = events.pop_front()?;
            if pace == Pace::Reading && matches!(event, StreamEvent::PartDelta { .. }) {
                tokio::time::sleep(BETWEEN_WORDS).await;
            }
            Some((Ok(event), events))
        })
        .take_until(cancel.cancelled_owned())
        .boxed()
    }
}

fn events(said: Vec<Say>, before: usize, pace: Pace) -> VecDeque<StreamEvent> {
    let mut events = VecDeque::from([StreamEvent::Started { model: Offline::MODEL.to_owned() }]);
    let mut calls = 0;
    for (index, say) in said.into_iter().enumerate() {
        let (kind, text) = match say {
            Say::Thinking(text) => (StartKind::Thinking, text),
            Say::Text(text) => (StartKind::Text, text),
            Say::Call { name, args } => {
                calls += 1;
                let wire_id = format!("offline_{before}_{calls}");
                (StartKind::ToolCall { wire_id, name: name.to_owned() }, args.to_string())
            }
        };
        events.push_back(StreamEvent::PartStarted { index, kind });
        events.extend(pieces(&text, pace).into_iter().map(|delta| StreamEvent::PartDelta { index, delta }));
        events.push_back(StreamEvent::PartEnded { index, opaque: None });
    }
    let kind = if calls > 0 { StopKind::ToolUse } else { StopKind::EndTurn };
    // No model, no tokens: the usage stays unsaid.
    events.push_back(StreamEvent::Finished { stop: StopReason::new(kind), usage: Usage::default() });
    events
}

/// The text as it is streamed; words keep the space after them.
fn pieces(text: &str, pace: Pace) -> Vec<String> {
    match pace {
        Pace::Instant => vec![text.to_owned()],
        Pace::Reading => text.split_inclusive([' ', '\n']).map(str::to_owned).collect(),
    }
}

#[cfg(test)]
mod tests;
