//! The user's editor, for a file.

use std::path::Path;

use tokio::signal::unix::{SignalKind, signal};

use super::error::{CliError, Result};
use super::input::Terminals;
use crate::frontend::external_editor::{editor_command, refusal};
use crate::workspace::World;

/// Returns the editor. Without a terminal only one that is named can be meant. Errs with how to set one.
pub(super) fn editor(world: &World) -> Result<String> {
    let has_terminal = Terminals::of_process().interactive();
    let found = if has_terminal { world.text_editor() } else { world.named_editor() };
    found.ok_or_else(|| {
        let error = CliError::error("no editor is set");
        error.hint("install vi or nano, or set $VISUAL or $EDITOR, e.g. EDITOR=nano")
    })
}

/// Runs the editor on a file and waits for its end. The inner error says why it failed.
pub(super) async fn edit(editor: &str, path: &Path) -> Result<std::result::Result<(), String>> {
    // While the editor has the terminal, it handles Ctrl+C.
    let _theirs = signal(SignalKind::interrupt())?;
    let status = editor_command(editor, path).status().await?;
    Ok(if status.success() { Ok(()) } else { Err(refusal(status)) })
}
