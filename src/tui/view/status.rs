//! The last line: at the left the keys; at the right activity, tokens and what is pending.

use crate::frontend::Lifecycle;
use crate::message::Usd;
use crate::stdx::moment::{wait, whole_seconds};
use crate::tui::cells::Fold;
use crate::tui::completion::WordKind;
use crate::tui::keys::{
    Action, CHOOSE, CardKey, CompleteKey, Context, FormKey, ListKey, Move, Nav, RuleKey, SelectKey,
    StatusHint, TextEdit,
};
use crate::tui::line::Line;
use crate::tui::list::REASON_HINTS;
use crate::tui::model::{Focus, Model, Phase, Turn};
use crate::tui::theme::Role;

pub fn line(model: &Model) -> Line {
    let width = usize::from(model.columns);
    let right = activity(model).with(" ", Role::Text);
    let room = width.saturating_sub(right.width() + 2);
    let (text, role) = hints(model);
    let left = Line::of(" ", Role::Text).with(fit(&text, room), role);
    Line::spread(left, right, width)
}

/// Returns the hints that fit, separated by two spaces; always at least the first.
fn fit(text: &str, room: usize) -> String {
    let mut shown = String::new();
    for hint in text.split("  ") {
        if shown.is_empty() {
            shown.push_str(hint);
        } else if shown.chars().count() + 2 + hint.chars().count() <= room {
            shown.push_str("  ");
            shown.push_str(hint);
        } else {
            break;
        }
    }
    shown
}

const SCROLL: StatusHint = (Context::Global, &[Action::Nav(Nav::PageDown)], " scroll");
const RETRYING: &[StatusHint] =
    &[(Context::Global, &[Action::RetryNow], " retry now"), (Context::Global, &[Action::Escape], " stop")];
const RUNNING: &[StatusHint] = &[
    (Context::Global, &[Action::Escape], " interrupt"),
    (Context::Composer, &[Action::Send], " queue"),
    (Context::Global, &[Action::FoldDetails], " details"),
];
const RUN: &[Action] = &[Action::Complete(CompleteKey::Enter)];
const COMPLETING: &[StatusHint] = &[
    (Context::Completion, &[Action::Complete(CompleteKey::Accept)], " complete"),
    (Context::Completion, RUN, " run"),
    (Context::Completion, CHOOSE, " choose"),
    (Context::Global, &[Action::Escape], " close"),
];
const RECENT: &[StatusHint] = &[
    (Context::Composer, &[Action::Move(Move::Up), Action::Move(Move::Down)], " choose"),
    (Context::Composer, &[Action::Send], " open"),
    (Context::Global, &[Action::Escape], " back"),
];
const READING: &[StatusHint] = &[
    (Context::Transcript, CHOOSE, " blocks"),
    (Context::Transcript, &[Action::Select(SelectKey::Copy)], " copy"),
    (Context::Transcript, &[Action::Select(SelectKey::Fold)], " fold"),
    (Context::Transcript, &[Action::Select(SelectKey::Lines)], " mark lines"),
    (Context::Global, &[Action::Escape], " back to prompt"),
];
const MARKED: &[StatusHint] = &[
    (Context::Transcript, CHOOSE, " lines"),
    (Context::Transcript, &[Action::Select(SelectKey::Copy)], " copy"),
    (Context::Global, &[Action::Escape], " drop"),
];
const FORM: &[StatusHint] = &[
    (Context::Form, &[Action::Form(FormKey::NextField)], " next field"),
    (Context::Text, &[Action::EditOutside], " $EDITOR"),
    (Context::Form, &[Action::Form(FormKey::Raw)], " raw JSON"),
    (Context::Text, &[Action::Edit(TextEdit::Undo)], " undo"),
];
const RAW: &[StatusHint] = &[
    (Context::Arguments, &[Action::Form(FormKey::Raw)], " fields"),
    (Context::Text, &[Action::EditOutside], " $EDITOR"),
    (Context::Arguments, &[Action::Form(FormKey::ResetField)], " reset"),
    (Context::Text, &[Action::Edit(TextEdit::Undo)], " undo"),
];
const RULE: &[StatusHint] = &[
    (Context::Rule, &[Action::Rule(RuleKey::Scope)], " scope"),
    (Context::Text, &[Action::EditOutside], " $EDITOR"),
    (Context::Rule, &[Action::Rule(RuleKey::Reset)], " reset"),
    (Context::Text, &[Action::Edit(TextEdit::Undo)], " undo"),
];
const WIDTHS: &[StatusHint] = &[
    (Context::Width, CHOOSE, " choose"),
    (Context::Width, &[Action::Rule(RuleKey::Scope)], " scope"),
    (Context::Width, &[Action::Rule(RuleKey::Write)], " edit as text"),
    (Context::Global, &[Action::Escape], " back"),
];
const DIFF: &[StatusHint] = &[
    (Context::Card, &[Action::Card(CardKey::NextHunk)], " next hunk"),
    (Context::Card, &[Action::Card(CardKey::HunkHere)], " skip it"),
    (Context::Card, &[Action::Card(CardKey::Sides)], " side by side"),
    SCROLL,
    (Context::Global, &[Action::ToggleFocus], " transcript, then prompt"),
];
const PASTED: &[StatusHint] = &[
    (Context::Global, &[Action::FoldDetails], " show the paste"),
    (Context::Composer, &[Action::Send], " send"),
];
const STASHED: &[StatusHint] = &[
    (Context::Composer, &[Action::Stash], " restore the text"),
    (Context::Composer, &[Action::Help], " keys"),
];
const WAITING_CAP: &[StatusHint] = &[
    (Context::Global, &[Action::ToggleFocus], ": to the cap request"),
    (Context::Global, &[Action::Escape], " stop"),
];
const CAP: &[StatusHint] = &[(Context::Global, &[Action::Escape], " back to prompt")];
const LIST: &[StatusHint] = &[
    (Context::Batch, CHOOSE, " move"),
    (Context::Batch, &[Action::List(ListKey::Mark)], " mark"),
    (Context::Batch, &[Action::List(ListKey::Open)], " open"),
    (Context::Global, &[Action::Escape], " postpone all"),
    SCROLL,
    (Context::Global, &[Action::ToggleFocus], " transcript, then prompt"),
];
const BY_ITSELF: &[StatusHint] = &[SCROLL, (Context::Global, &[Action::ToggleFocus], " more keys")];
const CARDS: &[StatusHint] = &[
    (Context::Card, CHOOSE, " cards"),
    (Context::Global, &[Action::Escape], " back to the list"),
    SCROLL,
    (Context::Global, &[Action::ToggleFocus], " transcript, then prompt"),
];

fn hints(model: &Model) -> (String, Role) {
    if let Lifecycle::Closing { .. } = model.life {
        let leave = model.keymap.status(&[(Context::Global, &[Action::Interrupt], " quit now")]);
        return (format!("saving…  {leave}"), Role::Waiting);
    }
    let text = if let Some(panel) = &model.panel {
        panel.state().hints(&model.keymap)
    } else if let (Focus::Composer, Some(find)) = (model.focus, &model.find) {
        model.keymap.status(find.hints())
    } else if let (Focus::Composer, Some(popup)) = (model.focus, &model.completion.popup) {
        let mut hints = COMPLETING.to_vec();
        // Only a command can be run.
        hints.retain(|(_, actions, _)| popup.word.kind == WordKind::Command || *actions != RUN);
        model.keymap.status(&hints)
    } else if model.focus == Focus::Transcript {
        model.keymap.status(if model.selection.mark.is_some() { MARKED } else { READING })
    } else if model.focus == Focus::Card && model.auto_focus.is_on {
        format!("{}  (other letters go to the text)", model.keymap.status(BY_ITSELF))
    } else if model.focus == Focus::Card {
        card_hints(model)
    } else if model.recent.is_some() {
        model.keymap.status(RECENT)
    } else if model.turn.as_ref().is_some_and(|turn| turn.stop_asked) {
        return ("stopping…".to_owned(), Role::Waiting);
    } else if model.retry.is_some() {
        model.keymap.status(RETRYING)
    } else if model.asks_cap() {
        model.keymap.status(WAITING_CAP)
    } else if model.cards.current().is_some() {
        waiting_hints(model)
    } else if model.composer.editor.chip_before().is_some_and(|chip| !chip.is_image()) {
        model.keymap.status(PASTED)
    } else if model.turn.as_ref().is_some_and(|turn| turn.phase == Phase::Thinking) {
        let is_folded = model.context().thinking == Fold::Folded;
        model.keymap.status(&[
            (Context::Global, &[Action::Escape], " interrupt"),
            (
                Context::Global,
                &[Action::FoldThinking],
                if is_folded { " all thinking" } else { " less thinking" },
            ),
            (Context::Composer, &[Action::Send], " queue"),
        ])
    } else if model.turn.is_some() {
        model.keymap.status(RUNNING)
    } else if model.shell_runs {
        model.keymap.status(&[(Context::Global, &[Action::Interrupt], " stop the command")])
    } else if let Some(owner) = model.header.as_ref().and_then(|header| header.read_only.as_ref()) {
        return (format!("read-only: {owner}"), Role::Waiting);
    } else if model.composer.has_stash() && model.composer.is_empty() {
        format!("{}  / commands", model.keymap.status(STASHED))
    } else {
        format!(
            "{}  / commands  @ mention  ! shell",
            model.keymap.status(&[(Context::Composer, &[Action::Help], " keys")])
        )
    };
    (text, Role::Dim)
}

/// Returns the hints while a card or a list waits without the keys.
fn waiting_hints(model: &Model) -> String {
    let to = if model.is_list() { ": to the list" } else { ": to the card" };
    let hints: [StatusHint; 2] =
        [(Context::Global, &[Action::ToggleFocus], to), (Context::Global, &[Action::FocusCard], ": inbox")];
    if model.composer.is_empty() {
        return model.keymap.status(&hints);
    }
    format!("{}  (typing: keys go to the prompt)", model.keymap.status(&hints[..1]))
}

fn card_hints(model: &Model) -> String {
    let hunks = model.cards.current().map_or(0, |card| card.hunks.count());
    model.keymap.status(match model.place_behind() {
        Context::Cap => CAP,
        Context::Batch => LIST,
        Context::Reason => REASON_HINTS,
        Context::Form => FORM,
        Context::Arguments => RAW,
        Context::Rule => RULE,
        Context::Width => WIDTHS,
        _ => match (hunks, model.cards.position()) {
            (1.., _) => DIFF,
            (0, (_, 2..)) => CARDS,
            (0, _) => &CARDS[2..],
        },
    })
}

fn activity(model: &Model) -> Line {
    let mut line = Line::new();
    if let Some(find) = &model.find {
        let total = find.total();
        if let Some(number) = find.number() {
            line = line.with(format!("{number} of {total}  "), Role::Text);
        }
    } else if let Some(retry) = &model.retry {
        let left = if retry.sent { "again".to_owned() } else { wait(retry.time_left(model.now_ms)) };
        line = line.with(format!("{} {left}  ", model.glyphs.retry), Role::Waiting);
    } else if let Some(turn) = &model.turn {
        line = turn_line(model, turn);
    } else if model.shell_runs {
        line = line.with(format!("{} command  ", model.context().spinner()), Role::Tool);
    }
    if model.composer.has_stash() && model.columns >= 60 {
        line = line.with("stashed  ", Role::Dim);
    }
    let waiting = model.waiting_count();
    let role = if waiting > 0 { Role::Waiting } else { Role::Dim };
    line.with(format!("{} {waiting}", model.glyphs.waiting), role)
}

fn turn_line(model: &Model, turn: &Turn) -> Line {
    let took = whole_seconds(model.now_ms.saturating_sub(turn.since_ms));
    let words = match turn.phase {
        Phase::Paused if model.columns < 60 => return Line::new(),
        Phase::Paused => return Line::of("waiting for you  ", Role::Waiting),
        Phase::Asking => "no answer yet  ".to_owned(),
        Phase::Thinking => "thinking  ".to_owned(),
        Phase::Answering => "answering  ".to_owned(),
        Phase::Tools => format!("{} running  ", turn.running),
    };
    let silent = model.now_ms.saturating_sub(turn.last_event_ms);
    let is_silent = turn.phase != Phase::Tools && silent >= SILENCE;
    let estimate = turn.streamed.div_ceil(4) as u64;
    let tokens = match (turn.tokens, estimate) {
        (None, 0) => String::new(),
        (Some(tokens), 0) => format!("{tokens} tok  "),
        (tokens, estimate) => format!("~{} tok  ", tokens.unwrap_or(0) + estimate),
    };
    let spinner = model.context().spinner();
    let words = if model.columns < 60 { String::new() } else { words };
    let cost = match turn.used.usd {
        Usd(0) => String::new(),
        usd => format!("{usd}  "),
    };
    let line = Line::of(format!("{spinner} {took}  "), Role::Tool);
    if is_silent {
        return line.with(format!("no answer for {}  ", whole_seconds(silent)), Role::Waiting);
    }
    line.with(format!("{words}{tokens}{cost}"), Role::Dim)
}

/// Milliseconds without anything from the model after which it is said.
const SILENCE: u64 = 30_000;
