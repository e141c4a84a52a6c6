//! Whether a page can be converted without harm, and its plain text where it cannot: a conversion goes down a page by recursion, and a parser opens formatting
//! elements anew in each paragraph, so that a short page can become a very large tree. Pure; one pass over the bytes.

/// Elements that stand in each other, formatting elements that are open, and all elements.
const DEEPEST: usize = 400;
const MOST_FORMATTING: usize = 16;
const MOST_ELEMENTS: usize = 50_000;

/// Attributes and bytes of one tag; a parser compares each attribute with all before it.
const MOST_ATTRIBUTES: usize = 200;
const LONGEST_TAG: usize = 64 * 1024;

/// Elements without an end.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];

/// Elements that end others which are open, and these.
const ENDS: [(&str, &[&str]); 11] = [
    ("a", &["a"]),
    ("p", &["p"]),
    ("option", &["option"]),
    ("li", &["p", "li"]),
    ("dd", &["p", "dd", "dt"]),
    ("dt", &["p", "dd", "dt"]),
    ("td", &["p", "td", "th"]),
    ("th", &["p", "td", "th"]),
    ("tr", &["p", "td", "th", "tr"]),
    ("tbody", &["p", "td", "th", "tr", "tbody", "thead"]),
    ("thead", &["p", "td", "th", "tr", "tbody", "thead"]),
];

/// Elements that are opened again where a paragraph ended them.
const FORMATTING: [&str; 13] =
    ["b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];

/// Elements whose content is no markup.
const RAW: [&str; 6] = ["script", "style", "textarea", "title", "xmp", "iframe"];

/// Whether a page is within the bounds.
pub fn is_convertible(html: &str) -> bool {
    let mut shape = MarkupShape::default();
    let mut rest = html;
    while let Some((_, tag)) = rest.split_once('<') {
        let Some(after) = shape.take(tag) else { return false };
        rest = after;
    }
    true
}

#[derive(Default)]
struct MarkupShape {
    open: Vec<String>,
    formatting: usize,
    count: usize,
}

impl MarkupShape {
    /// Takes what follows a `<`; returns what is left. `None` if the page is beyond a bound.
    fn take<'a>(&mut self, tag: &'a str) -> Option<&'a str> {
        if let Some(comment) = tag.strip_prefix("!--") {
            return Some(comment.split_once("-->").map_or("", |(_, rest)| rest));
        }
        if let Some(end) = tag.strip_prefix('/') {
            self.ends(&name(end));
            return Some(end);
        }
        let name = name(tag);
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Some(tag);
        }
        let (attributes, rest) = tag_end(tag)?;
        self.count += 1;
        let is_closed =
            tag.len() > rest.len() + 1 && tag.as_bytes().get(tag.len() - rest.len() - 2) == Some(&b'/');
        let in_drawing = self.open.iter().any(|open| open == "svg" || open == "math");
        let has_no_end = VOID.contains(&name.as_str()) || is_closed && in_drawing;
        if !has_no_end {
            self.begins(&name);
        }
        let is_within = attributes <= MOST_ATTRIBUTES
            && self.count <= MOST_ELEMENTS
            && self.open.len() <= DEEPEST
            && self.formatting <= MOST_FORMATTING;
        if !is_within {
            return None;
        }
        if RAW.contains(&name.as_str()) {
            self.ends(&name);
            return Some(after_end(rest, &name));
        }
        Some(rest)
    }

    fn begins(&mut self, name: &str) {
        let ended = ENDS.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, ended)| *ended);
        while self.open.last().is_some_and(|top| ended.contains(&top.as_str())) {
            self.open.pop();
        }
        self.formatting += usize::from(FORMATTING.contains(&name));
        self.open.push(name.to_owned());
    }

    /// An end ends the nearest element of its name, with what is open in it; one of nothing ends nothing.
    fn ends(&mut self, name: &str) {
        if let Some(at) = self.open.iter().rposition(|open| open == name) {
            self.open.truncate(at);
            self.formatting -= usize::from(FORMATTING.contains(&name)).min(self.formatting);
        }
    }
}

/// Returns the name at the start of a tag, in lower case; at most as long as any known one.
fn name(tag: &str) -> String {
    tag.chars().take(24).take_while(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Returns the number of attributes of a tag, at least, and what follows the tag. `None` if it is too long.
fn tag_end(tag: &str) -> Option<(usize, &str)> {
    let (mut quote, mut attributes, mut was_space) = (None, 0, false);
    for (at, byte) in tag.bytes().enumerate() {
        if at > LONGEST_TAG {
            return None;
        }
        match (quote, byte) {
            (Some(open), byte) => quote = (byte != open).then_some(open),
            (None, b'>') => return tag.get(at + 1..).map(|rest| (attributes, rest)),
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, byte) => {
                let is_space = byte.is_ascii_whitespace() || byte == b'/';
                attributes += usize::from(was_space && !is_space);
                was_space = is_space;
                continue;
            }
        }
        was_space = false;
    }
    Some((attributes, ""))
}

/// Returns what follows the end of an element of this name.
fn after_end<'a>(text: &'a str, name: &str) -> &'a str {
    let is_end = |(at, _): &(usize, &str)| {
        text.get(at + 2..at + 2 + name.len()).is_some_and(|end| end.eq_ignore_ascii_case(name))
    };
    let rest = text.match_indices("</").find(is_end).and_then(|(at, _)| text.get(at..)).unwrap_or_default();
    rest.split_once('>').map_or("", |(_, rest)| rest)
}

/// Returns the text between the tags of a page, without scripts and styles.
pub fn plain(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        let skipped = ["script", "style"]
            .into_iter()
            .find(|name| tag.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)));
        rest = match skipped {
            Some(name) => after_end(tag, name),
            None => tag.split_once('>').map_or("", |(_, rest)| rest),
        };
        text.push(' ');
    }
    text.push_str(rest);
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_for_readers_pass_and_bombs_do_not() {
        let attributes: String = (0..900).map(|n| format!(" a{n}")).collect();
        let formatting: String = (0..100).map(|n| format!("<b id={n}>")).collect();
        let list = "<ul><li>one<li>two<li>three</ul>".repeat(500);
        let table = format!("<table>{}</table>", "<tr><td>a<td>b".repeat(2_000));
        let script =
            format!("<script>for (i=0; i<n; i++) {{ x<y }} {}</script><p>text</p>", "i<n;".repeat(60_000));
        let drawing = format!("<svg>{}</svg>", "<path d='M0'/>".repeat(500));
        for (html, expected) in [
            ("", true),
            ("plain text, 1 < 2", true),
            ("<p>one<p>two</p><br><img src=a><div class='a > b'>x</div>", true),
            (&"<p>x <b>y</b> <a href=z>t</a></p>".repeat(5_000), true),
            (&list, true),
            (&table, true),
            (&script, true),
            (&drawing, true),
            (&format!("<!-- {} --><p>x", "<div>".repeat(1_000)), true),
            (&"<div>".repeat(1_000), false),
            (&"<blockquote></z>".repeat(1_000), false),
            (&"<path><path/>".repeat(1_000), false),
            (&"<dd><li>".repeat(1_000), false),
            (&"<p>x</p>".repeat(60_000), false),
            (&format!("<p{attributes}>"), false),
            (&format!("<p a='{}'>", "x".repeat(100_000)), false),
            (&format!("{formatting}<p>x"), false),
            (&format!("<div>{}</div>", "<i><u>".repeat(9)), false),
        ] {
            let start: String = html.chars().take(40).collect();
            assert_eq!(is_convertible(html), expected, "{start}");
        }
    }
}
