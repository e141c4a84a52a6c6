//! Scripted replies in the bytes of each wire: the counterpart of the decoders, as the services themselves write.

mod anthropic;
mod openai_chat;

pub use self::anthropic::answer as anthropic;
pub use self::openai_chat::answer as openai_chat;
