//! The popup that completes slash commands, their arguments and file mentions while the user types.
//!
//! It completes the word before the cursor with values received from the session's owner. Nothing here
//! changes the text. Changed by `update::complete`, drawn by `view::popup`.

mod area;
mod word;

pub use self::area::{Area, ROOMY, window};
pub use self::word::{Place, Word, word};
use super::fuzzy::{Like, Query};
use crate::frontend::protocol::CommandLine;

/// The most rows kept for scrolling.
const MOST_ROWS: usize = 200;

/// The popup and the state of its lookups.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Completion {
    pub popup: Option<Popup>,
    pub files: Files,
    /// The word at which it was closed; it stays closed until the word changes.
    dismissed: Option<Word>,
    /// The revision of the composer's text at the last lookup.
    pub seen: u64,
    /// The files that matched the last word; the matches of a longer word are among them.
    matched: Option<Matched>,
    /// The number of files compared with a word so far.
    pub compared: usize,
}

/// The files that match a word.
#[derive(Debug, Clone, PartialEq)]
struct Matched {
    typed: String,
    /// Their indices, in order.
    found: Vec<usize>,
}

/// The popup while it is open.
#[derive(Debug, Clone, PartialEq)]
pub struct Popup {
    pub word: Word,
    /// Best first, at most `MOST_ROWS`.
    pub rows: Vec<Row>,
    /// The total number of matches.
    pub found: usize,
    pub chosen: usize,
    pub choice: Choice,
    pub wait: Wait,
}

/// How the row was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// By default, as the first of the list.
    Ours,
    /// By the user.
    Persons,
}

/// Whether more rows may arrive soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    Nothing,
    Looking,
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
    pub enter: Enter,
}

/// What Enter does with a row that is a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Enter {
    /// Completes it and waits for arguments; so `/y` and Enter turns nothing on.
    #[default]
    Completes,
    /// Runs it: no argument is required or known.
    Runs,
}

/// The files of the workspace as received from the owner.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Files {
    pub paths: Vec<String>,
    pub state: FilesState,
    /// When they were last requested.
    pub asked_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FilesState {
    #[default]
    Unasked,
    /// Requested; `paths` may hold an earlier result.
    Asked,
    Told,
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
    pub fn dismiss_at(&mut self, word: Word) {
        self.popup = None;
        self.dismissed = Some(word);
    }

    /// Closes it and forgets the dismissed word.
    pub fn close(&mut self) {
        self.popup = None;
        self.dismissed = None;
    }

    pub fn is_dismissed(&self, word: &Word) -> bool {
        self.dismissed.as_ref() == Some(word)
    }

    /// Whether it is neither open nor dismissed for a word.
    pub fn rests(&self) -> bool {
        self.popup.is_none() && self.dismissed.is_none()
    }

    /// Stores the received files.
    pub fn tell(&mut self, paths: Vec<String>) {
        self.files.paths = paths;
        self.files.state = FilesState::Told;
        self.matched = None;
    }

    /// Looks up completions for `word`; closes the popup if there are none.
    pub fn look_up(&mut self, word: Word, commands: &[CommandLine]) {
        self.dismissed = None;
        let (rows, found) = match &word.place {
            Place::Command => command_rows(&word.text, commands),
            Place::Argument { command } => argument_rows(&word.text, command, commands),
            Place::Mention | Place::ShellWord => self.file_rows(&word.text),
        };
        let wait = match (&word.place, self.files.state) {
            (Place::Mention | Place::ShellWord, FilesState::Asked) if self.files.paths.is_empty() => {
                Wait::Looking
            }
            (Place::Command | Place::Argument { .. } | Place::Mention | Place::ShellWord, _) => Wait::Nothing,
        };
        if rows.is_empty() && wait == Wait::Nothing {
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
        self.popup = Some(Popup { word, rows, found, chosen: kept.unwrap_or(0), choice, wait });
    }
}

impl Popup {
    pub fn chosen(&self) -> Option<&Row> {
        self.rows.get(self.chosen)
    }

    /// Chooses the row before, or wraps around to the last.
    pub fn up(&mut self) {
        self.choice = Choice::Persons;
        self.chosen = self.chosen.checked_sub(1).unwrap_or(self.rows.len().saturating_sub(1));
    }

    /// Chooses the row after, or wraps around to the first.
    pub fn down(&mut self) {
        self.choice = Choice::Persons;
        self.chosen = if self.chosen + 1 < self.rows.len() { self.chosen + 1 } else { 0 };
    }

    /// Chooses this row.
    pub fn choose(&mut self, row: usize) {
        self.choice = Choice::Persons;
        self.chosen = row;
    }

    /// Whether the word is already complete; Enter then applies to the line.
    pub fn is_complete(&self) -> bool {
        match &self.word.place {
            Place::Command => {
                let typed = format!("/{}", self.word.text.to_lowercase());
                self.rows.iter().any(|row| row.label == typed)
            }
            Place::Argument { .. } | Place::Mention | Place::ShellWord => {
                self.rows.iter().any(|row| row.label == self.word.text)
            }
        }
    }
}

fn command_rows(typed: &str, commands: &[CommandLine]) -> (Vec<Row>, usize) {
    // Commands are recognised in capitals too.
    let lower = typed.to_lowercase();
    let mut query = Query::new(&lower, Like::Name);
    let mut found = query.best(commands.iter().map(|command| command.name.as_str()));
    // Names that begin with the word come before those that only contain its letters.
    found.sort_by_key(|at| !commands[*at].name.starts_with(&lower));
    let row = |at: &usize| {
        let command = &commands[*at];
        Row {
            label: format!("/{}", command.name),
            marks: query.marks(&command.name).into_iter().map(|mark| mark + 1).collect(),
            usage: command.usage.clone(),
            about: command.about.clone(),
            source: command.source.clone(),
            enter: match command.usage.starts_with('<') || !command.args.is_empty() {
                true => Enter::Completes,
                false => Enter::Runs,
            },
        }
    };
    let rows: Vec<Row> = found.iter().take(MOST_ROWS).map(row).collect();
    (rows, found.len())
}

fn argument_rows(typed: &str, command: &str, commands: &[CommandLine]) -> (Vec<Row>, usize) {
    let args = commands.iter().find(|one| one.name == command).map_or(&[][..], |one| &one.args);
    let mut query = Query::new(typed, Like::Path);
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
        let mut query = Query::new(typed.split_at(skip).1, Like::Path);
        let best = query.best(candidates.iter().map(|at| paths[*at].split_at(skip).1));
        let rows = best.iter().take(MOST_ROWS).map(|at| plain_row(&paths[candidates[*at]], &mut query, skip));
        let rows = rows.collect();
        self.compared += candidates.len();
        let mut found: Vec<usize> = best.iter().map(|at| candidates[*at]).collect();
        found.sort_unstable();
        self.matched = Some(Matched { typed: typed.to_owned(), found });
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

    fn labels(place: Place, text: &str) -> Vec<String> {
        let commands = [command("help", &[]), command("history", &[]), command("model", &["a/x", "b/y"])];
        let paths = [".env", "docs/", "main.md", "src/", ".git2/x", "docs/src.md", "src/main.rs", "src/tui/"];
        let paths = paths.map(str::to_owned).to_vec();
        let mut completion = Completion {
            files: Files { paths, state: FilesState::Told, asked_ms: None },
            ..Completion::default()
        };
        completion.look_up(Word { place, from: 0, to: 0, text: text.to_owned() }, &commands);
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
            let word = Word { place: Place::Mention, from: 0, to: 0, text: text.to_owned() };
            completion.look_up(word, &[]);
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
        let model = || Place::Argument { command: "model".to_owned() };
        let cases: &[(Place, &str, &[&str])] = &[
            (Place::Command, "", &["/help", "/history", "/model"]),
            (Place::Command, "he", &["/help"]),
            (Place::Command, "HI", &["/history"]),
            (Place::Command, "x", &[]),
            (model(), "", &["a/x", "b/y"]),
            (model(), "y", &["b/y"]),
            (Place::Argument { command: "help".to_owned() }, "", &[]),
            (Place::Mention, "", &["docs/", "main.md", "src/", "docs/src.md", "src/main.rs", "src/tui/"]),
            (Place::Mention, "src/", &["src/main.rs", "src/tui/"]),
            (Place::Mention, "src/m", &["src/main.rs"]),
            (Place::Mention, "main", &["main.md", "src/main.rs"]),
            (Place::Mention, ".e", &[".env"]),
            (Place::ShellWord, "tui", &["src/tui/"]),
        ];
        for (place, text, expected) in cases {
            assert_eq!(labels(place.clone(), text), *expected, "{place:?} {text:?}");
        }
    }
}
