//! Images of a prompt, for the model that answers it: read relative to the prompt's folder, rejected for a model
//! without image input.

use std::path::Path;

use crate::accounts::Models;
use crate::frontend::images::{ImageError, PathRoots, Prompt, attach, read};
use crate::message::UserPart;
use crate::message::images::mention;
use crate::workspace::World;

/// Returns the parts of a prompt that was typed in `folder`.
pub async fn parts(
    prompt: Prompt,
    folder: &Path,
    world: &World,
    models: &Models,
) -> Result<Vec<UserPart>, ImageError> {
    let is_unsupported = models.active().borrow().profile.images == Some(false);
    let unsupported_by = is_unsupported.then(|| models.current().model);
    attach(prompt, places(folder, world), unsupported_by).await
}

/// Returns the mentions that attach these files; each must be an image that can be sent.
pub async fn mentions(files: Vec<String>, world: &World) -> Result<String, ImageError> {
    let places = places(&world.workspace, world);
    let naming = tokio::task::spawn_blocking(move || {
        let one = |file: &String| {
            read(&places.path(file), file)?;
            mention(file).ok_or_else(|| {
                let detail = "its name has a quote or a line break in it; rename it first".to_owned();
                ImageError::Unreadable { name: file.clone(), detail }
            })
        };
        files.iter().map(one).collect::<Result<Vec<String>, ImageError>>()
    });
    let lost = |detail: String| ImageError::Unreadable { name: "an image".to_owned(), detail };
    Ok(naming.await.map_err(|error| lost(error.to_string()))??.join(" "))
}

fn places(folder: &Path, world: &World) -> PathRoots {
    PathRoots { folder: folder.to_owned(), home: world.home() }
}
