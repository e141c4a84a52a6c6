//! The keys of the form in which a service is set up.

use super::*;

#[rustfmt::skip]
pub(super) const ROWS: &[Binding] = &[
    on(Context::Login, Group::Work, Action::Login(LoginKey::Next), &[ENTER], ""),
    on(Context::Login, Group::Work, Action::Login(LoginKey::Turn), &[Key::plain(Code::Tab), Key::held(Mods::SHIFT, Code::Tab), Key::plain(Code::Up), Key::plain(Code::Down)], "login: other field"),
    on(Context::Login, Group::Work, Action::Escape, &[ESC, Key::ctrl('c'), Key::ctrl('g')], ""),
];
