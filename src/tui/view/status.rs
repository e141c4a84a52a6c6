//! The last line: what the keys do now at the left; activity, tokens and what waits always at the right.

use std::time::Duration;

use crate::message::Usd;
use crate::tui::cards::CardStage;
use crate::tui::cells::Fold;
use crate::tui::cells::call::seconds;
use crate::tui::completion::Place;
use crate::tui::find::FindStage;
use crate::tui::form::Mode;
use crate::tui::inbox::{Inbox, InboxScope};
use crate::tui::keys::{
    Action, BatchKey, CardKey, CompleteKey, Context, FindKey, FormKey, HelpKey, InboxKey, LoginKey, Nav,
    PickKey, RuleKey, SelectKey, TextEdit,
};
use crate::tui::line::Line;
use crate::tui::list::ListStage;
use crate::tui::login::LoginStage;
use crate::tui::model::{Activity, Focus, Life, Model, Overlay, Phase, RetryState, Stop, Turn};
use crate::tui::pick::List;
use crate::tui::theme::Role;

pub fn line(model: &Model) -> Line {
    let width = usize::from(model.columns);
    let right = activity(model).with(" ", Role::Text);
    let room = width.saturating_sub(right.width() + 2);
    let (text, role) = hints(model);
    let left = Line::of(" ", Role::Text).with(fit(&text, room), role);
    Line::spread(left, right, width)
}

/// As many of the hints, which two spaces part, as there is room for; the first in any case.
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

/// Where keys are asked, what they do, and the words behind them; keys with one meaning share the words.
type StatusHint = (Context, &'static [Action], &'static str);

const CHOOSE: &[Action] = &[Action::Nav(Nav::Up), Action::Nav(Nav::Down)];
const SCROLL: StatusHint = (Context::Global, &[Action::Nav(Nav::PageDown)], " scroll");
const LISTED: &[StatusHint] =
    &[(Context::Help, &[], "type to filter"), SCROLL, (Context::Global, &[Action::Escape], " close")];
const FILTERED: &[StatusHint] = &[
    (Context::Help, CHOOSE, " choose"),
    (Context::Help, &[Action::InHelp(HelpKey::Run)], " do it"),
    (Context::Global, &[Action::Escape], " all keys"),
];
const RETRYING: &[StatusHint] =
    &[(Context::Global, &[Action::RetryNow], " retry now"), (Context::Global, &[Action::Escape], " stop")];
const WAITING: &[StatusHint] = &[
    (Context::Global, &[Action::ToggleFocus], ": to the card"),
    (Context::Global, &[Action::FocusCard], ": all that waits"),
];
const RUNNING: &[StatusHint] = &[
    (Context::Global, &[Action::Escape], " interrupt"),
    (Context::Composer, &[Action::Send], " queue"),
    (Context::Global, &[Action::FoldDetails], " details"),
];
const THINKING: &[StatusHint] = &[
    (Context::Global, &[Action::Escape], " interrupt"),
    (Context::Global, &[Action::FoldThinking], " all thinking"),
    (Context::Composer, &[Action::Send], " queue"),
];
const THINKING_OPEN: &[StatusHint] = &[
    (Context::Global, &[Action::Escape], " interrupt"),
    (Context::Global, &[Action::FoldThinking], " less thinking"),
    (Context::Composer, &[Action::Send], " queue"),
];
const COMPLETING: &[StatusHint] = &[
    (Context::Completion, &[Action::Complete(CompleteKey::Accept)], " complete"),
    (Context::Completion, CHOOSE, " choose"),
    (Context::Global, &[Action::Escape], " close"),
];
const COMPLETING_COMMAND: &[StatusHint] = &[
    (Context::Completion, &[Action::Complete(CompleteKey::Accept)], " complete"),
    (Context::Completion, &[Action::Complete(CompleteKey::Enter)], " run"),
    (Context::Completion, CHOOSE, " choose"),
    (Context::Global, &[Action::Escape], " close"),
];
const EARLIER: &[StatusHint] = &[
    (Context::Pick, &[], "type to search"),
    (Context::Pick, &[Action::Pick(PickKey::Narrow)], " this folder / all"),
    (Context::Pick, CHOOSE, " choose"),
];
const SESSIONS: &[StatusHint] = &[
    (Context::Pick, &[], "type to search"),
    (Context::Pick, &[Action::Pick(PickKey::Narrow)], " this folder / all"),
    (Context::Pick, &[Action::Pick(PickKey::Accept)], " open"),
];
const SERVICES: &[StatusHint] = &[
    (Context::Pick, &[], "type to search"),
    (Context::Pick, CHOOSE, " choose"),
    (Context::Pick, &[Action::Pick(PickKey::Accept)], " set it up"),
    (Context::Global, &[Action::Escape], " close"),
];
const MODELS: &[StatusHint] = &[
    (Context::Pick, &[], "type to search"),
    (Context::Pick, CHOOSE, " choose"),
    (Context::Pick, &[Action::Pick(PickKey::Accept)], " take it"),
];
const LOGIN: &[StatusHint] = &[
    (Context::Login, &[Action::Login(LoginKey::Next)], " go on"),
    (Context::Global, &[Action::Escape], " back"),
];
const TRYING: &[StatusHint] = &[(Context::Global, &[Action::Escape], " back")];
const SEARCHING: &[StatusHint] = &[
    (Context::Find, &[Action::Nav(Nav::Down)], " then n/N next, previous"),
    (Context::Find, &[Action::Find(FindKey::Tools)], " tool output"),
    (Context::Global, &[Action::Escape], " close"),
];
const FOUND: &[StatusHint] = &[
    (Context::Found, &[Action::Nav(Nav::Down), Action::Nav(Nav::Up)], " next, previous"),
    (Context::Found, &[Action::Find(FindKey::Edit)], " edit"),
    (Context::Found, &[Action::Find(FindKey::Tools)], " tool output"),
    (Context::Global, &[Action::Escape], " close"),
    (Context::Global, &[Action::FoldDetails], " details"),
];
const READING: &[StatusHint] = &[
    (Context::Transcript, CHOOSE, " blocks"),
    (Context::Transcript, &[Action::Select(SelectKey::Copy)], " copy"),
    (Context::Transcript, &[Action::Select(SelectKey::Fold)], " fold"),
    (Context::Transcript, &[Action::Select(SelectKey::Lines)], " mark lines"),
    (Context::Global, &[Action::Escape], " back to writing"),
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
    (Context::Arguments, &[Action::Form(FormKey::ResetField)], " as asked"),
    (Context::Text, &[Action::Edit(TextEdit::Undo)], " undo"),
];
const RULE: &[StatusHint] = &[
    (Context::Rule, &[Action::Rule(RuleKey::Scope)], " for how long"),
    (Context::Text, &[Action::EditOutside], " $EDITOR"),
    (Context::Rule, &[Action::Rule(RuleKey::Reset)], " as drafted"),
    (Context::Text, &[Action::Edit(TextEdit::Undo)], " undo"),
];
const DIFF: &[StatusHint] = &[
    (Context::Card, &[Action::Card(CardKey::NextHunk)], " next hunk"),
    (Context::Card, &[Action::Card(CardKey::HunkHere)], " skips it"),
    (Context::Card, &[Action::Card(CardKey::Sides)], " side by side or not"),
    SCROLL,
    (Context::Global, &[Action::ToggleFocus], " on to reading, then writing"),
];
const PASTED: &[StatusHint] = &[
    (Context::Global, &[Action::FoldDetails], " shows the pasted text"),
    (Context::Composer, &[Action::Send], " sends it whole"),
];
const STASHED: &[StatusHint] = &[
    (Context::Composer, &[Action::Stash], " brings the text back"),
    (Context::Composer, &[Action::Help], " keys"),
];
const REASON: &[StatusHint] =
    &[(Context::Reason, &[Action::Card(CardKey::SendNo)], " sends the no, with or without a reason")];
const WAITING_LIST: &[StatusHint] = &[
    (Context::Global, &[Action::ToggleFocus], ": to the list"),
    (Context::Global, &[Action::FocusCard], ": all that waits"),
];
const WAITING_CAP: &[StatusHint] = &[
    (Context::Global, &[Action::ToggleFocus], ": to the question"),
    (Context::Global, &[Action::Escape], " stop"),
];
const INBOX: &[StatusHint] = &[
    (Context::Inbox, CHOOSE, " choose"),
    (Context::Inbox, &[Action::Inbox(InboxKey::Filter)], " filter"),
    (Context::Inbox, &[Action::Inbox(InboxKey::Narrow)], " one session"),
    (Context::Inbox, &[Action::Inbox(InboxKey::Resume)], " resume"),
    (Context::Inbox, &[Action::Inbox(InboxKey::Go)], " open session"),
];
const INBOX_OF_ONE: &[StatusHint] = &[
    (Context::Inbox, CHOOSE, " choose"),
    (Context::Inbox, &[Action::Inbox(InboxKey::Filter)], " filter"),
    (Context::Inbox, &[Action::Inbox(InboxKey::Narrow)], " all sessions"),
    (Context::Inbox, &[Action::Inbox(InboxKey::Resume)], " resume"),
    (Context::Inbox, &[Action::Inbox(InboxKey::Go)], " open session"),
];
const INBOX_FILTER: &[StatusHint] = &[
    (Context::InboxFilter, &[], "words of the request, its tool, risk or session"),
    (Context::InboxFilter, &[Action::Inbox(InboxKey::Filtered)], " back to the list"),
];
const CAP: &[StatusHint] = &[(Context::Global, &[Action::Escape], " back to writing")];
const LIST: &[StatusHint] = &[
    (Context::Batch, CHOOSE, " move"),
    (Context::Batch, &[Action::Batch(BatchKey::Mark)], " mark"),
    (Context::Batch, &[Action::Batch(BatchKey::Open)], " open"),
    (Context::Global, &[Action::Escape], " all later"),
    SCROLL,
    (Context::Global, &[Action::ToggleFocus], " on to reading, then writing"),
];
const CARDS: &[StatusHint] = &[
    (Context::Card, CHOOSE, " cards"),
    (Context::Global, &[Action::Escape], " back to the list"),
    SCROLL,
    (Context::Global, &[Action::ToggleFocus], " on to reading, then writing"),
];

/// The hints with this person's keys, two spaces between them. What has no key is no hint.
fn hints_of(model: &Model, hints: &[StatusHint]) -> String {
    let one = |(context, actions, words): &StatusHint| {
        let keys: Vec<String> = actions.iter().map(|action| model.keymap.shown(*context, *action)).collect();
        if keys.iter().any(String::is_empty) {
            return None;
        }
        Some(format!("{}{words}", keys.join(" ")))
    };
    hints.iter().filter_map(one).collect::<Vec<_>>().join("  ")
}

fn hints(model: &Model) -> (String, Role) {
    if let Life::Closing { .. } = model.life {
        let leave = hints_of(model, &[(Context::Global, &[Action::Interrupt], " leaves at once")]);
        return (format!("saving…  {leave}"), Role::Waiting);
    }
    if let Some((text, _)) = &model.flash {
        return (text.clone(), Role::Waiting);
    }
    let text = if let Overlay::Help(help) = &model.overlay {
        hints_of(model, if help.is_filtered() { FILTERED } else { LISTED })
    } else if let Overlay::Pick(pick) = &model.overlay {
        hints_of(
            model,
            match pick.list {
                List::Earlier(_) => EARLIER,
                List::Sessions { .. } => SESSIONS,
                List::Services { .. } => SERVICES,
                List::Models { .. } => MODELS,
            },
        )
    } else if let Overlay::Inbox(inbox) = &model.overlay {
        inbox_hints(model, inbox)
    } else if let Overlay::Login(login) = &model.overlay {
        match login.stage {
            LoginStage::Address | LoginStage::Key => hints_of(model, LOGIN),
            LoginStage::Trying => hints_of(model, TRYING),
            LoginStage::Consent => format!("y send unencrypted  {}", hints_of(model, TRYING)),
        }
    } else if let (Focus::Composer, Some(find)) = (model.focus, &model.find) {
        hints_of(model, if find.stage == FindStage::Writing { SEARCHING } else { FOUND })
    } else if let (Focus::Composer, Some(popup)) = (model.focus, &model.completion.popup) {
        let runs = popup.word.place == Place::Command;
        hints_of(model, if runs { COMPLETING_COMMAND } else { COMPLETING })
    } else if model.focus == Focus::Transcript {
        hints_of(model, if model.selection.mark.is_some() { MARKED } else { READING })
    } else if model.focus == Focus::Card {
        card_hints(model)
    } else if model.turn.as_ref().is_some_and(|turn| turn.stop == Stop::Asked) {
        return ("stopping…".to_owned(), Role::Waiting);
    } else if model.retry.is_some() {
        hints_of(model, RETRYING)
    } else if model.asks_cap() {
        hints_of(model, WAITING_CAP)
    } else if model.is_list() && !model.composer.is_empty() {
        format!("{}  (you are typing: keys go to the text)", hints_of(model, &WAITING_LIST[..1]))
    } else if model.is_list() {
        hints_of(model, WAITING_LIST)
    } else if model.cards.current().is_some() && !model.composer.is_empty() {
        format!("{}  (you are typing: keys go to the text)", hints_of(model, &WAITING[..1]))
    } else if model.cards.current().is_some() {
        hints_of(model, WAITING)
    } else if model.composer.editor.chip_before().is_some_and(|chip| !chip.is_image()) {
        hints_of(model, PASTED)
    } else if model.turn.as_ref().is_some_and(|turn| turn.phase == Phase::Thinking) {
        hints_of(model, if model.look().thinking == Fold::Folded { THINKING } else { THINKING_OPEN })
    } else if model.turn.is_some() {
        hints_of(model, RUNNING)
    } else if model.shell == Activity::Running {
        hints_of(model, &[(Context::Global, &[Action::Interrupt], " stops the command")])
    } else if let Some(owner) = model.header.as_ref().and_then(|header| header.read_only.as_ref()) {
        return (format!("read-only: {owner}"), Role::Waiting);
    } else if model.composer.has_stash() && model.composer.is_empty() {
        format!("{}  / commands", hints_of(model, STASHED))
    } else {
        format!(
            "{}  / commands  @ mention  ! shell",
            hints_of(model, &[(Context::Composer, &[Action::Help], " keys")])
        )
    };
    (text, Role::Dim)
}

/// What the box of the inbox has no room for.
fn inbox_hints(model: &Model, inbox: &Inbox) -> String {
    match inbox.list.stage {
        ListStage::Reason { .. } => hints_of(model, REASON),
        ListStage::Filtering => hints_of(model, INBOX_FILTER),
        ListStage::Choosing if inbox.total() == 0 => String::new(),
        ListStage::Choosing => match inbox.scope {
            InboxScope::All => hints_of(model, INBOX),
            InboxScope::Session => hints_of(model, INBOX_OF_ONE),
        },
    }
}

fn card_hints(model: &Model) -> String {
    if model.asks_cap() {
        return hints_of(model, CAP);
    }
    if model.is_list() {
        return hints_of(model, if model.batch.list.is_refusing() { REASON } else { LIST });
    }
    let stage = model.cards.current().map(|card| &card.stage);
    match stage {
        Some(CardStage::Editing(form)) => hints_of(model, if form.mode == Mode::Raw { RAW } else { FORM }),
        Some(CardStage::Reason(_)) => hints_of(model, REASON),
        Some(CardStage::Rule(_)) => hints_of(model, RULE),
        Some(CardStage::Asking | CardStage::Deciding(_)) | None => {
            let (_, of) = model.cards.position();
            let hunks = model.cards.current().map_or(0, |card| card.hunks.count());
            match (hunks, of) {
                (1.., _) => hints_of(model, DIFF),
                (0, 2..) => hints_of(model, CARDS),
                (0, _) => hints_of(model, &CARDS[2..]),
            }
        }
    }
}

fn activity(model: &Model) -> Line {
    let mut line = Line::new();
    if let Some(find) = &model.find {
        let total = find.total();
        if let Some(number) = find.number() {
            line = line.with(format!("{number} of {total}  "), Role::Text);
        }
    } else if let Some(retry) = &model.retry {
        let left = match retry.state {
            RetryState::Counting => super::banner::clock(retry.seconds_left(model.now_ms)),
            RetryState::Sent => "again".to_owned(),
        };
        line = line.with(format!("{} {left}  ", model.glyphs.retry), Role::Waiting);
    } else if let Some(turn) = &model.turn {
        line = turn_line(model, turn);
    } else if model.shell == Activity::Running {
        line = line.with(format!("{} command  ", model.look().spinner()), Role::Tool);
    }
    if model.composer.has_stash() && model.columns >= 60 {
        line = line.with("stashed  ", Role::Dim);
    }
    let waiting = model.waiting();
    let role = if waiting > 0 { Role::Waiting } else { Role::Dim };
    line.with(format!("{} {waiting}", model.glyphs.waiting), role)
}

fn turn_line(model: &Model, turn: &Turn) -> Line {
    let took = seconds(Duration::from_millis(model.now_ms.saturating_sub(turn.since_ms) / 1_000 * 1_000));
    let took = took.replace(".0s", "s");
    let words = match turn.phase {
        Phase::Paused if model.columns < 60 => return Line::new(),
        Phase::Paused => return Line::of("waiting for you  ", Role::Waiting),
        Phase::Asking => String::new(),
        Phase::Thinking => "thinking  ".to_owned(),
        Phase::Answering => String::new(),
        Phase::Tools => format!("{} run  ", turn.running),
    };
    let estimate = turn.streamed.div_ceil(4) as u64;
    let tokens = match (turn.tokens, estimate) {
        (None, 0) => String::new(),
        (Some(tokens), 0) => format!("{tokens} tok  "),
        (tokens, estimate) => format!("~{} tok  ", tokens.unwrap_or(0) + estimate),
    };
    let spinner = model.look().spinner();
    let words = if model.columns < 60 { String::new() } else { words };
    let cost = match turn.used.usd {
        Usd(0) => String::new(),
        usd => format!("{usd}  "),
    };
    Line::of(format!("{spinner} {took}  "), Role::Tool).with(format!("{words}{tokens}{cost}"), Role::Dim)
}
