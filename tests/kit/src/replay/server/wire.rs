//! Scripted replies in the bytes of each wire, as the services write them: the counterpart of the decoders.

mod anthropic;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;

pub use self::anthropic::answer as anthropic;
pub use self::gemini::{answer as gemini, framing};
pub use self::ollama::answer as ollama;
pub use self::openai_chat::answer as openai_chat;
pub use self::openai_responses::answer as openai_responses;
