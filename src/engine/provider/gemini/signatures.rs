//! Stores where signatures are in a text.
//!
//! A merged text was received in several parts, some of them signed, and must be sent back in the same parts.
//! A text that no longer matches its stored parts goes back whole and unsigned. Called by the decoder and the
//! encoder.

use serde_json::{Map, Value, json};

/// The field of a part that only its model understands.
pub const SIGNATURE: &str = "thoughtSignature";

const PIECES: &str = "pieces";
const BYTES: &str = "bytes";

/// The fragments of one text, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SignedText(Vec<SignedSpan>);

#[derive(Debug, Clone, PartialEq)]
struct SignedSpan {
    bytes: usize,
    signature: Option<String>,
}

impl SignedText {
    /// Adds the next fragment; merges consecutive unsigned ones.
    pub fn add(&mut self, text: &str, signature: Option<&str>) {
        match (self.0.last_mut(), signature) {
            (Some(SignedSpan { bytes, signature: None }), None) => *bytes += text.len(),
            (_, signature) => {
                self.0.push(SignedSpan { bytes: text.len(), signature: signature.map(str::to_owned) });
            }
        }
    }

    /// Returns the data to store with the text; `None` where no fragment is signed.
    pub fn data(&self) -> Option<Value> {
        match self.0.as_slice() {
            [SignedSpan { signature: Some(signature), .. }] => Some(json!({ SIGNATURE: signature })),
            pieces if pieces.iter().any(|piece| piece.signature.is_some()) => {
                let pieces = pieces.iter().map(|piece| {
                    let mut fields = Map::from_iter([(BYTES.to_owned(), json!(piece.bytes))]);
                    if let Some(signature) = &piece.signature {
                        fields.insert(SIGNATURE.to_owned(), json!(signature));
                    }
                    Value::Object(fields)
                });
                Some(json!({ PIECES: pieces.collect::<Vec<_>>() }))
            }
            _ => None,
        }
    }
}

/// Splits a text into its fragments, each with its signature.
pub fn split<'a>(text: &'a str, data: Option<&'a Value>) -> Vec<(&'a str, Option<&'a str>)> {
    let signature = |value: &'a Value| value.get(SIGNATURE).and_then(Value::as_str);
    let Some(data) = data else { return vec![(text, None)] };
    let listed = data.get(PIECES).and_then(Value::as_array);
    let Some(listed) = listed else { return vec![(text, signature(data))] };
    let mut pieces = Vec::new();
    let mut rest = text;
    for piece in listed {
        let bytes = piece.get(BYTES).and_then(Value::as_u64).and_then(|bytes| usize::try_from(bytes).ok());
        let Some((said, after)) = bytes.and_then(|bytes| rest.split_at_checked(bytes)) else {
            return vec![(text, None)];
        };
        pieces.push((said, signature(piece)));
        rest = after;
    }
    if rest.is_empty() { pieces } else { vec![(text, None)] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_back_in_its_pieces() {
        type Said<'a> = Vec<(&'a str, Option<&'a str>)>;
        let cases: Vec<(Said<'_>, Said<'_>)> = vec![
            (vec![("a", None), ("b", None)], vec![("ab", None)]),
            (vec![("a", Some("s"))], vec![("a", Some("s"))]),
            (vec![("é", Some("s")), ("b", None), ("c", None)], vec![("é", Some("s")), ("bc", None)]),
            (vec![("a", Some("s")), ("b", Some("t"))], vec![("a", Some("s")), ("b", Some("t"))]),
            (vec![("a", None), ("", Some("s"))], vec![("a", None), ("", Some("s"))]),
        ];
        for (said, expected) in cases {
            let mut pieces = SignedText::default();
            said.iter().for_each(|(text, signature)| pieces.add(text, *signature));
            let text: String = said.iter().map(|(text, _)| *text).collect();
            assert_eq!(split(&text, pieces.data().as_ref()), expected);
        }
    }

    #[test]
    fn a_text_that_was_changed_loses_its_signatures() {
        let data = json!({ "pieces": [{ "bytes": 1, "thoughtSignature": "s" }, { "bytes": 2 }] });
        for text in ["", "ab", "abcd", "éb"] {
            assert_eq!(split(text, Some(&data)), [(text, None)], "{text}");
        }
        let odd = json!({ "pieces": [{ "bytes": -1 }] });
        assert_eq!(split("a", Some(&odd)), [("a", None)]);
    }
}
