//! Draws the lists to pick from.

use super::{ACCEPT, CONTEXT, List, NARROW, Picker, Preview, Purpose};
use crate::frontend::protocol::{LoginReason, SessionLine};
use crate::stdx::moment::ago;
use crate::stdx::text::{one_line_summary, sanitize_line};
use crate::tui::bordered_box::{BorderedBox, column};
use crate::tui::completion::window;
use crate::tui::composer::Rows;
use crate::tui::fuzzy::{MatchMode, Query, marked_line};
use crate::tui::keys::{Action, Context};
use crate::tui::line::{Line, Margin, Span, TextStyle, wrap_spans};
use crate::tui::panel::Screen;
use crate::tui::theme::{Glyphs, Role};

/// Below this many rows only the list is shown.
const ROOMY: usize = 12;

/// Most lines of a long entry shown below the list.
const SHOWN_WHOLE: usize = 6;

/// Characters of an id that distinguish two sessions.
const SHORT_ID: usize = 13;

/// Characters of an entry that are used for its line.
const LONGEST_ENTRY: usize = 400;

/// Services named below the list of models because they sent no list.
const FAILED_SHOWN: usize = 4;

/// Cells before the query: the edge, a space, a slash, a space.
const PROMPT: usize = 4;

pub fn lines(screen: &Screen<'_>, pick: &Picker) -> Vec<Line> {
    let rows = screen.rows;
    let mut boxed = BorderedBox::new(
        screen.context.glyphs,
        screen.columns,
        Line::of(title(pick), Role::Heading),
        count(pick),
    );
    boxed.push(Line::of("/ ", Role::Key).joined(query(screen, pick)));
    let foot = foot(screen, pick, boxed.room(), rows);
    let gap = usize::from(rows >= ROOMY);
    for _ in 0..gap {
        boxed.push(Line::new());
    }
    let room = rows.saturating_sub(3 + gap + foot.len()).max(1);
    let preview_width = preview_columns(screen);
    let preview = if let List::Sessions { preview, .. } = &pick.list
        && preview_width > 0
    {
        Some(preview)
    } else {
        None
    };
    let list_room = boxed.room() - preview.map_or(0, |_| preview_width + 3);
    let mut left = entries(screen, pick, list_room, room);
    left.truncate(room);
    left.resize(room, Line::new());
    match preview {
        None => left.into_iter().for_each(|line| boxed.push(line)),
        Some(preview) => {
            let right = side_by_side_lines(pick, preview, preview_width, room);
            let side = Line::of(format!(" {} ", screen.context.glyphs.side), Role::Dim);
            for (line, shown) in left.into_iter().zip(right) {
                boxed.push(column(line, list_room).joined(side.clone()).joined(shown));
            }
        }
    }
    for line in foot {
        boxed.push(line);
    }
    boxed.end(Line::of(keys(screen, pick), Role::Dim), Line::new())
}

/// Returns the row and column of the query's cursor in the pane.
pub fn cursor(screen: &Screen<'_>, pick: &Picker) -> (usize, usize) {
    let shown = Rows::of(&pick.query, query_room(screen));
    (1, PROMPT + shown.cursor.column)
}

fn keys(screen: &Screen<'_>, pick: &Picker) -> String {
    let accept = screen.keymap.key_label(CONTEXT, ACCEPT);
    let escape = screen.keymap.key_label(Context::Global, Action::Escape);
    let (accepts, escapes) = match pick.list {
        List::Earlier(_) | List::Models { .. } => ("select", ""),
        List::Sessions { .. } => ("open", ""),
        List::Services { why: LoginReason::First, .. } => ("set up", " skip"),
        List::Services { why: LoginReason::Asked, .. } => ("set up", ""),
    };
    format!("{accept} {accepts} · {escape}{escapes}")
}

fn title(pick: &Picker) -> &'static str {
    match &pick.list {
        List::Earlier(_) => "prompt history",
        List::Sessions { .. } => "resume",
        List::Services { why: LoginReason::First, .. } => "Choose a model provider",
        List::Services { why: LoginReason::Asked, .. } => "set up a service",
        List::Models { purpose: Purpose::Switch, .. } => "models",
        List::Models { purpose: Purpose::Keep { .. }, .. } => "connected: choose a model",
    }
}

fn count(pick: &Picker) -> Line {
    let scope = if pick.only_here { "this folder" } else { "everywhere" };
    let found = format!("{} of {}", pick.found.len(), pick.total());
    let words = match pick.list {
        _ if !pick.is_loading => found,
        List::Models { .. } => format!("{found} so far…"),
        List::Earlier(_) | List::Sessions { .. } | List::Services { .. } => "loading…".to_owned(),
    };
    match pick.list {
        List::Earlier(_) | List::Sessions { .. } => {}
        List::Services { .. } | List::Models { .. } => return Line::of(words, Role::Dim),
    }
    Line::of(format!("{scope} · {words}"), Role::Dim)
}

/// Returns the columns of the preview beside the list of sessions; 0 if there is no room for it.
pub fn preview_columns(screen: &Screen<'_>) -> usize {
    if screen.columns < 120 { 0 } else { screen.columns / 2 - 4 }
}

fn query_room(screen: &Screen<'_>) -> usize {
    screen.columns.saturating_sub(PROMPT + 4)
}

/// Returns the row of the query with the cursor.
fn query(screen: &Screen<'_>, pick: &Picker) -> Line {
    let shown = Rows::of(&pick.query, query_room(screen));
    shown.line(&pick.query, shown.cursor.row)
}

fn entries(screen: &Screen<'_>, pick: &Picker, width: usize, room: usize) -> Vec<Line> {
    if pick.found.is_empty() {
        return vec![Line::of(nothing(screen, pick), Role::Dim)];
    }
    let typed = pick.query.text();
    let shown = window(pick.found.len(), pick.chosen, room);
    let mut out = Vec::new();
    for at in shown {
        let is_chosen = at == pick.chosen;
        let mark = if is_chosen { screen.context.glyphs.folded } else { " " };
        let style = if is_chosen { TextStyle::of(Role::Text).bold() } else { TextStyle::of(Role::Text) };
        let line = Line::of(mark, Role::User).with(" ", Role::Text);
        let entry = match &pick.list {
            List::Earlier(lines) => {
                let mut like = Query::new(&typed, MatchMode::Text);
                let text = &lines[pick.found[at]].text;
                let one = one_line(text, screen.context.glyphs);
                let private = if text.starts_with("!!") { "  private" } else { "" };
                let room = (width - 2).saturating_sub(private.len());
                marked_line(&one, &like.marks(&one), style).cut(room).with(private, Role::Dim)
            }
            List::Sessions { sessions, said, .. } => {
                let one = &sessions[pick.found[at]];
                let around = said.around(&typed, &one.id);
                session(screen, one, (&typed, around), style, pick.only_here, width - 2)
            }
            List::Services { services, .. } => {
                let one = &services[pick.found[at]];
                line_with_note(&one.title, &one.note, &typed, style, width - 2)
            }
            List::Models { models, .. } => {
                let one = &models[pick.found[at]];
                let note = match (one.current, one.note.as_str()) {
                    (true, "") => "in use".to_owned(),
                    (true, note) => format!("in use {} {note}", screen.context.glyphs.dot),
                    (false, note) => note.to_owned(),
                };
                line_with_note(&one.name, &note, &typed, style, width - 2)
            }
        };
        out.push(line.joined(entry));
    }
    out
}

fn nothing(screen: &Screen<'_>, pick: &Picker) -> String {
    let words = match (&pick.list, pick.total(), pick.only_here) {
        (_, 0, _) if pick.is_loading => "loading…",
        (List::Sessions { said, .. }, ..) if said.asked.is_some() => "looking…",
        (List::Earlier(_), 0, _) => "No prompts yet.",
        (List::Sessions { .. }, 0, _) => "No other sessions yet.",
        (List::Models { purpose: Purpose::Keep { .. }, .. }, ..) => "Type the model's name and press Enter.",
        (List::Models { purpose: Purpose::Switch, .. }, ..) => "None matches; Enter asks the service for it.",
        (_, _, false) => "No matches.",
        (_, _, true) => {
            let narrow = NARROW;
            let elsewhere = screen.keymap.around("; ", CONTEXT, narrow, " searches everywhere");
            return format!("No matches in this folder{elsewhere}.");
        }
    };
    words.to_owned()
}

/// Returns a name, and at the right a note if there is room.
fn line_with_note(name: &str, note: &str, typed: &str, style: TextStyle, width: usize) -> Line {
    let marks = Query::new(typed, MatchMode::Name).marks(name);
    let left = marked_line(&sanitize_line(name), &marks, style);
    let room = width.saturating_sub(left.width() + 2);
    let note = if room < 8 { String::new() } else { one_line_summary(note, room.min(60)) };
    Line::spread(left.cut(width), Line::of(note, Role::Dim), width)
}

/// Joins the lines of a text; the breaks are marked.
fn one_line(text: &str, glyphs: &Glyphs) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let joined = lines.collect::<Vec<_>>().join(&format!(" {} ", glyphs.side));
    joined.chars().take(LONGEST_ENTRY).collect()
}

fn session(
    screen: &Screen<'_>,
    one: &SessionLine,
    (typed, around): (&str, Option<&str>),
    style: TextStyle,
    only_here: bool,
    width: usize,
) -> Line {
    let marks = Query::new(typed, MatchMode::Name).marks(&one.title);
    let mut title = marked_line(&one.title, &marks, style);
    // The found text is shown if the title does not explain the match.
    if let Some(around) = around.filter(|_| marks.is_empty()) {
        title = title
            .with(format!(" {} ", screen.context.glyphs.dot), Role::Dim)
            .with(sanitize_line(around), Role::Dim);
    }
    let when = ago(one.updated, screen.now, screen.zone);
    let mut right = Line::new();
    if width >= 44 {
        if !only_here && !one.here {
            let folder = one.workspace.file_name().map(|name| name.to_string_lossy().into_owned());
            right = right.with(one_line_summary(&folder.unwrap_or_else(|| "/".to_owned()), 16), Role::Dim);
            right.push(Span::new("  ", Role::Text));
        }
        right = right.joined(column(Line::of(when, Role::Dim), 16));
        right = right.with(format!("{:>4} {}", one.turns, turns(one.turns)), Role::Dim);
    } else {
        right = right.with(format!(" {when}"), Role::Dim);
    }
    let waiting = match one.waiting {
        0 => String::new(),
        count => format!(" {} {count}", screen.context.glyphs.waiting),
    };
    let right = right.joined(column(Line::of(waiting, Role::Waiting), 5));
    Line::spread(title, right, width)
}

/// Padded, so that the columns align.
fn turns(count: u32) -> &'static str {
    if count == 1 { "turn " } else { "turns" }
}

/// Returns the lines below the list: a long entry whole, or the facts of a session without a preview beside it.
fn foot(screen: &Screen<'_>, pick: &Picker, width: usize, rows: usize) -> Vec<Line> {
    match &pick.list {
        List::Earlier(_) | List::Sessions { .. } | List::Services { .. } if rows < ROOMY => Vec::new(),
        List::Earlier(lines) => {
            let Some(line) = pick.of_chosen(lines) else { return Vec::new() };
            let long = line.text.lines().count() > 1
                || one_line(&line.text, screen.context.glyphs).chars().count() + 2 > width;
            if !long {
                return Vec::new();
            }
            let mut foot = vec![Line::of(screen.context.glyphs.rule.repeat(width), Role::Dim)];
            let mut spans = Vec::new();
            for text in line.text.lines().take(SHOWN_WHOLE + 1) {
                spans.push(Span::new(text, Role::Text));
                spans.push(Span::line_break());
            }
            spans.pop();
            let mut whole = wrap_spans(&spans, width, &Margin::default());
            if whole.len() > SHOWN_WHOLE {
                whole.truncate(SHOWN_WHOLE - 1);
                whole.push(Line::of("…", Role::Dim));
            }
            foot.extend(whole);
            foot
        }
        List::Sessions { preview, .. } if preview_columns(screen) == 0 => {
            let Some(one) = pick.session() else { return Vec::new() };
            let id: String = one.id.0.chars().take(SHORT_ID).collect();
            let place = one.workspace.display();
            let facts = Line::of(format!("id {id} · {place}"), Role::Dim);
            let last = match preview.loaded.as_ref() == Some(&one.id) {
                true if !preview.last.is_empty() => {
                    Line::of("last: ", Role::Dim).with(&preview.last, Role::Text)
                }
                true => Line::of("no messages yet", Role::Dim),
                false => Line::of("looking…", Role::Dim),
            };
            vec![Line::new(), facts, last]
        }
        List::Sessions { .. } => Vec::new(),
        List::Services { why, .. } => {
            let (words, role) = match (&pick.trouble, why) {
                (Some(trouble), _) => (trouble.as_str(), Role::Fail),
                (None, LoginReason::First) => (FIRST, Role::Dim),
                (None, LoginReason::Asked) => return Vec::new(),
            };
            let mut foot = vec![Line::of(screen.context.glyphs.rule.repeat(width), Role::Dim)];
            foot.extend(wrap_spans(&[Span::new(words, role)], width, &Margin::default()));
            foot
        }
        List::Models { failed, .. } => {
            let fail = screen.context.glyphs.fail;
            let row =
                |one: &String| Line::of(format!("{fail} {}", sanitize_line(one)), Role::Fail).cut(width);
            failed.iter().take(if rows < ROOMY { 1 } else { FAILED_SHOWN }).map(row).collect()
        }
    }
}

/// The text below the services on a first run.
const FIRST: &str = "No language model is connected yet. Pick a service to set up now, or skip this and take the \
                     built-in tour. The key is tested once and stays on this machine.";

/// Returns the chosen session: its facts, and the end of its conversation.
fn side_by_side_lines(pick: &Picker, preview: &Preview, width: usize, room: usize) -> Vec<Line> {
    let Some(one) = pick.session() else { return vec![Line::new(); room] };
    let id: String = one.id.0.chars().take(SHORT_ID).collect();
    let title = Line::of(sanitize_line(&one.title), Role::Heading);
    let mut out = vec![
        Line::spread(title, Line::of(id, Role::Dim), width),
        Line::of(one_line_summary(&one.workspace.display().to_string(), width), Role::Dim),
        Line::new(),
    ];
    let body = room.saturating_sub(out.len());
    if preview.loaded.as_ref() != Some(&one.id) {
        out.push(Line::of("looking…", Role::Dim));
    } else if preview.lines.is_empty() {
        out.push(Line::of("No messages yet.", Role::Dim));
    } else {
        let from = preview.lines.len().saturating_sub(body);
        out.extend(preview.lines[from..].iter().map(|line| line.clone().cut(width)));
    }
    out.truncate(room);
    out.resize(room, Line::new());
    out
}
