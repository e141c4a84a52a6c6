//! The keys of lists to pick from: sessions, earlier lines.

use super::*;

#[rustfmt::skip]
pub(super) const ROWS: &[Binding] = &[
    on(Context::Pick, Group::Work, Action::Pick(PickKey::Previous), &[Key::plain(Code::Up), Key::ctrl('p')], ""),
    on(Context::Pick, Group::Work, Action::Pick(PickKey::Next), &[Key::plain(Code::Down), Key::ctrl('n'), Key::ctrl('r')], ""),
    on(Context::Pick, Group::Work, Action::Pick(PickKey::Narrow), &[Key::plain(Code::Tab), Key::ctrl('s')], "lists: folder or all"),
    on(Context::Pick, Group::Work, Action::Pick(PickKey::Accept), &[ENTER], ""),
    on(Context::Pick, Group::Work, Action::Escape, &[ESC, Key::ctrl('c'), Key::ctrl('g')], ""),
];
