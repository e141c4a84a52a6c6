//! What changes files.

use super::state::UndoPlace;
use crate::message::CallId;

/// What changes files: a call.
#[derive(Debug, Clone)]
pub struct Deed {
    pub call: CallId,
    pub place: UndoPlace,
    pub tool: String,
    /// One line for lists.
    pub label: String,
}
