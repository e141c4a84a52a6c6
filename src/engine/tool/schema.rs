//! Validates arguments against a tool's JSON Schema, and says what is required if they do not fit. Pure.
//!
//! It supports the keywords that argument schemas use, and ignores unknown ones. Its result is never final: a
//! tool parses its arguments itself. It never panics, and its work is bounded for any schema. Called by the tools,
//! by the form in which arguments are edited, and by `--set`.

use std::fmt;

use serde_json::{Map, Value};

use crate::stdx::text::nearest;

/// The maximum nesting of schemas and values.
const DEEPEST: usize = 32;

/// The maximum number of faults reported.
const MOST: usize = 20;

/// The maximum number of schema-value comparisons per check; beyond that it gives up and reports so.
const STEPS: usize = 100_000;

/// The problem at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The field names and item numbers that lead to the place; empty for the whole value.
    pub path: Vec<String>,
    /// The requirement, phrased to follow the name of the place.
    pub wanted: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_slice() {
            [] => f.write_str(&self.wanted),
            path => write!(f, "{} {}", path.join(", "), self.wanted),
        }
    }
}

/// Returns all faults of `value`; none if it fits the schema.
pub fn faults(schema: &Value, value: &Value) -> Vec<Fault> {
    let mut check = Check { root: schema, steps: STEPS, path: Vec::new(), faults: Vec::new() };
    check.value(schema, value, 0);
    check.faults
}

/// Resolves a schema that is only a reference to another one inside `root`.
pub fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut at = schema;
    for _ in 0..DEEPEST {
        match at.get("$ref").and_then(Value::as_str).and_then(|link| target(root, link)) {
            Some(next) => at = next,
            None => break,
        }
    }
    at
}

fn target<'a>(root: &'a Value, link: &str) -> Option<&'a Value> {
    root.pointer(link.strip_prefix('#')?)
}

struct Check<'a> {
    root: &'a Value,
    steps: usize,
    path: Vec<String>,
    faults: Vec<Fault>,
}

impl<'a> Check<'a> {
    fn fault(&mut self, wanted: impl Into<String>) {
        if self.faults.len() < MOST {
            self.faults.push(Fault { path: self.path.clone(), wanted: wanted.into() });
        }
    }

    fn at(&mut self, name: String, schema: &'a Value, value: &Value, depth: usize) {
        self.path.push(name);
        self.value(schema, value, depth + 1);
        self.path.pop();
    }

    fn value(&mut self, schema: &'a Value, value: &Value, depth: usize) {
        let Some(left) = self.steps.checked_sub(1).filter(|_| depth < DEEPEST) else {
            return self.fault("is too large to check here");
        };
        self.steps = left;
        let rules = match schema {
            Value::Object(rules) => rules,
            Value::Bool(false) => return self.fault("must be left out"),
            _ => return,
        };
        if value.is_null() && rules.get("nullable") == Some(&Value::Bool(true)) {
            return;
        }
        let before = self.faults.len();
        if let Some(next) = rules.get("$ref").and_then(Value::as_str).and_then(|link| target(self.root, link))
        {
            self.value(next, value, depth + 1);
        }
        self.kind(rules, value);
        self.choice(rules, value);
        // Further checks would only repeat the same fault in other words.
        if self.faults.len() > before {
            return;
        }
        match value {
            Value::Number(_) => self.number(rules, value),
            Value::String(text) => self.text(rules, text),
            Value::Array(items) => self.list(rules, items, depth),
            Value::Object(fields) => self.object(rules, fields, depth),
            Value::Null | Value::Bool(_) => {}
        }
        self.check_combinations(rules, value, depth);
    }

    fn kind(&mut self, rules: &Map<String, Value>, value: &Value) {
        let Some(kinds) = rules.get("type").and_then(kinds) else { return };
        if !kinds.iter().any(|kind| is_kind(value, kind)) {
            let words: Vec<&str> = kinds.iter().map(|kind| kind_word(kind)).collect();
            self.fault(format!("must be {}", words.join(" or ")));
        }
    }

    fn choice(&mut self, rules: &Map<String, Value>, value: &Value) {
        if let Some(Value::Array(choices)) = rules.get("enum")
            && !choices.contains(value)
        {
            let listed: Vec<String> = choices.iter().take(MOST).map(value_text).collect();
            self.fault(format!("must be one of {}", listed.join(", ")));
        }
        if let Some(only) = rules.get("const")
            && only != value
        {
            self.fault(format!("must be {}", value_text(only)));
        }
    }

    fn number(&mut self, rules: &Map<String, Value>, value: &Value) {
        let Some(number) = value.as_f64() else { return };
        let mut bound = |key: &str, holds: fn(f64, f64) -> bool, words: &str| {
            let Some(limit) = rules.get(key) else { return };
            if limit.as_f64().is_some_and(|bound| !holds(number, bound)) {
                self.fault(format!("must be {words} {limit}"));
            }
        };
        bound("minimum", |number, bound| number >= bound, "at least");
        bound("maximum", |number, bound| number <= bound, "at most");
        bound("exclusiveMinimum", |number, bound| number > bound, "more than");
        bound("exclusiveMaximum", |number, bound| number < bound, "less than");
    }

    /// Checks the length of a text. `pattern` is ignored: the tool checks it.
    fn text(&mut self, rules: &Map<String, Value>, text: &str) {
        self.size(rules, ["minLength", "maxLength"], text.chars().count(), "characters");
    }

    fn list(&mut self, rules: &'a Map<String, Value>, items: &[Value], depth: usize) {
        self.size(rules, ["minItems", "maxItems"], items.len(), "items");
        let first = rules.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (index, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(index).or_else(|| rules.get("items")) {
                self.at(format!("item {}", index + 1), schema, item, depth);
            }
        }
    }

    fn size(&mut self, rules: &Map<String, Value>, keys: [&str; 2], size: usize, what: &str) {
        let limit = |key: &str| rules.get(key).and_then(Value::as_u64);
        if let Some(least) = limit(keys[0]).filter(|least| (size as u64) < *least) {
            self.fault(format!("must have at least {least} {what}"));
        }
        if let Some(most) = limit(keys[1]).filter(|most| size as u64 > *most) {
            self.fault(format!("must have at most {most} {what}, not {size}"));
        }
    }

    fn object(&mut self, rules: &'a Map<String, Value>, fields: &Map<String, Value>, depth: usize) {
        for name in rules.get("required").and_then(Value::as_array).into_iter().flatten() {
            if let Some(name) = name.as_str().filter(|name| !fields.contains_key(*name)) {
                self.path.push(name.to_owned());
                self.fault("is missing");
                self.path.pop();
            }
        }
        let known = rules.get("properties").and_then(Value::as_object);
        let more = rules.get("additionalProperties").filter(|_| !rules.contains_key("patternProperties"));
        for (name, value) in fields {
            match (known.and_then(|known| known.get(name)), more) {
                (Some(schema), _) => self.at(name.clone(), schema, value, depth),
                (None, Some(Value::Bool(false))) => {
                    let free =
                        known.into_iter().flat_map(Map::keys).filter(|known| !fields.contains_key(*known));
                    let free: Vec<&str> = free.map(String::as_str).collect();
                    // Models often write `file_path` for `path`.
                    let inside = free.iter().copied().find(|known| name.contains(known));
                    let like = inside.or_else(|| nearest(name, free));
                    let like = like.map(|like| format!(" (did you mean `{like}`?)")).unwrap_or_default();
                    self.path.push(name.clone());
                    self.fault(format!("is not a field of this tool{like}"));
                    self.path.pop();
                }
                (None, Some(schema)) => self.at(name.clone(), schema, value, depth),
                (None, None) => {}
            }
        }
    }

    fn check_combinations(&mut self, rules: &'a Map<String, Value>, value: &Value, depth: usize) {
        let list = |key: &str| rules.get(key).and_then(Value::as_array);
        for schema in list("allOf").into_iter().flatten() {
            self.value(schema, value, depth + 1);
        }
        if let Some(schemas) = list("anyOf") {
            let faults = self.faults_of_each(schemas, value, depth);
            if !faults.iter().any(Vec::is_empty) {
                self.none_fits(schemas, faults);
            }
        }
        if let Some(schemas) = list("oneOf") {
            let faults = self.faults_of_each(schemas, value, depth);
            match faults.iter().filter(|faults| faults.is_empty()).count() {
                0 => self.none_fits(schemas, faults),
                1 => {}
                _ => self.fault("matches more than one of its possible forms"),
            }
        }
    }

    /// Returns the faults for each of these schemas.
    fn faults_of_each(&mut self, schemas: &'a [Value], value: &Value, depth: usize) -> Vec<Vec<Fault>> {
        let kept = std::mem::take(&mut self.faults);
        let mut all = Vec::new();
        for schema in schemas {
            self.value(schema, value, depth + 1);
            all.push(std::mem::take(&mut self.faults));
        }
        self.faults = kept;
        all
    }

    fn none_fits(&mut self, schemas: &[Value], mut faults: Vec<Vec<Fault>>) {
        let real: Vec<usize> = (0..schemas.len()).filter(|at| !is_null(&schemas[*at])).collect();
        if let [only] = real.as_slice() {
            let room = MOST.saturating_sub(self.faults.len());
            self.faults.extend(faults.swap_remove(*only).into_iter().take(room));
            return;
        }
        let mut words: Vec<String> = schemas.iter().map(|schema| word(resolve(self.root, schema))).collect();
        words.dedup();
        self.fault(format!("must be {}", words.join(" or ")));
    }
}

/// Whether a schema takes null only.
pub fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "null")
}

/// Returns the types that the value of a `type` keyword names: one or several.
pub fn kinds(named: &Value) -> Option<Vec<&str>> {
    match named {
        Value::String(kind) => Some(vec![kind]),
        Value::Array(kinds) => Some(kinds.iter().filter_map(Value::as_str).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// Describes a schema briefly.
fn word(schema: &Value) -> String {
    if let Some(only) = schema.get("const") {
        return value_text(only);
    }
    match schema.get("type").and_then(Value::as_str) {
        Some(kind) => kind_word(kind).to_owned(),
        None => "of another form".to_owned(),
    }
}

/// Formats a choice.
pub fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        _ => value.to_string(),
    }
}

/// Whether a value is of a JSON type.
pub fn is_kind(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

/// Returns the everyday name of a JSON type.
pub fn kind_word(kind: &str) -> &str {
    match kind {
        "string" => "text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "an object",
        "null" => "nothing",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn problems_of(schema: &Value, value: &Value) -> Vec<String> {
        faults(schema, value).iter().map(Fault::to_string).collect()
    }

    #[test]
    fn faults_name_the_field_and_what_is_wanted() {
        let object = json!({
            "type": "object",
            "required": ["path", "size"],
            "properties": {
                "path": { "type": "string", "minLength": 1, "maxLength": 4, "pattern": "^x" },
                "size": { "type": "integer", "minimum": 0, "maximum": 10 },
                "tags": { "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": 2 },
                "mode": { "enum": ["fast", "slow", 3] },
                "deep": { "$ref": "#/$defs/deep" },
            },
            "additionalProperties": false,
            "$defs": { "deep": { "type": "object", "required": ["x"], "additionalProperties": { "type": "null" } } },
        });
        let either = json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }] });
        let maybe = json!({ "anyOf": [{ "type": "integer", "minimum": 2 }, { "type": "null" }] });
        let one = json!({ "oneOf": [{ "type": "integer" }, { "minimum": 3 }] });
        let cases: Vec<(&Value, Value, &[&str])> = vec![
            (&object, json!({ "path": "a", "size": 10 }), &[]),
            (&object, json!({}), &["path is missing", "size is missing"]),
            (&object, json!([]), &["must be an object"]),
            (
                &object,
                json!({ "path": "", "size": 11 }),
                &["path must have at least 1 characters", "size must be at most 10"],
            ),
            (
                &object,
                json!({ "path": "äöüßé", "size": -1 }),
                &["path must have at most 4 characters, not 5", "size must be at least 0"],
            ),
            (
                &object,
                json!({ "path": 1, "size": 1.5 }),
                &["path must be text", "size must be a whole number"],
            ),
            (&object, json!({ "path": "a", "size": 1, "tags": [] }), &["tags must have at least 1 items"]),
            (&object, json!({ "path": "a", "size": 1, "tags": ["a", 2] }), &["tags, item 2 must be text"]),
            (&object, json!({ "path": "a", "size": 1, "mode": "x" }), &["mode must be one of fast, slow, 3"]),
            (&object, json!({ "path": "a", "size": 1, "nope": 1 }), &["nope is not a field of this tool"]),
            (
                &object,
                json!({ "path": "a", "size": 1, "tgas": [], "file_path": 1 }),
                &[
                    "tgas is not a field of this tool (did you mean `tags`?)",
                    "file_path is not a field of this tool",
                ],
            ),
            (
                &object,
                json!({ "file_path": "a", "size": 1 }),
                &["path is missing", "file_path is not a field of this tool (did you mean `path`?)"],
            ),
            (
                &object,
                json!({ "path": "a", "size": 1, "deep": { "y": 1 } }),
                &["deep, x is missing", "deep, y must be nothing"],
            ),
            (&either, json!("a"), &[]),
            (&either, json!(true), &["must be text or a whole number"]),
            (&maybe, json!(null), &[]),
            (&maybe, json!(1), &["must be at least 2"]),
            (&one, json!(1), &[]),
            (&one, json!(4), &["matches more than one of its possible forms"]),
        ];
        for (schema, value, expected) in cases {
            assert_eq!(problems_of(schema, &value), expected, "{value}");
        }
        let small: &[(Value, Value, &[&str])] = &[
            (json!({ "type": ["string", "null"] }), json!(null), &[]),
            (json!({ "type": ["string", "null"] }), json!(1), &["must be text or nothing"]),
            (json!({ "type": "string", "nullable": true }), json!(null), &[]),
            (json!({ "const": "a" }), json!("b"), &["must be a"]),
            (json!({ "exclusiveMinimum": 0, "exclusiveMaximum": 1 }), json!(1), &["must be less than 1"]),
            (
                json!({ "allOf": [{ "minimum": 1 }, { "maximum": 0 }] }),
                json!(0.5),
                &["must be at least 1", "must be at most 0"],
            ),
            (
                json!({ "prefixItems": [{ "type": "null" }], "items": false }),
                json!([null, 1]),
                &["item 2 must be left out"],
            ),
            (json!(true), json!(1), &[]),
            (json!("no schema"), json!(1), &[]),
            (json!({ "unheard_of": 1, "type": "thing" }), json!(1), &[]),
        ];
        for (schema, value, expected) in small {
            assert_eq!(problems_of(schema, value), *expected, "{schema} {value}");
        }
    }

    #[test]
    fn the_work_is_bounded() {
        let endless = json!({ "$ref": "#" });
        assert_eq!(problems_of(&endless, &json!(1)), ["is too large to check here"]);
        assert_eq!(resolve(&endless, &endless), &endless);
        let branching = json!({ "anyOf": [{ "$ref": "#" }, { "$ref": "#" }, { "$ref": "#" }] });
        assert!(!problems_of(&branching, &json!(1)).is_empty());
        let wide = json!({ "items": { "type": "null" } });
        let many = Value::Array(vec![json!(1); STEPS * 2]);
        assert_eq!(faults(&wide, &many).len(), MOST);
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            prop::sample::select(vec!["#", "#/items", "object", "string", "array", "x"])
                .prop_map(Value::from),
        ];
        let keys = prop::sample::select(vec![
            "type",
            "enum",
            "items",
            "properties",
            "required",
            "anyOf",
            "oneOf",
            "allOf",
            "$ref",
            "minimum",
            "minLength",
            "maxItems",
            "additionalProperties",
            "const",
            "prefixItems",
            "nullable",
        ]);
        leaf.prop_recursive(4, 40, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                prop::collection::vec((keys.clone(), inner), 0..4).prop_map(|pairs| {
                    Value::Object(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(schema in any_json(), value in any_json()) {
            faults(&schema, &value);
        }
    }
}
