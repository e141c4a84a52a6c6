//! Builds the escape sequences other than drawing: clipboard, title, notification, background colour.
//!
//! Pure: text in, bytes out. All text in a sequence is sanitized here. Called by the shell.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::host::{Call, Host, Multiplexer};
use crate::stdx::text::{sanitize_line, size, truncate};

/// The longest clipboard text in base64, in bytes: the smallest limit known of terminals with a clipboard.
const LONGEST_BASE64: usize = 74_994;

/// The same limit in bytes of text.
pub const LONGEST_COPY: usize = LONGEST_BASE64 / 4 * 3;

/// GNU screen passes on strings of at most 768 bytes, including its own delimiters.
const SCREEN_CHUNK: usize = 700;

/// The longest notification, in cells.
const LONGEST_CALL: usize = 80;

/// Asks for the background colour.
pub const ASK_BACKGROUND: &[u8] = b"\x1b]11;?\x1b\\";

/// Puts `text` into the terminal's clipboard (OSC 52). Returns `None` if it is too long for terminals to
/// take.
///
/// In tmux two sequences are sent, because each needs a different option: tmux itself takes the plain one
/// with `set-clipboard on` and hands it on; the wrapped one passes through tmux to the terminal with
/// `allow-passthrough on`. If an option is off, tmux drops that sequence; neither is ever printed. GNU screen
/// supports only the wrapped one, in pieces.
pub fn copy(text: &str, between: Multiplexer) -> Option<Vec<u8>> {
    if text.len() > LONGEST_COPY {
        return None;
    }
    let plain = format!("\x1b]52;c;{}\x07", STANDARD.encode(text)).into_bytes();
    Some(match between {
        Multiplexer::Nothing => plain,
        Multiplexer::Tmux => [through_tmux(&plain), plain].concat(),
        Multiplexer::Screen => through_screen(&plain),
    })
}

fn through_tmux(sequence: &[u8]) -> Vec<u8> {
    let mut wrapped = b"\x1bPtmux;".to_vec();
    for byte in sequence {
        if *byte == 0x1b {
            wrapped.push(0x1b);
        }
        wrapped.push(*byte);
    }
    wrapped.extend_from_slice(b"\x1b\\");
    wrapped
}

fn through_screen(sequence: &[u8]) -> Vec<u8> {
    let wrap = |piece: &[u8]| [b"\x1bP", piece, b"\x1b\\"].concat();
    sequence.chunks(SCREEN_CHUNK).flat_map(wrap).collect()
}

/// Describes the copy of a text of this many bytes, without claiming that it arrived.
pub fn copy_sentence(bytes: usize, host: Host) -> String {
    let size = size(bytes);
    match host.multiplexer {
        Multiplexer::Nothing => format!("sent to the terminal's clipboard ({size})"),
        Multiplexer::Tmux => format!("sent to tmux ({size}); needs `set-clipboard on`"),
        Multiplexer::Screen => format!("sent to the terminal's clipboard through screen ({size})"),
    }
}

/// Explains why a text of this many bytes was not copied and what to do; `mouse` is the key that hands the
/// mouse to the terminal, empty if there is none.
pub fn too_long(bytes: usize, mouse: &str) -> String {
    let (size, most) = (size(bytes), size(LONGEST_COPY));
    let instead = if mouse.is_empty() {
        String::new()
    } else {
        format!("  {mouse}, then mark with the terminal's mouse")
    };
    format!("not copied: {size}, terminals accept {most}{instead}")
}

/// Notifies the user. Empty if notifications are off.
pub fn call(words: &str, call: Call) -> Vec<u8> {
    // A semicolon separates the fields of the longer form.
    let words = truncate(&sanitize_line(words), LONGEST_CALL).replace(';', ",");
    match call {
        Call::Osc9 => format!("\x1b]9;{words}\x07").into_bytes(),
        Call::Osc777 => format!("\x1b]777;notify;co;{words}\x07").into_bytes(),
        Call::Bell => b"\x07".to_vec(),
        Call::Never => Vec::new(),
    }
}

/// Sets the window title.
pub fn title(words: &str) -> Vec<u8> {
    format!("\x1b]2;{}\x07", sanitize_line(words)).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_reaches_the_terminal_whatever_is_between() {
        assert_eq!(copy("hé", Multiplexer::Nothing).unwrap(), b"\x1b]52;c;aMOp\x07");
        assert_eq!(
            copy("hé", Multiplexer::Tmux).unwrap(),
            b"\x1bPtmux;\x1b\x1b]52;c;aMOp\x07\x1b\\\x1b]52;c;aMOp\x07"
        );
        let pieces = copy(&"x".repeat(1_000), Multiplexer::Screen).unwrap();
        let text = String::from_utf8(pieces).unwrap();
        assert!(text.split("\x1b\\").all(|piece| piece.len() <= SCREEN_CHUNK + 2));
        assert_eq!(text.replace("\x1bP", "").replace("\x1b\\", "").len(), 7 + 1_336 + 1);
    }

    #[test]
    fn a_copy_is_as_long_as_terminals_take_it() {
        let most = copy(&"x".repeat(LONGEST_COPY), Multiplexer::Nothing).unwrap();
        assert!(most.len() <= LONGEST_BASE64 + 8);
        assert_eq!(copy(&"x".repeat(LONGEST_COPY + 1), Multiplexer::Nothing), None);
        let words = "not copied: 80 kB, terminals accept 56 kB";
        assert_eq!(too_long(80_000, "Alt+M"), format!("{words}  Alt+M, then mark with the terminal's mouse"));
        assert_eq!(too_long(80_000, ""), words);
    }

    #[test]
    fn words_in_sequences_are_harmless() {
        assert_eq!(call("a;b\x1b\\\x07c", Call::Osc777), "\x1b]777;notify;co;a,b␛\\␇c\x07".as_bytes());
        assert_eq!(call("x", Call::Bell), b"\x07");
        assert_eq!(call("x", Call::Never), b"");
        assert_eq!(title("co\x07 2"), "\x1b]2;co␇ 2\x07".as_bytes());
    }
}
