//! The form for a service's address and its key, a secret that is never shown.
//!
//! The key is never in an editor: no undo, no kill ring, no history and no draft contains it, and it has no `Debug`
//! form. The owner tries and stores what is entered. Only the length of the key is drawn.

use std::fmt;

use super::{Panel, PanelContext, PanelEffect, PanelState, Picker, Purpose, Screen};
use crate::config::{Secret, checked_url};
use crate::frontend::protocol::{
    ClientRequest, Consent, Credentials, HAS_KEY, LoginFailure, LoginNeed, ServerMessage, ServiceLine,
};
use crate::stdx::text::sanitize_line;
use crate::tui::bordered_box::BorderedBox;
use crate::tui::composer::{Editor, Rows};
use crate::tui::keys::{
    Action, Context, ContextRow, HelpGroup, Keymap, Letters, Nav, Section, StatusHint, TextEdit, at, row,
};
use crate::tui::line::{Line, Margin, Span, wrap_spans};
use crate::tui::theme::Role;

/// Most characters of a key.
const LONGEST: usize = 8 * 1024;

/// Cells of a field's name.
const NAME: usize = 10;

/// Cells before a field: the edge and a space.
const INSET: usize = 2;

/// Most stars drawn, so that the length of a long key is not shown.
const STARS: usize = 24;

const CONTEXT: Context = Context::Panel(&ContextRow::new(
    "login",
    "while setting up a service",
    Letters::AreText,
    &[Context::Text, Context::Global],
));

/// Goes to the next field; after the last one tries the service.
const NEXT: Action = Action::Panel("next");
const TURN: Action = Action::Panel("turn");

pub const KEYS: &[Section] = &[at(CONTEXT, HelpGroup::Work).rows(&[
    row("next", NEXT, "Enter", ""),
    row("turn", TURN, "Tab Shift+Tab Up Down", "login: other field"),
    row("escape", Action::Escape, "Esc Ctrl+C Ctrl+G", "").way_out(),
])];

const LOGIN: &[StatusHint] =
    &[(CONTEXT, &[NEXT], " continue"), (Context::Global, &[Action::Escape], " back")];
const TRYING: &[StatusHint] = &[(Context::Global, &[Action::Escape], " back")];

/// The form of one service.
#[derive(Debug, Clone, PartialEq)]
pub struct Login {
    service: ServiceLine,
    stage: LoginStage,
    address: Editor,
    key: MaskedKey,
    /// Why the last try failed.
    trouble: Option<String>,
    /// The list it was picked from.
    list: Box<Picker>,
}

/// The current step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoginStage {
    Address,
    Key,
    /// The owner tries it.
    Trying,
    /// The key would be sent unencrypted: the user must agree first.
    Consent,
}

/// A key being typed.
#[derive(Clone, PartialEq, Default)]
struct MaskedKey(String);

impl fmt::Debug for MaskedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Masked(…)")
    }
}

impl MaskedKey {
    fn push(&mut self, c: char) {
        if self.0.len() < LONGEST && !c.is_whitespace() && !c.is_control() {
            self.0.push(c);
        }
    }

    /// Inserts the first line of a paste.
    fn paste(&mut self, text: &str) {
        text.trim().lines().next().unwrap_or_default().chars().for_each(|c| self.push(c));
    }

    /// Returns the number of characters.
    fn count(&self) -> usize {
        self.0.chars().count()
    }

    /// Returns the key for the owner. It stays here until the owner reports the result.
    fn secret(&self) -> Option<Secret> {
        (!self.0.is_empty()).then(|| Secret::new(self.0.clone()))
    }
}

impl PanelState for Login {
    fn context(&self) -> Context {
        CONTEXT
    }

    fn on_open(&mut self, cx: &mut PanelContext<'_>) {
        if self.stage == LoginStage::Trying {
            self.send(Consent::NotAsked, cx);
        }
    }

    fn act(&mut self, action: Action, cx: &mut PanelContext<'_>) -> Option<PanelEffect> {
        match action {
            Action::Escape => return Some(PanelEffect::Replace(Panel::Pick(self.list.clone()))),
            NEXT => self.go_on(cx),
            TURN => self.turn(),
            Action::Edit(edit) => self.edit(edit),
            Action::Move(to) if self.stage == LoginStage::Address => {
                self.address.step(to, cx.screen.columns);
            }
            Action::Move(_) => {}
            _ => return None,
        }
        Some(PanelEffect::Stay)
    }

    fn on_char(&mut self, c: char, cx: &mut PanelContext<'_>) {
        match self.stage {
            LoginStage::Key => self.key.push(c),
            LoginStage::Address => self.address.insert(c.encode_utf8(&mut [0; 4])),
            LoginStage::Consent if c == 'y' => self.send(Consent::Given, cx),
            LoginStage::Trying | LoginStage::Consent => {}
        }
    }

    fn paste(&mut self, text: &str, _cx: &mut PanelContext<'_>) {
        match self.stage {
            LoginStage::Key => self.key.paste(text),
            LoginStage::Address => self.address.insert(text.trim().lines().next().unwrap_or_default()),
            LoginStage::Trying | LoginStage::Consent => {}
        }
    }

    fn tell(&mut self, message: ServerMessage, _cx: &mut PanelContext<'_>) -> PanelEffect {
        let ServerMessage::LoginTried { service, outcome } = message else { return PanelEffect::Stay };
        if self.service.name != service || self.stage != LoginStage::Trying {
            return PanelEffect::Stay;
        }
        match outcome {
            Ok(models) => {
                let pick = Picker::models(models, Purpose::Keep { service });
                return PanelEffect::Replace(Panel::Pick(Box::new(pick)));
            }
            Err(LoginFailure::Unencrypted(warning)) => {
                self.trouble = Some(warning);
                self.stage = LoginStage::Consent;
            }
            Err(LoginFailure::Failed(trouble)) => {
                self.key.0.clear();
                self.stage = match (self.has_address(), self.has_key()) {
                    (_, true) => LoginStage::Key,
                    (true, false) => LoginStage::Address,
                    (false, false) => {
                        // There is nothing to enter: the error is shown in the list.
                        let list = Picker { trouble: Some(trouble), ..(*self.list).clone() };
                        return PanelEffect::Replace(Panel::Pick(Box::new(list)));
                    }
                };
                self.trouble = Some(trouble);
            }
        }
        PanelEffect::Stay
    }

    fn wheel(&self, _step: Nav, _line: Nav) -> Vec<Nav> {
        Vec::new()
    }

    fn draw(&self, screen: &Screen<'_>) -> Vec<Line> {
        let title = Line::of(format!("set up {}", self.service.title), Role::Heading);
        let mut boxed = BorderedBox::new(screen.context.glyphs, screen.columns, title, Line::new());
        let room = boxed.room();
        let mut inner = vec![Line::new()];
        if self.has_address() {
            inner.push(field("Address", self.stage == LoginStage::Address).joined(self.address_line(room)));
        }
        if self.has_key() {
            inner.push(field("Key", self.stage == LoginStage::Key).joined(self.key_line()));
        }
        inner.push(Line::new());
        let (words, role) = match (&self.trouble, self.stage) {
            (_, LoginStage::Trying) => {
                (format!("Testing {} with a small request…", self.service.title), Role::Dim)
            }
            (Some(trouble), _) => (trouble.clone(), Role::Fail),
            (None, LoginStage::Address | LoginStage::Key | LoginStage::Consent) => (self.about(), Role::Dim),
        };
        inner.extend(wrap_spans(&[Span::new(words, role)], room, &Margin::default()));
        if let Some(url) = self.service.keys_url.filter(|_| self.has_key()) {
            let made = Span::new(format!("Keys are made at {url}"), Role::Dim);
            inner.extend(wrap_spans(&[made], room, &Margin::default()));
        }
        let body = screen.rows.saturating_sub(2);
        inner.truncate(body);
        inner.resize(body, Line::new());
        inner.into_iter().for_each(|line| boxed.push(line));
        boxed.end(Line::of(self.keys(screen.keymap), Role::Dim), Line::new())
    }

    fn cursor(&self, screen: &Screen<'_>) -> Option<(usize, usize)> {
        let room = screen.columns.saturating_sub(4 + NAME + 1);
        let row = 2;
        match self.stage {
            LoginStage::Address => Some((row, INSET + NAME + Rows::of(&self.address, room).cursor.column)),
            LoginStage::Key => {
                let row = row + usize::from(self.has_address());
                Some((row, INSET + NAME + self.key.count().min(STARS)))
            }
            LoginStage::Trying | LoginStage::Consent => None,
        }
    }

    fn hints(&self, keymap: &Keymap) -> String {
        match self.stage {
            LoginStage::Address | LoginStage::Key => keymap.status(LOGIN),
            LoginStage::Trying => keymap.status(TRYING),
            LoginStage::Consent => format!("y send unencrypted  {}", keymap.status(TRYING)),
        }
    }

    fn title(&self) -> Option<&'static str> {
        Some("setting up a service")
    }
}

impl Login {
    /// Creates the form of a service that was picked from a list.
    pub fn new(service: ServiceLine, list: Box<Picker>) -> Self {
        let stage = match (service.address, service.key) {
            (LoginNeed::Needed, _) => LoginStage::Address,
            (_, LoginNeed::Needed | LoginNeed::Optional) => LoginStage::Key,
            (_, LoginNeed::Known) => LoginStage::Trying,
        };
        Self { service, stage, address: Editor::default(), key: MaskedKey::default(), trouble: None, list }
    }

    /// Whether the form asks for an address.
    pub fn has_address(&self) -> bool {
        self.service.address == LoginNeed::Needed
    }

    /// Whether the form asks for a key.
    pub fn has_key(&self) -> bool {
        self.service.key != LoginNeed::Known
    }

    /// Goes on from the field, or tries the service.
    fn go_on(&mut self, cx: &mut PanelContext<'_>) {
        match self.stage {
            // The consent has a key of its own.
            LoginStage::Trying | LoginStage::Consent => {}
            LoginStage::Address | LoginStage::Key if self.wrong_address().is_some() => {
                self.trouble = self.wrong_address();
                self.stage = LoginStage::Address;
            }
            LoginStage::Address if self.has_key() => {
                self.trouble = None;
                self.stage = LoginStage::Key;
            }
            LoginStage::Key if self.key.0.is_empty() && self.service.key == LoginNeed::Needed => {
                self.trouble = Some("A key is needed; paste it here.".to_owned());
            }
            LoginStage::Address | LoginStage::Key => self.send(Consent::NotAsked, cx),
        }
    }

    fn turn(&mut self) {
        match self.stage {
            LoginStage::Address if self.has_key() => self.stage = LoginStage::Key,
            LoginStage::Key if self.has_address() => self.stage = LoginStage::Address,
            LoginStage::Address | LoginStage::Key | LoginStage::Trying | LoginStage::Consent => {}
        }
    }

    /// Returns what is wrong with the address. It is checked before the key is sent, because the key would be lost.
    fn wrong_address(&self) -> Option<String> {
        if !self.has_address() {
            return None;
        }
        let address = self.address.text();
        if address.trim().is_empty() {
            return Some("An address is needed, e.g. http://localhost:8000/v1.".to_owned());
        }
        checked_url(&address).err().map(|wrong| format!("The address is {wrong}."))
    }

    /// Sends the input to the owner.
    fn send(&mut self, unencrypted: Consent, cx: &mut PanelContext<'_>) {
        self.stage = LoginStage::Trying;
        self.trouble = None;
        let base_url = self.has_address().then(|| self.address.text().trim().to_owned());
        let service = self.service.name.clone();
        cx.send(ClientRequest::Login(Credentials { service, base_url, key: self.key.secret(), unencrypted }));
    }

    fn edit(&mut self, edit: TextEdit) {
        match (self.stage, edit) {
            (LoginStage::Address, _) => self.address.edit(edit),
            (LoginStage::Key, TextEdit::Backspace) => drop(self.key.0.pop()),
            (LoginStage::Key, TextEdit::KillToStart | TextEdit::KillWordBack | TextEdit::KillPartBack) => {
                self.key.0.clear();
            }
            (LoginStage::Key | LoginStage::Trying | LoginStage::Consent, _) => {}
        }
    }

    fn about(&self) -> String {
        let advice = if self.stage == LoginStage::Address {
            "The API address from its documentation, e.g. http://localhost:8000/v1."
        } else if self.has_key() {
            "The key is not shown. It is tested with a small request, then saved in a file that only you can read."
        } else {
            "It is tested with a small request."
        };
        match self.service.note.as_str() {
            HAS_KEY if self.has_key() => {
                format!("A key is set: enter another, or leave it empty to try it. {advice}")
            }
            _ => advice.to_owned(),
        }
    }

    fn keys(&self, keymap: &Keymap) -> String {
        let next = keymap.key_label(CONTEXT, NEXT);
        let turn = keymap.key_label(CONTEXT, TURN);
        let back = keymap.key_label(Context::Global, Action::Escape);
        match self.stage {
            LoginStage::Trying => format!("{back} back"),
            LoginStage::Consent => format!("y send anyway · {back} back"),
            LoginStage::Address | LoginStage::Key if self.has_address() && self.has_key() => {
                format!("{next} continue · {turn} other field · {back} back")
            }
            LoginStage::Address | LoginStage::Key => format!("{next} continue · {back} back"),
        }
    }

    fn address_line(&self, room: usize) -> Line {
        let room = room.saturating_sub(NAME + 1);
        if self.stage != LoginStage::Address {
            return Line::of(sanitize_line(&self.address.text()), Role::Text).cut(room);
        }
        let shown = Rows::of(&self.address, room);
        shown.line(&self.address, shown.cursor.row)
    }

    fn key_line(&self) -> Line {
        if self.stage == LoginStage::Trying {
            return Line::new();
        }
        Line::of("*".repeat(self.key.count().min(STARS)), Role::Text)
    }
}

fn field(name: &str, has_keys: bool) -> Line {
    let role = if has_keys { Role::Key } else { Role::Dim };
    Line::of(format!("{name:<NAME$}"), role)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_masked_key_shows_in_no_form() {
        let mut key = MaskedKey::default();
        key.paste("  hunter2-key\nrest\n");
        key.push(' ');
        key.push('x');
        key.0.pop();
        assert_eq!((key.count(), format!("{key:?}").as_str()), (11, "Masked(…)"));
        let (service, key) = ("groq".to_owned(), key.secret());
        assert_eq!(key.as_ref().map(Secret::expose), Some("hunter2-key"));
        let entered = Credentials { service, base_url: None, key, unencrypted: Consent::NotAsked };
        assert!(!format!("{entered:?}").contains("hunter2"));
    }
}
