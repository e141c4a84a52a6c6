//! Converts terminal events to the model's input. Pure; called by the shell for every event.

use crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};

use crate::tui::key::{Code, Key, Mods};
use crate::tui::msg::{Input, Mouse, PointerEvent, Window};

/// Returns `None` for events without a meaning here, so that they wake nothing.
pub fn input(event: Event) -> Option<Input> {
    match event {
        Event::Key(event) => key(event).map(Input::Key),
        Event::Paste(text) => Some(Input::Paste(text)),
        // The signal reports this too, and its handler asks for the newest size: see `Shell::on_resize`.
        Event::Resize(..) => None,
        Event::FocusGained => Some(Input::Window(Window::Focused)),
        Event::FocusLost => Some(Input::Window(Window::Unfocused)),
        Event::Mouse(event) => mouse(event).map(Input::Mouse),
    }
}

/// Converts events of the left button and the wheel; other buttons, and moves without a button, are left to
/// the terminal.
fn mouse(event: MouseEvent) -> Option<Mouse> {
    let what = match event.kind {
        MouseEventKind::ScrollUp => PointerEvent::WheelUp,
        MouseEventKind::ScrollDown => PointerEvent::WheelDown,
        MouseEventKind::Down(MouseButton::Left) => PointerEvent::Press,
        MouseEventKind::Drag(MouseButton::Left) => PointerEvent::Drag,
        MouseEventKind::Up(MouseButton::Left) => PointerEvent::Release,
        _ => return None,
    };
    Some(Mouse { what, column: event.column, row: event.row })
}

fn key(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release
        || event.modifiers.intersects(KeyModifiers::SUPER | KeyModifiers::HYPER | KeyModifiers::META)
    {
        return None;
    }
    let mut mods = Mods::NONE;
    for (held, ours) in [
        (KeyModifiers::CONTROL, Mods::CTRL),
        (KeyModifiers::ALT, Mods::ALT),
        (KeyModifiers::SHIFT, Mods::SHIFT),
    ] {
        if event.modifiers.contains(held) {
            mods = mods.with(ours);
        }
    }
    let code = match event.code {
        KeyCode::Char(c) => {
            // The character includes Shift; with Ctrl the lower-case letter is used.
            mods = mods.without(Mods::SHIFT);
            let c = if mods.has(Mods::CTRL) { c.to_ascii_lowercase() } else { c };
            Code::Char(c)
        }
        KeyCode::Enter => Code::Enter,
        KeyCode::Tab => Code::Tab,
        KeyCode::BackTab => {
            mods = mods.with(Mods::SHIFT);
            Code::Tab
        }
        KeyCode::Esc => Code::Esc,
        KeyCode::Backspace => Code::Backspace,
        KeyCode::Delete => Code::Delete,
        KeyCode::Home => Code::Home,
        KeyCode::End => Code::End,
        KeyCode::Up => Code::Up,
        KeyCode::Down => Code::Down,
        KeyCode::Left => Code::Left,
        KeyCode::Right => Code::Right,
        KeyCode::PageUp => Code::PageUp,
        KeyCode::PageDown => Code::PageDown,
        KeyCode::F(number) => Code::F(number),
        _ => return None,
    };
    Some(Key { code, mods })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_wheel_and_the_left_button_are_heard() {
        let at = |kind| Event::Mouse(MouseEvent { kind, column: 3, row: 4, modifiers: KeyModifiers::NONE });
        let cases = [
            (MouseEventKind::ScrollUp, Some(PointerEvent::WheelUp)),
            (MouseEventKind::Drag(MouseButton::Left), Some(PointerEvent::Drag)),
            (MouseEventKind::Drag(MouseButton::Right), None),
            (MouseEventKind::Up(MouseButton::Middle), None),
            (MouseEventKind::Moved, None),
        ];
        for (kind, what) in cases {
            let wanted = what.map(|what| Input::Mouse(Mouse { what, column: 3, row: 4 }));
            assert_eq!(input(at(kind)), wanted, "{kind:?}");
        }
    }

    #[test]
    fn newline_chords_and_releases_of_the_kitty_protocol_come_right() {
        let pressed = |code, mods| Event::Key(KeyEvent::new(code, mods));
        let cases = [
            (KeyCode::Enter, KeyModifiers::SHIFT, Key::held(Mods::SHIFT, Code::Enter)),
            (KeyCode::Enter, KeyModifiers::CONTROL, Key::held(Mods::CTRL, Code::Enter)),
            (KeyCode::Enter, KeyModifiers::ALT, Key::held(Mods::ALT, Code::Enter)),
            (KeyCode::Char('J'), KeyModifiers::CONTROL | KeyModifiers::SHIFT, Key::ctrl('j')),
            (KeyCode::Char('É'), KeyModifiers::SHIFT, Key::char('É')),
            (KeyCode::BackTab, KeyModifiers::SHIFT, Key::held(Mods::SHIFT, Code::Tab)),
        ];
        for (code, mods, wanted) in cases {
            assert_eq!(input(pressed(code, mods)), Some(Input::Key(wanted)));
        }
        let mut release = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
        release.kind = KeyEventKind::Release;
        assert_eq!(input(Event::Key(release)), None);
    }
}
