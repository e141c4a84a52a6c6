//! The keys of a card that has them, of the reason of a no, and of arguments being edited.

use super::*;

#[rustfmt::skip]
pub(super) const ROWS: &[Binding] = &[
    on(Context::Card, Group::Decide, Action::Card(CardKey::Yes), &[Key::char('y')], "yes (HIGH: twice)"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::No), &[Key::char('n')], "no, with a reason"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Edit), &[Key::char('e')], "edit the arguments"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Always), &[Key::char('a')], "yes, this session"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Whole), &[Key::char('v')], "all, with arguments"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Why), &[Key::char('w')], "why it asks"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Previous), &[Key::plain(Code::Up)], "the card before"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Next), &[Key::plain(Code::Down)], "the next card"),

    on(Context::Reason, Group::Decide, Action::Card(CardKey::SendNo), &[ENTER], ""),

    on(Context::Arguments, Group::Decide, Action::Card(CardKey::ApproveEdited), &[Key::ctrl('s')], "approve the edited"),
    on(Context::Arguments, Group::Decide, Action::Change(Change::Newline), &[ENTER, SHIFT_ENTER, ALT_ENTER, Key::ctrl('j')], ""),
];
