//! The model's answer: Markdown, rendered live while it streams.

use std::borrow::Cow;

use super::RenderContext;
use crate::tui::line::Line;
use crate::tui::markdown::{Languages, Page, StreamMarkdown, render};
use crate::tui::theme::Role;

#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    text: Text,
    /// The languages that its fences name, as of the last layout.
    pub named: Languages,
}

#[derive(Debug, Clone, PartialEq)]
enum Text {
    /// Streaming; it has a page from its first refresh on.
    Live {
        stream: Option<Box<StreamMarkdown>>,
        unread: String,
    },
    Whole {
        source: String,
        page: Box<Page>,
        lines: Vec<Line>,
    },
    Committed {
        source: String,
    },
}

impl Answer {
    pub fn live() -> Self {
        Self { text: Text::Live { stream: None, unread: String::new() }, named: Languages::NONE }
    }

    pub fn committed(source: String) -> Self {
        Self { text: Text::Committed { source }, named: Languages::NONE }
    }

    pub fn push(&mut self, piece: &str) {
        match &mut self.text {
            Text::Live { stream: Some(stream), .. } => stream.push(piece),
            Text::Live { stream: None, unread } => unread.push_str(piece),
            Text::Whole { source, .. } | Text::Committed { source } => source.push_str(piece),
        }
    }

    /// Commits the part; `text` is all of it.
    pub fn commit(&mut self, text: String) {
        let live = std::mem::replace(&mut self.text, Text::Committed { source: String::new() });
        self.text = match live {
            Text::Live { stream: Some(stream), .. } if stream.source() == text => {
                let page = Box::new(stream.page.clone());
                let (source, lines) = stream.finish();
                Text::Whole { source, page, lines }
            }
            Text::Live { .. } | Text::Whole { .. } | Text::Committed { .. } => {
                Text::Committed { source: text }
            }
        };
    }

    /// Ends the part without a commit; the received text is all of it.
    pub fn end(&mut self) {
        if self.is_live() {
            let text = self.source().into_owned();
            self.commit(text);
        }
    }

    pub fn is_live(&self) -> bool {
        matches!(self.text, Text::Live { .. })
    }

    pub fn source(&self) -> Cow<'_, str> {
        match &self.text {
            Text::Live { stream, unread } => {
                let read = stream.as_ref().map_or("", |stream| stream.source());
                if unread.is_empty() { Cow::Borrowed(read) } else { Cow::Owned(format!("{read}{unread}")) }
            }
            Text::Whole { source, .. } | Text::Committed { source } => Cow::Borrowed(source),
        }
    }

    pub fn stream(&self) -> Option<&StreamMarkdown> {
        match &self.text {
            Text::Live { stream, .. } => stream.as_deref(),
            Text::Whole { .. } | Text::Committed { .. } => None,
        }
    }

    /// Lays out the text received since the last frame; `None` if the answer is not live.
    pub fn refresh_live(&mut self, context: &RenderContext) -> Option<usize> {
        let Text::Live { stream, unread } = &mut self.text else { return None };
        let page = context.page(context.glyphs.answer, Role::Answer);
        let stream = match stream {
            Some(stream) => {
                stream.turn_page(page);
                stream
            }
            None => stream.insert(Box::new(StreamMarkdown::new(page))),
        };
        stream.push(&std::mem::take(unread));
        stream.advance();
        self.named = stream.named;
        Some(stream.height())
    }

    /// Returns all lines of an answer that is not live.
    pub fn lines(&mut self, context: &RenderContext) -> Vec<Line> {
        let wanted = context.page(context.glyphs.answer, Role::Answer);
        match &mut self.text {
            // Taken, not copied: the cell caches them from here on.
            Text::Whole { source, page, lines } if **page == wanted => {
                let lines = std::mem::take(lines);
                self.text = Text::Committed { source: std::mem::take(source) };
                lines
            }
            Text::Whole { source, .. } | Text::Committed { source } => {
                self.named = Languages::named_in(source);
                render(source, &wanted)
            }
            Text::Live { .. } => Vec::new(),
        }
    }
}
