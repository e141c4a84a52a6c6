//! The keys of the completion popup, and the conditions that open it.
//!
//! Typing opens it, moving the cursor does not; Enter goes to the popup only where that is unambiguous. Called for
//! keys, and after everything that may have changed the composer.

use super::{mode, panel, send};
use crate::frontend::protocol::{ClientQuery, ClientRequest, SessionLine};
use crate::tui::completion::{
    ArgumentSuggestions, Choice, CompletionWord, Popup, RowAction, TemplateGap, WordKind, word,
};
use crate::tui::keys::CompleteKey;
use crate::tui::model::{Focus, Model};
use crate::tui::msg::Cmd;
use crate::tui::panel::stop_first;

/// How long a list of files or of sessions is used before it is requested again, in milliseconds.
const GOOD_MS: u64 = 3_000;

pub fn act(model: &mut Model, key: CompleteKey, cmds: &mut Vec<Cmd>) {
    match key {
        CompleteKey::Accept if does(model, cmds) => {}
        CompleteKey::Accept => accept(model, false),
        CompleteKey::Enter => enter(model, cmds),
    }
}

/// Moves to another row.
pub fn step(model: &mut Model, to: fn(&mut Popup)) {
    if let Some(popup) = &mut model.completion.popup {
        to(popup);
    }
}

/// The effect of Enter while the popup is open.
enum EnterAction {
    /// Sends the line as written.
    Send,
    Accept,
    AcceptAndSend,
    /// Runs the action of the row.
    Does,
}

fn enter(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let length = model.composer.editor.items().len();
    let meant = model.completion.popup.as_ref().map_or(EnterAction::Send, |popup| meant(popup, length));
    match meant {
        EnterAction::Send => send::send(model, cmds),
        EnterAction::Accept => accept(model, false),
        EnterAction::AcceptAndSend => {
            accept(model, true);
            send::send(model, cmds);
        }
        EnterAction::Does => {
            does(model, cmds);
        }
    }
}

/// Clears the word and runs the action of the chosen row; returns whether the row has one.
fn does(model: &mut Model, cmds: &mut Vec<Cmd>) -> bool {
    let chosen = model.completion.popup.as_ref().and_then(|popup| popup.chosen_row().cloned());
    let Some(row) = chosen.filter(|row| row.does != RowAction::Writes) else { return false };
    if let (RowAction::OpensSession(_), Some(_)) = (&row.does, &model.turn) {
        model.flash(&stop_first(&model.keymap));
        return true;
    }
    model.completion.close();
    model.composer.editor.replace("");
    model.composer.on_edit(model.now_ms);
    match row.does {
        RowAction::Writes => {}
        RowAction::OpensSession(session) => panel::open_session(model, session, cmds),
        RowAction::SwitchesModel => cmds.push(Cmd::Send(ClientRequest::SwitchModel { name: row.label })),
        RowAction::SetsMode(mode) => mode::set(model, mode, cmds),
    }
    true
}

fn meant(popup: &Popup, length: usize) -> EnterAction {
    let Some(row) = popup.chosen_row().filter(|_| !popup.is_complete()) else { return EnterAction::Send };
    match (&popup.word.kind, popup.choice) {
        (WordKind::Command, choice) if row.does != RowAction::Writes => {
            // Letters that stand apart in a name are no choice: the line may be a mistyped command.
            let label = row.label.to_lowercase();
            let is_literal = !popup.word.text.is_empty() && label.contains(&popup.word.text.to_lowercase());
            if choice == Choice::Persons || is_literal { EnterAction::Does } else { EnterAction::Send }
        }
        (WordKind::Command, _) if row.runs && popup.word.to == length => EnterAction::AcceptAndSend,
        (WordKind::Command, _) => EnterAction::Accept,
        (WordKind::Argument { .. }, Choice::Persons) => EnterAction::AcceptAndSend,
        (WordKind::Mention | WordKind::ShellWord, Choice::Persons) => EnterAction::Accept,
        (WordKind::Mention, Choice::Ours) if !popup.word.text.is_empty() => EnterAction::Accept,
        // Any text is valid here, so that only a row chosen by the user replaces it.
        (WordKind::Argument { .. } | WordKind::Mention | WordKind::ShellWord, Choice::Ours) => {
            EnterAction::Send
        }
    }
}

/// Writes the chosen row into the composer. A complete word gets a space, unless it is sent at once.
fn accept(model: &mut Model, is_sent: bool) {
    let Some(popup) = model.completion.popup.take() else { return };
    let Some(row) = popup.chosen_row() else {
        model.completion.popup = Some(popup);
        return;
    };
    let CompletionWord { kind, from, to, .. } = &popup.word;
    let is_folder = row.label.ends_with('/');
    let mut text = match kind {
        WordKind::Command | WordKind::Argument { .. } => row.label.clone(),
        WordKind::Mention => mention(&row.label),
        WordKind::ShellWord => shell_word(&row.label),
    };
    let is_last = model.composer.editor.items().get(*to).is_none_or(|item| item.text() != " ");
    let ends = match kind {
        WordKind::Command => true,
        WordKind::Argument { .. } => false,
        WordKind::Mention | WordKind::ShellWord => !is_folder,
    };
    if !is_sent && ends && is_last {
        text.push(' ');
    }
    model.composer.editor.put(*from, *to, &text);
    model.composer.on_edit(model.now_ms);
    let Some(word) = word(&model.composer.editor) else { return };
    match kind {
        // Completion continues with the content of the folder.
        WordKind::Mention | WordKind::ShellWord if is_folder => {
            look_up(model, word);
            model.completion.seen = model.composer.revision;
        }
        WordKind::Argument { .. } => model.completion.dismiss_at(word),
        WordKind::Command | WordKind::Mention | WordKind::ShellWord => {}
    }
}

/// Formats a path as a mention; the quote of a folder stays open for a path inside it.
fn mention(path: &str) -> String {
    match (path.contains(char::is_whitespace), path.ends_with('/')) {
        (false, _) => format!("@{path}"),
        (true, true) => format!("@\"{path}"),
        (true, false) => format!("@\"{path}\""),
    }
}

/// Quotes a path as one shell word.
fn shell_word(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,=@%:".contains(c);
    let mut word = String::new();
    if path.starts_with('-') {
        word.push_str("./");
    }
    for c in path.chars() {
        if !is_plain(c) {
            word.push('\\');
        }
        word.push(c);
    }
    word
}

/// Opens, renews or closes the popup after the composer may have changed.
pub fn follow(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let revision = model.composer.revision;
    let was_written = std::mem::replace(&mut model.completion.seen, revision) != revision;
    if !was_written && model.completion.rests() {
        return;
    }
    let Some(word) = completable(model) else { return model.completion.close() };
    let is_open = model.completion.is_open();
    if model.completion.is_dismissed(&word) || (!is_open && !was_written) {
        return;
    }
    match &word.kind {
        // A shell word is completed only on Tab.
        WordKind::ShellWord if !is_open => return,
        WordKind::Mention => {
            ask_files(model, cmds);
            if was_written {
                ask_template(&model.completion.files.paths, &word.text, cmds);
            }
        }
        WordKind::ShellWord => ask_files(model, cmds),
        WordKind::Command => ask_sessions(model, cmds),
        // Edits before the answer send no further query.
        WordKind::Argument { command } if was_written => ask_server(command, &word.text, cmds),
        WordKind::Argument { .. } => {}
    }
    if model.completion.popup.as_ref().is_none_or(|popup| popup.word != word) {
        look_up(model, word);
    }
}

/// Tab in a `!` line: completes a file name. Returns whether Tab was used for that.
pub fn offer(model: &mut Model, cmds: &mut Vec<Cmd>) -> bool {
    let Some(word) = completable(model).filter(|word| word.kind == WordKind::ShellWord) else {
        return false;
    };
    ask_files(model, cmds);
    look_up(model, word);
    if model.completion.popup.as_ref().is_some_and(|popup| popup.found == 1) {
        accept(model, false);
    }
    true
}

/// Takes what a tool server suggests, if it is still wanted.
pub fn on_suggestions(model: &mut Model, command: String, argument: String, values: &[String]) {
    if let Some(template) = command.strip_prefix('@') {
        return suggested_resources(model, template, values);
    }
    let words = values.iter().map(|value| format!("{argument}={value}")).collect();
    let suggested = ArgumentSuggestions { command, argument, words };
    let wanted = completable(model).filter(|word| match &word.kind {
        WordKind::Argument { command } => suggested.is_for(command, &word.text),
        WordKind::Command | WordKind::Mention | WordKind::ShellWord => false,
    });
    model.known.suggested = Some(suggested);
    if let Some(word) = wanted.filter(|word| !model.completion.is_dismissed(word)) {
        look_up(model, word);
    }
}

/// Takes the values of a template's open place, as resources that can be named.
fn suggested_resources(model: &mut Model, template: &str, values: &[String]) {
    let Some(word) = completable(model).filter(|word| word.kind == WordKind::Mention) else { return };
    let Some(TemplateGap { before, .. }) = TemplateGap::of(template, &word.text) else { return };
    let mut paths = std::mem::take(&mut model.completion.files.paths);
    let new: Vec<String> = values.iter().map(|value| format!("{before}{value}")).collect();
    paths.extend(new.into_iter().filter(|path| !paths.contains(path)).collect::<Vec<_>>());
    model.completion.list(paths);
    if !model.completion.is_dismissed(&word) {
        look_up(model, word);
    }
}

/// Takes the list of files.
pub fn files(model: &mut Model, paths: Vec<String>) {
    model.completion.tell(paths);
    renew(model);
}

fn look_up(model: &mut Model, word: CompletionWord) {
    model.completion.look_up(word, &model.known, &model.clock);
}

pub fn sessions(model: &mut Model, sessions: Vec<SessionLine>) {
    model.known.sessions = sessions;
    renew(model);
}

/// Looks up the same word again, because more may be known.
pub fn renew(model: &mut Model) {
    if let Some(word) = model.completion.popup.as_ref().map(|popup| popup.word.clone()) {
        look_up(model, word);
    }
}

/// Returns the word to complete if the composer has the keys and is being edited.
fn completable(model: &Model) -> Option<CompletionWord> {
    let writes = model.focus == Focus::Composer
        && model.panel.is_none()
        && model.find.is_none()
        && !model.composer.is_browsing();
    if writes { word(&model.composer.editor) } else { None }
}

fn ask_files(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let files = &mut model.completion.files;
    let is_old = files.asked_ms.is_none_or(|asked| model.now_ms >= asked + GOOD_MS);
    if files.is_asked || !is_old {
        return;
    }
    files.is_asked = true;
    files.asked_ms = Some(model.now_ms);
    cmds.push(Cmd::Ask(ClientQuery::Files));
}

/// Asks the tool server of a prompt for values of the argument that is being typed.
fn ask_server(command: &str, word: &str, cmds: &mut Vec<Cmd>) {
    if let (true, Some((argument, typed))) = (command.contains(':'), word.split_once('=')) {
        let (command, argument, typed) = (command.to_owned(), argument.to_owned(), typed.to_owned());
        cmds.push(Cmd::Ask(ClientQuery::Suggest { command, argument, typed }));
    }
}

/// Asks a tool server for values of the open place of its resource template that is being typed.
fn ask_template(paths: &[String], word: &str, cmds: &mut Vec<Cmd>) {
    let place = paths.iter().find_map(|path| Some((path, TemplateGap::of(path, word)?)));
    if let Some((template, TemplateGap { name, typed, .. })) = place.filter(|(path, _)| path.contains(':')) {
        let (argument, typed) = (name.to_owned(), typed.to_owned());
        cmds.push(Cmd::Ask(ClientQuery::Suggest { command: format!("@{template}"), argument, typed }));
    }
}

fn ask_sessions(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let asked = &mut model.completion.sessions_asked_ms;
    if asked.is_none_or(|asked| model.now_ms >= asked + GOOD_MS) {
        *asked = Some(model.now_ms);
        cmds.push(Cmd::Ask(ClientQuery::Sessions));
    }
}
