//! What the standard library lacks for this program: text in terminal cells, wire framing, careful files, the clock.
//!
//! The lowest layer: it imports nothing of ours and knows no word of the domain (no message, no tool, no setting).
//! Everybody above calls it.

pub mod text;

pub mod secrecy;
pub mod sse;

pub mod json_items;
pub mod json_stream;

pub mod paths;

pub mod beneath;
pub mod fs;
pub mod secret_files;

pub mod image;

pub mod clock;
