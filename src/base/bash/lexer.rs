//! The strict second reader, for the subset of the shell language that all shells interpret alike.
//!
//! It reads words, quotes, substitutions, redirections, pipes, lists, groups, `if`, `while` and `for`, and
//! gives up on everything else: here-documents, functions, `case`, arithmetic, `$'…'`. It does not check
//! syntax; the grammar does.

use std::ops::Range;

mod word;

/// The maximum nesting of substitutions and groups.
const MAX_DEPTH: usize = 24;

/// Why the value of a word is not known before the script runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// `*`, `?`, `[`: any number of matching file names.
    Pattern,
    Variable,
    Substitution,
    Tilde,
    Brace,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    pub span: Range<usize>,
    /// The text without quotes; for a word that is not fixed, only its fixed parts.
    pub text: String,
    pub open: Option<Open>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// The operator with its descriptor: `2>`.
    pub operator: String,
    pub target: Word,
}

impl Redirect {
    /// Whether it opens its target for writing: `2>&1` only duplicates a descriptor.
    pub fn writes(&self) -> bool {
        let doubles =
            self.operator.ends_with('&') && self.target.text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        self.operator.contains('>') && !doubles
    }
}

/// One simple command. It has no words if it consists of assignments or redirections only.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SimpleCommand {
    pub assigns: Vec<Word>,
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
    /// Whether it reads the output of another command.
    pub piped: bool,
    /// The start of the simple command whose output is piped into this one, if that is a simple command.
    pub fed_by: Option<usize>,
}

impl SimpleCommand {
    /// Returns the start of its first word, assignment or redirection target.
    pub fn start(&self) -> Option<usize> {
        let words =
            self.assigns.iter().chain(&self.words).chain(self.redirects.iter().map(|one| &one.target));
        words.map(|word| word.span.start).min()
    }
}

/// Returns the simple commands of a script, including inner ones; `None` if it is outside the subset.
pub fn commands(script: &str) -> Option<Vec<SimpleCommand>> {
    let mut lexer =
        Lexer { script, at: 0, found: Vec::new(), groups: vec![false], depth: 0, backtick: false };
    lexer.list(End::Script)?;
    Some(lexer.found)
}

/// The end of a list of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Script,
    Parenthesis,
    Backtick,
}

/// The position in a command, which decides about the tokens that may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    Command,
    Argument,
    /// After `)`, `}`, `fi` or `done`.
    Closed,
}

struct Lexer<'a> {
    script: &'a str,
    at: usize,
    found: Vec<SimpleCommand>,
    /// For each open group, whether it reads the output of another command.
    groups: Vec<bool>,
    depth: usize,
    /// Whether a backtick would end the current list.
    backtick: bool,
}

/// A list of commands that is being read.
struct List {
    simple: SimpleCommand,
    position: Position,
    parentheses: usize,
    /// The number of groups that were open before it.
    outside: usize,
    /// Set directly after a pipe: the start of the simple command that feeds it, if it is one.
    pipe: Option<Option<usize>>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.script.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Reads to the end of the list and past its end marker.
    fn list(&mut self, end: End) -> Option<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let outside = self.groups.len();
        let mut list = List {
            simple: SimpleCommand::default(),
            position: Position::Command,
            parentheses: 0,
            outside,
            pipe: None,
        };
        loop {
            self.blanks()?;
            match self.peek() {
                None => {
                    self.finish(&mut list);
                    return (end == End::Script).then(|| self.depth -= 1);
                }
                Some('`') if end == End::Backtick => {
                    self.at += 1;
                    break;
                }
                Some(')') if end == End::Parenthesis && list.parentheses == 0 => {
                    self.at += 1;
                    break;
                }
                Some('\n' | ';' | '&' | '|' | '(' | ')') => self.operator(&mut list)?,
                Some('<' | '>') if !self.rest().starts_with("<(") && !self.rest().starts_with(">(") => {
                    self.redirect(&mut list, self.at)?;
                }
                Some(_) => self.token(&mut list)?,
            }
        }
        self.finish(&mut list);
        self.groups.truncate(outside);
        self.depth -= 1;
        Some(())
    }

    /// Skips blanks, comments and line continuations.
    fn blanks(&mut self) -> Option<()> {
        loop {
            let before = self.script.get(..self.at).and_then(|text| text.chars().next_back());
            match self.peek() {
                Some(' ' | '\t') => self.at += 1,
                Some('#') if before.is_none_or(|c| " \t\n;|&(".contains(c)) => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                // Anywhere else a line continuation would join the text on both sides.
                Some('\\') if self.rest().starts_with("\\\n") => match before {
                    Some(' ' | '\t') => self.at += 2,
                    Some(_) | None => return None,
                },
                Some(_) | None => return Some(()),
            }
        }
    }

    fn finish(&mut self, list: &mut List) -> Option<usize> {
        let simple = std::mem::take(&mut list.simple);
        let start = simple.start();
        if start.is_some() {
            self.found.push(simple);
        }
        start
    }

    fn operator(&mut self, list: &mut List) -> Option<()> {
        for unknown in ["&>", "|&", ";;", ";&", "(("] {
            if self.rest().starts_with(unknown) {
                return None;
            }
        }
        if self.eat("(") {
            // After a word, a parenthesis would define a function.
            return (list.position == Position::Command && list.simple == SimpleCommand::default())
                .then(|| {
                    list.parentheses += 1;
                    self.open(list);
                })
                .filter(|()| list.parentheses <= MAX_DEPTH);
        }
        if list.position == Position::Command && list.simple.start().is_none() && self.eat("\n") {
            return Some(());
        }
        let closed = list.position == Position::Closed;
        let start = self.finish(list);
        let pipes = !self.rest().starts_with("||") && self.rest().starts_with('|');
        if self.eat(")") {
            list.parentheses = list.parentheses.checked_sub(1)?;
            return self.close(list);
        }
        if !self.eat("&&") && !self.eat("||") {
            self.at += 1;
        }
        list.position = Position::Command;
        list.pipe = pipes.then_some(if closed { None } else { start });
        Some(())
    }

    fn open(&mut self, list: &mut List) {
        let fed = list.pipe.take().is_some() || self.groups.last() == Some(&true);
        self.groups.push(fed);
        list.position = Position::Command;
    }

    fn close(&mut self, list: &mut List) -> Option<()> {
        list.position = Position::Closed;
        self.groups.pop()?;
        (self.groups.len() >= list.outside).then_some(())
    }

    /// Reads a word and interprets it by position: keyword, assignment, argument or descriptor.
    fn token(&mut self, list: &mut List) -> Option<()> {
        let start = self.at;
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 && self.rest().as_bytes().get(digits).is_some_and(|b| b"<>".contains(b)) {
            self.at += digits;
            return self.redirect(list, start);
        }
        if list.position == Position::Command && list.simple == SimpleCommand::default() {
            self.start_command(list);
        }
        self.groups.push(list.simple.piped);
        let word = self.word()?;
        self.groups.pop();
        let written = self.script.get(word.span.clone())?;
        if list.position == Position::Command {
            let first = list.simple.start().is_none();
            // After an assignment or a redirection, a keyword would be a program's name.
            if self.keyword(written, list)? {
                return first.then_some(());
            }
        }
        match list.position {
            Position::Closed => return None,
            Position::Command if is_assignment(written) => list.simple.assigns.push(word),
            Position::Command | Position::Argument => {
                list.simple.words.push(word);
                list.position = Position::Argument;
            }
        }
        Some(())
    }

    fn start_command(&self, list: &mut List) {
        list.simple.piped = list.pipe.is_some() || self.groups.last() == Some(&true);
        list.simple.fed_by = list.pipe.flatten();
    }

    /// Whether a word is a keyword; `None` for a keyword outside this reader's subset.
    fn keyword(&mut self, word: &str, list: &mut List) -> Option<bool> {
        match word {
            "!" | "then" | "else" | "elif" | "do" => list.simple = SimpleCommand::default(),
            "{" | "if" | "while" | "until" => {
                list.simple = SimpleCommand::default();
                self.open(list);
            }
            "}" | "fi" | "done" => {
                list.simple = SimpleCommand::default();
                self.close(list)?;
            }
            "for" => {
                list.simple = SimpleCommand::default();
                self.open(list);
                self.blanks()?;
                self.word()?;
                self.for_words()?;
            }
            "case" | "esac" | "select" | "function" | "coproc" | "in" | "[[" | "]]" => return None,
            _ => return Some(false),
        }
        Some(true)
    }

    /// Reads `in` and the words of a `for`, if present.
    fn for_words(&mut self) -> Option<()> {
        loop {
            self.blanks()?;
            match self.peek()? {
                ';' | '\n' => return Some(()),
                '&' | '|' | '(' | ')' | '<' | '>' => return None,
                _ => drop(self.word()?),
            }
        }
    }

    fn redirect(&mut self, list: &mut List, start: usize) -> Option<()> {
        let known = [">>", ">|", ">&", "<&", ">", "<"].iter().any(|operator| self.eat(operator));
        if !known || self.rest().starts_with(['<', '>', '(', '&', '|']) {
            return None;
        }
        let operator = self.script.get(start..self.at)?.to_owned();
        if list.position == Position::Command && list.simple == SimpleCommand::default() {
            self.start_command(list);
        }
        self.blanks()?;
        if self.peek().is_none_or(|c| "\n;&|()<>`".contains(c)) {
            return None;
        }
        let target = self.word()?;
        list.simple.redirects.push(Redirect { operator, target });
        Some(())
    }
}

impl Word {
    /// Records why the word is not fixed. Any other reason replaces a pattern, whose text is known.
    fn open(&mut self, why: Open) {
        if self.open.is_none_or(|open| open == Open::Pattern) {
            self.open = Some(why);
        }
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Whether a word at the start of a command is an assignment.
pub fn is_assignment(written: &str) -> bool {
    written.split_once('=').is_some_and(|(name, _)| is_name(name))
}
