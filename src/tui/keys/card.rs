//! The keys of a card that has them, of the reason of a no, and of arguments being edited.

use super::*;

#[rustfmt::skip]
pub(super) const ROWS: &[Binding] = &[
    on(Context::Card, Group::Decide, Action::Card(CardKey::Yes), &[Key::char('y')], "yes (HIGH: twice)"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::No), &[Key::char('n')], "no, with a reason"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Edit), &[Key::char('e')], "edit the arguments"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Always), &[Key::char('a')], "yes, this session"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Rule), &[Key::char('r')], "a rule for such calls"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Whole), &[Key::char('v')], "all, with arguments"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Why), &[Key::char('w')], "why, and whose words"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Read), &[Key::ctrl('g')], "read it in $EDITOR"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Previous), &[Key::plain(Code::Up)], "the card before"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Next), &[Key::plain(Code::Down)], "the next card"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Hunk(1)), &[Key::char('1')], "to 9: skip that hunk"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Hunk(2)), &[Key::char('2')], ""),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Hunk(3)), &[Key::char('3')], ""),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Hunk(4)), &[Key::char('4')], ""),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Hunk(5)), &[Key::char('5')], ""),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Hunk(6)), &[Key::char('6')], ""),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Hunk(7)), &[Key::char('7')], ""),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Hunk(8)), &[Key::char('8')], ""),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Hunk(9)), &[Key::char('9')], ""),
    on(Context::Card, Group::Decide, Action::Card(CardKey::HunkHere), &[Key::char(' ')], "skip the hunk here"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::NextHunk), &[Key::char(']'), Key::held(Mods::ALT, Code::Down)], "the next hunk"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::PreviousHunk), &[Key::char('['), Key::held(Mods::ALT, Code::Up)], "the hunk before"),
    on(Context::Card, Group::Decide, Action::Card(CardKey::Sides), &[Key::char('s')], "side by side or not"),

    on(Context::Reason, Group::Decide, Action::Card(CardKey::SendNo), &[ENTER], ""),

    on(Context::Arguments, Group::Decide, Action::Card(CardKey::ApproveEdited), &[Key::ctrl('s')], "approve the edited"),
    on(Context::Arguments, Group::Decide, Action::Change(Change::Newline), &[ENTER, SHIFT_ENTER, ALT_ENTER, Key::ctrl('j')], ""),
];
