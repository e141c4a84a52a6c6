//! Sending the composer's text, taking it back, stashing it, and expanding pasted blocks.

use crate::agent::port::Op;
use crate::command::{Entry, dispatch};
use crate::frontend::images::Prompt;
use crate::frontend::protocol::ClientRequest;
use crate::message::UserPart;
use crate::message::images::{Mention, mentions};
use crate::tui::composer::{ExpandOutcome, StashOutcome};
use crate::tui::keys::{Action, Context};
use crate::tui::model::{Focus, Model};
use crate::tui::msg::Cmd;

pub fn send(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if model.composer.editor.break_at_backslash() {
        return model.composer.on_edit(model.now_ms);
    }
    if model.composer.editor.text().trim().is_empty() {
        return;
    }
    let own_words = model.composer.editor.own_words();
    let short = model.composer.editor.in_short();
    let text = model.composer.take();
    model.sent_short = short.map(|short| (text.trim().to_owned(), short));
    // The saved draft is outdated; an empty one replaces it.
    model.composer.unsaved_since = Some(model.now_ms);
    // The owner parses the line in the same way and answers everything except prompts at once.
    let entry = dispatch(&text);
    if let (Some(_), Entry::Prompt { text }) = (&model.turn, &entry) {
        model.queue.push(text.clone());
    }
    model.transcript.follow();
    model.auto_focus.left.clear();
    cmds.push(Cmd::Send(ask(text, &entry, own_words)));
}

/// Returns the request for a line. Files named only in a pasted block do not count as mentioned by the user.
fn ask(text: String, entry: &Entry, own_words: Option<String>) -> ClientRequest {
    let paths = |named: &[Mention]| named.iter().map(|one| one.path.clone()).collect::<Vec<_>>();
    match (entry, own_words) {
        (Entry::Prompt { text: prompt }, Some(words)) => {
            let named = mentions(&words);
            if paths(&named) == paths(&mentions(prompt)) {
                return ClientRequest::Line { text };
            }
            ClientRequest::Prompt(Prompt { text: prompt.clone(), named })
        }
        (
            Entry::Prompt { .. } | Entry::Quit | Entry::Nothing | Entry::Shell { .. } | Entry::Command { .. },
            _,
        ) => ClientRequest::Line { text },
    }
}

/// Expands the pasted block right before the cursor; returns whether there was one.
pub fn expand(model: &mut Model) -> bool {
    if model.focus != Focus::Composer || model.panel.is_some() || model.find.is_some() {
        return false;
    }
    match model.composer.editor.expand() {
        ExpandOutcome::NoChip => return false,
        ExpandOutcome::Yes => model.composer.on_edit(model.now_ms),
        ExpandOutcome::TooLarge => {
            let behind = " opens it in your editor";
            let editor = model.keymap.around("  ", Context::Text, Action::EditOutside, behind);
            model.say(&format!("too large to show here{editor}"));
        }
    }
    true
}

pub fn stash(model: &mut Model) {
    match model.composer.stash() {
        StashOutcome::Stashed => {
            let behind = " on an empty line restores it";
            let back = model.keymap.around("  ", Context::Composer, Action::Stash, behind);
            model.flash(&format!("stashed{back}"));
        }
        StashOutcome::Swapped => model.flash("swapped with the stashed text"),
        StashOutcome::Restored => {}
        StashOutcome::Nothing => return model.flash("nothing to stash"),
    }
    model.composer.on_edit(model.now_ms);
}

/// Takes the newest queued line back into the composer.
pub fn unqueue(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let Some(mut text) = model.queue.pop() else { return };
    cmds.push(Cmd::Send(ClientRequest::Op(Op::TakeBack {
        parts: vec![UserPart::Text { text: text.clone() }],
    })));
    if !model.composer.is_empty() {
        text = format!("{text}\n{}", model.composer.editor.text());
    }
    model.composer.editor.replace(&text);
    model.composer.on_edit(model.now_ms);
}
