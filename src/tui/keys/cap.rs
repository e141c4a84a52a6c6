//! The keys of the question at a cap.

use super::{Action, Binding, CapKey, Context, Group, Key, on};

#[rustfmt::skip]
pub(super) const ROWS: &[Binding] = &[
    on(Context::Cap, Group::Decide, Action::Cap(CapKey::GoOn), &[Key::char('g')], "over a cap, once"),
    on(Context::Cap, Group::Decide, Action::Cap(CapKey::Raise), &[Key::char('r')], "raise a cap"),
    on(Context::Cap, Group::Decide, Action::Cap(CapKey::Stop), &[Key::char('s')], "stop at a cap"),
];
