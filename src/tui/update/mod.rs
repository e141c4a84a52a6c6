//! The only place where the model changes: takes a message, returns commands. No terminal, no clock, no channel. Called
//! by the shell and by tests.

pub(super) mod advice;
mod alert;
mod auto_focus;
pub(super) mod card;
mod complete;
mod event;
mod image;
mod key;
mod message;
mod mode;
mod mouse;
mod outside;
pub(super) mod panel;
mod recent;
mod select;
mod send;
mod settled;
mod stop;
pub(super) mod turn;

use super::batch::draw::BatchView;
use super::batch::{self, Question, rows};
use super::cap;
use super::cards::Card;
use super::cells::card::{CardLayout, draw, prepare, prepare_detail};
use super::cells::{Cell, CellKind};
use super::markdown::Languages;
use super::model::Model;
use super::msg::{Cmd, Input};
use super::screen::Screen;
use crate::frontend::protocol::Update;
use crate::frontend::{HANGUP_MS, Lifecycle};

/// The direction of a move: between blocks, lines and hunks, to an end, of the wheel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

/// Applies one message.
pub fn update(model: &mut Model, now_ms: u64, input: Input) -> Vec<Cmd> {
    let mut cmds = Vec::new();
    model.now_ms = model.now_ms.max(now_ms);
    timers(model, &mut cmds);
    // A key that waited for its turn may have followed the deferred one in time.
    if !matches!(input, Input::Key(_) | Input::Paste(_)) {
        key::execute_due(model, &mut cmds);
    }
    let may_write = matches!(
        input,
        Input::Key(_)
            | Input::Paste(_)
            | Input::Mouse(_)
            | Input::Edited(_)
            | Input::Update(_)
            | Input::Answer(_)
            | Input::Named { .. }
            | Input::Clipboard(_)
    );
    match input {
        Input::Key(key) => key::press(model, key, &mut cmds),
        Input::Paste(text) => key::paste(model, &text, &mut cmds),
        Input::Mouse(mouse) => mouse::take(model, mouse, &mut cmds),
        Input::Edited(edited) => outside::take(model, edited, &mut cmds),
        Input::Named { text, images } => image::on_check(model, &text, images),
        Input::Clipboard(clip) => image::clip(model, clip),
        Input::Update(update) => {
            let alert = alert::of(model, &update);
            match *update {
                Update::Event(event) => event::take(model, event),
                Update::Message(notice) => message::take(model, notice, &mut cmds),
            }
            if let Some(alert) = alert {
                alert::call(model, alert, &mut cmds);
            }
        }
        Input::Answer(answered) => {
            let (query, answer) = *answered;
            message::answer(model, query, answer, &mut cmds);
        }
        Input::Resize { columns, rows } => {
            (model.columns, model.rows) = (columns, rows);
            model.cards.unsee_partly();
            if let Some(panel) = &mut model.panel {
                panel.state_mut().on_resize();
            }
            // Also sent after another program used the terminal: the screen may be new to the user.
            model.dialogue.show_again(model.now_ms);
            select::drop_mark(model);
        }
        Input::Window(window) => alert::focus(model, window),
        Input::Tick => {}
        Input::Loaded(languages) => model.languages_ready = model.languages_ready | languages,
        Input::Frame => {
            super::find::keys::refresh(model);
            lay_out(model);
            load_languages(model, &mut cmds);
        }
        Input::Hangup => model.close(HANGUP_MS, &mut cmds),
        Input::Word { text } => model.say(&text),
        Input::Trouble { text } => {
            let advice = "This is a bug in co; running calls may not have finished.".to_owned();
            model.transcript.push(Cell::new(CellKind::Failure { message: text, advice }));
        }
    }
    settle(model);
    if may_write {
        complete::follow(model, &mut cmds);
    }
    cmds
}

/// Handles expired timers.
fn timers(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let now = model.now_ms;
    if model.flash.as_ref().is_some_and(|(_, until)| *until <= now) {
        model.flash = None;
    }
    if model.armed_until.is_some_and(|until| until <= now) {
        model.armed_until = None;
    }
    if let Some(retry) = &mut model.retry
        && !retry.sent
        && retry.time_left(now).is_zero()
    {
        retry.sent = true;
    }
    if model.composer.draft_due().is_some_and(|due| due <= now) {
        model.save_draft(cmds);
    }
    match model.life {
        Lifecycle::Closing { until_ms } if until_ms <= now => model.leave(cmds),
        Lifecycle::Closing { .. } | Lifecycle::Open | Lifecycle::Over => {}
    }
}

/// Restores the invariants that must hold after every message.
fn settle(model: &mut Model) {
    panel::settle(model);
    batch::keys::refresh(model);
    auto_focus::settle(model);
    select::settle(model);
}

/// Lays out the next screen, and records how much of the card it shows.
fn lay_out(model: &mut Model) {
    panel::lay_out(model);
    let question = if model.panel.is_some() { Question::Nothing } else { model.question() };
    let (columns, position) = (model.card_columns(), model.cards.position());
    let mut cards = std::mem::take(&mut model.cards);
    let screen = Screen { columns, position, ..model.screen(model.areas().pane) };
    let (context, pane) = (screen.context, screen.rows);
    let drawn = match (question, cards.current_mut()) {
        (Question::Cap(_), _) => model.cap.as_ref().map(|cap| cap::draw::draw(cap, &screen)),
        (Question::Card(_), Some(card)) => {
            prepare(card, &screen);
            Some(draw(card, &screen))
        }
        (Question::List(_), _) => {
            let width = batch::draw::detail_width(&screen);
            cards.visible_mut().for_each(|card| prepare_detail(card, &screen, width));
            let list = &model.batch.list;
            let rows = rows(&cards, list);
            Some(batch::draw::draw(&BatchView { rows: &rows, cursor: position.0 - 1, list }, &screen))
        }
        (Question::Nothing | Question::Inbox | Question::Card(_), _) => None,
    };
    model.cards = cards;
    let CardLayout { lines, hunks, body_width, view } = drawn.unwrap_or_default();
    model.card_view = view;
    // A card higher than the pane shows only its end: none of it counts as seen.
    let fits = lines.len() <= pane && !model.completion.is_open();
    model.transcript.layout(&context, pane, lines);
    if fits && model.transcript.follows() && view.body_total > 0 {
        let last = view.body_total.saturating_sub(view.body_room);
        if let Some(card) = model.cards.current_mut() {
            card.hunks.rows = hunks;
            card.scroll = card.scroll.min(last);
            card.saw(body_width, card.scroll..card.scroll + view.body_room, view.body_total);
        }
    }
}

/// Loads the languages of the code on the screen, each once.
fn load_languages(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let card = model.cards.current().and_then(Card::language).map_or(Languages::NONE, Languages::of);
    let wanted = (model.transcript.named_languages() | card).without(model.languages_asked);
    if !wanted.is_empty() {
        model.languages_asked = model.languages_asked | wanted;
        cmds.push(Cmd::Load(wanted));
    }
}
