//! Assembles arguments that come in fragments, each with its JSON path (Vertex, where the request asked for
//! it).

use serde_json::{Map, Value};

use crate::provider::ProviderError;
use crate::provider::decoder::malformed;
use crate::provider::reply::ReplyBuilder;

/// The deepest nesting of arguments that is accepted.
const DEEPEST: usize = 64;

/// A tool call whose arguments are still arriving.
#[derive(Debug, Clone, PartialEq)]
pub struct PartialCall {
    /// The part's index.
    pub index: usize,
    args: Value,
}

/// One step of a fragment's path.
#[derive(Debug, PartialEq)]
enum PathStep {
    Key(String),
    Item(usize),
}

impl PartialCall {
    /// Creates a call without arguments so far, or with the initial ones.
    pub fn new(index: usize, args: Option<&Value>) -> Self {
        let args = args.filter(|args| args.is_object()).cloned();
        Self { index, args: args.unwrap_or_else(|| Value::Object(Map::new())) }
    }

    /// Adds the `partialArgs` of one chunk. Fragments of the same string are appended.
    pub fn take(&mut self, call: &Value, reply: &mut ReplyBuilder) -> Result<(), ProviderError> {
        for piece in call.get("partialArgs").and_then(Value::as_array).into_iter().flatten() {
            let path = piece.get("jsonPath").and_then(Value::as_str).unwrap_or_default();
            reply.hold(path.len())?;
            let Some(value) = value(piece) else { continue };
            reply.hold(value.as_str().map_or(0, str::len))?;
            let steps = steps(path).ok_or_else(|| path_error(path))?;
            let place = place(&mut self.args, &steps).ok_or_else(|| path_error(path))?;
            match (place, value) {
                (Value::String(text), Value::String(more)) => text.push_str(&more),
                (place, value) => *place = value,
            }
        }
        Ok(())
    }

    /// Returns the complete arguments as JSON.
    pub fn whole_args(&self) -> String {
        self.args.to_string()
    }

    /// Returns the arguments of a call that was cut off: truncated JSON, so that it cannot be mistaken for
    /// complete.
    pub fn cut(&self) -> String {
        let mut text = self.args.to_string();
        text.pop();
        text
    }
}

fn path_error(path: &str) -> ProviderError {
    malformed(format!("the server sent part of an argument for an unknown path: {path}"))
}

fn value(piece: &Value) -> Option<Value> {
    if piece.get("nullValue").is_some() {
        return Some(Value::Null);
    }
    ["stringValue", "numberValue", "boolValue"].iter().find_map(|key| piece.get(*key)).cloned()
}

/// Parses `$.a[0].b` or `$['a b'][0]` into steps.
fn steps(path: &str) -> Option<Vec<PathStep>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() == DEEPEST {
            return None;
        }
        let (step, after) = if let Some(named) = rest.strip_prefix('.') {
            let end = named.find(['.', '[']).unwrap_or(named.len());
            let (name, after) = named.split_at(end);
            (PathStep::Key(name.to_owned()), after)
        } else {
            let inside = rest.strip_prefix('[')?;
            match inside.chars().next().filter(|quote| ['\'', '"'].contains(quote)) {
                Some(quote) => {
                    let (name, after) = inside.strip_prefix(quote)?.split_once(quote)?;
                    (PathStep::Key(name.to_owned()), after.strip_prefix(']')?)
                }
                None => {
                    let (number, after) = inside.split_once(']')?;
                    (PathStep::Item(number.parse().ok()?), after)
                }
            }
        };
        steps.push(step);
        rest = after;
    }
    (!steps.is_empty()).then_some(steps)
}

/// Returns the value at a fragment's path, created if missing. A list grows by one item at a time, so that no
/// index can exhaust the memory.
fn place<'a>(args: &'a mut Value, steps: &[PathStep]) -> Option<&'a mut Value> {
    let mut at = args;
    for step in steps {
        at = match step {
            PathStep::Key(key) => {
                if at.is_null() {
                    *at = Value::Object(Map::new());
                }
                at.as_object_mut()?.entry(key.as_str()).or_insert(Value::Null)
            }
            PathStep::Item(number) => {
                if at.is_null() {
                    *at = Value::Array(Vec::new());
                }
                let items = at.as_array_mut()?;
                if *number == items.len() {
                    items.push(Value::Null);
                }
                items.get_mut(*number)?
            }
        };
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::provider::ErrorClass;

    fn assembled(pieces: &Value) -> Result<String, ProviderError> {
        let mut call = PartialCall::new(0, None);
        call.take(&json!({ "partialArgs": pieces }), &mut ReplyBuilder::new("w", "m"))?;
        Ok(call.whole_args())
    }

    #[test]
    fn pieces_find_their_places() {
        let cases = [
            (
                json!([{ "jsonPath": "$.a", "stringValue": "x" }, { "jsonPath": "$.a", "stringValue": "y" }]),
                r#"{"a":"xy"}"#,
            ),
            (
                json!([{ "jsonPath": "$.a[0].b", "numberValue": 1 }, { "jsonPath": "$.a[1].b", "boolValue": true }]),
                r#"{"a":[{"b":1},{"b":true}]}"#,
            ),
            (json!([{ "jsonPath": "$['a b'][0]", "nullValue": "NULL_VALUE" }]), r#"{"a b":[null]}"#),
            (json!([{ "jsonPath": "$[\"a.b\"]", "stringValue": "" }]), r#"{"a.b":""}"#),
            (json!([{ "jsonPath": "$.a", "willContinue": true }]), "{}"),
        ];
        for (pieces, expected) in cases {
            assert_eq!(assembled(&pieces).as_deref(), Ok(expected), "{pieces}");
        }
    }

    #[test]
    fn places_that_there_are_not_are_refused() {
        let deep = format!("${}", ".a".repeat(DEEPEST + 1));
        for path in ["", "a", "$", "$x", "$[", "$[x]", "$['a]", "$.a[4000000000]", "$.a[1]", "$[0]", &deep] {
            let found = assembled(&json!([{ "jsonPath": path, "stringValue": "x" }]));
            assert_eq!(found.map_err(|error| error.class), Err(ErrorClass::Malformed), "{path}");
        }
        let twice =
            json!([{ "jsonPath": "$.a", "numberValue": 1 }, { "jsonPath": "$.a.b", "stringValue": "x" }]);
        assert!(assembled(&twice).is_err());
    }

    #[test]
    fn a_call_that_was_cut_is_no_json() {
        let call = PartialCall::new(0, Some(&json!({ "a": 1 })));
        assert_eq!((call.whole_args().as_str(), call.cut().as_str()), (r#"{"a":1}"#, r#"{"a":1"#));
    }
}
