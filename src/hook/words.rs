//! Finds the files that a shell command line names, as far as that is possible without a shell.
//!
//! It understands just enough of the shell to see where a word may name a program. If such a word is only
//! known at run time, it returns an error, and the hook is not trusted. Reads no files. Called by `trust`.

use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::str::Chars;

use super::trust::Whereabouts;
use crate::bash;

/// Programs and builtins that run what their arguments name, besides interpreters.
const RUNNERS: &[&str] = &[
    ".", "source", "eval", "exec", "command", "builtin", "env", "nohup", "xargs", "timeout", "nice", "sudo",
    "time", "setsid", "stdbuf", "ionice", "taskset", "unshare", "setpriv", "chroot", "runuser",
];

/// Whether a program or builtin runs what its arguments name.
fn is_runner(name: &str) -> bool {
    RUNNERS.contains(&name) || bash::is_interpreter(name)
}

/// Words after which a command begins.
const OPENERS: &[&str] = &["if", "then", "else", "elif", "while", "until", "do", "!", "time"];

/// Returns every word that may be a file, existing or not. Fails with a word that could name any program.
pub(super) fn named(line: &str, at: &Whereabouts) -> Result<Vec<PathBuf>, String> {
    let mut reader = Reader {
        at,
        chars: line.chars().peekable(),
        now: Word::default(),
        scene: Scene::START,
        files: Vec::new(),
    };
    reader.read()?;
    // Quoted names may contain blanks.
    let quoted = line.split(['"', '\'']).filter(|text| text.contains(' '));
    reader.files.extend(quoted.map(|text| in_quotes(text, at)));
    Ok(reader.files)
}

/// Returns the files that a program's arguments may name. Fails with a word that stands for code which is in
/// no file, or which only the program can find.
pub(super) fn named_by_args(
    program: &str,
    args: &[String],
    at: &Whereabouts,
) -> Result<Vec<PathBuf>, String> {
    let name = program.rsplit('/').next().unwrap_or(program);
    if RUNNERS.contains(&name) {
        return Err(name.to_owned());
    }
    let in_workspace = |word: &str| at.workspace.join(expanded(word, at));
    let flags = args.iter().take_while(|arg| arg.starts_with('-')).count();
    let (own, rest) = args.split_at(flags);
    let mut found = Vec::new();
    if bash::is_shell(name) {
        let is_inline = |arg: &&String| !arg.starts_with("--") && arg.ends_with('c');
        if own.iter().any(|arg| is_inline(&arg)) {
            found = named(rest.first().map_or("", String::as_str), at)?;
        } else if let Some(flag) = rest.iter().find(|arg| arg.starts_with('-') && is_inline(arg))
            && !own.is_empty()
        {
            // It depends on the flags before whether this flag belongs to the shell or to the script.
            return Err(flag.clone());
        }
    }
    let finds_code: &[&str] = match name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
        "python" => &["-c", "-m"],
        "node" | "deno" | "bun" => &["-e", "--eval", "-p", "--print", "-r", "--require", "eval", "run"],
        "perl" => &["-e", "-E", "-M", "-m"],
        "ruby" => &["-e", "-r"],
        "php" => &["-r"],
        _ => &[],
    };
    let is_code = |arg: &&String| {
        finds_code.iter().any(|flag| arg == flag || (flag.len() == 2 && arg.starts_with(flag)))
    };
    // Arguments after a script belong to the script; after flags it is unknown which word is the script.
    let is_script = own.is_empty() && rest.first().is_some_and(|script| in_workspace(script).is_file());
    if let Some(arg) = args.iter().filter(|_| !is_script).find(is_code) {
        return Err(arg.clone());
    }
    let mut words: Vec<&str> = args.iter().map(String::as_str).collect();
    // `--rules=FILE`, `-fFILE`.
    words.extend(args.iter().filter_map(|arg| Some(arg.split_once('=')?.1)));
    words.extend(args.iter().filter(|arg| arg.starts_with('-')).filter_map(|arg| arg.get(2..)));
    if matches!(name, "make" | "gmake" | "just" | "npm" | "rake") {
        words.extend(["Makefile", "makefile", "GNUmakefile", "justfile", "package.json", "Rakefile"]);
    }
    found.extend(words.into_iter().filter(|word| !word.is_empty()).map(in_workspace));
    Ok(found)
}

pub(super) fn expanded(word: &str, at: &Whereabouts) -> PathBuf {
    match (word.strip_prefix("~/"), &at.home) {
        (Some(rest), Some(home)) => home.join(rest),
        (Some(_), None) | (None, _) => PathBuf::from(word),
    }
}

#[derive(Default)]
struct Word {
    text: String,
    sort: Sort,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Sort {
    #[default]
    Known,
    /// Its value is known only to the shell at run time.
    Open,
}

/// The role of the next word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Command,
    Argument,
    /// The value of a variable, at the beginning of a command.
    Value,
    /// A file that is written.
    Target,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Runs {
    Nothing,
    Files,
    Text,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Folder {
    Workspace,
    /// After `cd`; its target is the next word.
    Moving,
    Elsewhere,
}

#[derive(Clone, Copy)]
struct Scene {
    place: Place,
    runs: Runs,
    folder: Folder,
}

impl Scene {
    const START: Self = Self { place: Place::Command, runs: Runs::Nothing, folder: Folder::Workspace };
}

struct Reader<'a> {
    at: &'a Whereabouts,
    chars: Peekable<Chars<'a>>,
    now: Word,
    scene: Scene,
    files: Vec<PathBuf>,
}

impl Reader<'_> {
    fn read(&mut self) -> Result<(), String> {
        while let Some(char) = self.chars.next() {
            match char {
                '"' | '\'' => {}
                '$' => self.expand()?,
                '=' => self.assign()?,
                '>' => {
                    self.end()?;
                    while self.chars.next_if(|char| "&>|".contains(*char)).is_some() {}
                    self.scene.place = Place::Target;
                }
                '<' => self.end()?,
                '`' => return Err("`".to_owned()),
                ')' => {
                    self.command()?;
                    self.glue();
                }
                '\n' | ';' | '|' | '&' | '(' => self.command()?,
                '}' if self.now.text.is_empty() => self.command()?,
                '{' if self.chars.peek().is_some_and(|next| next.is_whitespace()) => self.command()?,
                blank if blank.is_whitespace() => self.end()?,
                other => {
                    // An escaped blank continues the name, and a brace may expand to several names.
                    if other == '{' || (other == '\\' && self.chars.peek() == Some(&' ')) {
                        self.now.sort = Sort::Open;
                    }
                    self.now.text.push(other);
                }
            }
        }
        self.command()
    }

    /// Text right after a substitution belongs to the same word.
    fn glue(&mut self) {
        while self.chars.next_if(|char| matches!(char, '"' | '\'')).is_some() {}
        if self.chars.peek().is_some_and(|next| !next.is_whitespace() && !";|&()<>`".contains(*next)) {
            self.now.sort = Sort::Open;
        }
    }

    fn expand(&mut self) -> Result<(), String> {
        if self.chars.peek() == Some(&'(') {
            self.now.sort = Sort::Open;
            self.now.text.push_str("$(");
            return self.command();
        }
        let braced = self.chars.next_if_eq(&'{').is_some();
        let mut name = String::new();
        while let Some(char) =
            self.chars.next_if(|char| if braced { *char != '}' } else { is_of_name(*char) })
        {
            name.push(char);
        }
        if braced {
            self.chars.next();
        }
        let path = match (name.as_str(), self.scene.folder) {
            ("CO_WORKSPACE", _) | ("PWD", Folder::Workspace) => Some(self.at.workspace.as_path()),
            ("HOME", _) => self.at.home.as_deref(),
            (_, _) => None,
        };
        match path {
            Some(path) if self.now.text.is_empty() => self.now.text = path.display().to_string(),
            Some(_) | None => {
                self.now.sort = Sort::Open;
                self.now.text.push('$');
                self.now.text.push_str(&name);
            }
        }
        Ok(())
    }

    fn assign(&mut self) -> Result<(), String> {
        let name = std::mem::take(&mut self.now.text);
        if name == "PATH" {
            return Err("PATH=".to_owned());
        }
        if self.scene.place == Place::Command {
            self.scene.place = Place::Value;
        } else {
            self.now.text = name;
            let place = self.scene.place;
            self.end()?;
            self.scene.place = place;
        }
        Ok(())
    }

    /// Ends the word and its command.
    fn command(&mut self) -> Result<(), String> {
        self.end()?;
        if self.scene.folder == Folder::Moving {
            self.scene.folder = Folder::Elsewhere;
        }
        (self.scene.place, self.scene.runs) = (Place::Command, Runs::Nothing);
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        let Word { text, sort } = std::mem::take(&mut self.now);
        if text.is_empty() && sort == Sort::Known {
            // A value may be empty.
            if self.scene.place == Place::Value {
                self.scene.place = Place::Command;
            }
            return Ok(());
        }
        let place = std::mem::replace(&mut self.scene.place, Place::Argument);
        if place == Place::Target {
            return Ok(());
        }
        let path = self.path(&text);
        if self.scene.folder == Folder::Moving && place == Place::Argument {
            let stays = sort == Sort::Known && (text == "." || path == self.at.workspace);
            self.scene.folder = if stays { Folder::Workspace } else { Folder::Elsewhere };
            return Ok(());
        }
        if self.is_unclear(&text, sort, place) {
            return Err(text);
        }
        self.go_on(&text, place);
        self.files.push(path);
        Ok(())
    }

    fn is_unclear(&self, text: &str, sort: Sort, place: Place) -> bool {
        let Scene { runs, folder, .. } = self.scene;
        let (is_path, is_flag) = (text.contains('/'), text.starts_with('-'));
        let tilde = text.starts_with('~') && !text.starts_with("~/") && is_path;
        let open = sort == Sort::Open && (is_path || place == Place::Command || runs != Runs::Nothing);
        let glob = text.contains(['*', '?', '[']) && (is_path || runs == Runs::Files);
        let moved = folder == Folder::Elsewhere
            && !text.starts_with(['/', '~'])
            && (is_path || (runs == Runs::Files && !is_flag));
        open || glob || tilde || moved
    }

    fn go_on(&mut self, text: &str, place: Place) {
        let name = Path::new(text).file_name().and_then(|name| name.to_str()).unwrap_or(text);
        match place {
            Place::Value => self.scene.place = Place::Command,
            Place::Command if OPENERS.contains(&text) => self.scene.place = Place::Command,
            Place::Command if ["cd", "pushd", "popd"].contains(&text) => self.scene.folder = Folder::Moving,
            Place::Command if is_runner(name) => self.scene.runs = Runs::Files,
            Place::Argument if self.scene.runs == Runs::Files && ["-c", "-e"].contains(&text) => {
                self.scene.runs = Runs::Text;
            }
            Place::Command | Place::Argument | Place::Target => {}
        }
    }

    fn path(&self, text: &str) -> PathBuf {
        match (text.strip_prefix("~/"), &self.at.home) {
            (Some(rest), Some(home)) => home.join(rest),
            (Some(_), None) | (None, _) => self.at.workspace.join(text),
        }
    }
}

fn in_quotes(text: &str, at: &Whereabouts) -> PathBuf {
    let bare = text.replace("${HOME}", "$HOME").replace("${CO_WORKSPACE}", "$CO_WORKSPACE");
    match (bare.strip_prefix("$HOME/"), &at.home, bare.strip_prefix("$CO_WORKSPACE/")) {
        (Some(rest), Some(home), _) => home.join(rest),
        (_, _, Some(rest)) => at.workspace.join(rest),
        (_, _, None) => at.workspace.join(text),
    }
}

fn is_of_name(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}
