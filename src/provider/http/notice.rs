//! Puts what a codec notices of a request before the end of its reply.
//!
//! A decoder sees the reply alone; only here are the request and its reported usage in one place. Called by the shell.

use std::sync::Arc;

use futures::stream::{self, Stream, StreamExt};

use crate::provider::{ModelRequest, ProviderError, StreamEvent, WireCodec};

type Item = Result<StreamEvent, ProviderError>;

/// The same stream, with a [`StreamEvent::Notice`] before `Finished` where the codec has something to say.
pub fn noticing<W: WireCodec>(
    events: impl Stream<Item = Item> + Send + 'static,
    codec: Arc<W>,
    request: ModelRequest,
) -> impl Stream<Item = Item> + Send + 'static {
    events.flat_map(move |item| {
        let notice = match &item {
            Ok(StreamEvent::Finished { usage, .. }) => codec.notice(&request, usage),
            Ok(
                StreamEvent::Started { .. }
                | StreamEvent::PartStarted { .. }
                | StreamEvent::PartDelta { .. }
                | StreamEvent::PartEnded { .. }
                | StreamEvent::Notice { .. }
                | StreamEvent::Usage { .. },
            )
            | Err(_) => None,
        };
        stream::iter(notice.map(|text| Ok(StreamEvent::Notice { text })).into_iter().chain([item]))
    })
}
