//! `field=value` on the arguments of a request: determines the field and the type of its value. Pure. Called by
//! `co approvals yes --set` and by the plain front end. Also which arguments a preview does not show.
//!
//! The tool's schema defines both. A value is literal if the field takes text, and parsed as JSON otherwise.
//! A value that violates the schema is never written. Errors name the field, what it takes and an example.

use serde_json::{Map, Value};

use crate::approval::Request;
use crate::stdx::text::{nearest, one_line_summary, sanitize_line};
use crate::tool::Preview;
use crate::tool::schema::{faults, kinds as named_kinds, resolve};

/// Width of a value in an error, in cells.
const SHOWN: usize = 40;

/// Maximum depth of a field.
const DEEPEST: usize = 32;

/// The length in bytes from which the text of an argument is left to the diff that shows it.
const LONG_TEXT: usize = 200;

/// Returns the arguments of a request without the texts that its preview shows: long ones, and those of several lines.
pub fn not_shown(request: &Request) -> Value {
    let is_shown = |text: &str| match &request.plan.preview {
        Preview::None => false,
        Preview::Diff { .. } => text.contains('\n') || text.len() > LONG_TEXT,
        Preview::Text { text: shown } => text.contains('\n') && shown.contains(text.trim_end()),
        Preview::Fields { fields } => text.contains('\n') && fields.iter().any(|(_, value)| value == text),
    };
    match &request.args {
        Value::Object(all) => {
            let kept = all.iter().filter(|(_, value)| !value.as_str().is_some_and(is_shown));
            kept.map(|(name, value)| (name.clone(), value.clone())).collect()
        }
        other => other.clone(),
    }
}

/// The error for arguments that are not an object.
pub const NO_OBJECT: &str = "the arguments must be a JSON object: { … }";

/// Returns the arguments with all changes; errs with a sentence if one cannot be made.
pub fn with_changes(
    tool: &str,
    schema: Option<&Value>,
    args: &Value,
    sets: &[String],
) -> Result<Value, String> {
    let mut whole = args.clone();
    for set in sets {
        let Some((name, text)) = set.split_once('=') else {
            let set = sanitize_line(set);
            return Err(format!("`{set}` has no value; write it as `field=value`"));
        };
        whole = FieldChange { tool, schema, name: name.trim(), text }.apply(&whole)?;
    }
    fits(tool, schema, &whole).map(|()| whole)
}

/// Reads JSON; errs with the line, and what is wrong in it.
pub fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| {
        let words = error.to_string();
        let words = words.split(" at line ").next().unwrap_or_default();
        format!("line {}: {words}", error.line())
    })
}

/// Reads whole arguments and checks them; errs with what is wrong.
pub fn parse_args(tool: &str, schema: Option<&Value>, text: &str) -> Result<Value, String> {
    let args = json(text).map_err(|why| format!("not valid JSON: {why}"))?;
    fits(tool, schema, &args).map(|()| args)
}

/// Checks the whole arguments against the schema; errs with everything that is wrong.
pub fn fits(tool: &str, schema: Option<&Value>, args: &Value) -> Result<(), String> {
    if !args.is_object() {
        return Err(NO_OBJECT.to_owned());
    }
    let faults = schema.map_or_else(Vec::new, |schema| faults(schema, args));
    if faults.is_empty() {
        return Ok(());
    }
    let faults: Vec<String> =
        faults.iter().map(|fault| sanitize_line(&fault.to_string()).into_owned()).collect();
    Err(format!("{} does not take these arguments: {}", sanitize_line(tool), faults.join("; ")))
}

struct FieldChange<'a> {
    tool: &'a str,
    schema: Option<&'a Value>,
    /// Dotted: names of fields and numbers of items.
    name: &'a str,
    text: &'a str,
}

impl FieldChange<'_> {
    fn apply(&self, whole: &Value) -> Result<Value, String> {
        let steps: Vec<&str> = self.name.split('.').collect();
        if steps.len() > DEEPEST || steps.iter().any(|step| step.is_empty()) {
            return Err(format!(
                "`{}=…` names no field; {}",
                self.name_line(),
                self.known_fields(self.schema)
            ));
        }
        let kinds = self.place(&steps, whole)?;
        let is_text = whole.pointer(&pointer(&steps)).is_none_or(Value::is_string);
        let text = Value::String(self.text.to_owned());
        let mut tries = vec![text];
        tries.extend(serde_json::from_str::<Value>(self.text).ok());
        if !is_text {
            tries.reverse();
        }
        let takes_text = kinds.iter().any(|kind| kind == "string");
        let mut wrong = None;
        for value in tries {
            // The error about the value of the expected kind is the more helpful one.
            let counts = value.is_string() == takes_text;
            let tried = put(whole.clone(), &steps, value).ok_or_else(|| self.nowhere())?;
            match self.fault(&steps, &tried) {
                None => return Ok(tried),
                Some(fault) if counts => wrong = Some(fault),
                Some(fault) => wrong = wrong.or(Some(fault)),
            }
        }
        let wanted = sanitize_line(&wrong.unwrap_or_default()).into_owned();
        let given = one_line_summary(self.text, SHOWN);
        Err(format!("`{}`{wanted}, not `{given}`{}", self.name_line(), how(&kinds, self.name)))
    }

    /// Walks the schema to the field; returns the types of value that it accepts.
    fn place(&self, steps: &[&str], whole: &Value) -> Result<Vec<String>, String> {
        let Some(root) = self.schema else {
            return match whole.pointer(&pointer(steps)) {
                Some(_) => Ok(Vec::new()),
                None => Err(self.nowhere()),
            };
        };
        let mut at = root;
        for step in steps {
            match child(root, at, step, 0) {
                Some(next) => at = next,
                None => return Err(self.unknown(root, at, step)),
            }
        }
        Ok(kinds(root, at, 0))
    }

    /// Returns what is wrong at the field or below it.
    fn fault(&self, steps: &[&str], tried: &Value) -> Option<String> {
        let path: Vec<String> = steps
            .iter()
            .scan(tried, |at, step| {
                let is_item = at.is_array();
                *at = at.pointer(&pointer(&[step])).unwrap_or(&Value::Null);
                let number = step.parse::<usize>().ok().filter(|_| is_item);
                Some(number.map_or_else(|| (*step).to_owned(), |number| format!("item {}", number + 1)))
            })
            .collect();
        let found = faults(self.schema?, tried);
        let fault = found.into_iter().find(|fault| fault.path.starts_with(&path))?;
        let below: Vec<&str> = fault.path.iter().skip(path.len()).map(String::as_str).collect();
        let comma = if below.is_empty() { "" } else { ", " };
        Some(format!("{comma}{} {}", below.join(", "), fault.wanted))
    }

    fn name_line(&self) -> String {
        sanitize_line(self.name).into_owned()
    }

    fn nowhere(&self) -> String {
        format!(
            "the arguments have no field `{}`; `co approvals edit ID` opens all of them",
            self.name_line()
        )
    }

    fn unknown(&self, root: &Value, at: &Value, step: &str) -> String {
        let names = names(root, at, 0);
        let like = nearest(step, names.iter().map(String::as_str))
            .map_or_else(String::new, |name| format!(" did you mean `{}`?", sanitize_line(name)));
        let (tool, known) = (sanitize_line(self.tool), self.known_fields(Some(at)));
        format!("{tool} has no field `{}`;{like} {known}", self.name_line())
    }

    fn known_fields(&self, schema: Option<&Value>) -> String {
        let names = match (self.schema, schema) {
            (Some(root), Some(schema)) => names(root, schema, 0),
            (None, _) | (_, None) => Vec::new(),
        };
        match names.as_slice() {
            [] => "there are no named fields here".to_owned(),
            names => format!("its fields: {}", sanitize_line(&names.join(", "))),
        }
    }
}

fn pointer(steps: &[&str]) -> String {
    steps.iter().map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1"))).collect()
}

/// Says how a value of these types is written.
fn how(kinds: &[String], name: &str) -> String {
    let name = sanitize_line(name);
    let example = |kind: &str| match kind {
        "integer" => Some("3"),
        "number" => Some("1.5"),
        "boolean" => Some("true"),
        "array" => Some(r#"'["a", "b"]'"#),
        "object" => Some(r#"'{"name": "value"}'"#),
        _ => None,
    };
    kinds
        .iter()
        .find_map(|kind| example(kind))
        .map_or_else(String::new, |value| format!("; e.g. {name}={value}"))
}

/// Returns the alternatives of a schema.
fn forms(schema: &Value) -> impl Iterator<Item = &Value> {
    ["anyOf", "oneOf", "allOf"]
        .into_iter()
        .filter_map(|key| schema.get(key).and_then(Value::as_array))
        .flatten()
}

/// Returns the schema of a field or an item.
fn child<'a>(root: &'a Value, schema: &'a Value, step: &str, depth: usize) -> Option<&'a Value> {
    if depth > DEEPEST {
        return None;
    }
    let schema = resolve(root, schema);
    let field = schema.get("properties").and_then(|fields| fields.get(step));
    let item = || schema.get("items").filter(|_| step.parse::<usize>().is_ok());
    let more =
        || schema.get("additionalProperties").filter(|more| more.is_object() || **more == Value::Bool(true));
    field
        .or_else(item)
        .or_else(|| forms(schema).find_map(|form| child(root, form, step, depth + 1)))
        .or_else(more)
}

fn names(root: &Value, schema: &Value, depth: usize) -> Vec<String> {
    if depth > DEEPEST {
        return Vec::new();
    }
    let schema = resolve(root, schema);
    let own = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys).cloned();
    own.chain(forms(schema).flat_map(|form| names(root, form, depth + 1))).collect()
}

fn kinds(root: &Value, schema: &Value, depth: usize) -> Vec<String> {
    if depth > DEEPEST {
        return Vec::new();
    }
    let schema = resolve(root, schema);
    match schema.get("type").and_then(named_kinds) {
        Some(named) => named.into_iter().map(str::to_owned).collect(),
        None => forms(schema).flat_map(|form| kinds(root, form, depth + 1)).collect(),
    }
}

/// Returns the value with another one set at a place; creates objects on the way, only appends items.
fn put(mut whole: Value, steps: &[&str], value: Value) -> Option<Value> {
    let mut at = &mut whole;
    for step in steps {
        if at.is_null() {
            *at = Value::Object(Map::new());
        }
        at = match at {
            Value::Object(fields) => fields.entry(*step).or_insert(Value::Null),
            Value::Array(items) => {
                let index: usize = step.parse().ok()?;
                if index == items.len() {
                    items.push(Value::Null);
                }
                items.get_mut(index)?
            }
            _ => return None,
        };
    }
    *at = value;
    Some(whole)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "required": ["to"],
            "additionalProperties": false,
            "properties": {
                "to": { "type": "string" },
                "count": { "type": ["integer", "null"], "minimum": 1 },
                "loud": { "type": "boolean" },
                "tags": { "type": "array", "items": { "type": "string" } },
                "when": { "anyOf": [{ "$ref": "#/$defs/when" }, { "type": "null" }] },
                "size": { "enum": ["small", "large"] },
                "any": {},
                "map": { "type": "object", "additionalProperties": { "type": "number" } },
            },
            "$defs": { "when": {
                "type": "object",
                "additionalProperties": false,
                "properties": { "day": { "type": "string" }, "hour": { "type": "integer" } },
            } },
        })
    }

    #[test]
    fn values_are_read_as_their_fields_want_them() {
        let asked = json!({ "to": "a", "tags": ["x"] });
        let cases: &[(&[&str], Value)] = &[
            (&[], json!({ "to": "a", "tags": ["x"] })),
            (&["to=b"], json!({ "to": "b", "tags": ["x"] })),
            (&["to=12"], json!({ "to": "12", "tags": ["x"] })),
            (&["to="], json!({ "to": "", "tags": ["x"] })),
            (&["to= a=b "], json!({ "to": " a=b ", "tags": ["x"] })),
            (&["to=b", "to=c"], json!({ "to": "c", "tags": ["x"] })),
            (&["count=3", "loud=true"], json!({ "to": "a", "tags": ["x"], "count": 3, "loud": true })),
            (&["count=null"], json!({ "to": "a", "tags": ["x"], "count": null })),
            (&["tags.0=y", "tags.1=1"], json!({ "to": "a", "tags": ["y", "1"] })),
            (&["tags=[]"], json!({ "to": "a", "tags": [] })),
            (&["size=large"], json!({ "to": "a", "tags": ["x"], "size": "large" })),
            (&["any=1"], json!({ "to": "a", "tags": ["x"], "any": "1" })),
            (&["map.a=1.5"], json!({ "to": "a", "tags": ["x"], "map": { "a": 1.5 } })),
            (
                &["when.day=Monday", "when.hour=7"],
                json!({ "to": "a", "tags": ["x"], "when": { "day": "Monday", "hour": 7 } }),
            ),
        ];
        for (sets, expected) in cases {
            let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
            assert_eq!(
                with_changes("send_mail", Some(&schema()), &asked, &sets).as_ref(),
                Ok(expected),
                "{sets:?}"
            );
        }
    }

    #[test]
    fn errors_say_the_field_what_it_wants_and_how() {
        let fields = "its fields: to, count, loud, tags, when, size, any, map";
        let asked = json!({ "to": "a", "tags": ["x"] });
        let cases: &[(&str, String)] = &[
            ("to", "`to` has no value; write it as `field=value`".to_owned()),
            ("=x", format!("`=…` names no field; {fields}")),
            ("a..b=x", format!("`a..b=…` names no field; {fields}")),
            ("cuont=3", format!("send_mail has no field `cuont`; did you mean `count`? {fields}")),
            ("zzzzzzzz=3", format!("send_mail has no field `zzzzzzzz`; {fields}")),
            (
                "when.dya=x",
                "send_mail has no field `when.dya`; did you mean `day`? its fields: day, hour".to_owned(),
            ),
            ("to.x=1", "send_mail has no field `to.x`; there are no named fields here".to_owned()),
            ("count=many", "`count` must be a whole number or nothing, not `many`; e.g. count=3".to_owned()),
            ("count=0", "`count` must be at least 1, not `0`; e.g. count=3".to_owned()),
            ("loud=yes", "`loud` must be true or false, not `yes`; e.g. loud=true".to_owned()),
            ("tags=x", r#"`tags` must be a list, not `x`; e.g. tags='["a", "b"]'"#.to_owned()),
            ("tags=[1]", r#"`tags`, item 1 must be text, not `[1]`; e.g. tags='["a", "b"]'"#.to_owned()),
            (
                "tags.7=x",
                "the arguments have no field `tags.7`; `co approvals edit ID` opens all of them".to_owned(),
            ),
            ("tags.x=x", "send_mail has no field `tags.x`; there are no named fields here".to_owned()),
            ("size=huge", "`size` must be one of small, large, not `huge`".to_owned()),
            ("when.hour=noon", "`when.hour` must be a whole number, not `noon`; e.g. when.hour=3".to_owned()),
        ];
        for (set, expected) in cases {
            let found = with_changes("send_mail", Some(&schema()), &asked, &[(*set).to_owned()]);
            assert_eq!(found.as_ref(), Err(expected), "{set}");
        }
        let found =
            with_changes("send_mail", Some(&schema()), &json!({ "loud": 1 }), &["count=1".to_owned()]);
        let expected = "send_mail does not take these arguments: to is missing; loud must be true or false";
        assert_eq!(found, Err(expected.to_owned()));
    }

    #[test]
    fn without_a_schema_only_what_is_there_can_be_changed() {
        let asked = json!({ "to": "a", "n": 1, "deep": { "x": [1, "b"] } });
        for (set, expected) in [
            ("to=7", Some(json!({ "to": "7", "n": 1, "deep": { "x": [1, "b"] } }))),
            ("n=7", Some(json!({ "to": "a", "n": 7, "deep": { "x": [1, "b"] } }))),
            ("deep.x.1=c", Some(json!({ "to": "a", "n": 1, "deep": { "x": [1, "c"] } }))),
            ("new=1", None),
            ("deep.y=1", None),
        ] {
            assert_eq!(with_changes("t", None, &asked, &[set.to_owned()]).ok(), expected, "{set}");
        }
    }
}
