//! The keys of the form in which arguments are edited.

use super::*;

#[rustfmt::skip]
pub(super) const ROWS: &[Binding] = &[
    on(Context::Form, Group::Decide, Action::Form(FormKey::NextField), &[Key::plain(Code::Tab)], "next field"),
    on(Context::Form, Group::Decide, Action::Form(FormKey::PreviousField), &[Key::held(Mods::SHIFT, Code::Tab)], "the field before"),
    on(Context::Form, Group::Decide, Action::Form(FormKey::Enter), &[ENTER], ""),
    on(Context::Form, Group::Decide, Action::Form(FormKey::ResetField), &[Key::ctrl('r')], "reset the field"),
    on(Context::Form, Group::Decide, Action::Form(FormKey::Raw), &[Key::plain(Code::F(2))], "raw JSON, and back"),
    on(Context::Form, Group::Decide, Action::Card(CardKey::ApproveEdited), &[Key::ctrl('s')], ""),
    on(Context::Form, Group::Decide, Action::Change(Change::Newline), &[SHIFT_ENTER, ALT_ENTER, Key::ctrl('j')], ""),

    on(Context::Arguments, Group::Decide, Action::Form(FormKey::ResetField), &[Key::ctrl('r')], ""),
    on(Context::Arguments, Group::Decide, Action::Form(FormKey::Raw), &[Key::plain(Code::F(2))], ""),
];
