//! Front matter: lines of data between two lines `---` at the beginning of a Markdown file.

/// Splits a text into its front matter, without the lines around it, and the rest. A first line `---` without a second
/// one begins no front matter.
#[must_use]
pub fn front_matter(text: &str) -> (Option<&str>, &str) {
    let nothing = (None, text);
    let Some((first, rest)) = text.split_once('\n') else { return nothing };
    if first.trim_end() != "---" {
        return nothing;
    }
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        let end = at + line.len();
        if line.trim_end() == "---" {
            return (rest.get(..at), rest.get(end..).unwrap_or_default());
        }
        at = end;
    }
    nothing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_is_split_off() {
        for (text, expected) in [
            ("", (None, "")),
            ("a", (None, "a")),
            ("---", (None, "---")),
            ("---\na: 1\n---\nbody\n", (Some("a: 1\n"), "body\n")),
            ("---\r\na: 1\r\n---\r\nbody", (Some("a: 1\r\n"), "body")),
            ("---\n---", (Some(""), "")),
            ("---\na: 1\n", (None, "---\na: 1\n")),
            ("\n---\na: 1\n---\n", (None, "\n---\na: 1\n---\n")),
            ("--- x\na\n---\n", (None, "--- x\na\n---\n")),
        ] {
            assert_eq!(front_matter(text), expected, "{text:?}");
        }
    }
}
