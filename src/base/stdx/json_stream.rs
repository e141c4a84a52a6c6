//! Reader of the string values of a JSON object that is still being streamed, for previews of tool arguments.
//!
//! It serves previews only and must never decide anything: arguments count once the provider has closed the
//! call and the whole text has parsed. It never fails and reads each character once. Called by the front ends
//! and the turn, which show what a call is about to write.

/// Reads the values of the given top-level string keys of one JSON object.
///
/// Strings below the top level, keys named inside string values, and a text that is not an object yield
/// nothing. If a key is repeated, the last value counts, as in a full parse.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StringReader {
    wanted: Vec<WantedField>,
    depth: usize,
    root: Root,
    /// At the top level: whether the next string is a key or a value.
    place: ParsePosition,
    key: String,
    text: Option<Text>,
    escape: Escape,
    is_closed: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct WantedField {
    key: String,
    value: Option<String>,
    complete: bool,
    /// How often a value began.
    begun: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum Root {
    #[default]
    NotBegun,
    Object,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum ParsePosition {
    #[default]
    Key,
    Value,
}

/// The destination of the characters of the string being read.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Text {
    Key,
    /// The value of `wanted[i]`.
    WantedField(usize),
    Ignored,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum Escape {
    #[default]
    None,
    Backslash {
        high: Option<u16>,
    },
    Hex {
        digits: u8,
        unit: u16,
        high: Option<u16>,
    },
    /// A high surrogate was read; its low half must follow as the next escape.
    HighSurrogate(u16),
}

impl StringReader {
    /// Returns a reader of the values of `keys`.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a str>) -> Self {
        let wanted = |key: &str| WantedField { key: key.to_owned(), value: None, complete: false, begun: 0 };
        Self { wanted: keys.into_iter().map(wanted).collect(), ..Self::default() }
    }

    /// Takes the next fragment of the object's text. It may end anywhere, even inside an escape.
    pub fn feed(&mut self, fragment: &str) {
        for c in fragment.chars() {
            match self.text {
                Some(text) => self.in_string(text, c),
                None => self.in_structure(c),
            }
        }
    }

    /// Returns the decoded part of the value of `key`: `None` before its opening quote and for other keys.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.wanted.iter().find(|wanted| wanted.key == key)?.value.as_deref()
    }

    /// Whether the closing quote of the value of `key` was read.
    #[must_use]
    pub fn is_complete(&self, key: &str) -> bool {
        self.wanted.iter().any(|wanted| wanted.key == key && wanted.complete)
    }

    /// Returns how often a string value of `key` began: more than once if the key is repeated.
    #[must_use]
    pub fn times_begun(&self, key: &str) -> usize {
        self.wanted.iter().find(|wanted| wanted.key == key).map_or(0, |wanted| wanted.begun)
    }

    /// Whether the end of the object was read.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    fn in_structure(&mut self, c: char) {
        match c {
            '{' | '[' => {
                if self.root == Root::NotBegun {
                    self.root = if c == '{' { Root::Object } else { Root::Other };
                }
                self.depth += 1;
            }
            '}' | ']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.is_closed |= self.root == Root::Object;
                    self.root = Root::Other;
                }
            }
            '"' => self.begin_string(),
            ',' if self.depth == 1 => self.place = ParsePosition::Key,
            ':' if self.depth == 1 => self.place = ParsePosition::Value,
            _ => {}
        }
    }

    fn begin_string(&mut self) {
        let text = match (self.root, self.depth, self.place) {
            (Root::Object, 1, ParsePosition::Key) => {
                self.key.clear();
                Text::Key
            }
            (Root::Object, 1, ParsePosition::Value) => {
                match self.wanted.iter().position(|wanted| wanted.key == self.key) {
                    Some(index) => {
                        let wanted = &mut self.wanted[index];
                        wanted.value = Some(String::new());
                        wanted.complete = false;
                        wanted.begun += 1;
                        Text::WantedField(index)
                    }
                    None => Text::Ignored,
                }
            }
            (Root::NotBegun, ..) => {
                self.root = Root::Other;
                Text::Ignored
            }
            (Root::Object | Root::Other, ..) => Text::Ignored,
        };
        self.text = Some(text);
        self.escape = Escape::None;
    }

    fn in_string(&mut self, text: Text, c: char) {
        match self.escape {
            Escape::None => match c {
                '"' => self.end_string(text),
                '\\' => self.escape = Escape::Backslash { high: None },
                _ => self.push(text, c),
            },
            Escape::HighSurrogate(high) if c == '\\' => self.escape = Escape::Backslash { high: Some(high) },
            Escape::HighSurrogate(_) => {
                self.not_a_character(text);
                self.in_string(text, c);
            }
            Escape::Backslash { high } => self.after_backslash(text, c, high),
            Escape::Hex { digits, unit, high } => self.hex_digit(text, c, (digits, unit), high),
        }
    }

    fn after_backslash(&mut self, text: Text, c: char, high: Option<u16>) {
        if c == 'u' {
            self.escape = Escape::Hex { digits: 0, unit: 0, high };
            return;
        }
        if high.is_some() {
            self.not_a_character(text);
        }
        self.escape = Escape::None;
        self.push(
            text,
            match c {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' => '\u{8}',
                'f' => '\u{c}',
                other => other,
            },
        );
    }

    fn hex_digit(&mut self, text: Text, c: char, (digits, unit): (u8, u16), high: Option<u16>) {
        let Some(digit) = c.to_digit(16) else {
            if high.is_some() {
                self.not_a_character(text);
            }
            self.not_a_character(text);
            self.in_string(text, c);
            return;
        };
        let unit = unit << 4 | u16::try_from(digit).expect("a hexadecimal digit is below 16");
        if digits < 3 {
            self.escape = Escape::Hex { digits: digits + 1, unit, high };
            return;
        }
        self.escape = Escape::None;
        self.code_unit(text, unit, high);
    }

    /// Processes one UTF-16 code unit from an escape, with the high surrogate read before it, if any.
    fn code_unit(&mut self, text: Text, unit: u16, high: Option<u16>) {
        if let Some(high) = high {
            if let Some(Ok(c)) = char::decode_utf16([high, unit]).next() {
                self.push(text, c);
                return;
            }
            self.not_a_character(text);
        }
        match unit {
            0xD800..0xDC00 => self.escape = Escape::HighSurrogate(unit),
            _ => self.push(text, char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER)),
        }
    }

    /// Pushes the replacement character for an escape that does not encode a character.
    fn not_a_character(&mut self, text: Text) {
        self.escape = Escape::None;
        self.push(text, char::REPLACEMENT_CHARACTER);
    }

    fn end_string(&mut self, text: Text) {
        if let Text::WantedField(index) = text {
            self.wanted[index].complete = true;
        }
        self.text = None;
    }

    fn push(&mut self, text: Text, c: char) {
        match text {
            Text::Key => self.key.push(c),
            Text::WantedField(index) => {
                self.wanted[index].value.get_or_insert_default().push(c);
            }
            Text::Ignored => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read<'a>(fragments: impl IntoIterator<Item = &'a str>) -> StringReader {
        let mut reader = StringReader::new(["content", "path"]);
        fragments.into_iter().for_each(|fragment| reader.feed(fragment));
        reader
    }

    #[test]
    fn values_are_decoded_as_far_as_they_have_come() {
        let cases: &[(&str, Option<&str>, Option<&str>)] = &[
            ("", None, None),
            (r#"{"content""#, None, None),
            (r#"{"content":"#, None, None),
            (r#"{"content":""#, Some(""), None),
            (r#"{"content":"abc","path":"x.html"}"#, Some("abc"), Some("x.html")),
            (r#"{"path": "x.html" , "content" : "a\nb"#, Some("a\nb"), Some("x.html")),
            (r#"{"content":"say \"path\": \"no\"","#, Some("say \"path\": \"no\""), None),
            (r#"{"other":{"path":"inner"},"path":"outer"}"#, None, Some("outer")),
            (r#"{"list":["content","path",{"content":"no"}],"content":"yes"#, Some("yes"), None),
            (r#"{"content":17,"path":null}"#, None, None),
            (r#"{"x":"content","path":"p"}"#, None, Some("p")),
            (r#"{"content":"\\","path":"\/a\t\b\f\r"}"#, Some("\\"), Some("/a\t\u{8}\u{c}\r")),
            (r#"{"content":"\u00e9\u65E5\ud83d\ude00!"}"#, Some("é日😀!"), None),
            (r#"{"content":"a\ud83d"#, Some("a"), None),
            (r#"{"content":"a\ud83d\ude"#, Some("a"), None),
            (r#"{"content":"\ud83dx\ude00\ud83d\n"}"#, Some("\u{fffd}x\u{fffd}\u{fffd}\n"), None),
            (r#"{"content":"\ud83d\ud83d\ude00\ud83d"}"#, Some("\u{fffd}😀\u{fffd}"), None),
            (r#"{"content":"\ud83d\u0041\u00zz"}"#, Some("\u{fffd}A\u{fffd}zz"), None),
            (r#"{"con\u0074ent":"escaped key"}"#, Some("escaped key"), None),
            (r#"{"content":"first","content":"second"}"#, Some("second"), None),
            (r#"["content","path"]"#, None, None),
            (r#""content":"no object""#, None, None),
            (r#"{"path":"one"}{"path":"two"}"#, None, Some("one")),
        ];
        for (text, content, path) in cases {
            let whole = read([*text]);
            assert_eq!((whole.get("content"), whole.get("path")), (*content, *path), "{text}");
            assert_eq!(whole.get("other"), None);
        }
    }

    #[test]
    fn completeness_is_the_closing_quote() {
        for (text, complete) in
            [(r#"{"path":"a"#, false), (r#"{"path":"a\""#, false), (r#"{"path":"a""#, true)]
        {
            assert_eq!(read([text]).is_complete("path"), complete, "{text}");
        }
        for (text, closed, begun) in [
            (r#"{"path":"}""#, false, 1),
            (r#"{"path":"a","x":{}"#, false, 1),
            (r#"{"path":"a","path":"b"}"#, true, 2),
            (r#"{"x":{"path":"a"}} {"#, true, 0),
            (r#"[{}]"#, false, 0),
        ] {
            let reader = read([text]);
            assert_eq!((reader.is_closed(), reader.times_begun("path")), (closed, begun), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_cut_gives_what_a_full_parse_gives(content in any::<String>(), path in "\\PC{0,12}", ascii in any::<bool>(), nested in "[a-z\"]{0,5}") {
            let value = serde_json::json!({"k": {"path": nested}, "content": content, "list": [content], "path": path});
            let plain = value.to_string();
            let escape = |c: char| {
                let mut units = [0; 2];
                c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>()
            };
            let text: String = plain.chars().map(|c| if ascii && !c.is_ascii() { escape(c) } else { c.to_string() }).collect();
            let mut reader = StringReader::new(["content", "path"]);
            for c in text.chars() {
                reader.feed(c.encode_utf8(&mut [0; 4]));
                prop_assert!(content.starts_with(reader.get("content").unwrap_or_default()));
            }
            prop_assert_eq!(reader.get("content"), Some(content.as_str()));
            prop_assert_eq!(reader.get("path"), Some(path.as_str()));
            prop_assert!(reader.is_complete("content") && reader.is_complete("path"));
        }
    }
}
