//! The list of keys: first those of the element that has them, then all; typing narrows it, Enter does what the marked
//! key does. It never approves anything.
//!
//! It shows the user's own key bindings, not the defaults.

use super::{PanelContext, PanelEffect, PanelState, Screen};
use crate::tui::bordered_box::BorderedBox;
use crate::tui::keys::{
    Action, Binding, BindingRow, CHOOSE, CardKey, Context, ContextRow, HelpGroup, KeyProtection, Keymap,
    Letters, Nav, Section, StatusHint, at, row,
};
use crate::tui::line::{Line, Margin, Span, wrap_spans};
use crate::tui::theme::{Glyphs, Role};

/// The screen widths from which the list has a border and two or three columns.
const TWO_COLUMNS: usize = 76;
const THREE_COLUMNS: usize = 120;

/// The width of the keys' names, in columns and in the filtered list.
const KEY_NAMES: usize = 13;
const LISTED_KEYS: usize = 18;

/// The width of a key's description; the key table's tests check the longest one.
const WORDS: usize = 24;

/// The longest filter, in characters.
const LONGEST_FILTER: usize = 40;

/// The prefixes of a line; these are text, not keys, and cannot be rebound.
const STARTS: [(&str, &str); 4] = [
    ("/", "a command"),
    ("@", "mention a file"),
    ("!", "run a command yourself"),
    ("!!", "the same, private"),
];

/// Facts that the key table does not contain.
const NOTE: &str = "Letters are keys only where no text is typed. A card ignores keys for its first half second, and \
                    Enter, Space and Esc never approve.";

const CONTEXT: Context =
    Context::Panel(&ContextRow::new("help", "in the list of keys", Letters::AreText, &[Context::Global]));

/// Lists all keys; once they are listed, closes the list.
const ALL: Action = Action::Panel("all");
/// Executes the action of the marked key.
const RUN: Action = Action::Panel("run");
/// Removes the last character of the filter.
const ERASE: Action = Action::Panel("erase");
/// Clears the filter.
const CLEAR: Action = Action::Panel("clear");

pub const KEYS: &[Section] = &[at(CONTEXT, HelpGroup::Read).rows(&[
    row("escape", Action::Escape, "Esc Ctrl+C", "").way_out(),
    row("all", ALL, "?", ""),
    row("previous", Action::Nav(Nav::Up), "Up Ctrl+P", ""),
    row("next", Action::Nav(Nav::Down), "Down Ctrl+N", ""),
    row("run", RUN, "Enter", ""),
    row("erase", ERASE, "Backspace Ctrl+H", ""),
    row("clear", CLEAR, "Ctrl+U", ""),
])];

const HERE: &[StatusHint] = &[
    (CONTEXT, &[ALL], " all keys"),
    (CONTEXT, &[], "type to filter"),
    (Context::Global, &[Action::Nav(Nav::PageDown)], " scroll"),
    (Context::Global, &[Action::Escape], " close"),
];
const FILTERED: &[StatusHint] = &[
    (CONTEXT, CHOOSE, " choose"),
    (CONTEXT, &[RUN], " run"),
    (Context::Global, &[Action::Escape], " all keys"),
];

/// The open list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Help {
    /// The contexts whose keys are listed; all if there are none.
    here: Vec<Context>,
    pub filter: String,
    /// Lines above the first one shown.
    pub scroll: usize,
    /// The index of the marked row among the filtered rows.
    pub marked: usize,
}

/// The area of the list, in cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HelpArea {
    /// Before the list.
    margin: usize,
    /// The list with its border, if it has one.
    width: usize,
    /// Lines of keys that fit.
    rows: usize,
    columns: usize,
}

impl HelpArea {
    fn of(screen: usize, pane: usize) -> Self {
        if screen < TWO_COLUMNS {
            let rows = pane.saturating_sub(1);
            return Self { margin: 0, width: screen, rows, columns: 1 };
        }
        let (width, columns) = if screen < THREE_COLUMNS { (screen, 2) } else { (THREE_COLUMNS, 3) };
        let rows = pane.saturating_sub(2);
        Self { margin: (screen - width) / 2, width, rows, columns }
    }

    /// Whether it is one column, below a title and without a border.
    fn is_bare(self) -> bool {
        self.columns == 1
    }

    /// Returns the width of the lines of keys.
    fn inside(self) -> usize {
        self.width - if self.is_bare() { 1 } else { 4 }
    }
}

impl PanelState for Help {
    fn context(&self) -> Context {
        CONTEXT
    }

    fn act(&mut self, action: Action, cx: &mut PanelContext<'_>) -> Option<PanelEffect> {
        match action {
            RUN => return Some(self.run(cx)),
            ERASE => self.widen(),
            Action::Escape if self.filter.is_empty() => return Some(PanelEffect::Close),
            // The filter goes first, then the list.
            CLEAR | Action::Escape => *self = Self::here(std::mem::take(&mut self.here)),
            ALL if self.here.is_empty() => {
                return Some(PanelEffect::Close);
            }
            ALL => *self = Self::default(),
            Action::Nav(nav) => self.navigate(nav, &cx.screen),
            _ => return None,
        }
        Some(PanelEffect::Stay)
    }

    fn on_char(&mut self, c: char, _cx: &mut PanelContext<'_>) {
        if self.filter.chars().count() < LONGEST_FILTER {
            self.filter.push(c);
        }
        (self.scroll, self.marked) = (0, 0);
    }

    fn wheel(&self, _step: Nav, line: Nav) -> Vec<Nav> {
        vec![line; 3]
    }

    fn draw(&self, screen: &Screen<'_>) -> Vec<Line> {
        let area = HelpArea::of(screen.columns, screen.rows);
        let glyphs = screen.context.glyphs;
        let body = self.lines(screen.keymap, area, glyphs);
        let from = self.scroll.min(body.len().saturating_sub(area.rows));
        let left = body.len().saturating_sub(from + area.rows);
        let shown = body.into_iter().skip(from).take(area.rows);
        let title = Line::of(self.title(), Role::Heading);
        let filter =
            Line::of("filter: ", Role::Dim).with(&self.filter, Role::User).with(glyphs.cursor, Role::Dim);
        let more = if left == 0 { Line::new() } else { more(screen.keymap, left) };
        if area.is_bare() {
            let right = if self.is_filtered() || left == 0 { filter } else { more };
            let title = Line::of(" ", Role::Text).joined(title);
            let mut lines = vec![Line::spread(title, right.with(" ", Role::Text), area.width)];
            lines.extend(shown.map(|line| Line::of(" ", Role::Text).joined(line)));
            return lines;
        }
        let mut boxed = BorderedBox::new(glyphs, area.width, title, filter);
        let empty = (area.rows.min(screen.rows.saturating_sub(2))).saturating_sub(shown.len());
        shown.chain(std::iter::repeat_n(Line::new(), empty)).for_each(|line| boxed.push(line));
        let how = format!("rebind: [keys] in config.toml {} co keys --check", glyphs.dot);
        let margin = Line::of(" ".repeat(area.margin), Role::Text);
        let lines = boxed.end(Line::of(how, Role::Dim), more);
        lines.into_iter().map(|line| margin.clone().joined(line)).collect()
    }

    fn hints(&self, keymap: &Keymap) -> String {
        keymap.status(match (self.is_filtered(), self.here.is_empty()) {
            (true, _) => FILTERED,
            (false, true) => &HERE[1..],
            (false, false) => HERE,
        })
    }
}

impl Help {
    /// Lists the keys of these contexts, the most important one first.
    pub fn here(here: Vec<Context>) -> Self {
        Self { here, ..Self::default() }
    }

    fn title(&self) -> &'static str {
        match self.here.first() {
            None => "all keys",
            Some(Context::Composer) => "keys: writing",
            Some(Context::Card) => "keys: a card",
            Some(Context::Batch) => "keys: a list",
            Some(Context::Transcript) => "keys: the transcript",
            Some(_) => "keys",
        }
    }

    pub fn with_filter(filter: &str) -> Self {
        Self { filter: filter.chars().take(LONGEST_FILTER).collect(), ..Self::default() }
    }

    /// Removes the last character of the filter.
    fn widen(&mut self) {
        self.filter.pop();
        (self.scroll, self.marked) = (0, 0);
    }

    pub fn is_filtered(&self) -> bool {
        !self.filter.trim().is_empty()
    }

    /// Returns the rows that contain every word of the filter in their keys, words or name; rows with a key
    /// of exactly that name come first.
    fn filtered_rows<'a>(&self, keymap: &'a Keymap) -> Vec<&'a BindingRow> {
        let filter = self.filter.trim().to_lowercase();
        let has_all = |row: &&BindingRow| {
            let text = haystack(row);
            filter.split_whitespace().all(|word| text.contains(word))
        };
        let named = |row: &&BindingRow| row.keys.iter().any(|key| key.to_string().to_lowercase() == filter);
        let mut left: Vec<&BindingRow> = keymap.rows().iter().filter(has_all).collect();
        left.sort_by_key(|row| !named(row));
        left
    }

    /// Returns the marked row, if there is a filter.
    fn marked_row<'a>(&self, keymap: &'a Keymap) -> Option<&'a BindingRow> {
        if !self.is_filtered() {
            return None;
        }
        self.filtered_rows(keymap).get(self.marked).copied()
    }

    /// Returns all lines of keys.
    fn lines(&self, keymap: &Keymap, area: HelpArea, glyphs: &Glyphs) -> Vec<Line> {
        if self.is_filtered() {
            self.filtered_lines(keymap, area, glyphs)
        } else {
            columns(keymap, area, &self.here)
        }
    }

    fn filtered_lines(&self, keymap: &Keymap, area: HelpArea, glyphs: &Glyphs) -> Vec<Line> {
        let left = self.filtered_rows(keymap);
        if left.is_empty() {
            return vec![Line::of("no matching key", Role::Dim)];
        }
        let keys = if area.is_bare() { KEY_NAMES } else { LISTED_KEYS };
        let words_at = keys + 3;
        let line = |(at, row): (usize, &&BindingRow)| {
            let mark = if at == self.marked { glyphs.folded } else { " " };
            let mut line = Line::of(mark, Role::Key).with(" ", Role::Text);
            line = line.with(names(row, keys), Role::Key);
            line.pad_to(words_at);
            line = line.with(row.binding.label(), Role::Text);
            // A narrow screen has no room for the name used in the settings.
            if !area.is_bare() {
                line.pad_to(words_at + WORDS + 1);
                line = line.with(row.binding.path(), Role::Dim);
            }
            line.cut(area.inside())
        };
        left.iter().enumerate().map(line).collect()
    }

    /// Moves the mark if there is a filter, else the lines.
    fn navigate(&mut self, nav: Nav, screen: &Screen<'_>) {
        let area = HelpArea::of(screen.columns, screen.rows);
        let lines = self.lines(screen.keymap, area, screen.context.glyphs).len();
        let (at, last) = if self.is_filtered() {
            (&mut self.marked, lines.saturating_sub(1))
        } else {
            (&mut self.scroll, lines.saturating_sub(area.rows))
        };
        let page = area.rows.saturating_sub(1).max(1);
        *at = nav.row(*at, page).min(last);
        if self.is_filtered() {
            self.scroll = self.scroll.clamp((self.marked + 1).saturating_sub(area.rows), self.marked);
        }
    }

    fn run(&self, cx: &mut PanelContext<'_>) -> PanelEffect {
        let Some(row) = self.marked_row(cx.screen.keymap) else { return PanelEffect::Stay };
        let context = row.binding.context;
        if !can_run(row) {
            cx.flash(format!("not available here: it works {}", context.about()));
            return PanelEffect::Stay;
        }
        PanelEffect::Run(context, row.binding.action)
    }
}

fn more(keymap: &Keymap, lines: usize) -> Line {
    let key = keymap.around(", ", Context::Global, Action::Nav(Nav::PageDown), "");
    Line::of(format!("{lines} more lines{key}"), Role::Waiting)
}

/// Whether Enter in the list can do what this key does: only actions that need no card, no text and no other
/// place.
fn can_run(row: &BindingRow) -> bool {
    let here = matches!(row.binding.context, Context::Global | Context::Composer);
    let alone = !matches!(
        row.binding.action,
        Action::Send
            | Action::Move(_)
            | Action::Edit(_)
            | Action::Help
            | Action::QuitOrDelete
            | Action::ToBackground
    );
    here && alone && row.binding.protection == KeyProtection::None
}

fn haystack(row: &BindingRow) -> String {
    let keys: Vec<String> = row.keys.iter().map(ToString::to_string).collect();
    let BindingRow { binding, .. } = row;
    let parts = [&keys.join(" "), &binding.label(), &binding.path(), binding.context.about()];
    parts.join(" ").to_lowercase()
}

/// Arranges the groups in columns: all keys with each group in the shortest one, those of a place evenly.
fn columns(keymap: &Keymap, area: HelpArea, here: &[Context]) -> Vec<Line> {
    let groups = groups(keymap, here);
    let columns =
        if here.is_empty() { by_group(groups, area.columns) } else { evenly(&groups, area.columns) };
    let width = area.inside() / area.columns;
    let height = columns.iter().map(Vec::len).max().unwrap_or_default();
    let line = |row: usize| {
        let mut line = Line::new();
        for (at, column) in columns.iter().enumerate() {
            line.pad_to(at * width);
            line = line.joined(column.get(row).cloned().unwrap_or_default().cut(width - 1));
        }
        line
    };
    let note = wrap_spans(&[Span::new(NOTE, Role::Dim)], area.inside(), &Margin::default());
    (0..height).map(line).chain([Line::new()]).chain(note).collect()
}

fn by_group(groups: Vec<Vec<Line>>, count: usize) -> Vec<Vec<Line>> {
    let mut columns = vec![Vec::new(); count];
    for group in groups {
        let shortest = columns.iter_mut().min_by_key(|column| column.len());
        let column: &mut Vec<Line> = shortest.expect("a list has at least one column");
        if !column.is_empty() {
            column.push(Line::new());
        }
        column.extend(group);
    }
    columns
}

fn evenly(groups: &[Vec<Line>], count: usize) -> Vec<Vec<Line>> {
    let lines = groups.join(&[Line::new()][..]);
    lines.chunks(lines.len().div_ceil(count).max(1)).map(<[Line]>::to_vec).collect()
}

/// Returns the keys by group: those of these contexts, or all with a description.
fn groups(keymap: &Keymap, here: &[Context]) -> Vec<Vec<Line>> {
    let own = |row: &BindingRow| here.first() == Some(&row.binding.context);
    let mut listed: Vec<(HelpGroup, Vec<&BindingRow>)> = HelpGroup::ALL
        .map(|group| {
            let shown = |row: &&BindingRow| row.binding.group == group && is_listed(row, here);
            (group, keymap.rows().iter().filter(shown).collect())
        })
        .into();
    listed.retain(|(_, rows)| !rows.is_empty());
    // The keys of the element that has them come first.
    listed.iter_mut().for_each(|(_, rows)| rows.sort_by_key(|row| !own(row)));
    listed.sort_by_key(|(_, rows)| std::cmp::Reverse(rows.iter().filter(|row| own(row)).count()));
    let lines = |(group, rows): (HelpGroup, Vec<&BindingRow>)| {
        let rows = rows.into_iter().map(|row| row_of(&names(row, KEY_NAMES), &row.binding.label()));
        std::iter::once(Line::of(group.title(), Role::Heading)).chain(rows).collect()
    };
    let mut groups: Vec<Vec<Line>> = listed.into_iter().map(lines).collect();
    if here.first().is_none_or(|context| *context == Context::Composer) {
        let mut starts = vec![Line::of("A LINE MAY BEGIN WITH", Role::Heading)];
        starts.extend(STARTS.map(|(start, words)| row_of(start, words)));
        groups.push(starts);
    }
    groups
}

/// Whether a key is in the list: the element that has the keys shows all of its own.
fn is_listed(row: &BindingRow, here: &[Context]) -> bool {
    let Binding { context, help, .. } = row.binding;
    // The keys of hunks are described by the first one.
    let is_numbered = matches!(row.binding.action, Action::Card(CardKey::Hunk(2..)));
    let own = here.first() == Some(context) && context.letters() == Letters::AreKeys && !is_numbered;
    (here.is_empty() || here.contains(context)) && (own || !help.is_empty())
}

fn row_of(keys: &str, words: &str) -> Line {
    let mut line = Line::of(keys, Role::Key);
    line.pad_to(KEY_NAMES + 1);
    line.with(words, Role::Text)
}

/// Returns as many of a row's keys as fit, the first in any case.
fn names(row: &BindingRow, room: usize) -> String {
    let mut names = String::new();
    for key in &row.keys {
        let name = key.to_string();
        if names.is_empty() {
            names = name;
        } else if names.chars().count() + 1 + name.chars().count() <= room {
            names.push(' ');
            names.push_str(&name);
        } else {
            break;
        }
    }
    if names.is_empty() { "no key".to_owned() } else { names }
}
