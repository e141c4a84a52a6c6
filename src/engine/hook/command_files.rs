//! Finds the files that a hook's command names, as far as that is possible without a shell.
//!
//! It understands just enough of the shell to see where a word may name a program. If such a word is only
//! known at run time, it returns an error, and the hook is not trusted. Reads no files. Called by `trust`.
//!
//! It reads segments and not invocations: a word may be a file wherever it is, in quotes, assignments and
//! comments too, and of an invocation a word with `$CO_WORKSPACE`, which is known here, is unknown.

use std::path::{Path, PathBuf};

use crate::bash::{self, Segment};

/// The folders against which paths in commands are resolved.
#[derive(Debug, Clone)]
pub struct PathRoots {
    /// The session's folder, in which hooks run.
    pub workspace: PathBuf,
    pub home: Option<PathBuf>,
}

impl PathRoots {
    /// Returns the path for a word; it may be relative.
    pub(super) fn expand(&self, word: &str) -> PathBuf {
        match (word.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            (Some(_), None) | (None, _) => PathBuf::from(word),
        }
    }

    /// Returns the absolute path for a word of a program that runs in the workspace.
    fn path(&self, word: &str) -> PathBuf {
        self.workspace.join(self.expand(word))
    }
}

/// Programs that change the folder.
const MOVERS: &[&str] = &["cd", "pushd", "popd"];

/// Returns every word of a command line that may be a file, existing or not. Fails with a word that could name
/// any program.
pub(super) fn possible_files(line: &str, at: &PathRoots) -> Result<Vec<PathBuf>, String> {
    if line.contains('`') {
        return Err("`".to_owned());
    }
    let unquoted = line.replace("\\\n", "").replace(['"', '\''], "");
    let simple = unquoted.replace(">&", ">").replace("&>", ">").replace(">|", ">");
    let mut reader = WordReader { at, folder: CurrentFolder::Workspace, files: Vec::new() };
    let mut end = None;
    for segment in bash::segments(&simple) {
        let continues = end == Some(')') && segment.adjoins;
        reader.segment(&segment, if continues { WordValue::OfShell } else { WordValue::Fixed })?;
        end = segment.end;
    }
    // Quoted names may contain blanks.
    let quoted = line.split(['"', '\'']).filter(|text| text.contains(' '));
    reader.files.extend(quoted.map(|text| at.path(&reader.word(text).text)).collect::<Vec<_>>());
    Ok(reader.files)
}

/// Returns the files that a program's arguments may name. Fails with a word that denotes code which is in
/// no file, or which only the program can find.
pub(super) fn named_by_args(program: &str, args: &[String], at: &PathRoots) -> Result<Vec<PathBuf>, String> {
    let name = program.rsplit('/').next().unwrap_or(program);
    if bash::runs_others(name) {
        return Err(name.to_owned());
    }
    let flags = args.iter().take_while(|arg| arg.starts_with('-')).count();
    let (own, rest) = args.split_at(flags);
    let mut found = Vec::new();
    if bash::is_shell(name) {
        let is_inline = |arg: &&String| !arg.starts_with("--") && arg.ends_with('c');
        if own.iter().any(|arg| is_inline(&arg)) {
            found = possible_files(rest.first().map_or("", String::as_str), at)?;
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
    let is_script = own.is_empty() && rest.first().is_some_and(|script| at.path(script).is_file());
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
    found.extend(words.into_iter().filter(|word| !word.is_empty()).map(|word| at.path(word)));
    Ok(found)
}

/// Whether the value of a word is known before the shell runs it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordValue {
    Fixed,
    OfShell,
}

/// A word with known variables replaced.
struct ExpandedWord {
    text: String,
    value: WordValue,
    has_glob: bool,
}

/// The meaning of a word to the shell, or to the program that it is given to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordUse {
    Program,
    /// The value of a variable, or an argument of a program that runs nothing of it.
    Plain,
    /// An argument of a program that may run the file of this name.
    MayRun,
    /// A part of a text that is run.
    Code,
}

/// The folder in which the shell is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CurrentFolder {
    Workspace,
    Elsewhere,
}

struct WordReader<'a> {
    at: &'a PathRoots,
    folder: CurrentFolder,
    files: Vec<PathBuf>,
}

impl WordReader<'_> {
    /// Reads the words of one command; `first` is the value of the first one.
    fn segment(&mut self, segment: &Segment, mut first: WordValue) -> Result<(), String> {
        let mut used = WordUse::Program;
        let mut words = segment.words.iter();
        while let Some(word) = words.next() {
            let value = std::mem::replace(&mut first, WordValue::Fixed);
            if word.split('=').rev().skip(1).any(|name| name == "PATH") {
                return Err("PATH=".to_owned());
            }
            if used == WordUse::Program
                && value == WordValue::Fixed
                && (bash::is_keyword(word) || word == "time")
            {
                continue;
            }
            if used == WordUse::Program && word.contains('=') {
                word.split('=').skip(1).try_for_each(|part| self.look(part, value, WordUse::Plain))?;
                continue;
            }
            if MOVERS.contains(&word.as_str()) && matches!(used, WordUse::Program | WordUse::Code) {
                let stays = words.next().is_some_and(|folder| self.is_workspace(folder));
                self.folder = if stays { CurrentFolder::Workspace } else { CurrentFolder::Elsewhere };
                continue;
            }
            word.split('=').try_for_each(|part| self.look(part, value, used))?;
            used = following(used, word);
        }
        let used = if used == WordUse::Program { WordUse::Plain } else { used };
        segment.reads.iter().try_for_each(|word| self.look(word, WordValue::Fixed, used))
    }

    /// Adds the file of a word; fails with the word if it could name any program.
    fn look(&mut self, word: &str, value: WordValue, used: WordUse) -> Result<(), String> {
        if word.is_empty() {
            return Ok(());
        }
        let expanded = self.word(word);
        let text = expanded.text;
        let (is_path, is_flag) = (text.contains('/'), text.starts_with('-'));
        let is_unknown = value == WordValue::OfShell || expanded.value == WordValue::OfShell;
        let is_cut = text.contains("${") && !text.contains('}');
        let unknown = is_cut || (is_unknown && (is_path || used != WordUse::Plain));
        let glob = expanded.has_glob && (is_path || used == WordUse::MayRun);
        let tilde = text.starts_with('~') && !text.starts_with("~/") && is_path;
        let moved = self.folder == CurrentFolder::Elsewhere
            && !text.starts_with(['/', '~'])
            && (is_path || (used == WordUse::MayRun && !is_flag));
        if unknown || glob || tilde || moved {
            // The segments of a text end before the parenthesis.
            return Err(if text.ends_with('$') { format!("{text}(") } else { text });
        }
        self.files.push(self.at.path(&text));
        Ok(())
    }

    /// Replaces a variable at the beginning of a word, if it is known.
    fn word(&self, word: &str) -> ExpandedWord {
        let (name, rest) = match word.strip_prefix("${").and_then(|inner| inner.split_once('}')) {
            Some(braced) => braced,
            None => {
                let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let inner = word.strip_prefix('$').unwrap_or_default();
                inner.split_at(inner.find(|c| !is_of_name(c)).unwrap_or(inner.len()))
            }
        };
        let folder = match (name, self.folder) {
            ("CO_WORKSPACE", _) | ("PWD", CurrentFolder::Workspace) => Some(self.at.workspace.as_path()),
            ("HOME", _) => self.at.home.as_deref(),
            (_, _) => None,
        };
        let written = if folder.is_some() { rest } else { word };
        // A brace may expand to several names; a backslash at the end escapes the blank behind it.
        let of_shell = written.contains(['$', '{']) || written.starts_with('\\') || written.ends_with('\\');
        ExpandedWord {
            text: folder.map_or_else(|| word.to_owned(), |folder| format!("{}{rest}", folder.display())),
            value: if of_shell { WordValue::OfShell } else { WordValue::Fixed },
            has_glob: written.contains(['*', '?', '[']),
        }
    }

    fn is_workspace(&self, folder: &str) -> bool {
        let ExpandedWord { text, value, .. } = self.word(folder);
        value == WordValue::Fixed && (text == "." || self.at.path(&text) == self.at.workspace)
    }
}

/// Returns how the word after this one is used.
fn following(used: WordUse, word: &str) -> WordUse {
    let name = Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or(word);
    match used {
        WordUse::Program if bash::runs_others(name) || bash::is_interpreter(name) => WordUse::MayRun,
        WordUse::Program => WordUse::Plain,
        WordUse::MayRun if ["-c", "-e"].contains(&word) => WordUse::Code,
        WordUse::Plain | WordUse::MayRun | WordUse::Code => used,
    }
}
