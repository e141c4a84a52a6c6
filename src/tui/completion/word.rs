//! Finds the word before the cursor and what kind of thing it names.

use crate::tui::composer::Editor;
use crate::tui::composer::Item;

/// A word that can be completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionWord {
    pub kind: WordKind,
    /// The items of the editor that completing replaces: `from..to`, including marks such as `/` and `@`.
    pub from: usize,
    pub to: usize,
    /// The part before the cursor, without marks and quotes.
    pub text: String,
}

/// The kind of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordKind {
    /// `/word` at the start of the text.
    Command,
    /// The first word behind a command, or any behind a prompt of a tool server.
    Argument { command: String },
    /// `@word`, or `@"word` with spaces.
    Mention,
    /// A word of a `!` line, except the first.
    ShellWord,
}

/// Returns the word at the cursor, if it can be completed.
pub fn word(editor: &Editor) -> Option<CompletionWord> {
    let items = editor.items();
    let cursor = editor.cursor();
    if let Some(quoted) = open_quote(items, cursor) {
        return Some(quoted);
    }
    if let Some(word) = shell_word(items, cursor) {
        return Some(word);
    }
    let from = items[..cursor].iter().rposition(is_edge).map_or(0, |at| at + 1);
    let to = items[cursor..].iter().position(is_edge).map_or(items.len(), |at| cursor + at);
    let before = text(&items[from..cursor]);
    if let Some(mention) = before.strip_prefix('@') {
        return Some(CompletionWord { kind: WordKind::Mention, from, to, text: mention.to_owned() });
    }
    match items.first().map(Item::text) {
        Some("/") if from == 0 && cursor > 0 => {
            let text = before.strip_prefix('/')?.to_owned();
            // A path is not a command.
            (!text.contains('/')).then_some(CompletionWord { kind: WordKind::Command, from, to, text })
        }
        Some("/") if from > 0 => {
            let first = items.iter().position(is_edge).unwrap_or(items.len());
            let gap_only = items[first..from].iter().all(is_edge);
            let command = text(&items[1..first]).to_lowercase();
            (gap_only || command.contains(':')).then_some(CompletionWord {
                kind: WordKind::Argument { command },
                from,
                to,
                text: before,
            })
        }
        Some(_) | None => None,
    }
}

/// Returns a word of a `!` line behind its first; a backslash keeps a space in it.
fn shell_word(items: &[Item], cursor: usize) -> Option<CompletionWord> {
    let is_command = items.first().is_some_and(|item| item.text() == "!");
    let ends = |at: usize| {
        let escaped = at > 0 && items[at - 1].text() == "\\";
        is_edge(&items[at]) && !(escaped && matches!(items[at], Item::Grapheme(_)))
    };
    let from = (0..cursor).rev().find(|at| ends(*at)).filter(|_| is_command)? + 1;
    let to = (cursor..items.len()).find(|at| ends(*at)).unwrap_or(items.len());
    let mut plain = String::new();
    let mut written = items[from..cursor].iter();
    while let Some(item) = written.next() {
        let item = if item.text() == "\\" { written.next() } else { Some(item) };
        plain.push_str(item.map_or("", Item::text));
    }
    Some(CompletionWord { kind: WordKind::ShellWord, from, to, text: plain })
}

/// Returns a mention with spaces whose quote is still open at the cursor.
fn open_quote(items: &[Item], cursor: usize) -> Option<CompletionWord> {
    let line = items[..cursor].iter().rposition(Item::is_break).map_or(0, |at| at + 1);
    let quote = items[line..cursor].iter().rposition(|item| item.text() == "\"").map(|at| line + at)?;
    let from = quote.checked_sub(1).filter(|at| *at >= line && items[*at].text() == "@")?;
    let starts = from == line || is_edge(&items[from - 1]);
    if !starts || items[quote..cursor].iter().any(|item| matches!(item, Item::Chip(_))) {
        return None;
    }
    let end = items[cursor..].iter().position(|item| item.text() == "\"" || item.is_break());
    let to = match end.map(|at| cursor + at) {
        Some(at) if !items[at].is_break() => at + 1,
        Some(_) | None => cursor,
    };
    Some(CompletionWord { kind: WordKind::Mention, from, to, text: text(&items[quote + 1..cursor]) })
}

/// Whether an item separates words.
fn is_edge(item: &Item) -> bool {
    match item {
        Item::Grapheme(text) => text.chars().all(char::is_whitespace),
        Item::Chip(_) => true,
    }
}

fn text(items: &[Item]) -> String {
    items.iter().map(Item::text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WordKind, from, to, text.
    type Expected = (WordKind, usize, usize, &'static str);

    /// Returns the word at `|`.
    fn at(written: &str) -> Option<CompletionWord> {
        let (before, behind) = written.split_once('|').expect("the cursor is marked");
        let mut editor = Editor::plain(behind);
        editor.insert(before);
        word(&editor)
    }

    #[test]
    fn the_word_under_the_cursor_is_found() {
        let argument = |command: &str| WordKind::Argument { command: command.to_owned() };
        let cases: &[(&str, Option<Expected>)] = &[
            ("|", None),
            ("hello|", None),
            ("/|", Some((WordKind::Command, 0, 1, ""))),
            ("/mo|del", Some((WordKind::Command, 0, 6, "mo"))),
            ("|/model", None),
            ("/etc/ho|", None),
            (" /mo|", None),
            ("x\n/mo|", None),
            ("/model |", Some((argument("model"), 7, 7, ""))),
            ("/Model  son|", Some((argument("model"), 8, 11, "son"))),
            ("/model a b|", None),
            ("@|", Some((WordKind::Mention, 0, 1, ""))),
            ("see @src/m| now", Some((WordKind::Mention, 4, 10, "src/m"))),
            ("see\n@a|", Some((WordKind::Mention, 4, 6, "a"))),
            ("dana@north|", None),
            ("/model @a|", Some((WordKind::Mention, 7, 9, "a"))),
            ("see @\"my fi|", Some((WordKind::Mention, 4, 11, "my fi"))),
            ("see @\"my fi|le.md\" x", Some((WordKind::Mention, 4, 17, "my fi"))),
            ("see @\"my file\" and|", None),
            ("say \"hello wo|", None),
            ("!cat|", None),
            ("!cat src/m|", Some((WordKind::ShellWord, 5, 10, "src/m"))),
            ("!cat |", Some((WordKind::ShellWord, 5, 5, ""))),
            ("!cat my\\ di|r/x b", Some((WordKind::ShellWord, 5, 14, "my di"))),
            ("!cat @a|", Some((WordKind::ShellWord, 5, 7, "@a"))),
        ];
        for (written, expected) in cases {
            let found = at(written).map(|word| (word.kind, word.from, word.to, word.text));
            let expected = expected
                .as_ref()
                .map(|(place, from, to, text)| (place.clone(), *from, *to, (*text).to_owned()));
            assert_eq!(found, expected, "{written:?}");
        }
    }

    #[test]
    fn nothing_goes_across_a_pasted_block() {
        let mut editor = Editor::default();
        editor.insert("@\"");
        editor.paste(&"x\n".repeat(20));
        assert_eq!(word(&editor), None);
        editor.insert("@a");
        assert_eq!(word(&editor).map(|word| (word.from, word.text)), Some((3, "a".to_owned())));
    }
}
