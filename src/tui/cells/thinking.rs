//! The model's thinking: its tail while live, one line when done, all of it on demand.

use std::time::Duration;

use super::flow::{Flow, WrapMode};
use super::{Fold, RenderContext};
use crate::stdx::moment::{duration, whole_seconds};
use crate::tui::line::Line;
use crate::tui::theme::Role;

/// The number of lines shown of folded live thinking.
const TAIL: usize = 6;

#[derive(Debug, Clone, PartialEq)]
pub struct Thinking {
    text: Flow,
    state: ThinkingState,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum ThinkingState {
    Live { since_ms: u64 },
    Done { took_ms: Option<u64> },
}

impl Thinking {
    pub fn live(now_ms: u64) -> Self {
        Self {
            text: Flow::new(WrapMode::Words, Role::Thinking),
            state: ThinkingState::Live { since_ms: now_ms },
        }
    }

    /// Creates earlier thinking, whose duration is unknown.
    pub fn committed(source: &str) -> Self {
        let mut text = Flow::new(WrapMode::Words, Role::Thinking);
        text.push(source);
        Self { text, state: ThinkingState::Done { took_ms: None } }
    }

    pub fn push(&mut self, piece: &str) {
        self.text.push(piece);
    }

    /// Commits the thinking. `text` is all of it; if `None`, the received text is.
    pub fn commit(&mut self, text: Option<&str>, now_ms: u64) {
        if let Some(text) = text.filter(|text| *text != self.text.source()) {
            self.text = Flow::new(WrapMode::Words, Role::Thinking);
            self.text.push(text);
        }
        if let ThinkingState::Live { since_ms } = self.state {
            self.state = ThinkingState::Done { took_ms: Some(now_ms.saturating_sub(since_ms)) };
        }
    }

    pub fn source(&self) -> &str {
        self.text.source()
    }

    pub fn is_live(&self) -> bool {
        matches!(self.state, ThinkingState::Live { .. })
    }

    pub fn lines(&mut self, context: &RenderContext) -> Vec<Line> {
        let shown = match (self.state, context.thinking, context.details) {
            (ThinkingState::Done { .. }, Fold::Folded, Fold::Folded) => 0,
            (ThinkingState::Live { .. }, Fold::Folded, Fold::Folded) => TAIL,
            (_, Fold::Open, _) | (_, _, Fold::Open) => usize::MAX,
        };
        let bar = context.bar_margin(context.glyphs.thinking_side, Role::Dim).first;
        let mut lines = vec![self.head(context, shown)];
        if shown == 0 {
            return lines;
        }
        self.text.refresh(context.width.saturating_sub(bar.width()));
        lines.extend(self.text.tail(shown).map(|line| line.behind(&bar)));
        if self.text.height() > shown {
            let all = context.details_key.map(|key| format!(" {} {key} all", context.glyphs.dot));
            let hint = format!("(last {TAIL} lines{})", all.unwrap_or_default());
            lines.push(Line::spread(bar, Line::of(hint, Role::Dim), context.width).ours());
        }
        lines
    }

    fn head(&self, context: &RenderContext, shown: usize) -> Line {
        let tokens = self.text.source().len().div_ceil(4);
        let (mark, words) = match self.state {
            ThinkingState::Live { since_ms } => (
                context.glyphs.open,
                format!("thinking  {}", whole_seconds(context.now_ms.saturating_sub(since_ms))),
            ),
            ThinkingState::Done { took_ms } => {
                let mark = if shown == 0 { context.glyphs.folded } else { context.glyphs.open };
                let time = took_ms
                    .map_or(String::new(), |took| format!(" {}", duration(Duration::from_millis(took))));
                (mark, format!("thought{time}"))
            }
        };
        let text = format!(" {mark} {words} {} ~{tokens} tok", context.glyphs.dot);
        Line::of(text, Role::Dim).cut(context.width).ours()
    }
}
