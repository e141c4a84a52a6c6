//! The keys of lists to pick from, and what the owner tells for them.

use super::{flash, login, message, save_draft};
use crate::frontend::dialogue::Dialogue;
use crate::frontend::protocol::{ClientRequest, EarlierLine, SessionLine};
use crate::history::SessionId;
use crate::message::{Message, PartKind, UserPart};
use crate::stdx::text::one_line_summary;
use crate::tui::cells::Look;
use crate::tui::keys::{Action, Context, Nav, PickKey};
use crate::tui::model::{Focus, Model, Overlay};
use crate::tui::msg::Cmd;
use crate::tui::pick::{List, Pick};

/// Cells of what was said last in a session.
const LAST: usize = 200;

pub fn act(model: &mut Model, key: PickKey, cmds: &mut Vec<Cmd>) {
    if key == PickKey::Accept && login::accept(model, cmds) {
        return;
    }
    let Overlay::Pick(pick) = &mut model.overlay else { return };
    match key {
        PickKey::Narrow => pick.turn_scope(),
        PickKey::Accept => return accept(model, cmds),
    }
    preview(model, cmds);
}

/// Moves through the list.
pub fn navigate(model: &mut Model, nav: Nav, cmds: &mut Vec<Cmd>) {
    let page = (model.areas().pane / 2).max(1);
    let Overlay::Pick(pick) = &mut model.overlay else { return };
    match nav {
        Nav::PageUp => pick.up(page),
        Nav::PageDown => pick.down(page),
        Nav::Up | Nav::LineUp => pick.up(1),
        Nav::Down | Nav::LineDown => pick.down(1),
    }
    preview(model, cmds);
}

/// Opens the search in what was entered before.
pub fn search(model: &mut Model, cmds: &mut Vec<Cmd>) {
    model.completion.close();
    model.overlay = Overlay::Pick(Box::new(Pick::earlier(model.composer.entered())));
    cmds.push(Cmd::Send(ClientRequest::Earlier));
}

/// The query of an open list was changed by hand.
pub fn changed(model: &mut Model, cmds: &mut Vec<Cmd>) {
    if let Overlay::Pick(pick) = &mut model.overlay {
        pick.asked_anew();
    }
    preview(model, cmds);
}

pub fn tell_earlier(model: &mut Model, lines: Vec<EarlierLine>) {
    if let Overlay::Pick(pick) = &mut model.overlay {
        pick.tell_earlier(lines);
    }
}

pub fn tell_sessions(model: &mut Model, sessions: Vec<SessionLine>) {
    model.known.sessions = sessions;
}

/// Opens the list of sessions, as the owner asks for it.
pub fn sessions(model: &mut Model, query: &str, cmds: &mut Vec<Cmd>) {
    model.completion.close();
    model.focus = Focus::Composer;
    model.overlay = Overlay::Pick(Box::new(Pick::sessions(model.known.sessions.clone(), query)));
    preview(model, cmds);
}

pub fn tell_preview(model: &mut Model, session: SessionId, messages: &[Message], cmds: &mut Vec<Cmd>) {
    if let Overlay::Pick(pick) = &mut model.overlay
        && let List::Sessions { preview, .. } = &mut pick.list
    {
        preview.tell(session, message::cells_of(messages), last_words(messages));
    }
    preview(model, cmds);
}

/// Asks for the end of the chosen session, one session at a time.
fn preview(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let Overlay::Pick(pick) = &mut model.overlay else { return };
    let Some(chosen) = pick.session().map(|session| session.id.clone()) else { return };
    let List::Sessions { preview, .. } = &mut pick.list else { return };
    if preview.asked.is_none() && preview.told.as_ref() != Some(&chosen) {
        preview.asked = Some(chosen.clone());
        cmds.push(Cmd::Send(ClientRequest::Preview { session: chosen }));
    }
}

/// Lays out the preview for the width at which it is drawn.
pub fn lay_out(model: &mut Model) {
    let look = Look { width: model.preview_columns(), ..model.look() };
    if let Overlay::Pick(pick) = &mut model.overlay
        && let List::Sessions { preview, .. } = &mut pick.list
    {
        preview.lay_out(&look);
    }
}

fn accept(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let Overlay::Pick(pick) = &model.overlay else { return };
    match &pick.list {
        List::Earlier(_) => {
            let Some(text) = pick.line().map(|line| line.text.clone()) else { return };
            model.overlay = Overlay::None;
            model.composer.editor.replace(&text);
            model.composer.touched(model.now_ms);
            // What is brought back is whole; nothing is to be completed in it.
            model.completion.close();
            model.completion.seen = model.composer.revision();
        }
        List::Sessions { .. } => {
            let Some(session) = pick.session().map(|session| session.id.clone()) else { return };
            if model.turn.is_some() {
                let key = model.keymap.shown(Context::Global, Action::Escape);
                return flash(model, &format!("a turn is running: stop it first ({key}, {key})"));
            }
            model.overlay = Overlay::None;
            save_draft(model, cmds);
            cmds.push(Cmd::Send(ClientRequest::Open { session }));
        }
        List::Services { .. } | List::Models { .. } => {}
    }
}

/// Another session follows: what belongs to the one before goes.
pub fn entered(model: &mut Model) {
    // Its draft is kept with it; here Up brings the text back.
    model.composer.leave();
    model.overlay = Overlay::None;
    model.focus = Focus::Composer;
    model.find = None;
    model.turn = None;
    model.retry = None;
    model.queue.clear();
    model.selection = Default::default();
    model.batch = Default::default();
    model.cards = Default::default();
    model.dialogue = Dialogue::of_keys();
    model.flash = None;
    model.completion = Default::default();
    message::transcript(model, &[]);
}

/// The beginning of what was said last, by whomever.
fn last_words(messages: &[Message]) -> String {
    let said = |message: &Message| match message {
        Message::Assistant(reply) => reply.parts.iter().rev().find_map(|part| match &part.kind {
            PartKind::Text { text } if !text.trim().is_empty() => Some(one_line_summary(text, LAST)),
            PartKind::Text { .. } | PartKind::Thinking { .. } | PartKind::ToolCall(_) | PartKind::Native => {
                None
            }
        }),
        Message::User { parts } => parts.iter().find_map(|part| match part {
            UserPart::Text { text } => Some(one_line_summary(text, LAST)),
            UserPart::Image { .. } | UserPart::Note { .. } => None,
        }),
        Message::ToolReturns { .. } => None,
    };
    messages.iter().rev().find_map(said).unwrap_or_default()
}
