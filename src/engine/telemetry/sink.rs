//! The seam between collecting spans and the places where they are kept.

use opentelemetry_sdk::trace::SpanData;

/// A failed write, with the reason.
pub(super) enum Loss {
    Spans(String),
    /// Something that is made of spans; the reason is a whole sentence.
    Other(String),
}

/// A place where spans are kept.
pub(super) trait Sink: Send + 'static {
    /// Called once before the first batch, and after each batch for which no caller waits.
    fn maintain(&mut self) {}

    /// Writes a batch.
    fn write(&mut self, batch: Vec<SpanData>) -> Result<(), Loss>;
}
