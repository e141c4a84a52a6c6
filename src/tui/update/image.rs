//! Images on their way into the composer: pasted as paths, or read from the clipboard.
//!
//! A path is pasted as the text it is at once; the shell looks whether it names an image, and then a chip takes its
//! place. No file is read here.

use crate::frontend::images::{ImageError, SeenImage, dropped};
use crate::tui::composer::{Editor, Item};
use crate::tui::model::{Focus, Model};
use crate::tui::msg::{Clip, Cmd};

/// Whether paths in a text may be images for a model: in a command they stay text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MayName {
    Yes,
    No,
}

/// The same of the text before something is pasted into it.
pub fn may_name(before: &Editor) -> MayName {
    match before.items().first().map(Item::text) {
        Some("!" | "/") => MayName::No,
        Some(_) | None => MayName::Yes,
    }
}

/// Has the shell look at a text that was just pasted into the composer, where it may name images.
pub fn pasted(model: &Model, text: &str, cmds: &mut Vec<Cmd>) {
    let Some(header) = &model.header else { return };
    if !dropped(text).is_empty() {
        cmds.push(Cmd::Name { text: text.to_owned(), folder: header.workspace.clone() });
    }
}

/// The shell looked.
pub fn named(model: &mut Model, text: &str, images: Result<Vec<SeenImage>, ImageError>) {
    match images {
        Ok(images) => {
            model.composer.editor.show_images(text, &images);
            model.composer.touched(model.now_ms);
        }
        Err(error) => model.say(&error.to_string()),
    }
}

/// Asks for what is in the clipboard.
pub fn ask(model: &mut Model, cmds: &mut Vec<Cmd>) {
    model.flash("reading the clipboard");
    cmds.push(Cmd::ReadClipboard);
}

/// What was in the clipboard goes where it was asked for from.
pub fn clip(model: &mut Model, clip: Result<Clip, String>) {
    model.flash = None;
    let open = model.focus == Focus::Composer && model.panel.is_none() && model.find.is_none();
    match clip {
        Err(reason) => return model.say(&reason),
        Ok(_) if !open => return model.say("nothing was pasted: the keys are elsewhere by now"),
        Ok(Clip::Text(text)) => model.composer.editor.paste(&text),
        Ok(Clip::Image(seen)) => model.composer.editor.insert_images(&[seen]),
    }
    model.composer.touched(model.now_ms);
}
