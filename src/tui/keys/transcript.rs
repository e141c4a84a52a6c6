//! The keys of the transcript while it has them, and of the search in it.

use super::*;

#[rustfmt::skip]
pub(super) const ROWS: &[Binding] = &[
    on(Context::Transcript, Group::Read, Action::Select(SelectKey::Previous), &[Key::plain(Code::Up), Key::char('k')], "the block before"),
    on(Context::Transcript, Group::Read, Action::Select(SelectKey::Next), &[Key::plain(Code::Down), Key::char('j')], "the next block"),
    on(Context::Transcript, Group::Read, Action::Select(SelectKey::Fold), &[ENTER, Key::plain(Code::Char(' '))], "fold or show this one"),
    on(Context::Transcript, Group::Read, Action::Select(SelectKey::Copy), &[Key::char('y'), Key::char('c')], "copy this one"),
    on(Context::Find, Group::Read, Action::Find(FindKey::Next), &[ENTER], ""),
];
