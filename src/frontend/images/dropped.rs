//! Recognizes pasted text that is only paths: terminals paste dropped files as text, in different ways.
//!
//! Pure: the caller checks whether such files exist.

/// The longest text that is taken for paths, in bytes.
const LONGEST: usize = 16 * 1024;
/// More than can be sent, so that an excess is reported.
const MOST: usize = 40;

/// Returns the lists of paths that a text may mean, the likeliest first; none if it is something else.
pub fn path_lists(text: &str) -> Vec<Vec<String>> {
    // Terminals send `\r` between the lines of a paste.
    let text = text.trim().replace("\r\n", "\n").replace('\r', "\n");
    if text.is_empty() || text.len() > LONGEST {
        return Vec::new();
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    // One path per line, with unescaped spaces.
    let plain: Option<Vec<String>> = lines.map(one).collect();
    // A shell leaves out what follows `#`.
    let marks = |text: &str| text.matches('#').count();
    let words = shlex::split(&text).filter(|words| marks(&words.concat()) == marks(&text));
    let words: Option<Vec<String>> = words.and_then(|words| words.iter().map(|word| one(word)).collect());
    let mut found: Vec<Vec<String>> = Vec::new();
    for paths in [plain, words].into_iter().flatten() {
        if paths.len() <= MOST && !found.contains(&paths) {
            found.push(paths);
        }
    }
    found
}

/// Returns the text as a path if it looks like one: it has a slash or a dot.
fn one(text: &str) -> Option<String> {
    let path = match text.strip_prefix("file://") {
        Some(url) => decode_percent(url.split_at(url.find('/')?).1)?,
        None => text.to_owned(),
    };
    let sound = path.contains(['/', '.']) && !path.contains(|c: char| c == '"' || c.is_control());
    sound.then_some(path)
}

/// Decodes the percent escapes of a URL.
fn decode_percent(url: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = url.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_write_dropped_files_in_many_ways() {
        let cases: &[(&str, &[&[&str]])] = &[
            ("", &[]),
            ("hello", &[]),
            ("hello there. Bye", &[&["hello there. Bye"]]),
            ("/a/x.png", &[&["/a/x.png"]]),
            ("  x.png\n", &[&["x.png"]]),
            ("/a/my x.png", &[&["/a/my x.png"], &["/a/my", "x.png"]]),
            ("/a/my\\ x.png ", &[&["/a/my\\ x.png"], &["/a/my x.png"]]),
            ("'/a/my x.png'", &[&["'/a/my x.png'"], &["/a/my x.png"]]),
            ("\"/a/my x.png\" /b.gif", &[&["/a/my x.png", "/b.gif"]]),
            ("/a.png\r/b.png", &[&["/a.png", "/b.png"]]),
            ("/a.png #1.png", &[&["/a.png #1.png"]]),
            ("'/a/my #1.png'", &[&["'/a/my #1.png'"], &["/a/my #1.png"]]),
            ("/a.png\n/b c.png", &[&["/a.png", "/b c.png"], &["/a.png", "/b", "c.png"]]),
            ("file:///a/my%20x.png", &[&["/a/my x.png"]]),
            ("file://localhost/a%C3%BC.png", &[&["/aü.png"]]),
            ("file:///a%2", &[]),
            ("'/it''s.png'", &[&["'/it''s.png'"], &["/its.png"]]),
            ("it's /a.png", &[&["it's /a.png"]]),
            ("/a.png\u{7}", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(&path_lists(text), expected, "{text:?}");
        }
        assert!(path_lists(&"/a.png ".repeat(5_000)).is_empty());
    }
}
