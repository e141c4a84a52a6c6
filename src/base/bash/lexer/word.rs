//! Reads one word for the strict reader: removes its quotes and records why it is not fixed, if so.

use super::{End, Lexer, Open, Word, is_name};

impl Lexer<'_> {
    pub(super) fn word(&mut self) -> Option<Word> {
        let mut word = Word { span: self.at..self.at, text: String::new(), open: None };
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' => break,
                '<' | '>' if word.span.start == self.at && self.rest().get(1..2) == Some("(") => {
                    self.at += 2;
                    word.open(Open::Substitution);
                    self.list(End::Parenthesis)?;
                }
                '<' | '>' => break,
                '\'' => {
                    let (inside, _) = self.rest().get(1..)?.split_once('\'')?;
                    word.text.push_str(inside);
                    self.at += inside.len() + 2;
                }
                '"' => self.double_quotes(&mut word)?,
                '`' if self.backtick => break,
                '$' | '`' => self.expansion(&mut word, c)?,
                '\\' => {
                    let escaped = self.rest().chars().nth(1).filter(|c| c.is_ascii() && *c != '\n')?;
                    word.text.push(escaped);
                    self.at += 2;
                }
                // The meaning of its bytes to a shell depends on the locale.
                _ if !c.is_ascii() => return None,
                _ => self.plain(&mut word, c),
            }
        }
        word.span.end = self.at;
        let written = self.script.get(word.span.clone())?;
        let braces = written.contains(['{', '}']) && word.text.contains(['{', '}']) && written != "{}";
        if braces && !["{", "}"].contains(&written) && has_bare_brace(written) {
            word.open(Open::Brace);
        }
        (!written.is_empty()).then_some(word)
    }

    fn plain(&mut self, word: &mut Word, c: char) {
        let starts = word.span.start == self.at;
        match c {
            '*' | '?' => word.open(Open::Pattern),
            '[' if !(starts && self.stands_alone()) => word.open(Open::Pattern),
            '~' if starts || word.text.ends_with(['=', ':']) => word.open(Open::Tilde),
            _ => {}
        }
        word.text.push(c);
        self.at += 1;
    }

    /// Whether the current character is a separate word: `[`, the program.
    fn stands_alone(&self) -> bool {
        self.rest().get(1..2).is_none_or(|next| " \t\n;&|()<>".contains(next))
    }

    fn double_quotes(&mut self, word: &mut Word) -> Option<()> {
        self.at += 1;
        loop {
            match self.peek()? {
                '"' => {
                    self.at += 1;
                    return Some(());
                }
                '\\' => {
                    let escaped = self.rest().chars().nth(1)?;
                    match escaped {
                        '$' | '`' | '"' | '\\' => word.text.push(escaped),
                        '\n' => return None,
                        _ => word.text.extend(['\\', escaped]),
                    }
                    self.at += 1 + escaped.len_utf8();
                }
                '$' if self.rest().chars().nth(1).is_some_and(|next| "\"' |)/.,:;\\".contains(next)) => {
                    word.text.push('$');
                    self.at += 1;
                }
                c @ ('$' | '`') => self.expansion(word, c)?,
                c => {
                    word.text.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
    }

    /// Reads `$x`, `${x}`, `$(…)`, backticks, or a literal `$`.
    fn expansion(&mut self, word: &mut Word, c: char) -> Option<()> {
        self.at += 1;
        if c == '`' {
            return self.backticks(word);
        }
        match self.peek() {
            Some('(') if !self.rest().starts_with("((") => {
                self.at += 1;
                word.open(Open::Substitution);
                self.list(End::Parenthesis)
            }
            Some('(' | '[' | '\'' | '"') => None,
            Some('{') => {
                let (name, _) = self.rest().get(1..)?.split_once('}')?;
                word.open(Open::Variable);
                self.at += name.len() + 2;
                is_name(name).then_some(())
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                word.open(Open::Variable);
                self.at +=
                    self.rest().bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
                Some(())
            }
            Some(c) if c.is_ascii_digit() || "@*#?$!-".contains(c) => {
                word.open(Open::Variable);
                self.at += 1;
                Some(())
            }
            Some(c) if !c.is_ascii() => None,
            Some(_) | None => {
                word.text.push('$');
                Some(())
            }
        }
    }

    /// Reads the text between two backticks.
    fn backticks(&mut self, word: &mut Word) -> Option<()> {
        let (inside, _) = self.rest().split_once('`')?;
        // Inside backticks, escapes are processed twice and quotes follow different rules.
        if inside.contains(['\\', '"', '\'', '#']) {
            return None;
        }
        word.open(Open::Substitution);
        self.backtick = true;
        self.list(End::Backtick)?;
        self.backtick = false;
        Some(())
    }
}

/// Whether a word contains a brace outside of quotes.
fn has_bare_brace(written: &str) -> bool {
    let (mut quote, mut escaped) = (None, false);
    for c in written.chars() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (None, '{' | '}') => return true,
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (Some(_) | None, _) => {}
        }
    }
    false
}
