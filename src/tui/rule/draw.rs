//! The form of a rule at a card: the widths that are offered or its text, its scope, and its effect on past calls. At
//! most as high as the pane; the row of the cursor or of the choice is always visible. Only draws; `update` also uses it for the width of the text.

use crate::approval::rules::RuleScope;
use crate::frontend::protocol::{OfferedRule, PastCalls};
use crate::stdx::text::one_line_summary;
use crate::tui::cards::Card;
use crate::tui::cells::call;
use crate::tui::cells::card::{CardLayout, NARROW, Sheet, WIDEST, fitting, inner};
use crate::tui::composer::Rows;
use crate::tui::keys::{Action, Context, Hint, RuleKey};
use crate::tui::line::{Line, Margin, Span, wrap_spans};
use crate::tui::rule::{RuleForm, RuleStatus, scope_words};
use crate::tui::screen::Screen;
use crate::tui::theme::Role;

/// Least rows of the text, so that the card does not grow with the first lines.
const LEAST: usize = 5;

/// Most lines of an error.
const MOST_SAID: usize = 4;

/// Below this height of the pane, only the essentials for writing are shown.
const LOW: usize = 12;

/// Returns the cells for text in a pane of so many columns.
pub fn text_width(columns: usize) -> usize {
    inner(columns.min(WIDEST)).saturating_sub(1)
}

pub fn draw(card: &Card, rule: &RuleForm, screen: &Screen<'_>) -> CardLayout {
    let mut sheet = Sheet::new(screen, screen.context.width.min(WIDEST));
    let glyphs = screen.context.glyphs;
    let what = if rule.is_written { "rule for" } else { "allow from now on:" };
    let title = Line::of(format!("{} {what} ", glyphs.waiting), Role::Waiting)
        .with(card.request.tool.as_str(), Role::Tool)
        .with(" ", Role::Text)
        .with(call::subject(&card.request.args), Role::Text);
    let role = if card.is_high() { Role::High } else { Role::Dim };
    sheet.border(&title, &Line::of(card.request.risk.word(), role), 0);
    let foot = foot(&sheet, card, rule);
    let room = screen.rows.saturating_sub(2 + foot.len()).max(1);
    if rule.is_written {
        text(&mut sheet, rule, room);
    } else {
        widths(&mut sheet, rule, room);
    }
    sheet.put_all(foot);
    sheet.border(&keys(rule, screen), &Line::new(), 2);
    sheet.drawn
}

/// Draws the widths, so that the chosen one is visible.
fn widths(sheet: &mut Sheet<'_>, rule: &RuleForm, room: usize) {
    let glyphs = sheet.screen.context.glyphs;
    if rule.widths.is_empty() {
        // Once they are found, the foot says why there are none.
        if rule.status == RuleStatus::Drafting {
            sheet.put(Line::of(format!("{} finding similar calls", glyphs.still), Role::Dim));
        }
        return;
    }
    let blocks: Vec<Vec<Line>> =
        (0..).zip(&rule.widths).map(|(at, width)| block(sheet, rule, at, width)).collect();
    let to_chosen: usize = blocks.iter().take(rule.chosen + 1).map(Vec::len).sum();
    let lines = blocks.into_iter().flatten();
    sheet.put_all(lines.skip(to_chosen.saturating_sub(room)).take(room));
}

/// Returns the lines of one width: what it covers, and what it would have matched.
fn block(sheet: &Sheet<'_>, rule: &RuleForm, at: usize, width: &OfferedRule) -> Vec<Line> {
    let is_chosen = at == rule.chosen;
    let mark = if is_chosen { sheet.screen.context.glyphs.folded } else { " " };
    let role = if is_chosen { Role::Key } else { Role::Text };
    let words = format!("{mark}{} {}", at + 1, width.words);
    let matched = match &width.check.past {
        Ok(PastCalls { of: 0, .. }) | Err(_) => String::new(),
        Ok(PastCalls { matched, of, denied: 0 }) => format!("matched {matched} of {of} calls"),
        Ok(PastCalls { matched, of, denied }) => {
            format!("matched {matched} of {of} calls, {denied} denied")
        }
    };
    let one = Line::spread(Line::of(words.clone(), role), Line::of(matched.clone(), Role::Dim), sheet.inner);
    if one.text().contains(words.as_str()) {
        return vec![one];
    }
    let indent = Margin::new(Line::new(), Line::of("   ", Role::Text));
    let mut lines = wrap_spans(&[Span::new(words, role)], sheet.inner, &indent);
    lines.extend((!matched.is_empty()).then(|| Line::of(format!("   {matched}"), Role::Dim)));
    lines
}

fn text(sheet: &mut Sheet<'_>, rule: &RuleForm, room: usize) {
    let least = if sheet.screen.rows < LOW { 1 } else { LEAST.min(room) };
    if rule.status == RuleStatus::Drafting {
        let glyphs = sheet.screen.context.glyphs;
        sheet.put(Line::of(format!("{} drafting the rule", glyphs.still), Role::Dim));
        (1..least).for_each(|_| sheet.put(Line::new()));
        return;
    }
    let rows = Rows::of(&rule.text, sheet.inner.saturating_sub(1));
    let from = (rows.cursor.row + 1).saturating_sub(room).min(rows.height().saturating_sub(room));
    let (above, below) = (from, rows.height().saturating_sub(from + room));
    let shown = rows.height().min(room);
    for row in from..from + shown {
        let mut line = rows.line(&rule.text, row);
        let at_edge = if row == from {
            above
        } else if row + 1 == from + shown {
            below
        } else {
            0
        };
        if at_edge > 0 {
            let more = Line::of(format!("[{at_edge} more]"), Role::Waiting);
            line = Line::spread(line.cut(sheet.inner.saturating_sub(more.width() + 1)), more, sheet.inner);
        }
        if row == rows.cursor.row && !rule.is_saving() {
            sheet.drawn.view.cursor = Some(sheet.place(sheet.drawn.lines.len(), rows.cursor.column));
        }
        sheet.put(line);
    }
    (shown..least).for_each(|_| sheet.put(Line::new()));
}

/// Returns the scope and the effect on past calls.
fn foot(sheet: &Sheet<'_>, card: &Card, rule: &RuleForm) -> Vec<Line> {
    let glyphs = sheet.screen.context.glyphs;
    let low = sheet.screen.rows < LOW;
    let mut lines = if low { Vec::new() } else { vec![Line::new()] };
    lines.push(scopes(sheet, rule));
    let (words, role) = match &rule.status {
        RuleStatus::Drafting => (String::new(), Role::Dim),
        RuleStatus::Unchecked => (format!("{} checking it against past calls", glyphs.still), Role::Dim),
        RuleStatus::Good(_) if !rule.is_written => (String::new(), Role::Dim),
        RuleStatus::Good(past) => (format!("{} {}", glyphs.ok, would_have(*past)), Role::Ok),
        RuleStatus::Wrong(wrong) => (format!("{} {}", glyphs.fail, one_line_summary(wrong, 400)), Role::Fail),
        RuleStatus::Saving(_) => (format!("{} saving and approving…", glyphs.waiting), Role::Waiting),
    };
    let mut say = |words: String, role| {
        if words.is_empty() {
            return;
        }
        let said = wrap_spans(&[Span::new(words, role)], sheet.inner, &Margin::default());
        lines.extend(said.into_iter().take(MOST_SAID));
    };
    let advised = if sheet.screen.approved_once { Role::High } else { Role::Waiting };
    match (&card.advice, &rule.status) {
        (None, _) => say(words, role),
        // There is room for only one of the two.
        (Some(advice), RuleStatus::Good(_)) if low => say(format!("! {advice}"), advised),
        (Some(_), _) if low => say(words, role),
        (Some(advice), _) => {
            say(words, role);
            say(format!("! {advice}"), advised);
        }
    }
    lines
}

/// Returns the scopes with the choice marked; with little room, the choice alone.
fn scopes(sheet: &Sheet<'_>, rule: &RuleForm) -> Line {
    let mut line = Line::of("applies", Role::Dim);
    for scope in [RuleScope::Session, RuleScope::Project, RuleScope::User] {
        let words = scope_words(scope);
        if scope == rule.scope {
            line = line.with(format!("  {}{words}", sheet.screen.context.glyphs.folded), Role::Key);
        } else if sheet.inner >= NARROW - 4 {
            line = line.with(format!("   {words}"), Role::Dim);
        }
    }
    line
}

/// Describes the effect of the rule on past calls.
fn would_have(past: PastCalls) -> String {
    match past {
        PastCalls { of: 0, .. } => "valid; no past calls to check it against yet".to_owned(),
        PastCalls { matched, of, denied } => {
            format!("would have matched {matched} of your last {of} calls, {denied} of them denied")
        }
    }
}

fn keys(rule: &RuleForm, screen: &Screen<'_>) -> Line {
    let on = |key, words| (rule.context(), Action::Rule(key), words);
    let back = (Context::Global, Action::Escape, "back");
    let wanted = match rule.status {
        RuleStatus::Unchecked | RuleStatus::Good(_) | RuleStatus::Wrong(_) if !rule.is_written => {
            vec![
                on(RuleKey::Save, "allow and approve"),
                on(RuleKey::Scope, "scope"),
                on(RuleKey::Write, "edit as text"),
                back,
            ]
        }
        RuleStatus::Drafting | RuleStatus::Saving(_) => vec![back],
        RuleStatus::Unchecked | RuleStatus::Good(_) | RuleStatus::Wrong(_) => vec![
            on(RuleKey::Save, "save and approve"),
            on(RuleKey::Scope, "scope"),
            on(RuleKey::Reset, "reset"),
            (Context::Text, Action::EditOutside, "$EDITOR"),
            back,
        ],
    };
    let mut hints: Vec<Hint> = screen.keymap.hints(&wanted);
    let width = screen.context.width.min(WIDEST);
    if width < NARROW
        && let Some(save) = hints.iter_mut().find(|hint| hint.action == Action::Rule(RuleKey::Save))
    {
        "save, approve".clone_into(&mut save.words);
    }
    fitting(hints, screen.context.glyphs.dot, width.saturating_sub(6))
}
