//! Text roles, the themes that map them to colours, and the two glyph sets.
//!
//! Everything on the screen is drawn in a role, never in a colour, and every state has its own glyph and
//! word, so that no information depends on colour alone. Called by the views; chosen once, from
//! [`TerminalEnv`].

mod background;

use ratatui_core::style::{Color, Modifier, Style};

pub use self::background::{BackgroundRole, Shade};
use crate::config::ThemeChoice;

/// The role of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Role {
    #[default]
    Text,
    /// Secondary: hints, times, rules.
    Dim,
    /// The user's text.
    User,
    /// The mark before an answer.
    Answer,
    Thinking,
    Tool,
    /// A request is pending, or calls run without asking.
    Waiting,
    Ok,
    Fail,
    /// A high-risk request.
    High,
    Heading,
    Link,
    /// Code within prose.
    Code,
    /// A block of code, and the token kinds of highlighting.
    CodeText,
    CodeKeyword,
    CodeString,
    CodeComment,
    CodeNumber,
    CodeFunction,
    /// Types, and the names of fields in data.
    CodeType,
    Quote,
    Added,
    Removed,
    /// A key the user can press.
    Key,
}

/// The style of a piece of text: its role, plus emphasis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextStyle {
    pub role: Role,
    pub bold: bool,
    pub italic: bool,
    pub underline: bool,
    pub strike: bool,
    /// Foreground and background swapped, for marked text and search matches.
    pub reversed: bool,
    pub background: BackgroundRole,
    /// A colour that takes the place of the role's: a command's own.
    pub shade: Option<Shade>,
}

impl TextStyle {
    pub const fn of(role: Role) -> Self {
        Self {
            role,
            bold: false,
            italic: false,
            underline: false,
            strike: false,
            reversed: false,
            background: BackgroundRole::None,
            shade: None,
        }
    }

    #[must_use]
    pub const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    #[must_use]
    pub const fn on(self, background: BackgroundRole) -> Self {
        Self { background, ..self }
    }
}

/// Terminal information from the environment. Values as found; `None` where unset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminalEnv {
    pub term: Option<String>,
    pub colorterm: Option<String>,
    pub colorfgbg: Option<String>,
    pub no_color: Option<String>,
    /// The terminal's own answer; takes precedence over `COLORFGBG`.
    pub background: Option<Background>,
}

/// The terminal's background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    Dark,
    Light,
}

impl TerminalEnv {
    /// Reads `TERM`, `COLORTERM`, `COLORFGBG` and `NO_COLOR` with `lookup`.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Self {
        Self {
            term: lookup("TERM"),
            colorterm: lookup("COLORTERM"),
            colorfgbg: lookup("COLORFGBG"),
            no_color: lookup("NO_COLOR"),
            background: None,
        }
    }

    /// Returns the glyph set. The Linux console and dumb terminals lack the fonts for more than ASCII.
    pub fn glyphs(&self) -> &'static Glyphs {
        if self.is_modern() { &Glyphs::UNICODE } else { &Glyphs::ASCII }
    }

    /// Whether escape sequences beyond the oldest ones may be sent.
    pub fn is_modern(&self) -> bool {
        !matches!(self.term.as_deref(), Some("linux" | "dumb"))
    }

    fn has_256_colours(&self) -> bool {
        self.colorterm.as_deref().is_some_and(|value| !value.is_empty())
            || self.term.as_deref().is_some_and(|term| term.contains("256color") || term.contains("direct"))
    }

    /// Whether the background is light. `COLORFGBG` is `foreground;background` in ANSI numbers; 7 and 15 are
    /// the light backgrounds.
    fn is_light(&self) -> bool {
        if let Some(background) = self.background {
            return background == Background::Light;
        }
        self.colorfgbg
            .as_deref()
            .and_then(|value| value.rsplit(';').next())
            .is_some_and(|background| matches!(background, "7" | "15"))
    }
}

/// Maps roles to colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    Dark,
    Light,
    Ansi16,
    /// `NO_COLOR`: weight and underline only.
    Plain,
}

impl Theme {
    pub fn choose(choice: ThemeChoice, around: &TerminalEnv) -> Self {
        if around.no_color.as_deref().is_some_and(|value| !value.is_empty()) {
            return Self::Plain;
        }
        match choice {
            ThemeChoice::Dark => Self::Dark,
            ThemeChoice::Light => Self::Light,
            ThemeChoice::Auto if !around.has_256_colours() => Self::Ansi16,
            ThemeChoice::Auto if around.is_light() => Self::Light,
            ThemeChoice::Auto => Self::Dark,
        }
    }

    /// Whether another background would give other colours.
    pub fn depends_on_background(choice: ThemeChoice, around: &TerminalEnv) -> bool {
        let on = |background| TerminalEnv { background: Some(background), ..around.clone() };
        around.is_modern()
            && Self::choose(choice, &on(Background::Dark)) != Self::choose(choice, &on(Background::Light))
    }

    /// Returns the terminal style of a text.
    pub fn style(&self, text_style: TextStyle) -> Style {
        let has_backgrounds = matches!(self, Self::Dark | Self::Light);
        let role = text_style.background.role().filter(|_| !has_backgrounds).unwrap_or(text_style.role);
        let [dark, light, ansi] = text_style.background.colours();
        let (fore, back) = match self {
            Self::Dark => (column(role).0, dark),
            Self::Light => (column(role).1, light),
            Self::Ansi16 => (column(role).2, ansi),
            Self::Plain => (None, None),
        };
        let own = text_style.shade.filter(|_| *self != Self::Plain).map(Shade::colour);
        let mut style = Style { fg: own.or(fore), bg: back, ..Style::new() };
        style = style.add_modifier(self.weight(role));
        for (on, modifier) in [
            (text_style.bold, Modifier::BOLD),
            (text_style.italic, Modifier::ITALIC),
            (
                text_style.underline || (text_style.background.is_of_words() && !has_backgrounds),
                Modifier::UNDERLINED,
            ),
            (text_style.strike, Modifier::CROSSED_OUT),
            (text_style.reversed, Modifier::REVERSED),
        ] {
            if on {
                style = style.add_modifier(modifier);
            }
        }
        style
    }

    /// Returns the modifiers that mark a role in addition to its colour, or instead of it.
    fn weight(self, role: Role) -> Modifier {
        let is_plain = self == Self::Plain;
        if matches!(role, Role::Heading | Role::High | Role::Key) || (is_plain && role == Role::CodeKeyword) {
            Modifier::BOLD
        } else if is_plain && matches!(role, Role::Dim | Role::CodeComment) {
            Modifier::DIM
        } else if role == Role::Link {
            Modifier::UNDERLINED
        } else if matches!(role, Role::Thinking | Role::Quote) {
            Modifier::ITALIC
        } else {
            Modifier::empty()
        }
    }
}

/// Returns the foregrounds of a role: dark, light (both of the 256 colours), 16 colours. `None` is the
/// terminal's own colour.
fn column(role: Role) -> (Option<Color>, Option<Color>, Option<Color>) {
    let of = |dark, light, ansi| (Some(Color::Indexed(dark)), Some(Color::Indexed(light)), Some(ansi));
    match role {
        Role::Text | Role::CodeText => (None, None, None),
        Role::Dim => of(245, 243, Color::DarkGray),
        Role::User => of(117, 25, Color::Cyan),
        Role::Answer => of(114, 28, Color::Green),
        Role::Thinking => of(247, 242, Color::DarkGray),
        Role::Tool => of(110, 24, Color::Blue),
        Role::Waiting => of(221, 130, Color::Yellow),
        Role::Ok => of(114, 28, Color::Green),
        Role::Fail => of(203, 124, Color::Red),
        Role::High => of(209, 160, Color::LightRed),
        Role::Heading => of(153, 18, Color::Cyan),
        Role::Link => of(75, 26, Color::Blue),
        Role::Code => of(180, 94, Color::Yellow),
        Role::CodeKeyword => of(176, 90, Color::Magenta),
        Role::CodeString => of(150, 22, Color::Green),
        Role::CodeComment => of(245, 243, Color::DarkGray),
        Role::CodeNumber => of(215, 130, Color::Yellow),
        Role::CodeFunction => of(117, 25, Color::Cyan),
        Role::CodeType => of(222, 58, Color::Blue),
        Role::Quote => of(247, 240, Color::DarkGray),
        Role::Added => of(114, 28, Color::Green),
        Role::Removed => of(203, 124, Color::Red),
        // Of the sixteen colours, only the terminal's own is readable on every background.
        Role::Key => (Some(Color::Indexed(189)), Some(Color::Indexed(17)), None),
    }
}

/// The glyphs of the screen, each one cell wide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glyphs {
    pub user: &'static str,
    pub answer: &'static str,
    pub tool: &'static str,
    pub waiting: &'static str,
    pub ok: &'static str,
    pub fail: &'static str,
    pub unknown: &'static str,
    pub retry: &'static str,
    pub spinner: [&'static str; 4],
    pub still: &'static str,
    pub rule: &'static str,
    pub side: &'static str,
    pub thinking_side: &'static str,
    pub cross: &'static str,
    pub tee: [&'static str; 2],
    /// The junctions of a vertical edge with the rule above it, and with the one below.
    pub tee_ends: [&'static str; 2],
    /// A full and an empty part of a bar.
    pub bar: [&'static str; 2],
    pub open: &'static str,
    pub folded: &'static str,
    pub bullets: [&'static str; 3],
    pub boxes: [&'static str; 2],
    pub cursor: &'static str,
    pub corners: [&'static str; 4],
    pub down: &'static str,
    pub up: &'static str,
    pub left: &'static str,
    /// Before the block that has the keyboard focus.
    pub here: &'static str,
    pub dot: &'static str,
    /// Text that does not come from the user.
    pub taint: &'static str,
    /// Before the rest of a line of code that was wrapped.
    pub wrapped: &'static str,
}

impl Default for &'static Glyphs {
    fn default() -> Self {
        &Glyphs::UNICODE
    }
}

impl Glyphs {
    pub const UNICODE: Self = Self {
        user: "┃",
        answer: "●",
        tool: "◆",
        waiting: "◇",
        ok: "✓",
        fail: "✗",
        unknown: "?",
        retry: "⟳",
        spinner: ["◐", "◓", "◑", "◒"],
        still: "…",
        rule: "─",
        side: "│",
        thinking_side: "╎",
        cross: "┼",
        tee: ["├", "┤"],
        tee_ends: ["┬", "┴"],
        bar: ["▮", "▯"],
        open: "▾",
        folded: "▸",
        bullets: ["•", "◦", "▪"],
        boxes: ["☐", "☑"],
        cursor: "▌",
        corners: ["╭", "╮", "╰", "╯"],
        down: "↓",
        up: "↑",
        left: "←",
        here: "▌",
        dot: "·",
        taint: "▲",
        wrapped: "↳",
    };

    pub const ASCII: Self = Self {
        user: "|",
        answer: "*",
        tool: "#",
        waiting: "?",
        ok: "+",
        fail: "x",
        unknown: "?",
        retry: "@",
        spinner: ["|", "/", "-", "\\"],
        still: ".",
        rule: "-",
        side: "|",
        thinking_side: ":",
        cross: "+",
        tee: ["+", "+"],
        tee_ends: ["+", "+"],
        bar: ["#", "."],
        open: "v",
        folded: ">",
        bullets: ["*", "-", "+"],
        boxes: ["-", "x"],
        cursor: "_",
        corners: ["+", "+", "+", "+"],
        down: "v",
        up: "^",
        left: "<",
        here: ">",
        dot: "-",
        taint: "^",
        wrapped: "\\",
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_theme_follows_the_terminal() {
        let around = |term: &str, fgbg: &str, no_color: &str| {
            let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            TerminalEnv {
                term: some(term),
                colorterm: None,
                colorfgbg: some(fgbg),
                no_color: some(no_color),
                background: None,
            }
        };
        let cases = [
            (ThemeChoice::Auto, around("xterm-256color", "", ""), Theme::Dark),
            (ThemeChoice::Auto, around("xterm-256color", "0;15", ""), Theme::Light),
            (ThemeChoice::Auto, around("xterm", "", ""), Theme::Ansi16),
            (ThemeChoice::Auto, around("xterm-256color", "", "1"), Theme::Plain),
            (ThemeChoice::Light, around("xterm", "", ""), Theme::Light),
            (ThemeChoice::Light, around("xterm", "", "1"), Theme::Plain),
        ];
        for (choice, around, palette) in cases {
            assert_eq!(Theme::choose(choice, &around), palette, "{around:?}");
        }
        let mut answered = around("xterm-256color", "15;0", "");
        answered.background = Some(Background::Light);
        assert_eq!(Theme::choose(ThemeChoice::Auto, &answered), Theme::Light);
        assert!(Theme::depends_on_background(ThemeChoice::Auto, &answered));
        assert!(!Theme::depends_on_background(ThemeChoice::Dark, &answered));
        assert!(!Theme::depends_on_background(ThemeChoice::Auto, &around("xterm-256color", "", "1")));
        assert_eq!(around("linux", "", "").glyphs(), &Glyphs::ASCII);
        assert_eq!(around("xterm", "", "").glyphs(), &Glyphs::UNICODE);
    }

    #[test]
    fn no_color_means_none() {
        let plain = Theme::Plain;
        let style = plain.style(TextStyle::of(Role::High));
        assert_eq!((style.fg, style.bg), (None, None));
        assert!(style.add_modifier.contains(Modifier::BOLD));
    }

    #[test]
    fn every_glyph_is_one_cell() {
        for glyphs in [Glyphs::UNICODE, Glyphs::ASCII] {
            let singles = [
                glyphs.user,
                glyphs.answer,
                glyphs.tool,
                glyphs.waiting,
                glyphs.ok,
                glyphs.fail,
                glyphs.unknown,
                glyphs.retry,
                glyphs.still,
                glyphs.rule,
                glyphs.side,
                glyphs.thinking_side,
                glyphs.cross,
                glyphs.open,
                glyphs.folded,
                glyphs.cursor,
                glyphs.down,
                glyphs.left,
                glyphs.here,
                glyphs.dot,
                glyphs.wrapped,
            ];
            let all = singles
                .into_iter()
                .chain(glyphs.spinner)
                .chain(glyphs.bullets)
                .chain(glyphs.boxes)
                .chain(glyphs.corners)
                .chain(glyphs.tee)
                .chain(glyphs.tee_ends)
                .chain(glyphs.bar);
            for glyph in all {
                assert_eq!(crate::stdx::text::width(glyph), 1, "{glyph:?}");
            }
        }
    }
}
