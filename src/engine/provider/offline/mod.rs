//! `offline`: the built-in provider for a first look without a key and without network.
//!
//! It is no language model and says so. A table of fixed requests has a script for each of them, with real tool calls,
//! which go through the same turn and the same approvals as any model's; their outcome is reported honestly. Equal
//! conversations get equal replies. It opens no connection and reads no file. Called by `app` where nothing else is
//! configured.

mod outcome;
mod reply;
mod script;
mod texts;

use std::collections::VecDeque;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio_util::sync::CancellationToken;

use self::reply::Reply;
use super::{ModelRequest, Provider, ProviderError, RequestKind, StartKind, StreamEvent};
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

    /// The name of the offline model.
    pub const MODEL: &'static str = "tour";

    #[must_use]
    pub fn new(pace: Pace) -> Self {
        Self { pace }
    }
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
        let reply = match request.purpose {
            RequestKind::Answer => Reply::to(&request),
            RequestKind::Summary => Reply::words(texts::SUMMARY),
            RequestKind::Title => Reply::words(texts::TITLE),
        };
        let events = events(reply, self.pace);
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

fn events(reply: Reply, pace: Pace) -> VecDeque<StreamEvent> {
    let Reply { before, thought, text, calls } = reply;
    let stop = if calls.is_empty() { StopKind::EndTurn } else { StopKind::ToolUse };
    let mut parts = vec![(StartKind::Thinking, thought.to_owned()), (StartKind::Text, text)];
    parts.retain(|(_, text)| !text.is_empty());
    parts.extend(calls.into_iter().zip(1..).map(|((name, args), number)| {
        let wire_id = format!("offline_{before}_{number}");
        (StartKind::ToolCall { wire_id, name: name.to_owned() }, args.to_string())
    }));
    let mut events = VecDeque::from([StreamEvent::Started { model: Offline::MODEL.to_owned() }]);
    for (index, (kind, text)) in parts.into_iter().enumerate() {
        events.push_back(StreamEvent::PartStarted { index, kind });
        events.extend(pieces(&text, pace).into_iter().map(|delta| StreamEvent::PartDelta { index, delta }));
        events.push_back(StreamEvent::PartEnded { index, opaque: None });
    }
    // No model, no tokens: the usage stays unsaid.
    events.push_back(StreamEvent::Finished { stop: StopReason::new(stop), usage: Usage::default() });
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
