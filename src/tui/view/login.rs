//! The form of a service that is set up. Of a key only its length is drawn.

use super::boxed::Boxed;
use crate::stdx::text::sanitize_line;
use crate::tui::composer::Rows;
use crate::tui::keys::{Action, Context, LoginKey};
use crate::tui::line::{Line, Margin, Span, wrap_spans};
use crate::tui::login::{Login, LoginStage};
use crate::tui::model::Model;
use crate::tui::theme::Role;

/// Cells of a field's name.
const NAME: usize = 10;

/// Before a field: the edge and a space.
const INSET: usize = 2;

/// Stars that are drawn at most: a key's length is nobody's business beyond them.
const STARS: usize = 24;

pub fn lines(model: &Model, login: &Login, rows: usize) -> Vec<Line> {
    let width = usize::from(model.columns);
    let title = Line::of(format!("set up {}", login.service.title), Role::Heading);
    let mut boxed = Boxed::new(model, width, title, Line::new());
    let room = boxed.room();
    let mut inner = vec![Line::new()];
    if login.has_address() {
        inner.push(field("Address", login.stage == LoginStage::Address).joined(address(login, room)));
    }
    if login.has_key() {
        inner.push(field("Key", login.stage == LoginStage::Key).joined(key(login)));
    }
    inner.push(Line::new());
    let (words, role) = match (&login.trouble, login.stage) {
        (_, LoginStage::Trying) => {
            (format!("Trying {} with one small request…", login.service.title), Role::Dim)
        }
        (Some(trouble), _) => (trouble.clone(), Role::Fail),
        (None, LoginStage::Address | LoginStage::Key | LoginStage::Consent) => {
            (about(login).to_owned(), Role::Dim)
        }
    };
    inner.extend(wrap_spans(&[Span::new(words, role)], room, &Margin::default()));
    let body = rows.saturating_sub(2);
    inner.truncate(body);
    inner.resize(body, Line::new());
    inner.into_iter().for_each(|line| boxed.push(line));
    boxed.end(Line::of(keys(model, login), Role::Dim), Line::new())
}

fn about(login: &Login) -> &'static str {
    if login.stage == LoginStage::Address {
        "The address of its API, as its documentation gives it, e.g. http://localhost:8000/v1."
    } else if login.has_key() {
        "The key is not shown. It is tried with one small request and then kept in a file that only you can read."
    } else {
        "It is tried with one small request."
    }
}

fn keys(model: &Model, login: &Login) -> String {
    let next = model.keymap.shown(Context::Login, Action::Login(LoginKey::Next));
    let turn = model.keymap.shown(Context::Login, Action::Login(LoginKey::Turn));
    let back = model.keymap.shown(Context::Global, Action::Escape);
    match login.stage {
        LoginStage::Trying => format!("{back} back"),
        LoginStage::Consent => format!("y sends it all the same · {back} back"),
        LoginStage::Address | LoginStage::Key if login.has_address() && login.has_key() => {
            format!("{next} goes on · {turn} the other field · {back} back")
        }
        LoginStage::Address | LoginStage::Key => format!("{next} goes on · {back} back"),
    }
}

fn field(name: &str, has_keys: bool) -> Line {
    let role = if has_keys { Role::Key } else { Role::Dim };
    Line::of(format!("{name:<NAME$}"), role)
}

fn address(login: &Login, room: usize) -> Line {
    let room = room.saturating_sub(NAME + 1);
    if login.stage != LoginStage::Address {
        return Line::of(sanitize_line(&login.address.text()), Role::Text).cut(room);
    }
    let shown = Rows::of(&login.address, room);
    shown.line(&login.address, shown.cursor.row)
}

fn key(login: &Login) -> Line {
    if login.stage == LoginStage::Trying {
        return Line::new();
    }
    Line::of("*".repeat(login.key.count().min(STARS)), Role::Text)
}

/// Where the cursor stands, from the pane's corner; `None` while nothing can be typed.
pub fn cursor(model: &Model, login: &Login) -> Option<(usize, usize)> {
    let room = usize::from(model.columns).saturating_sub(4 + NAME + 1);
    let row = 2;
    match login.stage {
        LoginStage::Address => Some((row, INSET + NAME + Rows::of(&login.address, room).cursor.column)),
        LoginStage::Key => {
            let row = row + usize::from(login.has_address());
            Some((row, INSET + NAME + login.key.count().min(STARS)))
        }
        LoginStage::Trying | LoginStage::Consent => None,
    }
}
