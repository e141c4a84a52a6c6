//! The header, and the rule above the composer that shows the mode.

use crate::approval::AutoApprove;
use crate::config::Mode;
use crate::frontend::protocol::{Completeness, ContextUse, CostSummary, Header};
use crate::sandbox::Backend;
use crate::stdx::text::{one_line_summary, short_path, width as text_width};
use crate::tui::keys::Context;

use crate::tui::line::{Line, Margin, Span, wrap_spans};
use crate::tui::model::{Focus, Model};
use crate::tui::theme::Role;

/// Returns session and workspace at the left; isolation, yolo, provider and model at the right, which take precedence.
pub fn line(model: &Model) -> Line {
    let width = usize::from(model.columns);
    let name = Line::of(" ", Role::Text).with("co", Role::Key);
    let Some(header) = &model.header else {
        return name.with("  starting…", Role::Dim);
    };
    let mut right = Line::new();
    for (text, role) in facts(header) {
        right = right.with(text, role).with("  ", Role::Text);
    }
    // On a narrow screen the provider's name is dropped before any warning.
    let room = width.saturating_sub(right.width() + 6);
    let (full, short, role) = model_names(model, header);
    let shown = if full.chars().count() <= room { full } else { short };
    let mut right = right.with(one_line_summary(&shown, room), role);
    if let Some(percent) = header.context.and_then(ContextUse::percent).filter(|_| width >= 60) {
        right = right.with(format!("  ctx {percent}%"), Role::Dim);
    }
    if let Some(money) = header.money.filter(|_| width >= 60) {
        right = right.with(format!("  {}", paid(&money, width)), Role::Dim);
    }
    let right = right.with(" ", Role::Text);
    let left = name.with("  ", Role::Text).with(one_line_summary(&header.title, 60), Role::Text);
    let place = short_path(&header.workspace, 60);
    let free = width.saturating_sub(left.width() + right.width() + 1);
    let left = if free > 10 {
        left.with("  ", Role::Text).joined(Line::of(place, Role::Dim).cut(free - 2))
    } else {
        left
    };
    Line::spread(left, right, width)
}

/// Returns the current model with and without its provider, marked if it is a fallback.
pub fn model_names(model: &Model, header: &Header) -> (String, String, Role) {
    match model.turn.as_ref().and_then(|turn| turn.stand_in.as_deref()) {
        Some(stand_in) => {
            let name = stand_in.split_once('/').map_or(stand_in, |(_, name)| name);
            let sign = model.glyphs.retry;
            (format!("{sign} {}", stand_in.replacen('/', " ", 1)), format!("{sign} {name}"), Role::Waiting)
        }
        None => (format!("{} {}", header.provider, header.model), header.model.clone(), Role::Text),
    }
}

/// Returns the amount spent today, and its limit.
fn paid(money: &CostSummary, width: usize) -> String {
    let today = match money.known {
        Completeness::All => money.today.to_string(),
        Completeness::Partly => format!("{}+", money.today),
    };
    let cap = money.cap.map(|cap| cap.to_string().trim_start_matches('$').to_owned());
    match (cap, width) {
        (Some(cap), 120..) => format!("{today} of {cap} today"),
        (Some(cap), _) => format!("{today}/{cap}"),
        (None, 120..) => format!("{today} today"),
        (None, _) => today,
    }
}

/// Returns the states that the user must not overlook.
fn facts(header: &Header) -> Vec<(&str, Role)> {
    let mut facts = Vec::new();
    if header.read_only.is_some() {
        facts.push(("read-only", Role::Waiting));
    }
    let is_unsandboxed = header.isolation.backend == Backend::None;
    // With a typed yes the badge says it itself.
    if !is_unsandboxed || header.auto_approve != AutoApprove::YoloUnsandboxed {
        let role = if is_unsandboxed { Role::Waiting } else { Role::Dim };
        facts.push((header.isolation.word(), role));
    }
    match header.auto_approve {
        AutoApprove::Yolo => facts.push(("YOLO", Role::High)),
        AutoApprove::YoloUnsandboxed => facts.push(("YOLO unsandboxed", Role::High)),
        AutoApprove::Asking => {}
    }
    facts
}

/// Returns the rule above the composer: the mode, the element that has the keys, and the flash if there is room for it.
pub fn rule(model: &Model) -> Line {
    let width = usize::from(model.columns);
    let rule = model.glyphs.rule;
    let head = rule_head(model);
    let tail = match flash_in_rule(model) {
        Some(text) => Line::of(format!(" {text} "), Role::Waiting).with(rule.repeat(2), Role::Dim),
        None => Line::new(),
    };
    let rest = width.saturating_sub(head.width() + tail.width());
    head.with(rule.repeat(rest), Role::Dim).joined(tail)
}

/// Returns the flash if the rule above the composer has room for it; otherwise it is above the rule.
fn flash_in_rule(model: &Model) -> Option<&str> {
    let (text, _) = model.flash.as_ref()?;
    let room = usize::from(model.columns).saturating_sub(rule_head(model).width() + 6);
    (model.find.is_none() && text_width(text) <= room).then_some(text.as_str())
}

/// Returns the lines of a flash for which the rule has no room, as wide as the screen.
pub fn flash_above_rule(model: &Model) -> Vec<Line> {
    let Some((text, _)) = model.flash.as_ref().filter(|_| flash_in_rule(model).is_none()) else {
        return Vec::new();
    };
    let width = usize::from(model.columns);
    let lines =
        wrap_spans(&[Span::new(text, Role::Waiting)], width, &Margin::even(Line::of(" ", Role::Text)));
    lines.into_iter().map(|line| Line::spread(line, Line::new(), width)).collect()
}

fn rule_head(model: &Model) -> Line {
    let mut head = Line::of(model.glyphs.rule.repeat(2), Role::Dim).with(" ", Role::Text);
    for (at, (word, role)) in auto_approve(model).into_iter().chain(keys(model)).enumerate() {
        let gap = if at > 0 { format!(" {} ", model.glyphs.dot) } else { String::new() };
        head = head.with(gap, Role::Dim).with(word, role);
    }
    head.with(" ", Role::Text)
}

/// Returns the mode, and yolo if it is on.
fn auto_approve(model: &Model) -> Vec<(&'static str, Role)> {
    let (mode, auto_approve) = match &model.header {
        Some(header) => (header.mode, header.auto_approve),
        None => (Mode::Ask, AutoApprove::Asking),
    };
    let role = match mode {
        Mode::Ask => Role::Dim,
        Mode::Auto | Mode::DeferAll => Role::Waiting,
        Mode::Plan | Mode::DryRun => Role::User,
    };
    let mut words = vec![(mode.word(), role)];
    match auto_approve {
        AutoApprove::Yolo | AutoApprove::YoloUnsandboxed => words.push((auto_approve.word(), Role::High)),
        AutoApprove::Asking => {}
    }
    words
}

/// Names the element that has the keys, unless it is the composer.
fn keys(model: &Model) -> Option<(&'static str, Role)> {
    if let Some(words) = model.panel.as_ref().and_then(|panel| panel.state().title()) {
        return Some((words, Role::Waiting));
    }
    let words = match model.place_behind() {
        _ if model.focus != Focus::Card => return None,
        Context::Batch => "list",
        Context::Cap => "question",
        Context::Reason => "denying",
        Context::Form | Context::Arguments => "editing arguments",
        Context::Width => "choosing what to allow",
        Context::Rule => "writing a rule",
        _ => "card",
    };
    Some((words, Role::Waiting))
}
