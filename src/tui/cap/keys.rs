//! The keys of the question at a cap. The answer is sent as an `Op`; the card stays until the turn confirms it.
//!
//! Keys pressed within the guard time or held down do not release the cap. Esc returns to the composer and decides
//! nothing.

use crate::agent::caps::{CapAnswer, CapQuestion};
use crate::agent::port::Op;
use crate::frontend::protocol::ClientRequest;
use crate::frontend::sentences;
use crate::tui::cap::CapCard;
use crate::tui::model::{Model, Phase};
use crate::tui::msg::Cmd;
use crate::tui::update::advice::scroll_back;
use crate::tui::update::turn::{note, phase};

pub fn act(model: &mut Model, answer: CapAnswer, cmds: &mut Vec<Cmd>) {
    if scroll_back(model) {
        return;
    }
    let Some(CapCard { question, said }) = &mut model.cap else { return };
    if said.is_some() {
        return;
    }
    *said = Some(answer);
    cmds.push(Cmd::Send(ClientRequest::Op(Op::Cap { cap: question.cap, answer })));
    model.dialogue.show_again(model.now_ms);
}

/// Shows the question when a turn reaches a cap.
pub fn on_cap(model: &mut Model, question: CapQuestion) {
    model.cap = Some(CapCard { question, said: None });
    phase(model, Phase::Paused);
}

/// Closes the question when the turn has received the answer.
pub fn on_answer(model: &mut Model, question: &CapQuestion, answer: CapAnswer) {
    model.cap = None;
    if let Some(text) = sentences::cap_answer_effect(question, answer) {
        note(model, &text);
        phase(model, Phase::Asking);
    }
}
