//! The keys of the completion popup; what it does not take goes on to the composer.

use super::*;

#[rustfmt::skip]
pub(super) const ROWS: &[Binding] = &[
    on(Context::Completion, Group::Write, Action::Complete(CompleteKey::Accept), &[Key::plain(Code::Tab)], "complete"),
    on(Context::Completion, Group::Write, Action::Complete(CompleteKey::Enter), &[ENTER], ""),
    on(Context::Completion, Group::Write, Action::Complete(CompleteKey::Previous), &[Key::plain(Code::Up), Key::ctrl('p')], ""),
    on(Context::Completion, Group::Write, Action::Complete(CompleteKey::Next), &[Key::plain(Code::Down), Key::ctrl('n')], ""),
];
