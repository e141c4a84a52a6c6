//! The keys that work everywhere.

use super::*;

#[rustfmt::skip]
pub(super) const ROWS: &[Binding] = &[
    on(Context::Global, Group::Work, Action::Escape, &[ESC], "close, then interrupt"),
    on(Context::Global, Group::Work, Action::Interrupt, &[Key::ctrl('c')], "stop, clear; ×2 quits"),
    on(Context::Global, Group::Work, Action::Suspend, &[Key::ctrl('z')], "suspend"),
    on(Context::Global, Group::Work, Action::RetryNow, &[Key::alt('r')], "retry now"),
    on(Context::Global, Group::Work, Action::Redraw, &[Key::ctrl('l')], "redraw"),
    on(Context::Global, Group::Decide, Action::ToggleFocus, &[Key::plain(Code::Tab)], "keys to card, and back"),
    on(Context::Global, Group::Decide, Action::FocusCard, &[Key::alt('a')], "cards, then the inbox"),
    on(Context::Global, Group::Decide, Action::NextMode, &[SHIFT_TAB], "ask, auto, plan, dry…"),
    on(Context::Global, Group::Read, Action::Scroll(Scroll::PageUp), &[Key::plain(Code::PageUp)], "scroll up"),
    on(Context::Global, Group::Read, Action::Scroll(Scroll::PageDown), &[Key::plain(Code::PageDown)], "scroll down"),
    on(Context::Global, Group::Read, Action::Scroll(Scroll::LineUp), &[Key::held(Mods::CTRL, Code::Up), Key::held(Mods::SHIFT, Code::Up)], "a line up"),
    on(Context::Global, Group::Read, Action::Scroll(Scroll::LineDown), &[Key::held(Mods::CTRL, Code::Down), Key::held(Mods::SHIFT, Code::Down)], "a line down"),
    on(Context::Global, Group::Read, Action::Top, &[Key::held(Mods::CTRL, Code::Home)], "to the top"),
    on(Context::Global, Group::Read, Action::Bottom, &[Key::held(Mods::CTRL, Code::End)], "to the end, follow"),
    on(Context::Global, Group::Read, Action::FoldDetails, &[Key::ctrl('o')], "fold or show details"),
    on(Context::Global, Group::Read, Action::FoldThinking, &[Key::alt('t')], "fold or show thinking"),
    on(Context::Global, Group::Read, Action::TogglePanel, &[Key::ctrl('t')], "side panel"),
    on(Context::Global, Group::Read, Action::ToggleMouse, &[Key::alt('m')], "mouse: ours or theirs"),
];
