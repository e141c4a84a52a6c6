//! The origin of changes.

use super::state::UndoWorkspace;
use crate::message::CallId;

/// The call that changes files.
#[derive(Debug, Clone)]
pub struct ChangeOrigin {
    pub call: CallId,
    pub place: UndoWorkspace,
    pub tool: String,
    /// One line for lists.
    pub label: String,
}
