//! The files of custom commands: the user's own, next to the settings, and those of a trusted project. Blocking.

use super::trust::{TrustedTexts, is_command};
use super::world::World;
use crate::command::CommandFile;
use crate::config::{PROJECT_COMMANDS, markdown_below, read_bounded};

/// Returns the files in the order in which they count, and what is wrong with others; `trusted` is what counts of the
/// session's folder.
#[must_use]
pub fn command_files(world: &World, trusted: TrustedTexts) -> (Vec<CommandFile>, Vec<String>) {
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    // The user may keep the folder elsewhere and link it here.
    if let Some(root) = world.config_dir().and_then(|folder| folder.join("commands").canonicalize().ok()) {
        let (names, problem) = markdown_below(&root);
        problems.extend(problem.map(|problem| format!("{}: {problem}", root.display())));
        for name in names {
            let path = root.join(&name);
            match read_bounded(&path) {
                Ok(text) => files.extend(text.map(|text| CommandFile {
                    source: path.display().to_string(),
                    path: name,
                    text,
                    is_of_project: false,
                })),
                Err(error) => problems.push(format!("{}: {error}", path.display())),
            }
        }
    }
    let (contents, unread) = trusted.unwrap_or_default();
    for folder in PROJECT_COMMANDS {
        let of_folder = contents.iter().filter_map(|(name, text)| {
            let path = name.strip_prefix(folder)?.strip_prefix('/')?;
            let (path, source, text) = (path.to_owned(), name.clone(), text.clone());
            Some(CommandFile { path, source, text, is_of_project: true })
        });
        files.extend(of_folder);
    }
    problems.extend(unread.into_iter().filter(|problem| is_command(problem)));
    (files, problems)
}
