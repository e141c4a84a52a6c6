//! A `!cmd` the user ran: the command, its output as it arrives, its outcome.

use std::time::Duration;

use super::flow::{Flow, WrapMode};
use super::{Fold, RenderContext};
use crate::command::Privacy;
use crate::command::UNSANDBOXED;
use crate::stdx::moment::{duration, whole_seconds};
use crate::tui::line::{Line, Margin, Span, wrap_spans};
use crate::tui::theme::Role;

/// Lines of output shown while folded; more than for a tool, because the user requested this output.
const TAIL: usize = 20;

#[derive(Debug, Clone, PartialEq)]
pub struct ShellCell {
    command: String,
    privacy: Privacy,
    output: Flow,
    state: ShellState,
}

#[derive(Debug, Clone, PartialEq)]
enum ShellState {
    Running { since_ms: u64 },
    Ended { outcome: String, took: Duration },
}

impl ShellCell {
    pub fn running(command: String, privacy: Privacy, now_ms: u64) -> Self {
        let output = Flow::new(WrapMode::Anywhere, Role::Text);
        Self { command, privacy, output, state: ShellState::Running { since_ms: now_ms } }
    }

    pub fn push(&mut self, text: &str) {
        self.output.push(text);
    }

    pub fn end(&mut self, outcome: String, took: Duration) {
        self.state = ShellState::Ended { outcome, took };
    }

    pub fn is_running(&self) -> bool {
        matches!(self.state, ShellState::Running { .. })
    }

    pub fn command(&self) -> &str {
        &self.command
    }

    /// Whether it ended in the sandbox, and not with success.
    pub fn has_failed(&self) -> bool {
        let is_outside = self.command.strip_prefix(UNSANDBOXED).is_some_and(|rest| rest.starts_with(' '));
        !is_outside && matches!(&self.state, ShellState::Ended { outcome, .. } if outcome != "exit 0")
    }

    pub fn output(&self) -> &str {
        self.output.source()
    }

    /// Whether the output is longer than a folded cell shows.
    pub fn is_long(&self) -> bool {
        self.output.source().lines().nth(TAIL).is_some()
    }

    pub fn lines(&mut self, context: &RenderContext) -> Vec<Line> {
        let (mark, remark) = match self.privacy {
            Privacy::Shared => (" ! ", ""),
            Privacy::Private => (" !! ", "  private: the model does not see it"),
        };
        let margin = Margin::new(Line::of(mark, Role::User), Line::of("   ", Role::Text));
        let spans = [Span::new(&self.command, Role::User), Span::new(remark, Role::Dim)];
        let mut lines = wrap_spans(&spans, context.width, &margin);
        let bar = context.bar_margin(context.glyphs.side, Role::Dim).first;
        let shown = match context.details {
            Fold::Folded => TAIL,
            Fold::Open => usize::MAX,
        };
        self.output.refresh(context.width.saturating_sub(bar.width()));
        let hidden = self.output.height().saturating_sub(shown) + self.output.dropped;
        if hidden > 0 {
            let mut line = bar.clone();
            let all = context.details_key.map(|key| format!(", {key} shows all kept lines"));
            let words = format!("… {hidden} lines before{}", all.unwrap_or_default());
            line.push(Span::new(words, Role::Dim));
            lines.push(line.cut(context.width).ours());
        }
        lines.extend(self.output.tail(shown).map(|line| line.behind(&bar)));
        lines.push(self.foot(context));
        lines
    }

    fn foot(&self, context: &RenderContext) -> Line {
        let text = match &self.state {
            ShellState::Running { since_ms } => {
                let took = whole_seconds(context.now_ms.saturating_sub(*since_ms));
                let stops = context.stop_key.map(|key| format!("  {key} stop"));
                format!("   {} {}{}", context.spinner(), took, stops.unwrap_or_default())
            }
            ShellState::Ended { outcome, took } => format!("   {outcome}  {}", duration(*took)),
        };
        Line::of(text, Role::Dim).cut(context.width).ours()
    }
}
