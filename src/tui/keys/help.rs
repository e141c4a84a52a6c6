//! The keys of the list of keys.

use super::*;

#[rustfmt::skip]
pub(super) const ROWS: &[Binding] = &[
    on(Context::Help, Group::Read, Action::Escape, &[ESC, Key::char('?'), Key::char('q'), Key::ctrl('c')], ""),
    on(Context::Help, Group::Read, Action::Scroll(Scroll::LineUp), &[Key::plain(Code::Up), Key::char('k')], ""),
    on(Context::Help, Group::Read, Action::Scroll(Scroll::LineDown), &[Key::plain(Code::Down), Key::char('j')], ""),
];
