//! The keys of the form in which arguments are edited.

use super::*;

#[rustfmt::skip]
pub(super) const ROWS: &[Binding] = &[
    on(Context::Form, Group::Decide, Action::Form(FormKey::NextField), &[Key::plain(Code::Tab), Key::plain(Code::Down)], "next field"),
    on(Context::Form, Group::Decide, Action::Form(FormKey::PreviousField), &[Key::held(Mods::SHIFT, Code::Tab), Key::plain(Code::Up)], ""),
    on(Context::Form, Group::Decide, Action::Form(FormKey::ResetField), &[Key::ctrl('r')], "reset the field"),
    on(Context::Form, Group::Decide, Action::Form(FormKey::Raw), &[Key::plain(Code::F(2))], "raw JSON, and back"),
];
