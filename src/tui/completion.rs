//! The popup that completes slash commands, their arguments and file mentions while the user types.
//!
//! It completes the word before the cursor with values received from the session's owner. Nothing here
//! changes the text. Changed by `update::complete`, drawn by `view::popup`.

mod area;
mod template;
mod word;

use jiff::Zoned;

pub use self::area::{Area, ROOMY, window};
pub use self::template::TemplateGap;
pub use self::word::{CompletionWord, WordKind, word};
use super::fuzzy::{MatchMode, Query};
use crate::command::about_mode;
use crate::config::Mode;
use crate::frontend::protocol::{CommandLine, SessionLine};
use crate::history::SessionId;
use crate::stdx::moment::ago;
use crate::tool::ToolSpec;

/// The owner's slash commands, and the tools whose arguments can be edited.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompletionSources {
    pub commands: Vec<CommandLine>,
    pub tools: Vec<ToolSpec>,
    /// Other sessions, the latest first.
    pub sessions: Vec<SessionLine>,
    pub suggested: Option<ArgumentSuggestions>,
}

/// Values that a tool server suggests for an argument of its prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentSuggestions {
    /// Without the slash.
    pub command: String,
    pub argument: String,
    /// Each with the argument's name before it.
    pub words: Vec<String>,
}

impl ArgumentSuggestions {
    /// Whether it is about what is being typed.
    pub fn is_for(&self, command: &str, typed: &str) -> bool {
        let argument = typed.split_once('=').map(|(argument, _)| argument);
        self.command.eq_ignore_ascii_case(command) && argument == Some(&self.argument)
    }
}

/// Shorter words match sessions, models and modes only where a word of theirs begins: single letters are in all names.
const FUZZY_FROM: usize = 3;

/// The most rows kept for scrolling.
const MOST_ROWS: usize = 200;

/// The popup and the state of its lookups.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Completion {
    pub popup: Option<Popup>,
    pub files: Files,
    /// The word at which it was closed; it stays closed until the word changes.
    dismissed: Option<CompletionWord>,
    /// The revision of the composer's text at the last lookup.
    pub seen: u64,
    /// The files that matched the last word; the matches of a longer word are among them.
    matched: Option<FileMatches>,
    /// When the list of sessions was last requested.
    pub sessions_asked_ms: Option<u64>,
    /// The number of files compared with a word so far.
    pub compared: usize,
}

/// The files that match a word.
#[derive(Debug, Clone, PartialEq)]
struct FileMatches {
    typed: String,
    /// Their indices, in order.
    found: Vec<usize>,
}

/// The popup while it is open.
#[derive(Debug, Clone, PartialEq)]
pub struct Popup {
    pub word: CompletionWord,
    /// Best first, at most `MOST_ROWS`.
    pub rows: Vec<Row>,
    /// The total number of matches.
    pub found: usize,
    pub chosen: usize,
    pub choice: Choice,
    /// More rows may arrive soon.
    pub is_loading: bool,
}

/// How the row was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// By default, as the first of the list.
    Ours,
    /// By the user.
    Persons,
}

/// One offered completion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    /// The text that is shown and matched.
    pub label: String,
    pub marks: Vec<usize>,
    pub usage: String,
    pub about: String,
    pub source: String,
    /// Enter runs it: no argument is required or known. Otherwise Enter completes it, so that `/y` and Enter turns nothing on.
    pub runs: bool,
    pub does: RowAction,
}

/// The effect of choosing a row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RowAction {
    /// Writes its label.
    #[default]
    Writes,
    OpensSession(SessionId),
    SwitchesModel,
    SetsMode(Mode),
}

/// The files of the workspace as received from the owner.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Files {
    pub paths: Vec<String>,
    /// Whether they are requested and not received yet; `paths` may hold an earlier result.
    pub is_asked: bool,
    /// When they were last requested.
    pub asked_ms: Option<u64>,
}

impl Completion {
    /// Whether it is on the screen and handles keys first.
    pub fn is_open(&self) -> bool {
        self.popup.is_some()
    }

    /// Closes it until the text changes.
    pub fn dismiss(&mut self) {
        self.dismissed = self.popup.take().map(|popup| popup.word);
    }

    /// Keeps it closed while the word is this one.
    pub fn dismiss_at(&mut self, word: CompletionWord) {
        self.popup = None;
        self.dismissed = Some(word);
    }

    /// Closes it and forgets the dismissed word.
    pub fn close(&mut self) {
        self.popup = None;
        self.dismissed = None;
    }

    pub fn is_dismissed(&self, word: &CompletionWord) -> bool {
        self.dismissed.as_ref() == Some(word)
    }

    /// Whether it is neither open nor dismissed for a word.
    pub fn rests(&self) -> bool {
        self.popup.is_none() && self.dismissed.is_none()
    }

    /// Stores the received files.
    pub fn tell(&mut self, paths: Vec<String>) {
        self.files.is_asked = false;
        self.list(paths);
    }

    /// Lists these files and resources.
    pub fn list(&mut self, paths: Vec<String>) {
        self.files.paths = paths;
        self.matched = None;
    }

    /// Looks up completions for `word`; closes the popup if there are none.
    pub fn look_up(&mut self, word: CompletionWord, known: &CompletionSources, now: &Zoned) {
        self.dismissed = None;
        let (rows, found) = match &word.kind {
            WordKind::Command => palette_rows(&word.text, known, now),
            WordKind::Argument { command } => argument_rows(&word.text, command, known),
            WordKind::Mention | WordKind::ShellWord => self.file_rows(&word.text),
        };
        let names_files = matches!(word.kind, WordKind::Mention | WordKind::ShellWord);
        let is_loading = names_files && self.files.is_asked && self.files.paths.is_empty();
        if rows.is_empty() && !is_loading {
            self.popup = None;
            return;
        }
        // If the word is unchanged, the user's choice is kept.
        let kept = self
            .popup
            .take()
            .filter(|popup| popup.word == word && popup.choice == Choice::Persons)
            .and_then(|popup| popup.rows.into_iter().nth(popup.chosen))
            .and_then(|chosen| rows.iter().position(|row| row.label == chosen.label));
        let choice = if kept.is_some() { Choice::Persons } else { Choice::Ours };
        self.popup = Some(Popup { word, rows, found, chosen: kept.unwrap_or(0), choice, is_loading });
    }
}

impl Popup {
    pub fn chosen_row(&self) -> Option<&Row> {
        self.rows.get(self.chosen)
    }

    /// Chooses the row before, or wraps around to the last.
    pub fn up(&mut self) {
        self.choose(self.chosen.checked_sub(1).unwrap_or(self.rows.len().saturating_sub(1)));
    }

    /// Chooses the row after, or wraps around to the first.
    pub fn down(&mut self) {
        self.choose(if self.chosen + 1 < self.rows.len() { self.chosen + 1 } else { 0 });
    }

    /// Chooses this row.
    pub fn choose(&mut self, row: usize) {
        self.choice = Choice::Persons;
        self.chosen = row;
    }

    /// Whether the word is already complete; Enter then applies to the line.
    pub fn is_complete(&self) -> bool {
        match &self.word.kind {
            WordKind::Command => {
                let typed = format!("/{}", self.word.text.to_lowercase());
                self.rows.iter().any(|row| row.label == typed)
            }
            WordKind::Argument { .. } | WordKind::Mention | WordKind::ShellWord => {
                self.rows.iter().any(|row| row.label == self.word.text)
            }
        }
    }
}

/// Returns commands, sessions, models and modes as one list; labels that begin with the word come first.
fn palette_rows(typed: &str, known: &CompletionSources, now: &Zoned) -> (Vec<Row>, usize) {
    let lower = typed.to_lowercase();
    let mut rows = command_rows(&lower, &known.commands);
    rows.extend(rows_of(&lower, &known.sessions, |one| &one.title, |one| session_row(one, now)));
    let args = |name: &str| {
        let command = known.commands.iter().find(|command| command.name == name);
        command.map(|command| command.args.as_slice()).unwrap_or_default()
    };
    rows.extend(rows_of(
        &lower,
        args("model"),
        |name| name,
        |_| Row {
            about: "switch to this model".to_owned(),
            source: "model".to_owned(),
            does: RowAction::SwitchesModel,
            ..Row::default()
        },
    ));
    rows.extend(rows_of(&lower, args("mode"), |name| name, |name| mode_row(name)));
    rows.sort_by_key(|row| !row.label.trim_start_matches('/').to_lowercase().starts_with(&lower));
    let found = rows.len();
    rows.truncate(MOST_ROWS);
    (rows, found)
}

/// Returns rows for the matching ones of `all`; `row` gives all but the label and its marks.
fn rows_of<T>(typed: &str, all: &[T], label: fn(&T) -> &String, row: impl Fn(&T) -> Row) -> Vec<Row> {
    let mut query = Query::new(typed, MatchMode::Name);
    let mut found = query.best(all.iter().map(|one| label(one).as_str()));
    if typed.chars().count() < FUZZY_FROM {
        let words = |at: &usize| label(&all[*at]).to_lowercase();
        let begins = |word: &str| word.starts_with(typed);
        found.retain(|at| words(at).split(|c: char| !c.is_alphanumeric()).any(begins));
    }
    let row = |at: usize| {
        let label = label(&all[at]).clone();
        Row { marks: query.marks(&label), label, ..row(&all[at]) }
    };
    found.into_iter().map(row).collect()
}

fn session_row(one: &SessionLine, now: &Zoned) -> Row {
    let waiting = if one.waiting > 0 { format!(", {} waiting", one.waiting) } else { String::new() };
    let about = format!("{}{waiting}", ago(one.updated, now.timestamp(), now.time_zone()));
    Row {
        about,
        source: "session".to_owned(),
        does: RowAction::OpensSession(one.id.clone()),
        ..Row::default()
    }
}

fn mode_row(name: &str) -> Row {
    let Some(mode) = Mode::named(name) else { return Row::default() };
    Row {
        about: about_mode(mode).to_owned(),
        source: "mode".to_owned(),
        does: RowAction::SetsMode(mode),
        ..Row::default()
    }
}

fn command_rows(typed: &str, commands: &[CommandLine]) -> Vec<Row> {
    let mut query = Query::new(typed, MatchMode::Name);
    let found = query.best(commands.iter().map(|command| command.name.as_str()));
    let row = |at: &usize| {
        let command = &commands[*at];
        Row {
            label: format!("/{}", command.name),
            marks: query.marks(&command.name).into_iter().map(|mark| mark + 1).collect(),
            usage: command.usage.clone(),
            about: command.about.clone(),
            source: command.source.clone(),
            runs: !command.usage.starts_with('<') && command.args.is_empty(),
            does: RowAction::Writes,
        }
    };
    found.iter().map(row).collect()
}

fn argument_rows(typed: &str, command: &str, known: &CompletionSources) -> (Vec<Row>, usize) {
    let suggested = known.suggested.as_ref().filter(|one| one.is_for(command, typed));
    let args = match suggested {
        Some(suggested) => suggested.words.as_slice(),
        None => {
            let command = known.commands.iter().find(|one| one.name.eq_ignore_ascii_case(command));
            command.map_or(&[][..], |one| &one.args)
        }
    };
    let mut query = Query::new(typed, MatchMode::Path);
    let found = query.best(args.iter().map(String::as_str));
    let rows = found.iter().take(MOST_ROWS).map(|at| plain_row(&args[*at], &mut query, 0));
    (rows.collect(), found.len())
}

/// The parts of a word that decide which files are candidates for the rest of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Scope<'a> {
    wants_hidden: bool,
    /// The folder that is written out, with its `/`.
    folder: &'a str,
}

impl<'a> Scope<'a> {
    fn of(typed: &'a str) -> Self {
        let folder = typed.rfind('/').map_or("", |at| typed.split_at(at + 1).0);
        Self { wants_hidden: is_hidden(typed), folder }
    }
}

fn is_hidden(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with('.'))
}

impl Completion {
    /// Returns files for a word; if it contains an existing folder, only that folder is searched.
    fn file_rows(&mut self, typed: &str) -> (Vec<Row>, usize) {
        let scope = Scope::of(typed);
        let paths = &self.files.paths;
        let inside = !scope.folder.is_empty() && paths.iter().any(|path| path == scope.folder);
        let skip = if inside { scope.folder.len() } else { 0 };
        let is_offered = |at: &usize| {
            let path = &paths[*at];
            (scope.wants_hidden || !is_hidden(path))
                && (!inside || (path.starts_with(scope.folder) && path.len() > skip))
        };
        let candidates: Vec<usize> = match self.matched.take().filter(|before| grew(&before.typed, typed)) {
            Some(before) => before.found,
            None => (0..paths.len()).filter(is_offered).collect(),
        };
        let mut query = Query::new(typed.split_at(skip).1, MatchMode::Path);
        let best = query.best(candidates.iter().map(|at| paths[*at].split_at(skip).1));
        let rows = best.iter().take(MOST_ROWS).map(|at| plain_row(&paths[candidates[*at]], &mut query, skip));
        let rows = rows.collect();
        self.compared += candidates.len();
        let mut found: Vec<usize> = best.iter().map(|at| candidates[*at]).collect();
        found.sort_unstable();
        self.matched = Some(FileMatches { typed: typed.to_owned(), found });
        (rows, best.len())
    }
}

/// Whether every match of the new word also matched the old one. A backslash may change the meaning of the
/// text before it.
fn grew(before: &str, now: &str) -> bool {
    now.starts_with(before) && !now.contains('\\') && Scope::of(before) == Scope::of(now)
}

/// Creates a row with only a label; its first `skip` bytes take no part in the match.
fn plain_row(label: &str, query: &mut Query, skip: usize) -> Row {
    use unicode_segmentation::UnicodeSegmentation as _;
    let (before, rest) = label.split_at(skip);
    let before = before.graphemes(true).count();
    let marks = query.marks(rest).into_iter().map(|mark| mark + before).collect();
    Row { label: label.to_owned(), marks, ..Row::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(name: &str, args: &[&str]) -> CommandLine {
        CommandLine {
            name: name.to_owned(),
            usage: String::new(),
            about: String::new(),
            source: "built-in".to_owned(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
        }
    }

    fn labels(kind: WordKind, text: &str) -> Vec<String> {
        let modes = command("mode", &["ask", "plan"]);
        let models = command("model", &["a/x", "b/y"]);
        let commands = [command("help", &[]), command("history", &[]), models, modes];
        let paths = [".env", "docs/", "main.md", "src/", ".git2/x", "docs/src.md", "src/main.rs", "src/tui/"];
        let paths = paths.map(str::to_owned).to_vec();
        let mut completion =
            Completion { files: Files { paths, is_asked: false, asked_ms: None }, ..Completion::default() };
        let sessions = vec![SessionLine {
            id: SessionId("01".to_owned()),
            title: "Birds of the lake".to_owned(),
            workspace: "/w".into(),
            here: true,
            updated: jiff::Timestamp::UNIX_EPOCH,
            turns: 1,
            waiting: 0,
        }];
        let known =
            CompletionSources { commands: commands.to_vec(), sessions, ..CompletionSources::default() };
        completion.look_up(
            CompletionWord { kind, from: 0, to: 0, text: text.to_owned() },
            &known,
            &Zoned::default(),
        );
        completion
            .popup
            .map(|popup| popup.rows)
            .unwrap_or_default()
            .into_iter()
            .map(|row| row.label)
            .collect()
    }

    #[test]
    fn a_word_that_grows_is_looked_for_in_what_matched() {
        let paths: Vec<String> = (0..500)
            .map(|at| {
                format!("{}/file {at}{}.rs", ["src", "Src", ".git"][at % 3], ["", "a", "\u{fc}"][at % 3])
            })
            .chain(["src/".to_owned(), "main.md".to_owned()])
            .collect();
        let look_up = |completion: &mut Completion, text: &str| {
            let word = CompletionWord { kind: WordKind::Mention, from: 0, to: 0, text: text.to_owned() };
            completion.look_up(word, &CompletionSources::default(), &Zoned::default());
            completion.popup.as_ref().map(|popup| (popup.rows.clone(), popup.found))
        };
        let words =
            ["s", "sr", "src", "src/", "src/f", "src/f1", "src/f12", "src/f1", "src/f1a", "S", "Su", "u"];
        let more = ["", ".", ".g", ".git/", ".git/2", "f 1", "f 1 2", "f 1 2a", "1\\", "1\\ ", "x", "xyz"];
        let mut completion = Completion::default();
        completion.tell(paths.clone());
        for text in words.into_iter().chain(more) {
            let mut anew = Completion::default();
            anew.tell(paths.clone());
            let expected = look_up(&mut anew, text);
            assert_eq!(look_up(&mut completion, text), expected, "{text:?}");
        }
        let mut completion = Completion::default();
        completion.tell(paths);
        look_up(&mut completion, "4");
        let (all, first) = (completion.compared, completion.popup.as_ref().map_or(0, |popup| popup.found));
        look_up(&mut completion, "49");
        assert_eq!(completion.compared - all, first);
        completion.tell(vec!["new 499".to_owned()]);
        assert_eq!(look_up(&mut completion, "499").map(|(_, found)| found), Some(1));
    }

    #[test]
    fn what_is_offered_for_a_word() {
        let model = || WordKind::Argument { command: "model".to_owned() };
        let cases: &[(WordKind, &str, &[&str])] = &[
            (
                WordKind::Command,
                "",
                &["/help", "/history", "/model", "/mode", "Birds of the lake", "a/x", "b/y", "ask", "plan"],
            ),
            (WordKind::Command, "he", &["/help"]),
            (WordKind::Command, "bla", &["Birds of the lake"]),
            (WordKind::Command, "Pl", &["plan"]),
            (WordKind::Command, "lake", &["Birds of the lake"]),
            (WordKind::Command, "b", &["Birds of the lake", "b/y"]),
            (WordKind::Command, "HI", &["/history"]),
            (WordKind::Command, "x", &["a/x"]),
            (WordKind::Command, "q", &[]),
            (model(), "", &["a/x", "b/y"]),
            (model(), "y", &["b/y"]),
            (WordKind::Argument { command: "help".to_owned() }, "", &[]),
            (WordKind::Mention, "", &["docs/", "main.md", "src/", "docs/src.md", "src/main.rs", "src/tui/"]),
            (WordKind::Mention, "src/", &["src/main.rs", "src/tui/"]),
            (WordKind::Mention, "src/m", &["src/main.rs"]),
            (WordKind::Mention, "main", &["main.md", "src/main.rs"]),
            (WordKind::Mention, ".e", &[".env"]),
            (WordKind::ShellWord, "tui", &["src/tui/"]),
        ];
        for (place, text, expected) in cases {
            assert_eq!(labels(place.clone(), text), *expected, "{place:?} {text:?}");
        }
    }
}
