//! Rust files in the form of the tidy checks: code without comments and literals, tests separated.
//!
//! A small lexer, not a parser: it recognizes comments, literals, `#[cfg(test)]` items and paths.

use std::collections::BTreeSet;
use std::path::Path;

/// Folders of `src` that are crates; they are no part of the path of a module.
const CRATES: [&str; 2] = ["base/", "engine/"];

/// One file of `src` or `tests`.
pub struct Source {
    /// Relative to the root, e.g. `src/engine/agent/turn/mod.rs`.
    pub path: String,
    /// Its module in its crate, e.g. `agent/turn`; empty for roots of crates and for files of `tests`.
    pub module: String,
    /// Shipped code; comments, literals and tests are blanked, so that lines keep their numbers.
    pub code: String,
    /// The code of tests, blanked in the same way.
    pub tests: String,
    /// String literals of shipped code with their quotes, each with its line (from 1).
    pub literals: Vec<(usize, String)>,
    pub lines: usize,
    /// Whether all of it is test code.
    pub is_test: bool,
    /// The `//!` lines at its beginning.
    pub doc: String,
}

impl Source {
    /// Formats `file:line: what`.
    pub fn offence(&self, line: usize, what: &str) -> String {
        format!("{}:{line}: {what}", self.path)
    }
}

/// A path in code, with brace groups expanded: `use a::{b, c}` is `a::b` and `a::c`.
pub struct NamedPath {
    /// Counted from 1.
    pub line: usize,
    pub segments: Vec<String>,
    /// Whether it is in a `pub use`.
    pub is_handed_on: bool,
}

/// Reads all Rust files of the crate from disk.
pub fn read(root: &Path) -> Vec<Source> {
    let mut found = Vec::new();
    for top in ["src", "tests"] {
        walk(&root.join(top), &mut |path| {
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            found.push((name, std::fs::read_to_string(path).unwrap()));
        });
    }
    found.sort();
    parse(&found)
}

fn walk(folder: &Path, found: &mut dyn FnMut(&Path)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found(&path);
        }
    }
}

/// Parses files given as path and text.
pub fn parse(files: &[(String, String)]) -> Vec<Source> {
    let mut test_modules = BTreeSet::new();
    let mut sources: Vec<Source> =
        files.iter().map(|(path, text)| one(path, text, &mut test_modules)).collect();
    for source in &mut sources {
        let below_test = test_modules
            .iter()
            .any(|module| source.module == *module || source.module.starts_with(&format!("{module}/")));
        if source.is_test || below_test {
            source.is_test = true;
            source.tests = std::mem::take(&mut source.code);
            source.literals.clear();
        }
    }
    sources
}

fn one(path: &str, text: &str, test_modules: &mut BTreeSet<String>) -> Source {
    let module = module_of(path);
    let (mut code, mut literals) = blank(text);
    let tests = take_tests(&mut code, |name| {
        test_modules.insert(if module.is_empty() { name.to_owned() } else { format!("{module}/{name}") });
    });
    let in_tests = |line: usize| tests.lines().nth(line - 1).is_some_and(|line| !line.trim().is_empty());
    literals.retain(|(line, _)| !in_tests(*line));
    let doc = text.lines().map_while(|line| line.strip_prefix("//!")).collect::<Vec<_>>().join("\n");
    Source {
        path: path.to_owned(),
        module,
        code,
        tests,
        literals,
        lines: text.lines().count(),
        is_test: path.starts_with("tests/") || path.ends_with("/tests.rs"),
        doc,
    }
}

fn module_of(path: &str) -> String {
    let Some(below) = path.strip_prefix("src/").and_then(|path| path.strip_suffix(".rs")) else {
        return String::new();
    };
    let below = CRATES.iter().find_map(|name| below.strip_prefix(name)).unwrap_or(below);
    match below {
        "lib" | "main" => String::new(),
        _ => below.strip_suffix("/mod").unwrap_or(below).to_owned(),
    }
}

/// Returns the text with comments and literals blanked (a quote remains where a string began), and every string
/// literal.
fn blank(text: &str) -> (String, Vec<(usize, String)>) {
    let chars: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut literals = Vec::new();
    let mut at = 0;
    let mut line = 1;
    while at < chars.len() {
        let (end, is_string) = skipped(&chars, at);
        if is_string {
            literals.push((line, chars[at..end].iter().collect()));
        }
        if end == at {
            code.push(chars[at]);
            line += usize::from(chars[at] == '\n');
            at += 1;
            continue;
        }
        for (place, &skip) in chars[at..end].iter().enumerate() {
            let blank = if is_string && place == 0 { '"' } else { ' ' };
            code.push(if skip == '\n' { '\n' } else { blank });
            line += usize::from(skip == '\n');
        }
        at = end;
    }
    (code, literals)
}

/// Returns the end of the comment or literal at `at` (`at` if none starts), and whether it is a string.
fn skipped(chars: &[char], at: usize) -> (usize, bool) {
    let next = |ahead: usize| chars.get(at + ahead).copied().unwrap_or(' ');
    let after_name = at > 0 && is_name(chars[at - 1]);
    match chars[at] {
        '/' if next(1) == '/' => (find(chars, at, |rest| rest[0] == '\n'), false),
        '/' if next(1) == '*' => (comment_end(chars, at), false),
        '"' => (string_end(chars, at + 1, 0), true),
        'r' if !after_name || matches!(chars[at - 1], 'b' | 'c') => {
            let hashes = chars[at + 1..].iter().take_while(|&&one| one == '#').count();
            if next(1 + hashes) == '"' {
                (raw_end(chars, at + 2 + hashes, hashes), true)
            } else {
                (at, false)
            }
        }
        '\'' if next(1) == '\\' => (string_end(chars, at + 1, 1), false),
        '\'' if next(2) == '\'' => (at + 3, false),
        _ => (at, false),
    }
}

fn find(chars: &[char], from: usize, is_end: impl Fn(&[char]) -> bool) -> usize {
    (from..chars.len()).find(|&at| is_end(&chars[at..])).unwrap_or(chars.len())
}

fn comment_end(chars: &[char], from: usize) -> usize {
    let (mut at, mut depth) = (from, 0);
    while at < chars.len() {
        match &chars[at..] {
            ['/', '*', ..] => (at, depth) = (at + 2, depth + 1),
            ['*', '/', ..] if depth == 1 => return at + 2,
            ['*', '/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
    at
}

/// Returns the end of a string (`quote` 0) or a character (1) with escapes.
fn string_end(chars: &[char], from: usize, quote: usize) -> usize {
    let mut at = from;
    while at < chars.len() && chars[at] != ['"', '\''][quote] {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(chars.len())
}

fn raw_end(chars: &[char], from: usize, hashes: usize) -> usize {
    let closes = |rest: &[char]| {
        rest[0] == '"' && rest.iter().skip(1).take_while(|&&one| one == '#').count() >= hashes
    };
    (find(chars, from, closes) + 1 + hashes).min(chars.len())
}

fn is_name(one: char) -> bool {
    one.is_alphanumeric() || one == '_'
}

/// Moves every `#[cfg(test)]` item out of the code; calls `module` for test modules in separate files.
fn take_tests(code: &mut String, mut module: impl FnMut(&str)) -> String {
    let mut chars: Vec<char> = code.chars().collect();
    let mut tests: Vec<char> = chars.iter().map(|&one| if one == '\n' { '\n' } else { ' ' }).collect();
    let mark: Vec<char> = "#[cfg(test)]".chars().collect();
    let mut at = 0;
    while at < chars.len() {
        at = find(&chars, at, |rest| rest.starts_with(&mark));
        let (start, end) = item(&chars, at);
        let text: String = chars[start..end].iter().collect();
        if let Some(name) = text.trim().strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) {
            module(name.trim());
        }
        for here in at..end {
            if chars[here] != '\n' {
                tests[here] = std::mem::replace(&mut chars[here], ' ');
            }
        }
        at = end.max(at + 1);
    }
    *code = chars.into_iter().collect();
    tests.into_iter().collect()
}

/// Returns the item after an attribute: its start after all attributes, and its end.
fn item(chars: &[char], attribute: usize) -> (usize, usize) {
    let mut start = attribute;
    while start < chars.len() && (chars[start] == '#' || chars[start].is_whitespace()) {
        start = if chars[start] == '#' { find(chars, start, |rest| rest[0] == ']') + 1 } else { start + 1 };
    }
    let words: String = chars[start.min(chars.len())..].iter().take(12).collect();
    let body_ends = !["use ", "const ", "static ", "let "].iter().any(|word| words.starts_with(word));
    let mut depth = 0_i32;
    for (at, &one) in chars.iter().enumerate().skip(start) {
        match one {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => {
                depth -= 1;
                if depth < 0 {
                    return (start, at);
                }
                if depth == 0 && one == '}' && body_ends {
                    return (start, at + 1);
                }
            }
            ';' | ',' if depth == 0 => return (start, at + 1),
            _ => {}
        }
    }
    (start, chars.len())
}

/// Returns every path and every single name in blanked code, in order.
pub fn names(code: &str) -> Vec<NamedPath> {
    let chars: Vec<char> = code.chars().collect();
    let mut reader =
        Reader { chars: &chars, line: 1, counted: 0, before: Vec::new(), found: Vec::new(), use_ends: 0 };
    let mut at = 0;
    while at < chars.len() {
        reader.note_use(at);
        let starts = is_name(chars[at]) && !chars[at].is_numeric() && (at == 0 || !is_name(chars[at - 1]));
        at = if starts { reader.path(at) } else { at + 1 };
    }
    reader.found
}

/// Returns the path from the crate's root, with `/`, that a path in a file names; `None` outside the crate.
pub fn place(source: &Source, segments: &[String]) -> Option<String> {
    let mut place: Vec<&str> = source.module.split('/').collect();
    let mut rest = segments.iter().map(String::as_str).peekable();
    match rest.next()? {
        "crate" => place.clear(),
        "self" => {}
        "super" => {
            place.pop();
            while rest.next_if_eq(&"super").is_some() {
                place.pop();
            }
        }
        _ => return None,
    }
    place.extend(rest);
    Some(place.join("/"))
}

struct Reader<'a> {
    chars: &'a [char],
    /// The line of character `counted`.
    line: usize,
    counted: usize,
    /// The segments read so far, including those before a brace group.
    before: Vec<String>,
    found: Vec<NamedPath>,
    /// Where the last `pub use` ends.
    use_ends: usize,
}

impl Reader<'_> {
    /// Records the start of a `pub use`.
    fn note_use(&mut self, at: usize) {
        let starts = |word: &str, at: usize| {
            word.chars().enumerate().all(|(ahead, one)| self.chars.get(at + ahead) == Some(&one))
        };
        if !starts("pub", at) || (at > 0 && is_name(self.chars[at - 1])) {
            return;
        }
        let mut next = at + 3;
        if self.chars.get(next) == Some(&'(') {
            next = find(self.chars, next, |rest| rest[0] == ')') + 1;
        }
        let next = self.after_blanks(next);
        if starts("use ", next) {
            self.use_ends = find(self.chars, next, |rest| rest[0] == ';');
        }
    }

    /// Reads one path and the groups in it; returns its end.
    fn path(&mut self, from: usize) -> usize {
        let depth = self.before.len();
        let mut at = from;
        let end = loop {
            let end = find(self.chars, at, |rest| !is_name(rest[0]));
            self.before.push(self.chars[at..end].iter().collect());
            let colons = self.after_blanks(end);
            if !self.chars[colons..].starts_with(&[':', ':']) {
                break end;
            }
            let next = self.after_blanks(colons + 2);
            match self.chars.get(next) {
                Some('{') => {
                    let end = self.group(next);
                    self.before.truncate(depth);
                    return end;
                }
                Some(&one) if is_name(one) => at = next,
                // A glob or type arguments: the path so far is the name.
                Some(_) | None => break end,
            }
        };
        let line = self.line_of(from);
        let is_handed_on = from < self.use_ends;
        self.found.push(NamedPath { line, segments: self.before.clone(), is_handed_on });
        self.before.truncate(depth);
        end
    }

    fn group(&mut self, open: usize) -> usize {
        let mut at = open + 1;
        while at < self.chars.len() && self.chars[at] != '}' {
            if is_name(self.chars[at]) {
                let end = self.path(at);
                // `as other` adds no name.
                at = find(self.chars, end, |rest| matches!(rest[0], ',' | '}'));
            } else {
                at += 1;
            }
        }
        at + 1
    }

    fn after_blanks(&self, from: usize) -> usize {
        find(self.chars, from, |rest| !rest[0].is_whitespace())
    }

    fn line_of(&mut self, at: usize) -> usize {
        self.line += self.chars[self.counted..at].iter().filter(|&&one| one == '\n').count();
        self.counted = at;
        self.line
    }
}
