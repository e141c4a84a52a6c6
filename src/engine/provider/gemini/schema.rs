//! A tool's JSON Schema → the subset that a function declaration accepts.
//!
//! Sent as `parameters`, not as `parametersJsonSchema`: every version of the API, Vertex and the gateways
//! support it, and its subset is documented. An unknown keyword makes the service refuse the whole request,
//! so this file has an allow-list; other constraints are added to the description where the model can use
//! them. Depth and size are bounded, whatever the references.

use serde_json::{Map, Value, json};

/// The deepest nesting of schemas; a deeper schema becomes an object of any form.
const DEEPEST: usize = 16;

/// The most schemas in one declaration: references can multiply without limit.
const MOST: usize = 2_000;

/// Keywords that are passed on unchanged, by type.
const LIMITS: [(&str, &[&str]); 5] = [
    ("STRING", &["minLength", "maxLength", "pattern"]),
    ("INTEGER", &["minimum", "maximum"]),
    ("NUMBER", &["minimum", "maximum"]),
    ("ARRAY", &["minItems", "maxItems"]),
    ("OBJECT", &["minProperties", "maxProperties"]),
];

/// Formats that the service accepts, by type.
const FORMATS: [(&str, &[&str]); 3] =
    [("STRING", &["enum", "date-time"]), ("INTEGER", &["int32", "int64"]), ("NUMBER", &["float", "double"])];

/// Returns the parameters of a declaration; `None` for a function without parameters, because an object
/// without properties is refused.
pub fn parameters(schema: &Value) -> Option<Value> {
    let adapted = Adapter { root: schema, left: MOST }.schema(schema, 0);
    let named = adapted.get("properties").and_then(Value::as_object);
    named.is_some_and(|named| !named.is_empty()).then_some(adapted)
}

struct Adapter<'a> {
    root: &'a Value,
    left: usize,
}

impl Adapter<'_> {
    fn schema(&mut self, schema: &Value, depth: usize) -> Value {
        if depth > DEEPEST || self.left == 0 {
            return json!({ "type": "OBJECT" });
        }
        self.left -= 1;
        let mut fields = Map::new();
        self.gather(schema, depth, &mut fields);
        let mut notes = Vec::new();
        let mut adapted = self.shape(&fields, depth, &mut notes);
        let own = fields.get("description").and_then(Value::as_str).unwrap_or_default();
        describe(&mut adapted, own, &notes);
        adapted
    }

    /// Collects the keywords of a schema and of those in its `$ref` and `allOf`; its own take precedence.
    fn gather(&mut self, schema: &Value, depth: usize, fields: &mut Map<String, Value>) {
        let Some(own) = schema.as_object() else { return };
        for (key, value) in own {
            match (fields.get_mut(key), value) {
                (Some(Value::Object(before)), Value::Object(more)) if key == "properties" => {
                    for (name, schema) in more {
                        before.entry(name.clone()).or_insert_with(|| schema.clone());
                    }
                }
                (Some(Value::Array(before)), Value::Array(more)) if key == "required" => {
                    before.extend(more.iter().cloned());
                }
                (Some(_), _) => {}
                (None, value) => {
                    fields.insert(key.clone(), value.clone());
                }
            }
        }
        if depth > DEEPEST || self.left == 0 {
            return;
        }
        self.left -= 1;
        let link = own.get("$ref").and_then(Value::as_str).and_then(|link| link.strip_prefix('#'));
        let target = link.and_then(|link| self.root.pointer(link));
        let all = own.get("allOf").and_then(Value::as_array).into_iter().flatten();
        for part in target.into_iter().chain(all) {
            self.gather(part, depth + 1, fields);
        }
    }

    fn shape(&mut self, fields: &Map<String, Value>, depth: usize, notes: &mut Vec<String>) -> Value {
        let variants = ["anyOf", "oneOf"].iter().find_map(|key| fields.get(*key)).and_then(Value::as_array);
        if let Some(variants) = variants.filter(|_| !fields.contains_key("properties")) {
            return self.variants(variants, depth, notes);
        }
        let (types, mut nullable) = types(fields);
        let mut adapted = match types.as_slice() {
            [] => Map::from_iter([("type".to_owned(), json!("STRING"))]),
            [one] => self.adapt_type(one, fields, depth, notes),
            several => {
                let each =
                    several.iter().map(|one| Value::Object(self.adapt_type(one, fields, depth, notes)));
                Map::from_iter([("anyOf".to_owned(), each.collect())])
            }
        };
        nullable |= values(fields).is_some_and(|values| values.iter().any(Value::is_null));
        if nullable {
            may_be_null(&mut adapted);
        }
        Value::Object(adapted)
    }

    fn adapt_type(
        &mut self,
        kind: &str,
        fields: &Map<String, Value>,
        depth: usize,
        notes: &mut Vec<String>,
    ) -> Map<String, Value> {
        let mut adapted = Map::new();
        adapted.insert("type".to_owned(), json!(kind));
        add_values(kind, fields, &mut adapted, notes);
        let format = fields.get("format").and_then(Value::as_str);
        match format {
            Some(format) if of(&FORMATS, kind).contains(&format) => {
                adapted.insert("format".to_owned(), json!(format));
            }
            Some(format) if kind == "STRING" => notes.push(format!("format: {format}")),
            Some(_) | None => {}
        }
        for limit in of(&LIMITS, kind) {
            if let Some(value) = fields.get(*limit).filter(|value| value.is_number() || value.is_string()) {
                adapted.insert((*limit).to_owned(), value.clone());
            }
        }
        for (word, says) in [("exclusiveMinimum", "more than"), ("exclusiveMaximum", "less than")] {
            if let Some(bound) = fields.get(word).filter(|bound| bound.is_number()) {
                notes.push(format!("{says} {bound}"));
            }
        }
        match kind {
            "OBJECT" => self.object(fields, depth, &mut adapted),
            "ARRAY" => {
                adapted.insert("items".to_owned(), self.items(fields, depth));
            }
            _ => {}
        }
        adapted
    }

    fn object(&mut self, fields: &Map<String, Value>, depth: usize, adapted: &mut Map<String, Value>) {
        let Some(named) = fields.get("properties").and_then(Value::as_object).filter(|all| !all.is_empty())
        else {
            return;
        };
        let all: Map<String, Value> =
            named.iter().map(|(name, schema)| (name.clone(), self.schema(schema, depth + 1))).collect();
        // A required name without a property makes the service refuse the request.
        let mut required: Vec<Value> = Vec::new();
        for name in fields.get("required").and_then(Value::as_array).into_iter().flatten() {
            if name.as_str().is_some_and(|name| all.contains_key(name)) && !required.contains(name) {
                required.push(name.clone());
            }
        }
        adapted.insert("properties".to_owned(), Value::Object(all));
        if !required.is_empty() {
            adapted.insert("required".to_owned(), Value::Array(required));
        }
    }

    /// Returns the schema of a list's items, which is mandatory.
    fn items(&mut self, fields: &Map<String, Value>, depth: usize) -> Value {
        match (fields.get("items"), fields.get("prefixItems").and_then(Value::as_array)) {
            (Some(items @ Value::Object(_)), _) => self.schema(items, depth + 1),
            (_, Some(each)) if !each.is_empty() => self.variants(each, depth, &mut Vec::new()),
            (_, _) => json!({ "type": "STRING" }),
        }
    }

    fn variants(&mut self, variants: &[Value], depth: usize, notes: &mut Vec<String>) -> Value {
        let (nulls, rest): (Vec<&Value>, Vec<&Value>) = variants.iter().partition(|variant| is_null(variant));
        if let Some(words) = choices(&rest, notes) {
            let mut adapted = Map::from_iter([("type".to_owned(), json!("STRING"))]);
            adapted.insert("enum".to_owned(), words);
            if !nulls.is_empty() {
                may_be_null(&mut adapted);
            }
            return Value::Object(adapted);
        }
        let mut each: Vec<Value> = rest.iter().map(|variant| self.schema(variant, depth + 1)).collect();
        let only = if each.len() == 1 { each.pop() } else { None };
        let mut adapted = match only {
            Some(Value::Object(only)) => only,
            Some(_) | None if each.is_empty() => Map::from_iter([("type".to_owned(), json!("STRING"))]),
            Some(_) | None => Map::from_iter([("anyOf".to_owned(), Value::Array(each))]),
        };
        if !nulls.is_empty() {
            may_be_null(&mut adapted);
        }
        Value::Object(adapted)
    }
}

/// Marks a schema as nullable. No other field may accompany `anyOf`, so there the variants are marked.
fn may_be_null(adapted: &mut Map<String, Value>) {
    match adapted.get_mut("anyOf").and_then(Value::as_array_mut) {
        Some(variants) => {
            for variant in variants.iter_mut().filter_map(Value::as_object_mut) {
                variant.insert("nullable".to_owned(), json!(true));
            }
        }
        None => {
            adapted.insert("nullable".to_owned(), json!(true));
        }
    }
}

fn describe(adapted: &mut Value, own: &str, notes: &[String]) {
    let first = match adapted.get("anyOf") {
        Some(_) => adapted.get_mut("anyOf").and_then(|variants| variants.get_mut(0)),
        None => Some(adapted),
    };
    let Some(fields) = first.and_then(Value::as_object_mut) else { return };
    let before = fields.get("description").and_then(Value::as_str).unwrap_or_default();
    let mut text = if own.is_empty() { before.to_owned() } else { own.to_owned() };
    if !notes.is_empty() {
        let space = if text.is_empty() { "" } else { " " };
        text = format!("{text}{space}({})", notes.join("; "));
    }
    if !text.is_empty() {
        fields.insert("description".to_owned(), json!(text));
    }
}

/// Returns a schema's types under this wire's names, and whether null is one of them.
fn types(fields: &Map<String, Value>) -> (Vec<String>, bool) {
    let stated: Vec<&str> = match fields.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        Some(_) | None => vec![inferred_type(fields)],
    };
    let mut types: Vec<String> = Vec::new();
    let mut nullable = false;
    for one in stated {
        let one = one.to_ascii_uppercase();
        match one.as_str() {
            "NULL" => nullable = true,
            "STRING" | "INTEGER" | "NUMBER" | "BOOLEAN" | "ARRAY" | "OBJECT" if !types.contains(&one) => {
                types.push(one);
            }
            _ => {}
        }
    }
    (types, nullable)
}

/// Infers the type of a schema that does not state it.
fn inferred_type(fields: &Map<String, Value>) -> &'static str {
    let first = values(fields).and_then(|values| values.iter().find(|value| !value.is_null()));
    match first {
        Some(Value::Number(number)) if number.is_f64() => "number",
        Some(Value::Number(_)) => "integer",
        Some(Value::Bool(_)) => "boolean",
        Some(_) => "string",
        None if ["properties", "additionalProperties"].iter().any(|key| fields.contains_key(*key)) => {
            "object"
        }
        None if ["items", "prefixItems"].iter().any(|key| fields.contains_key(*key)) => "array",
        None if ["minimum", "maximum"].iter().any(|key| fields.contains_key(*key)) => "number",
        None => "string",
    }
}

/// Returns the values that a schema lists.
fn values(fields: &Map<String, Value>) -> Option<&[Value]> {
    match (fields.get("const"), fields.get("enum")) {
        (Some(only), _) => Some(std::slice::from_ref(only)),
        (None, Some(Value::Array(several))) => Some(several),
        (None, _) => None,
    }
}

/// Adds listed values: as `enum` for strings, as a note in the description for other types.
fn add_values(
    kind: &str,
    fields: &Map<String, Value>,
    adapted: &mut Map<String, Value>,
    notes: &mut Vec<String>,
) {
    let Some(values) = values(fields) else { return };
    let values: Vec<&Value> = values.iter().filter(|value| !value.is_null()).collect();
    // An empty string in `enum` is refused.
    let words = values.iter().all(|value| value.as_str().is_some_and(|word| !word.is_empty()));
    if kind == "STRING" && words && !values.is_empty() {
        adapted.insert("enum".to_owned(), json!(values));
    } else if !values.is_empty() {
        let said: Vec<String> = values.iter().map(ToString::to_string).collect();
        notes.push(format!("one of: {}", said.join(", ")));
    }
}

/// Returns the list of values, if each variant is a single string.
fn choices(variants: &[&Value], notes: &mut Vec<String>) -> Option<Value> {
    let word = |variant: &&Value| {
        let fields = variant.as_object()?;
        let [one] = values(fields)? else { return None };
        one.as_str().filter(|word| !word.is_empty()).map(str::to_owned)
    };
    let words: Vec<String> = variants.iter().map(word).collect::<Option<_>>()?;
    if words.is_empty() {
        return None;
    }
    for (word, variant) in words.iter().zip(variants) {
        if let Some(about) = variant.get("description").and_then(Value::as_str) {
            notes.push(format!("{word}: {about}"));
        }
    }
    Some(json!(words))
}

fn is_null(variant: &Value) -> bool {
    let null_type = variant.get("type").and_then(Value::as_str) == Some("null");
    null_type || variant.get("const").is_some_and(Value::is_null)
}

fn of(table: &[(&str, &'static [&'static str])], kind: &str) -> &'static [&'static str] {
    table.iter().find(|(of, _)| *of == kind).map_or(&[], |(_, words)| *words)
}
