//! The keys of the transcript while it has them, and of the search in it.

use super::*;

#[rustfmt::skip]
pub(super) const ROWS: &[Binding] = &[
    on(Context::Transcript, Group::Read, Action::Select(SelectKey::Previous), &[Key::plain(Code::Up), Key::char('k')], "the block before"),
    on(Context::Transcript, Group::Read, Action::Select(SelectKey::Next), &[Key::plain(Code::Down), Key::char('j')], "the next block"),
    on(Context::Transcript, Group::Read, Action::Select(SelectKey::Fold), &[ENTER, Key::plain(Code::Char(' '))], "fold or show this one"),
    on(Context::Transcript, Group::Read, Action::Select(SelectKey::Copy), &[Key::char('y'), Key::char('c')], "copy this one"),
    on(Context::Transcript, Group::Read, Action::Select(SelectKey::Lines), &[Key::char('v')], "mark lines"),
    on(Context::Transcript, Group::Read, Action::Select(SelectKey::ExtendUp), &[Key::held(Mods::SHIFT, Code::Up)], ""),
    on(Context::Transcript, Group::Read, Action::Select(SelectKey::ExtendDown), &[Key::held(Mods::SHIFT, Code::Down)], ""),
    on(Context::Transcript, Group::Read, Action::Find(FindKey::Open), &[Key::char('/'), Key::ctrl('f')], "find"),

    on(Context::Find, Group::Read, Action::Find(FindKey::Next), &[ENTER, Key::plain(Code::Down)], ""),
    on(Context::Find, Group::Read, Action::Find(FindKey::Previous), &[ALT_ENTER, SHIFT_ENTER, Key::plain(Code::Up)], ""),
    on(Context::Find, Group::Read, Action::Find(FindKey::Tools), &[Key::alt('t')], "find: output too"),

    on(Context::Found, Group::Read, Action::Find(FindKey::Next), &[Key::char('n'), ENTER, Key::plain(Code::Down)], "next match"),
    on(Context::Found, Group::Read, Action::Find(FindKey::Previous), &[Key::char('N'), ALT_ENTER, SHIFT_ENTER, Key::plain(Code::Up)], "match before"),
    on(Context::Found, Group::Read, Action::Find(FindKey::Edit), &[Key::char('/'), Key::ctrl('f')], ""),
    on(Context::Found, Group::Read, Action::Find(FindKey::Tools), &[Key::alt('t')], ""),
];
