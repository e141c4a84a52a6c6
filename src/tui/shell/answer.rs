//! The terminal's answer to "which background?", picked out of what is typed.
//!
//! The terminal library knows no such answer and gives it as keys: Alt+], `1`, `1`, `;`, `rgb:…`, Alt+\. A terminal may
//! answer at once, late or never, so the keys of an answer are looked for as long as one is due. Nothing of it may
//! land in a text, and no key that was typed may get lost or out of order. Called by `ears`.
//!
//! The width of an ambiguous sign cannot be asked for in the same way: the library keeps the cursor's position to
//! itself and hands it out through a call that blocks all keys, for two seconds where there is no answer; other forms
//! of the question leave its parser waiting in the midst of a sequence. For such terminals there is the setting
//! `ascii`.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::tui::theme::Background;

/// How an answer begins; three further marks, and it can be nothing else.
const HEAD: &str = "11;";

/// Four hexadecimal digits a colour, `rgba:` and four slashes are the longest body.
const LONGEST_BODY: usize = 32;

/// Where in an answer the events are.
#[derive(Debug, Clone, PartialEq, Default)]
enum Place {
    /// No answer is due, or it came.
    #[default]
    Nowhere,
    Due,
    /// An Esc went by: where an answer comes in pieces, its first byte looks like that key.
    AfterEsc,
    /// As much of the head as came, and the events it came in.
    Head(String, Vec<Event>),
    Body(String),
    /// The first half of the end came.
    End(String),
}

/// What became of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Sorted {
    /// These were typed.
    Typed(Vec<Event>),
    /// It may be part of an answer, or is.
    Kept,
    Answered(Background),
}

/// An answer that is due, or is not.
#[derive(Debug, Default)]
pub struct Answer {
    place: Place,
}

impl Answer {
    /// The question was sent.
    pub fn expect(&mut self) {
        self.place = Place::Due;
    }

    pub fn is_due(&self) -> bool {
        self.place != Place::Nowhere
    }

    /// Whether events are held back that may have been typed; they are to be asked for with [`Answer::give_up`] soon.
    pub fn holds(&self) -> bool {
        matches!(self.place, Place::Head(..))
    }

    /// No more came: what is held was typed.
    pub fn give_up(&mut self) -> Vec<Event> {
        match std::mem::replace(&mut self.place, Place::Due) {
            Place::Head(_, held) => held,
            other @ (Place::Nowhere | Place::Due | Place::AfterEsc | Place::Body(_) | Place::End(_)) => {
                self.place = other;
                Vec::new()
            }
        }
    }

    pub fn sort(&mut self, event: Event) -> Sorted {
        match std::mem::take(&mut self.place) {
            Place::Nowhere => Sorted::Typed(vec![event]),
            Place::Due => self.first(event, KeyModifiers::ALT),
            Place::AfterEsc => self.first(event, KeyModifiers::NONE),
            Place::Head(head, held) => self.head(head, held, event),
            Place::Body(body) => self.body(body, event),
            Place::End(body) => match char_of(&event) {
                Some(('\\', KeyModifiers::NONE)) => self.answered(&body),
                _ => self.broken(event),
            },
        }
    }

    fn first(&mut self, event: Event, mods: KeyModifiers) -> Sorted {
        match char_of(&event) {
            Some((']', held)) if held == mods || held == KeyModifiers::ALT => {
                self.place = Place::Head(String::new(), vec![event]);
                Sorted::Kept
            }
            _ => {
                self.place = if is_esc(&event) { Place::AfterEsc } else { Place::Due };
                Sorted::Typed(vec![event])
            }
        }
    }

    fn head(&mut self, mut head: String, mut held: Vec<Event>, event: Event) -> Sorted {
        let next = HEAD.chars().nth(head.len());
        match char_of(&event) {
            Some((c, KeyModifiers::NONE)) if Some(c) == next => head.push(c),
            _ => {
                self.place = Place::Due;
                // The event may begin the answer itself.
                if let Sorted::Typed(events) = self.sort(event) {
                    held.extend(events);
                }
                return Sorted::Typed(held);
            }
        }
        held.push(event);
        self.place = if head == HEAD { Place::Body(String::new()) } else { Place::Head(head, held) };
        Sorted::Kept
    }

    fn body(&mut self, mut body: String, event: Event) -> Sorted {
        match char_of(&event) {
            Some(('\\', KeyModifiers::ALT) | ('g', KeyModifiers::CONTROL)) => return self.answered(&body),
            Some((c, KeyModifiers::NONE | KeyModifiers::SHIFT))
                if body.len() < LONGEST_BODY && (c.is_ascii_hexdigit() || "rgba:/".contains(c)) =>
            {
                body.push(c);
                self.place = Place::Body(body);
            }
            _ if is_esc(&event) => self.place = Place::End(body),
            _ => return self.broken(event),
        }
        Sorted::Kept
    }

    fn answered(&mut self, body: &str) -> Sorted {
        self.place = Place::Nowhere;
        background(body).map_or(Sorted::Kept, Sorted::Answered)
    }

    /// The answer broke off; what came of it is no text.
    fn broken(&mut self, event: Event) -> Sorted {
        self.place = Place::Nowhere;
        Sorted::Typed(vec![event])
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

/// Light or dark, from `rgb:1e1e/1e1e/2e2e` with one to four digits a colour.
fn background(body: &str) -> Option<Background> {
    let (_, colours) = body.split_once(':')?;
    let mut parts = colours.split('/').map(share);
    let (red, green, blue) = (parts.next()??, parts.next()??, parts.next()??);
    let brightness = 0.299 * red + 0.587 * green + 0.114 * blue;
    Some(if brightness > 0.5 { Background::Light } else { Background::Dark })
}

/// A colour's share of the most its digits can say.
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

    /// Events as the library makes them of these bytes: `^` is an escape that joins the next character, `~` one that
    /// came alone, `!` is the bell.
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
                Sorted::Typed(events) => typed.extend(events),
                Sorted::Kept => {}
                Sorted::Answered(background) => found = Some(background),
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
            // Nonsense is no text either.
            ("a^]11;rgb:zz", "azz", None),
            ("a^]11;rgb:^\\b", "ab", None),
            // What a person may type.
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
