//! The texts that a call is about to write or run, while its arguments stream in: their last lines, in colours.
//!
//! For display only: what runs is what the committed call says, and [`ArgsPreview::shows`] compares the two. Each
//! character is read once and each whole line highlighted once; a frame lays out only the lines that it shows.

use std::borrow::Cow;
use std::collections::VecDeque;

use memchr::memchr;
use serde_json::Value;

use super::RenderContext;
use super::diff::{Side, code_lines};
use crate::stdx::json_stream::StringReader;
use crate::stdx::text::{count, expand_tabs, width};
use crate::tool::TextKind;
use crate::tool::builtin::text_args;
use crate::tui::line::{Line, Margin, Span, TextStyle};
use crate::tui::markdown::{Highlighter, Language, Languages};
use crate::tui::theme::Role;

/// Rows of text at most and at least, and rows of the screen that are left to everything else.
const MOST_ROWS: usize = 10;
const LEAST_ROWS: usize = 2;
const OTHER_ROWS: usize = 9;

/// Bytes of a line that are laid out at most: its end, since that is what grows.
const LONGEST_LINE: usize = 4 * 1024;

/// Tenths of a call's row that have room for a command on every screen.
const ROOM_FOR_COMMAND: usize = 3;

/// Cells of a line number.
const DIGITS: usize = 3;

/// The growing texts of one call.
#[derive(Debug, Clone, PartialEq)]
pub struct ArgsPreview {
    tool: String,
    reader: StringReader,
    texts: Vec<GrowingText>,
}

impl ArgsPreview {
    /// Creates the preview of a call of `tool`, which also reads the arguments `named`. A tool that writes and runs no text
    /// has an empty one.
    pub fn new(tool: &str, named: &[&str]) -> Self {
        let args = text_args(tool);
        let keys = named.iter().copied().chain(args.iter().map(|(key, _)| *key));
        Self {
            tool: tool.to_owned(),
            reader: StringReader::new(keys),
            texts: args.iter().map(|(key, kind)| GrowingText::new(key, *kind)).collect(),
        }
    }

    pub fn push(&mut self, delta: &str) {
        self.reader.feed(delta);
    }

    /// Returns an argument as far as it has come.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.reader.get(key)
    }

    /// Whether these are all of the texts of this call.
    pub fn shows(&self, tool: &str, args: &Value) -> bool {
        let is_same = |text: &GrowingText| self.get(text.key) == args.get(text.key).and_then(Value::as_str);
        self.tool == tool && self.texts.iter().all(is_same)
    }

    /// Returns the languages of the texts.
    pub fn named_languages(&self) -> Languages {
        let languages = self.texts.iter().filter_map(|text| self.language(text.kind));
        languages.fold(Languages::NONE, |all, one| all | Languages::of(one))
    }

    fn language(&self, kind: TextKind) -> Option<Language> {
        match kind {
            TextKind::File | TextKind::Old | TextKind::New => {
                self.get("path").filter(|_| self.reader.is_complete("path")).and_then(Language::of_file)
            }
            TextKind::Command => Language::by_name("sh"),
            TextKind::Patch => Language::by_name("diff"),
        }
    }

    /// Lays out the last rows, with the number of lines above them.
    pub fn lines(&mut self, context: &RenderContext, margin: &Margin) -> Vec<Line> {
        for at in 0..self.texts.len() {
            let language = self.language(self.texts[at].kind).filter(|one| context.languages.has(*one));
            self.texts[at].advance(&self.reader, language, context.languages);
        }
        let most = context.rows.saturating_sub(OTHER_ROWS).clamp(LEAST_ROWS, MOST_ROWS);
        let width = context.width.saturating_sub(margin.rest.width());
        let (mut rows, mut above) = (VecDeque::new(), 0);
        for text in self.texts.iter().rev() {
            let Some(value) = self.reader.get(text.key).filter(|value| text.is_shown(value, context)) else {
                continue;
            };
            let open = text.open_line(value);
            let length = text.ended + usize::from(open.is_some());
            for (back, line) in open.iter().chain(text.last.iter().rev()).enumerate() {
                let room = most - rows.len();
                let laid_out = if room > 0 { line.rows(text.kind, length - back, width) } else { Vec::new() };
                above += usize::from(room == 0 || laid_out.len() > room);
                laid_out
                    .into_iter()
                    .rev()
                    .take(room)
                    .for_each(|row| rows.push_front(row.behind(&margin.rest)));
            }
            above += text.ended - text.last.len();
        }
        if above > 0 {
            let remark = margin.rest.clone().with(format!("… {} above", count(above, "line")), Role::Dim);
            rows.push_front(remark.ours().cut(context.width));
        }
        rows.into()
    }
}

/// One text, as far as it has come.
#[derive(Debug, Clone, PartialEq)]
struct GrowingText {
    key: &'static str,
    kind: TextKind,
    /// How often it began: once, unless its key is repeated.
    begun: usize,
    /// The bytes of its whole lines, and those that were searched for the end of the next one.
    taken: usize,
    searched: usize,
    /// The number of whole lines, and the last of them.
    ended: usize,
    last: VecDeque<CodeLine>,
    language: Option<Language>,
    code: Highlighter,
}

impl GrowingText {
    fn new(key: &'static str, kind: TextKind) -> Self {
        Self {
            key,
            kind,
            begun: 0,
            taken: 0,
            searched: 0,
            ended: 0,
            last: VecDeque::new(),
            language: None,
            code: Highlighter::plain(),
        }
    }

    /// Takes the lines that ended since the last frame.
    fn advance(&mut self, reader: &StringReader, language: Option<Language>, ready: Languages) {
        let begun = reader.times_begun(self.key);
        if begun != self.begun {
            *self = Self { begun, ..Self::new(self.key, self.kind) };
        }
        if language != self.language {
            // The path or the language's definition came later: only what is still shown is highlighted again.
            self.language = language;
            self.code = Highlighter::new(language, ready);
            for line in &mut self.last {
                line.colour(&mut self.code);
            }
        }
        let value = reader.get(self.key).unwrap_or_default();
        while let Some(at) = memchr(b'\n', value.as_bytes().get(self.searched..).unwrap_or_default()) {
            let end = self.searched + at;
            let text = value.get(self.taken..end).unwrap_or_default();
            self.last.push_back(CodeLine::new(text, self.kind, &mut self.code));
            if self.last.len() > MOST_ROWS {
                self.last.pop_front();
            }
            self.ended += 1;
            self.taken = end + 1;
            self.searched = self.taken;
        }
        self.searched = value.len();
    }

    /// Returns the line that has not ended yet.
    fn open_line(&self, value: &str) -> Option<CodeLine> {
        let text = value.get(self.taken..).filter(|text| !text.is_empty())?;
        Some(CodeLine::new(text, self.kind, &mut self.code.clone()))
    }

    /// Whether it is shown: a command is not if the call's row has room for it.
    fn is_shown(&self, value: &str, context: &RenderContext) -> bool {
        let room = context.width * ROOM_FOR_COMMAND / 10;
        self.kind != TextKind::Command || self.ended > 0 || value.len() > LONGEST_LINE || width(value) > room
    }
}

/// A sanitized line and the styles of its pieces.
#[derive(Debug, Clone, PartialEq)]
struct CodeLine {
    span: Span,
    styles: Vec<(usize, TextStyle)>,
}

impl CodeLine {
    fn new(text: &str, kind: TextKind, code: &mut Highlighter) -> Self {
        let [background, _] = side(kind).backgrounds();
        let span = Span::styled(expand_tabs(&end_of(text)), TextStyle::of(Role::CodeText).on(background));
        let mut line = Self { span, styles: Vec::new() };
        line.colour(code);
        line
    }

    fn colour(&mut self, code: &mut Highlighter) {
        let background = self.span.style.background;
        let roles = code.line(self.span.text()).into_iter();
        self.styles = roles.map(|(end, role)| (end, TextStyle::of(role).on(background))).collect();
    }

    fn rows(&self, kind: TextKind, number: usize, width: usize) -> Vec<Line> {
        let number =
            if matches!(kind, TextKind::File) { format!("{number:>DIGITS$} ") } else { String::new() };
        code_lines(self.span.in_pieces(&self.styles), &number, side(kind), width)
    }
}

fn side(kind: TextKind) -> Side {
    match kind {
        TextKind::Old => Side::Old,
        TextKind::New => Side::New,
        TextKind::File | TextKind::Command | TextKind::Patch => Side::Both,
    }
}

/// Returns a line of bounded length.
fn end_of(line: &str) -> Cow<'_, str> {
    if line.len() <= LONGEST_LINE {
        return Cow::Borrowed(line);
    }
    let (_, end) = line.split_at(line.ceil_char_boundary(line.len() - LONGEST_LINE));
    Cow::Owned(format!("…{end}"))
}

#[cfg(test)]
mod tests;
