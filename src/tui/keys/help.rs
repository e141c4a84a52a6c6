//! The keys of the list of keys; letters go to its filter.

use super::*;

#[rustfmt::skip]
pub(super) const ROWS: &[Binding] = &[
    on(Context::Help, Group::Read, Action::Escape, &[ESC, Key::char('?'), Key::ctrl('c')], ""),
    on(Context::Help, Group::Read, Action::InHelp(HelpKey::Previous), &[Key::plain(Code::Up), Key::ctrl('p')], ""),
    on(Context::Help, Group::Read, Action::InHelp(HelpKey::Next), &[Key::plain(Code::Down), Key::ctrl('n')], ""),
    on(Context::Help, Group::Read, Action::InHelp(HelpKey::Run), &[ENTER], ""),
    on(Context::Help, Group::Read, Action::InHelp(HelpKey::Erase), &[Key::plain(Code::Backspace), Key::ctrl('h')], ""),
    on(Context::Help, Group::Read, Action::InHelp(HelpKey::Clear), &[Key::ctrl('u')], ""),
];
