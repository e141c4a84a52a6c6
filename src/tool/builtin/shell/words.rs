//! A command line as a scanner sees it: simple commands of unquoted words, with their redirections.
//!
//! This is no shell grammar. It errs towards more: what stands in quotes, substitutions, comments and here-documents
//! is given as commands too, because any of them may be run. Pure; it never fails.

/// One simple command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Simple {
    /// Quotes and backslashes removed.
    pub words: Vec<String>,
    /// Targets of `>` and its kin.
    pub writes: Vec<String>,
    /// Whether it reads what the command before it prints.
    pub piped: bool,
}

/// The simple commands of `script`, and those in its quoted words, in order.
pub fn commands(script: &str) -> Vec<Simple> {
    commands_at(script, 0)
}

/// How deep quotes in quotes are looked into.
const MAX_DEPTH: usize = 4;

fn commands_at(script: &str, depth: usize) -> Vec<Simple> {
    let mut scanner = Scanner::default();
    let mut chars = script.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                // A line that goes on.
                Some('\n') | None => {}
                Some(escaped) => scanner.word_char(escaped),
            },
            '\'' | '"' => scanner.quoted(&mut chars, c),
            ' ' | '\t' | '\r' => scanner.end_word(),
            '|' => {
                scanner.end_command();
                if chars.next_if_eq(&'|').is_none() {
                    scanner.command.piped = true;
                    // `|&` pipes stderr too.
                    chars.next_if_eq(&'&');
                }
            }
            '>' => {
                scanner.start_redirection();
                while chars.next_if(|next| ['>', '|', '&'].contains(next)).is_some() {}
            }
            // Behind `>` it was eaten; before it, it is a part of the redirection.
            '&' if chars.peek() == Some(&'>') => scanner.end_word(),
            ';' | '\n' | '&' | '(' | ')' | '`' | '<' => scanner.end_command(),
            '$' if chars.peek() == Some(&'(') => scanner.end_command(),
            other => scanner.word_char(other),
        }
    }
    scanner.end_command();
    let mut found = scanner.commands;
    if depth < MAX_DEPTH {
        let quoted = scanner.quoted.iter().flat_map(|text| commands_at(text, depth + 1));
        found.extend(quoted.collect::<Vec<_>>());
    }
    found
}

#[derive(Default)]
struct Scanner {
    commands: Vec<Simple>,
    command: Simple,
    word: Option<String>,
    redirecting: bool,
    /// Quoted texts that could be command lines themselves.
    quoted: Vec<String>,
}

impl Scanner {
    fn word_char(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn quoted(&mut self, chars: &mut impl Iterator<Item = char>, quote: char) {
        let mut text = String::new();
        while let Some(c) = chars.next() {
            match c {
                '\\' if quote == '"' => text.extend(chars.next()),
                c if c == quote => break,
                c => text.push(c),
            }
        }
        self.word.get_or_insert_default().push_str(&text);
        if text.contains([' ', '\t', '\n', ';', '|', '&', '(', '`', '>']) {
            self.quoted.push(text);
        }
    }

    fn start_redirection(&mut self) {
        // The number of a descriptor is no word.
        if self.word.as_ref().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        self.redirecting = true;
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if std::mem::take(&mut self.redirecting) {
            self.command.writes.push(word);
        } else {
            self.command.words.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.redirecting = false;
        let command = std::mem::take(&mut self.command);
        if !command.words.is_empty() || !command.writes.is_empty() {
            self.commands.push(command);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commands separated by ` / `, words by `,`, writes after `>`, piped ones after `|`.
    fn shown(script: &str) -> String {
        let one = |simple: &Simple| {
            let pipe = if simple.piped { "|" } else { "" };
            let writes: String = simple.writes.iter().map(|target| format!(">{target}")).collect();
            format!("{pipe}{}{writes}", simple.words.join(","))
        };
        commands(script).iter().map(one).collect::<Vec<_>>().join(" / ")
    }

    #[test]
    fn every_command_is_found() {
        let cases = [
            ("", ""),
            ("ls -la", "ls,-la"),
            (r"r''m -r\f 'a b'", "rm,-rf,a b / a,b"),
            ("a; b && c || d & e\nf", "a / b / c / d / e / f"),
            ("a | b |& c", "a / |b / |c"),
            ("a $(b c) `d`", "a / b,c / d"),
            ("(a) { b; }", "a / {,b / }"),
            ("a >x 2>>y >|z &>w 2>&1", "a>x>y>z>w>1"),
            ("a < in > out", "a / in>out"),
            ("sh -c 'rm -rf x; sh -c \"b c\"'", "sh,-c,rm -rf x; sh -c \"b c\" / rm,-rf,x / sh,-c,b c / b,c"),
            ("a \\\n b", "a,b"),
            ("cat <<E\nrm x\nE", "cat / E / rm,x / E"),
            ("echo \"unclosed", "echo,unclosed"),
        ];
        for (script, expected) in cases {
            assert_eq!(shown(script), expected, "{script}");
        }
    }
}
