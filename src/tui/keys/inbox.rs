//! The keys of the inbox, and of its filter.

use super::*;

impl InboxKey {
    /// Whether it decides something, or begins to: such a key does nothing in the first moment.
    pub fn decides(self) -> bool {
        match self {
            Self::Yes | Self::No | Self::Later | Self::Mark | Self::MarkLow | Self::Resume | Self::Go => true,
            Self::Previous
            | Self::Next
            | Self::Open
            | Self::All
            | Self::Why
            | Self::Filter
            | Self::Filtered
            | Self::Narrow => false,
        }
    }
}

#[rustfmt::skip]
pub(super) const ROWS: &[Binding] = &[
    on(Context::Inbox, Group::Decide, Action::Inbox(InboxKey::Previous), &[Key::plain(Code::Up)], ""),
    on(Context::Inbox, Group::Decide, Action::Inbox(InboxKey::Next), &[Key::plain(Code::Down)], ""),
    on(Context::Inbox, Group::Decide, Action::Inbox(InboxKey::Mark), &[Key::plain(Code::Char(' '))], ""),
    on(Context::Inbox, Group::Decide, Action::Inbox(InboxKey::MarkLow), &[Key::char('a')], ""),
    on(Context::Inbox, Group::Decide, Action::Inbox(InboxKey::Yes), &[Key::char('y')], ""),
    on(Context::Inbox, Group::Decide, Action::Inbox(InboxKey::No), &[Key::char('n')], ""),
    on(Context::Inbox, Group::Decide, Action::Inbox(InboxKey::Later), &[Key::char('l')], "inbox: for later"),
    on(Context::Inbox, Group::Decide, Action::Inbox(InboxKey::Open), &[ENTER, Key::char('e')], ""),
    on(Context::Inbox, Group::Decide, Action::Inbox(InboxKey::All), &[Key::char('v')], ""),
    on(Context::Inbox, Group::Decide, Action::Inbox(InboxKey::Why), &[Key::char('w')], ""),
    on(Context::Inbox, Group::Decide, Action::Inbox(InboxKey::Resume), &[Key::char('R')], "inbox: resume it now"),
    on(Context::Inbox, Group::Decide, Action::Inbox(InboxKey::Go), &[Key::char('o')], "inbox: open session"),
    on(Context::Inbox, Group::Decide, Action::Inbox(InboxKey::Filter), &[Key::char('/')], "inbox: filter"),
    on(Context::Inbox, Group::Decide, Action::Inbox(InboxKey::Narrow), &[Key::plain(Code::Tab)], "inbox: one session"),

    on(Context::InboxFilter, Group::Decide, Action::Inbox(InboxKey::Filtered), &[ENTER], ""),
    on(Context::InboxFilter, Group::Decide, Action::Inbox(InboxKey::Previous), &[Key::plain(Code::Up)], ""),
    on(Context::InboxFilter, Group::Decide, Action::Inbox(InboxKey::Next), &[Key::plain(Code::Down)], ""),
    on(Context::InboxFilter, Group::Decide, Action::Inbox(InboxKey::Narrow), &[Key::plain(Code::Tab)], ""),
];
