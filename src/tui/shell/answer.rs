//! Finds the terminal's answer to the background colour request in the typed input.
//!
//! The terminal library does not know this answer and reports it as keys: Alt+], `1`, `1`, `;`, `rgb:…`,
//! Alt+\. A terminal may answer at once, late or never, so the keys of an answer are looked for as long as
//! one is due. No part of it may get into a text, and no typed key may be lost or reordered. Called by
//! `input`.
//!
//! The width of an ambiguous character cannot be asked for in the same way: the library keeps the cursor
//! position to itself and returns it only through a call that blocks all keys, for two seconds if there is no
//! answer; other forms of the request leave its parser waiting in the middle of a sequence. The setting
//! `ascii` is for such terminals.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::tui::theme::Background;

/// The beginning of an answer; after these three characters it can be nothing else.
const HEAD: &str = "11;";

/// The longest body: four hexadecimal digits a colour, `rgba:` and four slashes.
const LONGEST_BODY: usize = 32;

/// The current position in an answer.
#[derive(Debug, Clone, PartialEq, Default)]
enum AnswerState {
    /// No answer is due, or it was received.
    #[default]
    Nowhere,
    Due,
    /// After an Esc: if an answer arrives in pieces, its first byte looks like that key.
    AfterEsc,
    /// The received part of the head, and its events.
    Head(String, Vec<Event>),
    Body(String),
    /// The first half of the terminator was received.
    End(String),
}

/// How an event was classified.
#[derive(Debug, Clone, PartialEq)]
pub enum EventClass {
    /// These were typed.
    Typed(Vec<Event>),
    /// The event may be part of an answer, or is.
    Kept,
    Answered(Background),
}

/// Whether an answer is due, and how much of it was received.
#[derive(Debug, Default)]
pub struct Answer {
    place: AnswerState,
}

impl Answer {
    /// Notes that the request was sent.
    pub fn expect(&mut self) {
        self.place = AnswerState::Due;
    }

    pub fn is_due(&self) -> bool {
        self.place != AnswerState::Nowhere
    }

    /// Whether events are held back that may have been typed; the caller soon takes them with
    /// [`Answer::give_up`].
    pub fn holds(&self) -> bool {
        matches!(self.place, AnswerState::Head(..))
    }

    /// Returns the held events as typed input, because no more followed.
    pub fn give_up(&mut self) -> Vec<Event> {
        let AnswerState::Head(_, held) = &mut self.place else { return Vec::new() };
        let held = std::mem::take(held);
        self.place = AnswerState::Due;
        held
    }

    pub fn sort(&mut self, event: Event) -> EventClass {
        match std::mem::take(&mut self.place) {
            AnswerState::Nowhere => EventClass::Typed(vec![event]),
            AnswerState::Due => self.first(event, KeyModifiers::ALT),
            AnswerState::AfterEsc => self.first(event, KeyModifiers::NONE),
            AnswerState::Head(head, held) => self.head(head, held, event),
            AnswerState::Body(body) => self.body(body, event),
            AnswerState::End(body) => match char_of(&event) {
                Some(('\\', KeyModifiers::NONE)) => self.finish(&body),
                _ => self.discard(event),
            },
        }
    }

    fn first(&mut self, event: Event, mods: KeyModifiers) -> EventClass {
        match char_of(&event) {
            Some((']', held)) if held == mods || held == KeyModifiers::ALT => {
                self.place = AnswerState::Head(String::new(), vec![event]);
                EventClass::Kept
            }
            _ => {
                self.place = if is_esc(&event) { AnswerState::AfterEsc } else { AnswerState::Due };
                EventClass::Typed(vec![event])
            }
        }
    }

    fn head(&mut self, mut head: String, mut held: Vec<Event>, event: Event) -> EventClass {
        let next = HEAD.chars().nth(head.len());
        match char_of(&event) {
            Some((c, KeyModifiers::NONE)) if Some(c) == next => head.push(c),
            _ => {
                self.place = AnswerState::Due;
                // The event may itself begin the answer.
                if let EventClass::Typed(events) = self.sort(event) {
                    held.extend(events);
                }
                return EventClass::Typed(held);
            }
        }
        held.push(event);
        self.place =
            if head == HEAD { AnswerState::Body(String::new()) } else { AnswerState::Head(head, held) };
        EventClass::Kept
    }

    fn body(&mut self, mut body: String, event: Event) -> EventClass {
        match char_of(&event) {
            Some(('\\', KeyModifiers::ALT) | ('g', KeyModifiers::CONTROL)) => return self.finish(&body),
            Some((c, KeyModifiers::NONE | KeyModifiers::SHIFT))
                if body.len() < LONGEST_BODY && (c.is_ascii_hexdigit() || "rgba:/".contains(c)) =>
            {
                body.push(c);
                self.place = AnswerState::Body(body);
            }
            _ if is_esc(&event) => self.place = AnswerState::End(body),
            _ => return self.discard(event),
        }
        EventClass::Kept
    }

    fn finish(&mut self, body: &str) -> EventClass {
        self.place = AnswerState::Nowhere;
        background(body).map_or(EventClass::Kept, EventClass::Answered)
    }

    /// Ends a broken answer; the received part is discarded.
    fn discard(&mut self, event: Event) -> EventClass {
        self.place = AnswerState::Nowhere;
        EventClass::Typed(vec![event])
    }
}

fn char_of(event: &Event) -> Option<(char, KeyModifiers)> {
    match event {
        Event::Key(KeyEvent { code: KeyCode::Char(c), modifiers, kind: KeyEventKind::Press, .. }) => {
            Some((*c, *modifiers))
        }
        _ => None,
    }
}

fn is_esc(event: &Event) -> bool {
    matches!(event, Event::Key(KeyEvent { code: KeyCode::Esc, modifiers: KeyModifiers::NONE, .. }))
}

/// Returns light or dark, from `rgb:1e1e/1e1e/2e2e` with one to four digits a colour.
fn background(body: &str) -> Option<Background> {
    let (_, colours) = body.split_once(':')?;
    let mut parts = colours.split('/').map(share);
    let (red, green, blue) = (parts.next()??, parts.next()??, parts.next()??);
    let brightness = 0.299 * red + 0.587 * green + 0.114 * blue;
    Some(if brightness > 0.5 { Background::Light } else { Background::Dark })
}

/// Returns a colour component as a fraction of the greatest value of its digits.
fn share(digits: &str) -> Option<f64> {
    let most =
        16_u32.checked_pow(u32::try_from(digits.len()).ok().filter(|digits| (1..=4).contains(digits))?)? - 1;
    Some(f64::from(u32::from_str_radix(digits, 16).ok()?) / f64::from(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(c: char, modifiers: KeyModifiers) -> Event {
        Event::Key(KeyEvent::new(KeyCode::Char(c), modifiers))
    }

    /// Events as the library reports these bytes: `^` is an escape that joins the next character, `~` a
    /// separate one, `!` is the bell.
    fn events(text: &str) -> Vec<Event> {
        let mut events = Vec::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            events.push(match c {
                '^' => key(chars.next().unwrap(), KeyModifiers::ALT),
                '~' => Event::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE)),
                '!' => key('g', KeyModifiers::CONTROL),
                c if c.is_uppercase() => key(c, KeyModifiers::SHIFT),
                c => key(c, KeyModifiers::NONE),
            });
        }
        events
    }

    fn sort(answer: &mut Answer, text: &str) -> (Vec<Event>, Option<Background>) {
        let (mut typed, mut found) = (Vec::new(), None);
        for event in events(text) {
            match answer.sort(event) {
                EventClass::Typed(events) => typed.extend(events),
                EventClass::Kept => {}
                EventClass::Answered(background) => found = Some(background),
            }
        }
        typed.extend(answer.give_up());
        (typed, found)
    }

    #[test]
    fn an_answer_is_taken_out_of_what_was_typed() {
        let (dark, light) = (Some(Background::Dark), Some(Background::Light));
        let cases = [
            ("^]11;rgb:1e1e/1e1e/2e2e^\\", "", dark),
            ("^]11;rgb:FFFF/fdfd/f0f0!", "", light),
            ("^]11;rgba:ff/ff/ff/ff!", "", light),
            ("he^]11;rgb:f/f/f!llo", "hello", light),
            // In pieces, each of which begins with an escape.
            ("x~]11;rgb:00/00/00~\\y", "x~y", dark),
            // Malformed answers are not text either.
            ("a^]11;rgb:zz", "azz", None),
            ("a^]11;rgb:^\\b", "ab", None),
            // Possible typed input.
            ("^]", "^]", None),
            ("^]11", "^]11", None),
            ("^]12;", "^]12;", None),
            ("^]1^]11;rgb:0/0/0!", "^]1", dark),
            ("~]~]x", "~]~]x", None),
            ("]11;rgb:0/0/0", "]11;rgb:0/0/0", None),
        ];
        for (text, typed, found) in cases {
            let mut answer = Answer::default();
            answer.expect();
            assert_eq!(sort(&mut answer, text), (events(typed), found), "{text}");
        }
    }

    #[test]
    fn nothing_is_looked_for_before_the_question_and_after_the_answer() {
        let mut answer = Answer::default();
        let text = "^]11;rgb:0/0/0!";
        assert_eq!(sort(&mut answer, text), (events(text), None));
        answer.expect();
        sort(&mut answer, text);
        assert!(!answer.is_due());
        assert_eq!(sort(&mut answer, text), (events(text), None));
    }
}
