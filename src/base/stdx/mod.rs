//! General utilities missing from the standard library: text in terminal cells, stream framing, safe file
//! writes, the clock.
//!
//! The lowest layer: it imports no other module of this crate and knows no domain concept (message, tool,
//! setting). Every other layer may call it.

pub mod ansi;
pub mod names;
pub mod text;

pub mod secrecy;
pub mod sse;

pub mod json_items;
pub mod json_stream;
pub mod json_texts;

pub mod moment;
pub mod paths;
pub mod public_address;

pub mod beneath;
pub mod fs;
pub mod ignored;
pub mod secret_files;

pub mod image;

pub mod clock;
pub mod pending;
pub mod process_memory;
