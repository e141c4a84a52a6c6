//! A form for a tool's arguments, made from its JSON Schema.

/// The fields and what is written in them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Form;
