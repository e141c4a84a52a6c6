//! The keys of a rule that is being written at a card.

use super::*;

#[rustfmt::skip]
pub(super) const ROWS: &[Binding] = &[
    on(Context::Rule, Group::Decide, Action::Rule(RuleKey::Save), &[Key::ctrl('s')], "save the rule, approve"),
    on(Context::Rule, Group::Decide, Action::Rule(RuleKey::Scope), &[Key::plain(Code::Tab)], "for how long it counts"),
    on(Context::Rule, Group::Decide, Action::Rule(RuleKey::Reset), &[Key::ctrl('r')], "the rule as drafted"),
    on(Context::Rule, Group::Decide, Action::Change(Change::Newline), &[ENTER, SHIFT_ENTER, ALT_ENTER, Key::ctrl('j')], ""),
];
