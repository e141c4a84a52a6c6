//! The question at a cap, as lines: the usage, the limit, and the estimate for the next request.
//!
//! It is no approval: an empty line, a line from before the question, and an early one do not release the cap. Any
//! other line is a prompt, which is queued.

use super::page::LinePosition;
use super::state::{OpenCap, Plain};
use crate::agent::caps::{CapAnswer, CapQuestion};
use crate::agent::port::Op;
use crate::frontend::dialogue::Dialogue;
use crate::frontend::protocol::ClientRequest;
use crate::frontend::sentences;

impl Plain {
    /// Asks the question.
    pub(super) fn cap_reached(&mut self, question: CapQuestion) {
        let (spent, adds) = (question.spent_words(), question.adds_words());
        self.page.line(&format!("Cap reached: {spent} ({}), and {adds}.", question.cap.setting()));
        self.cap = Some(OpenCap { question, dialogue: Dialogue::of_lines() });
        self.prompt_cap();
        self.asked = true;
    }

    /// Prints its last line, again after other output.
    pub(super) fn prompt_cap(&mut self) {
        let Some(open) = self.cap.as_ref().filter(|_| self.page.at() != LinePosition::Prompt) else { return };
        let raise = open.question.raise_words();
        self.page.prompt(&format!("  1 stop  2 continue for this request  3 {raise}. Choice: "));
    }

    /// Stops at the cap because no more lines will come.
    pub(super) fn stop_at_cap(&mut self) {
        self.page.line("End of input: stopped at the cap.");
        self.answer_cap(CapAnswer::Stop);
    }

    /// Starts the guard time of the printed question; returns earlier lines that are no answers.
    pub(super) fn cap_asked(&mut self, before: Vec<String>) -> Vec<String> {
        let now = self.now_ms;
        let Some(open) = &mut self.cap else { return before };
        open.dialogue.show((), now);
        let (answers, others): (Vec<_>, Vec<_>) =
            before.into_iter().partition(|line| choice(line).is_some() || line.trim().is_empty());
        if answers.iter().any(|line| !line.trim().is_empty()) {
            self.page.line("Text typed before the request does not answer it.");
        }
        others
    }

    /// Handles a line while the question is open; returns one that is no answer.
    pub(super) fn answers_cap(&mut self, text: String) -> Option<String> {
        let now = self.now_ms;
        let Some(open) = &mut self.cap else { return Some(text) };
        let Some(answer) = choice(&text) else {
            // An empty line asks again.
            return (!text.trim().is_empty()).then_some(text);
        };
        if !open.dialogue.is_armed(now) {
            open.dialogue.show_again(now);
            self.tell(sentences::TOO_SOON);
            return None;
        }
        self.answer_cap(answer);
        None
    }

    fn answer_cap(&mut self, answer: CapAnswer) {
        if let Some(open) = self.cap.take() {
            self.send(ClientRequest::Op(Op::Cap { cap: open.question.cap, answer }));
        }
    }
}

fn choice(line: &str) -> Option<CapAnswer> {
    match line.trim().to_lowercase().as_str() {
        "1" | "stop" => Some(CapAnswer::Stop),
        "2" | "continue" | "go on" => Some(CapAnswer::GoOn),
        "3" | "raise" => Some(CapAnswer::Raise),
        _ => None,
    }
}
