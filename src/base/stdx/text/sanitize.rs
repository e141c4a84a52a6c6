//! Makes characters visible that would move the cursor, hide text or reorder it.
//!
//! Called on text from a model, a tool, a file name or a server before it reaches a terminal, a log line or
//! an approval card. It drops no character: suspicious ones are shown, so that nothing invisible is approved.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Sanitizes text that may have several lines: `\n` and `\t` stay, every other invisible character is shown.
///
/// C0 controls and DEL become their control pictures (`␛`); C1 controls, bidi controls, zero-width characters, line
/// separators, tag characters and other invisible ones become `<U+202E>`. A zero-width joiner stays inside an emoji
/// sequence, a variation selector stays when it follows a visible character.
#[must_use]
pub fn sanitize(text: &str) -> Cow<'_, str> {
    rewrite(text, Form::Block)
}

/// Sanitizes text for one line: like [`sanitize`], but `\n` and `\r` become control pictures, `\t` a space.
#[must_use]
pub fn sanitize_line(text: &str) -> Cow<'_, str> {
    rewrite(text, Form::Line)
}

#[derive(Clone, Copy)]
enum Form {
    Block,
    Line,
}

/// How one character is displayed.
enum CharDisplay {
    Itself,
    Instead(char),
    Code,
}

fn rewrite(text: &str, form: Form) -> Cow<'_, str> {
    let mut out: Option<String> = None;
    let mut before = PrecedingChars::default();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let shown = display_of(c, &before, chars.peek().map(|(_, next)| *next), form);
        before.see(c);
        if let (CharDisplay::Itself, None) = (&shown, &out) {
            continue;
        }
        let out = out.get_or_insert_with(|| text.split_at(at).0.to_owned());
        match shown {
            CharDisplay::Itself => out.push(c),
            CharDisplay::Instead(picture) => out.push(picture),
            CharDisplay::Code => {
                write!(out, "<U+{:04X}>", u32::from(c)).expect("writing to a string cannot fail");
            }
        }
    }
    out.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The preceding characters, which decide whether the current one may stay as it is.
#[derive(Default)]
struct PrecedingChars {
    last: Option<char>,
    /// The last character that is neither a variation selector nor a skin tone.
    base: Option<char>,
}

impl PrecedingChars {
    fn see(&mut self, c: char) {
        self.last = Some(c);
        if !is_variation_selector(c) && !is_skin_tone(c) {
            self.base = Some(c);
        }
    }
}

fn display_of(c: char, before: &PrecedingChars, next: Option<char>, form: Form) -> CharDisplay {
    match c {
        '\n' | '\t' if matches!(form, Form::Block) => CharDisplay::Itself,
        '\t' => CharDisplay::Instead(' '),
        '\0'..='\u{1F}' => CharDisplay::Instead(
            char::from_u32(0x2400 + u32::from(c)).expect("every C0 control has a picture"),
        ),
        '\u{7F}' => CharDisplay::Instead('\u{2421}'),
        '\u{200D}' if before.base.is_some_and(is_emoji) && next.is_some_and(is_emoji) => CharDisplay::Itself,
        _ if is_variation_selector(c) => match before.last {
            Some(last) if !is_variation_selector(last) && !is_hidden(last) => CharDisplay::Itself,
            Some(_) | None => CharDisplay::Code,
        },
        _ if is_hidden(c) => CharDisplay::Code,
        _ => CharDisplay::Itself,
    }
}

/// Whether a character takes no room or changes where and in which order others are drawn.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\0'..='\u{1F}' | '\u{7F}'..='\u{9F}'
        | '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
        | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}'
        | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{FE00}'..='\u{FE0F}')
}

fn is_skin_tone(c: char) -> bool {
    matches!(c, '\u{1F3FB}'..='\u{1F3FF}')
}

/// Whether a character is in a block used in emoji sequences. Wider than the exact property, since a joiner
/// between two symbols hides nothing. Regional indicators (the halves of flags) are excluded: joined, they
/// would be one cell with an invisible character in it.
fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{A9}' | '\u{AE}' | '\u{2190}'..='\u{21FF}' | '\u{2300}'..='\u{23FF}' | '\u{2600}'..='\u{27BF}'
        | '\u{2B00}'..='\u{2BFF}' | '\u{1F000}'..='\u{1F1E5}' | '\u{1F200}'..='\u{1FAFF}')
}
