//! The output of commands with the colours they gave it.
//!
//! Of all escape sequences only colour and weight are kept, and only where the text stays readable: nothing conceals it.
//! The others are dropped; an incomplete one is shown like any control character. Called for the output of tools and of
//! the user's own commands.

use crate::stdx::ansi::{AnsiPart, parts};
use crate::stdx::text::expand_tabs;
use crate::tui::line::{Span, TextStyle};
use crate::tui::theme::{BackgroundRole, Role, Shade};

/// The colours in effect between two lines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sgr {
    /// The role of text without a colour of its own.
    role: Role,
    is_bold: bool,
    fore: Option<Shade>,
    back: Option<Shade>,
}

impl Sgr {
    pub fn new(role: Role) -> Self {
        Self { role, is_bold: false, fore: None, back: None }
    }

    /// Returns the next line of the output in its colours.
    pub fn line(&mut self, text: &str) -> Vec<Span> {
        let mut spans = Vec::new();
        for piece in parts(text) {
            match piece {
                AnsiPart::Text(text) => spans.push(Span::styled(expand_tabs(text), self.style())),
                AnsiPart::Colours(parameters) => self.set(parameters),
                AnsiPart::Other => {}
            }
        }
        spans
    }

    /// Returns the style; without colours that could hide the text.
    fn style(&self) -> TextStyle {
        let (shade, background) = match (self.fore, self.back) {
            (Some(fore), Some(back)) if fore.stands_out_from(back) => (Some(fore), BackgroundRole::Own(back)),
            (Some(fore), None) if !fore.may_be_the_terminals() => (Some(fore), BackgroundRole::None),
            (Some(_) | None, Some(_) | None) => (None, BackgroundRole::None),
        };
        TextStyle { shade, background, bold: self.is_bold, ..TextStyle::of(self.role) }
    }

    /// Applies the parameters of one sequence.
    fn set(&mut self, parameters: &str) {
        let mut rest = parameters.split([';', ':']).map(|number| number.parse::<u8>().unwrap_or(0));
        while let Some(code) = rest.next() {
            match code {
                0 => *self = Self::new(self.role),
                1 => self.is_bold = true,
                22 => self.is_bold = false,
                30..=37 => self.fore = Some(Shade::Indexed(code - 30)),
                90..=97 => self.fore = Some(Shade::Indexed(code - 82)),
                40..=47 => self.back = Some(Shade::Indexed(code - 40)),
                100..=107 => self.back = Some(Shade::Indexed(code - 92)),
                38 => self.fore = extended_colour(&mut rest),
                48 => self.back = extended_colour(&mut rest),
                39 => self.fore = None,
                49 => self.back = None,
                _ => {}
            }
        }
    }
}

/// Reads the rest of an extended colour.
fn extended_colour(rest: &mut impl Iterator<Item = u8>) -> Option<Shade> {
    match rest.next()? {
        5 => Some(Shade::Indexed(rest.next()?)),
        2 => Some(Shade::Rgb(rest.next()?, rest.next()?, rest.next()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<(String, Option<Shade>, BackgroundRole, bool)> {
        let spans = Sgr::new(Role::Text).line(text);
        spans.iter().map(|s| (s.text().to_owned(), s.style.shade, s.style.background, s.style.bold)).collect()
    }

    #[test]
    fn colour_and_weight_are_kept_and_nothing_hides_text() {
        let red = Some(Shade::Indexed(1));
        let yellow = BackgroundRole::Own(Shade::Indexed(3));
        for (text, shade, background, bold) in [
            ("\u{1b}[31mx", red, BackgroundRole::None, false),
            ("\u{1b}[1;31mx", red, BackgroundRole::None, true),
            ("\u{1b}[1;31m\u{1b}[22;39mx", None, BackgroundRole::None, false),
            ("\u{1b}[31;43mx", red, yellow, false),
            ("\u{1b}[38;5;9mx", Some(Shade::Indexed(9)), BackgroundRole::None, false),
            ("\u{1b}[38;2;9;200;7mx", Some(Shade::Rgb(9, 200, 7)), BackgroundRole::None, false),
            ("\u{1b}[95mx", Some(Shade::Indexed(13)), BackgroundRole::None, false),
            // Concealed, or in the colour of its background, or in what may be the terminal's.
            ("\u{1b}[8mx", None, BackgroundRole::None, false),
            ("\u{1b}[31;41mx", None, BackgroundRole::None, false),
            ("\u{1b}[38;2;1;1;1;48;2;2;2;2mx", None, BackgroundRole::None, false),
            ("\u{1b}[30mx", None, BackgroundRole::None, false),
            ("\u{1b}[97mx", None, BackgroundRole::None, false),
            ("\u{1b}[47mx", None, BackgroundRole::None, false),
        ] {
            assert_eq!(shown(text), [("x".to_owned(), shade, background, bold)], "{text:?}");
        }
    }

    #[test]
    fn other_sequences_are_dropped_and_broken_ones_are_shown() {
        for (text, expected) in [
            ("a\u{1b}[2Jb\u{1b}[1;1Hc\u{1b}[?25ld", "abcd"),
            ("a\u{1b}]0;title\u{7}b\u{1b}]8;;http://x\u{1b}\\c", "abc"),
            ("a\u{1b}(Bb\u{1b}7c\u{1b}Pq\u{1b}\\d", "abcd"),
            ("a\u{1b}[31", "a␛[31"),
            ("a\u{1b}]0;never ends", "a␛]0;never ends"),
            ("a\u{1b}", "a␛"),
            ("é\u{1b}[é", "é␛[é"),
        ] {
            let text_of = |spans: Vec<Span>| spans.iter().map(Span::text).collect::<String>();
            assert_eq!(text_of(Sgr::new(Role::Dim).line(text)), expected, "{text:?}");
            assert_eq!(
                crate::stdx::text::sanitize_line(&crate::stdx::ansi::bare(text)),
                expected,
                "{text:?}"
            );
        }
    }

    #[test]
    fn colours_go_on_in_the_next_line() {
        let mut sgr = Sgr::new(Role::Dim);
        sgr.line("\u{1b}[32mbegins");
        assert_eq!(sgr.line("goes on")[0].style.shade, Some(Shade::Indexed(2)));
    }
}
