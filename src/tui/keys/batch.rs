//! The keys of several requests shown as one list.

use super::{Action, BatchKey, Binding, Code, Context, ENTER, Group, Key, on};

#[rustfmt::skip]
pub(super) const ROWS: &[Binding] = &[
    on(Context::Batch, Group::Decide, Action::Batch(BatchKey::Previous), &[Key::plain(Code::Up)], ""),
    on(Context::Batch, Group::Decide, Action::Batch(BatchKey::Next), &[Key::plain(Code::Down)], ""),
    on(Context::Batch, Group::Decide, Action::Batch(BatchKey::Mark), &[Key::plain(Code::Char(' '))], "mark, unmark"),
    on(Context::Batch, Group::Decide, Action::Batch(BatchKey::MarkLow), &[Key::char('a')], "mark what is LOW"),
    on(Context::Batch, Group::Decide, Action::Batch(BatchKey::Open), &[ENTER], "open one of a list"),
    on(Context::Batch, Group::Decide, Action::Batch(BatchKey::Edit), &[Key::char('e')], ""),
    on(Context::Batch, Group::Decide, Action::Batch(BatchKey::Rule), &[Key::char('r')], ""),
    on(Context::Batch, Group::Decide, Action::Batch(BatchKey::Yes), &[Key::char('y')], ""),
    on(Context::Batch, Group::Decide, Action::Batch(BatchKey::No), &[Key::char('n')], ""),
    on(Context::Batch, Group::Decide, Action::Batch(BatchKey::Whole), &[Key::char('v')], ""),
    on(Context::Batch, Group::Decide, Action::Batch(BatchKey::Why), &[Key::char('w')], ""),
];
