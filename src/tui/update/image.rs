//! Images that enter the composer: pasted as paths, or read from the clipboard.
//!
//! A path is inserted as text at once; if the shell finds that it names an image, a chip replaces it. No file is read
//! here.

use crate::frontend::images::{ImageError, SeenImage, path_lists};
use crate::tui::model::{Focus, Model};
use crate::tui::msg::{Cmd, PastedItem};

/// Asks the shell to check pasted text for image paths.
pub fn on_paste(model: &Model, text: &str, cmds: &mut Vec<Cmd>) {
    let Some(header) = &model.header else { return };
    if !path_lists(text).is_empty() {
        cmds.push(Cmd::Name { text: text.to_owned(), folder: header.workspace.clone() });
    }
}

/// Takes the result of that check.
pub fn on_check(model: &mut Model, text: &str, images: Result<Vec<SeenImage>, ImageError>) {
    match images {
        Ok(images) => {
            model.composer.editor.show_images(text, &images);
            model.composer.on_edit(model.now_ms);
        }
        Err(error) => model.say(&error.to_string()),
    }
}

/// Asks for the content of the clipboard.
pub fn ask(model: &mut Model, cmds: &mut Vec<Cmd>) {
    model.flash("reading the clipboard");
    cmds.push(Cmd::ReadClipboard);
}

/// Inserts the content of the clipboard at the place that requested it.
pub fn clip(model: &mut Model, clip: Result<PastedItem, String>) {
    model.flash = None;
    let open = model.focus == Focus::Composer && model.panel.is_none() && model.find.is_none();
    match clip {
        Err(reason) => return model.say(&reason),
        Ok(_) if !open => return model.say("nothing was pasted: the prompt lost focus"),
        Ok(PastedItem::Text(text)) => model.composer.editor.paste(&text),
        Ok(PastedItem::Image(seen)) => model.composer.editor.insert_images(&[seen]),
    }
    model.composer.on_edit(model.now_ms);
}
