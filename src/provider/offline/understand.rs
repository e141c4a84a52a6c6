//! Plain requests → what is wanted. Rules over words, nothing else: what fits no rule is `Unknown`, never guessed.

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    List { path: String },
    Read { paths: Vec<String> },
    Find { pattern: String },
    Search { text: String, path: String },
    Run { command: String },
    Write { path: String, content: Option<String> },
    Replace { path: String, old: String, new: String },
    Tour,
    Help,
    Connect,
    Markdown,
    Hello,
    Unknown,
}

/// Words that are polite and mean nothing here.
const COURTESIES: [&str; 8] =
    ["please ", "can you ", "could you ", "would you ", "now ", "then ", "hey ", "i want you to "];

/// What a request asks for.
pub fn understand(text: &str) -> Wanted {
    let text = bare(text);
    let rules: [fn(&str) -> Option<Wanted>; 8] = [run, write, replace, find, search, talk, list, read];
    rules.iter().find_map(|rule| rule(text)).unwrap_or(Wanted::Unknown)
}

/// The request without courtesies and the mark at its end.
fn bare(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(rest) = COURTESIES.iter().find_map(|word| after(text, word)) {
        text = rest.trim_start();
    }
    let text = text.trim_end_matches(['?', '!']).trim_end();
    let text = text.strip_suffix(" please").unwrap_or(text);
    // A full stop ends a sentence only behind a word; `ls ..` keeps its dots.
    match text.strip_suffix('.') {
        Some(rest) if rest.ends_with(|c: char| c.is_alphanumeric() || c == '`' || c == '"') => rest,
        Some(_) | None => text,
    }
}

/// What follows `start`, whatever the case of its letters.
fn after<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    let head = text.get(..start.len())?;
    if head.eq_ignore_ascii_case(start) { text.get(start.len()..) } else { None }
}

fn after_any<'a>(text: &'a str, starts: &[&str]) -> Option<&'a str> {
    starts.iter().find_map(|start| after(text, start))
}

/// Splits at the first (or last) of a word, whatever its case. Neither side is empty.
fn split_at_first<'a>(text: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    halves(text, text.to_ascii_lowercase().find(word)?, word.len())
}

fn split_at_last<'a>(text: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    halves(text, text.to_ascii_lowercase().rfind(word)?, word.len())
}

fn halves(text: &str, at: usize, length: usize) -> Option<(&str, &str)> {
    let (left, right) = (text.get(..at)?.trim(), text.get(at + length..)?.trim());
    (!left.is_empty() && !right.is_empty()).then_some((left, right))
}

/// Without quotes around it.
fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let inner = ['`', '"', '\''].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    inner.unwrap_or(text)
}

/// A path: one word, or quoted.
fn path(text: &str) -> Option<String> {
    let text = text.trim();
    let words =
        after_any(text, &["the file ", "a file ", "file ", "the folder ", "folder ", "the directory "]);
    let text = words.unwrap_or(text).trim();
    let bare = unquoted(text);
    let one = bare.len() < text.len() || !bare.contains(char::is_whitespace);
    (one && !bare.is_empty()).then(|| bare.to_owned())
}

/// A folder; `here` and its like are the workspace.
fn folder(text: &str) -> Option<String> {
    let here = [
        "",
        "here",
        "this folder",
        "this directory",
        "the workspace",
        "the current folder",
        "the current directory",
    ];
    let text = text.trim();
    if here.iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Some(".".to_owned());
    }
    path(text)
}

fn run(text: &str) -> Option<Wanted> {
    let rest = after_any(text, &["run ", "execute ", "$ "])?;
    let rest = after_any(rest, &["the command ", "command "]).unwrap_or(rest);
    let command = unquoted(rest);
    (!command.is_empty()).then(|| Wanted::Run { command: command.to_owned() })
}

fn write(text: &str) -> Option<Wanted> {
    if let Some(rest) = after_any(text, &["create a file ", "create the file ", "create file ", "create "]) {
        let rest = after_any(rest, &["named ", "called "]).unwrap_or(rest);
        let (target, content) = content_after(rest);
        return Some(Wanted::Write { path: path(target)?, content });
    }
    let rest = after_any(text, &["write ", "save ", "put "])?;
    if let Some(rest) = after_any(rest, &["a note to ", "a note into ", "a note in ", "a file ", "note to "])
    {
        let (target, content) = content_after(rest);
        return Some(Wanted::Write { path: path(target)?, content });
    }
    let (content, target) = split_at_last(rest, " to ").or_else(|| split_at_last(rest, " into "))?;
    Some(Wanted::Write { path: path(target)?, content: Some(unquoted(content).to_owned()) })
}

/// `F: text`, `F saying text`, `F with text`, or `F` alone.
fn content_after(text: &str) -> (&str, Option<String>) {
    for word in [": ", " saying ", " that says ", " with the text ", " with "] {
        if let Some((target, content)) = split_at_first(text, word) {
            return (target, Some(unquoted(content).to_owned()));
        }
    }
    (text, None)
}

fn replace(text: &str) -> Option<Wanted> {
    let (rest, middle) = match (after(text, "replace "), after(text, "change ")) {
        (Some(rest), _) => (rest, " with "),
        (None, Some(rest)) => (rest, " to "),
        (None, None) => return None,
    };
    let (change, target) = split_at_last(rest, " in ")?;
    let (old, new) = split_at_first(change, middle)?;
    Some(Wanted::Replace {
        path: path(target)?,
        old: unquoted(old).to_owned(),
        new: unquoted(new).to_owned(),
    })
}

fn find(text: &str) -> Option<Wanted> {
    let rest = after_any(text, &["find ", "look for "])?;
    let named = [
        "files named ",
        "files called ",
        "files matching ",
        "files like ",
        "all files named ",
        "a file named ",
        "the file named ",
        "files ",
        "the file ",
        "file ",
    ];
    let pattern = match after_any(rest, &named) {
        Some(pattern) => pattern,
        // A bare word that looks like a file's name is one.
        None if !rest.contains(' ') && rest.contains(['*', '.']) => rest,
        None => return None,
    };
    path(pattern).map(|pattern| Wanted::Find { pattern })
}

fn search(text: &str) -> Option<Wanted> {
    let rest = after_any(
        text,
        &["search for ", "search ", "grep for ", "grep ", "look for ", "find ", "where is "],
    )?;
    let rest = after_any(rest, &["the text ", "the word ", "text "]).unwrap_or(rest);
    let rest = rest.strip_suffix(" here").unwrap_or(rest);
    let (wanted, place) = split_at_last(rest, " in ").unwrap_or((rest, "here"));
    let wanted = unquoted(wanted);
    let path = folder(place)?;
    (!wanted.is_empty()).then(|| Wanted::Search { text: wanted.to_owned(), path })
}

fn talk(text: &str) -> Option<Wanted> {
    let lower = text.to_ascii_lowercase();
    let is = |words: &[&str]| words.contains(&lower.as_str());
    if is(&["hi", "hello", "hey", "good morning", "good evening"]) {
        return Some(Wanted::Hello);
    }
    if is(&[
        "help",
        "what can you do",
        "what do you understand",
        "what can i ask",
        "what can i say",
        "who are you",
    ]) {
        return Some(Wanted::Help);
    }
    if is(&["tour", "the tour", "show me around", "give me a tour", "demo", "show me what you can do"]) {
        return Some(Wanted::Tour);
    }
    if is(&["markdown", "show markdown", "show me markdown", "show me some markdown"]) {
        return Some(Wanted::Markdown);
    }
    let asks = ["connect", "api key", "real model", "language model"].iter().any(|word| lower.contains(word));
    (asks && lower.split_whitespace().count() < 12).then_some(Wanted::Connect)
}

fn list(text: &str) -> Option<Wanted> {
    let starts = [
        "list all the files",
        "list all files",
        "list the files",
        "list files",
        "list the folder",
        "list folder",
        "list",
        "show me the files",
        "show the files",
        "show files",
        "what files are",
        "which files are",
        "what is in this folder",
        "what's in this folder",
        "what is here",
        "what's here",
        "ls",
        "dir",
    ];
    let rest = after_any(text, &starts)?;
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let rest = rest.trim();
    let rest = after_any(rest, &["there in ", "in ", "of ", "at "]).unwrap_or(rest);
    folder(rest).map(|path| Wanted::List { path })
}

fn read(text: &str) -> Option<Wanted> {
    let starts = [
        "read ",
        "show me ",
        "show ",
        "open ",
        "cat ",
        "print ",
        "display ",
        "what is in ",
        "what's in ",
        "what does ",
    ];
    let rest = after_any(text, &starts)?;
    let rest = rest.strip_suffix(" say").unwrap_or(rest);
    let pieces = rest.split(',').flat_map(|piece| piece.split(" and "));
    let paths: Option<Vec<String>> = pieces.map(path).collect();
    paths.filter(|paths| !paths.is_empty()).map(|paths| Wanted::Read { paths })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_requests_are_understood() {
        let read = |paths: &[&str]| Wanted::Read { paths: paths.iter().map(ToString::to_string).collect() };
        let list = |path: &str| Wanted::List { path: path.into() };
        let find = |pattern: &str| Wanted::Find { pattern: pattern.into() };
        let search = |text: &str, path: &str| Wanted::Search { text: text.into(), path: path.into() };
        let run = |command: &str| Wanted::Run { command: command.into() };
        let write = |path: &str, content: Option<&str>| Wanted::Write {
            path: path.into(),
            content: content.map(str::to_owned),
        };
        let replace = |old: &str, new: &str, path: &str| Wanted::Replace {
            path: path.into(),
            old: old.into(),
            new: new.into(),
        };
        let cases = [
            ("list the files here", list(".")),
            ("List files in `src/provider`", list("src/provider")),
            ("please list the files.", list(".")),
            ("ls ..", list("..")),
            ("ls", list(".")),
            ("what files are in docs?", list("docs")),
            ("What files are here?", list(".")),
            ("read README.md", read(&["README.md"])),
            ("can you show me src/main.rs?", read(&["src/main.rs"])),
            ("read a.txt, b.txt and c.txt.", read(&["a.txt", "b.txt", "c.txt"])),
            ("open \"my notes.md\"", read(&["my notes.md"])),
            ("what is in Cargo.toml", read(&["Cargo.toml"])),
            ("what does LICENSE say?", read(&["LICENSE"])),
            ("find files named *.toml", find("*.toml")),
            ("find *.rs", find("*.rs")),
            ("find the file main.rs", find("main.rs")),
            ("search for TODO in src", search("TODO", "src")),
            ("search for \"fn main\" here", search("fn main", ".")),
            ("search for \"fn main\" in this folder", search("fn main", ".")),
            ("grep unsafe", search("unsafe", ".")),
            ("look for milk in notes.md", search("milk", "notes.md")),
            ("find milk in notes.md", search("milk", "notes.md")),
            ("run `git status`", run("git status")),
            ("run git log --oneline.", run("git log --oneline")),
            ("Execute the command \"ls -la\"", run("ls -la")),
            ("write a note to notes.md", write("notes.md", None)),
            ("write a note to notes.md: buy milk", write("notes.md", Some("buy milk"))),
            ("write a note to 'my notes.md' saying \"hi\"", write("my notes.md", Some("hi"))),
            ("write `hello world` to a.txt", write("a.txt", Some("hello world"))),
            ("create a file todo.md with one thing", write("todo.md", Some("one thing"))),
            ("create a file named todo.md", write("todo.md", None)),
            ("replace milk with tea in notes.md", replace("milk", "tea", "notes.md")),
            ("change `a` to `b` in x.txt", replace("a", "b", "x.txt")),
            ("what can you do?", Wanted::Help),
            ("Show me around", Wanted::Tour),
            ("how do I connect a model?", Wanted::Connect),
            ("show me some markdown", Wanted::Markdown),
            ("Hello!", Wanted::Hello),
            ("write me a poem about the sea", Wanted::Unknown),
            ("listen to this", Wanted::Unknown),
            ("read the whole book aloud", Wanted::Unknown),
            ("run", Wanted::Unknown),
            ("", Wanted::Unknown),
            ("日本語で話して", Wanted::Unknown),
        ];
        for (text, expected) in cases {
            assert_eq!(understand(text), expected, "{text}");
        }
    }
}
