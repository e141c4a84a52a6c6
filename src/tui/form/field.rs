//! One field of a form: the kind of its value, its text, and the resulting value. An unchanged field keeps its value
//! exactly, however it is displayed.

use serde_json::Value;

use crate::frontend::fields;
use crate::tool::schema::{is_kind, is_null, kind_word, kinds, resolve, value_text};
use crate::tui::composer::Editor;

/// The longest text that is edited here, in bytes; longer texts are edited outside.
pub const LONGEST: usize = 64 * 1024;

#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    pub name: String,
    pub required: bool,
    /// A short description of valid values.
    pub hint: String,
    /// The tool's description of the field.
    pub about: String,
    pub entry: FieldEntry,
    /// The faults of its value.
    pub faults: Vec<String>,
    shape: Shape,
    /// The value requested by the model; `None` if it omitted the field.
    asked: Option<Value>,
    /// The initial value of the field.
    first: Option<Value>,
    /// The text of `first`.
    first_text: String,
}

/// The content of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldEntry {
    Text(Editor),
    /// One of the choices; `None` among them leaves the field out.
    Pick {
        choices: Vec<Option<Value>>,
        at: usize,
    },
    /// Too long to be edited here; holds the bytes.
    Long(usize),
}

/// The conversion between text and value.
#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Text,
    /// A number of this JSON type.
    Number(&'static str),
    /// A list of texts, one per line.
    Lines,
    Json,
    Pick(Vec<Value>),
}

impl Field {
    /// Creates the field `name`; `root` is the schema that contains `schema`.
    pub fn new(name: &str, rules: Rules<'_>, asked: Option<&Value>, now: Option<&Value>) -> Self {
        let schema = plain(rules.root, rules.schema);
        let mut shape = shape(rules.root, schema);
        if ![asked, now].into_iter().flatten().all(|value| shape.holds(value)) {
            shape = Shape::Json;
        }
        let mut field = Self {
            name: name.to_owned(),
            required: rules.required,
            hint: hint(schema, &shape),
            about: about(rules.schema, schema),
            entry: FieldEntry::Long(0),
            faults: Vec::new(),
            shape,
            asked: asked.cloned(),
            first: now.cloned(),
            first_text: String::new(),
        };
        field.fill(now.cloned());
        field
    }

    /// Sets the value.
    fn fill(&mut self, value: Option<Value>) {
        let text = self.shape.text(value.as_ref());
        self.entry = if let Shape::Pick(choices) = &self.shape {
            let mut choices: Vec<Option<Value>> = choices.iter().cloned().map(Some).collect();
            if !self.required || value.is_none() {
                choices.push(None);
            }
            let at = choices.iter().position(|choice| *choice == value).unwrap_or(0);
            FieldEntry::Pick { choices, at }
        } else if text.len() > LONGEST {
            FieldEntry::Long(text.len())
        } else {
            let mut editor = Editor::plain(&text);
            editor.line_end();
            FieldEntry::Text(editor)
        };
        (self.first, self.first_text) = (value, text);
    }

    /// Restores the requested value.
    pub fn reset(&mut self) {
        self.fill(self.asked.clone());
    }

    /// Returns the value, `None` to leave the field out; or an error that says what is wanted.
    pub fn value(&self) -> Result<Option<Value>, String> {
        match &self.entry {
            FieldEntry::Long(_) => Ok(self.first.clone()),
            FieldEntry::Pick { choices, at } => Ok(choices.get(*at).cloned().flatten()),
            FieldEntry::Text(editor) => {
                let text = editor.text();
                if text == self.first_text {
                    return Ok(self.first.clone());
                }
                if self.asked.is_some() && text == self.shape.text(self.asked.as_ref()) {
                    return Ok(self.asked.clone());
                }
                self.shape.value(&text, self.required)
            }
        }
    }

    pub fn is_changed(&self) -> bool {
        self.value().as_ref() != Ok(&self.asked)
    }

    /// Describes the requested value.
    pub fn was(&self) -> String {
        match &self.asked {
            None => "not set".to_owned(),
            Some(Value::String(text)) if text.is_empty() => "empty".to_owned(),
            Some(asked) => self.shape.text(Some(asked)),
        }
    }

    /// Returns the text, which may not give a value yet.
    pub fn text(&self) -> String {
        match &self.entry {
            FieldEntry::Text(editor) => editor.text(),
            FieldEntry::Pick { .. } | FieldEntry::Long(_) => String::new(),
        }
    }

    /// Whether Enter inserts a line break.
    pub fn has_lines(&self) -> bool {
        match (&self.shape, &self.entry) {
            (Shape::Lines | Shape::Json, FieldEntry::Text(_)) => true,
            (Shape::Text, FieldEntry::Text(editor)) => {
                editor.items().iter().any(|item| item.text().contains('\n'))
            }
            (Shape::Text | Shape::Number(_) | Shape::Pick(_) | Shape::Lines | Shape::Json, _) => false,
        }
    }

    /// Moves to another choice, cyclically; returns false if the field has no choices.
    pub fn turn(&mut self, forward: bool) -> bool {
        let FieldEntry::Pick { choices, at } = &mut self.entry else { return false };
        let step = if forward { 1 } else { choices.len() - 1 };
        *at = (*at + step) % choices.len();
        true
    }
}

/// The schema of one field.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    pub root: &'a Value,
    pub schema: &'a Value,
    pub required: bool,
}

/// Resolves references, single `allOf`s and nullable alternatives.
fn plain<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut at = resolve(root, schema);
    for key in ["allOf", "anyOf", "oneOf", "allOf"] {
        let Some(list) = at.get(key).and_then(Value::as_array) else { continue };
        let mut real = list.iter().filter(|schema| !is_null(schema));
        if let (Some(only), None) = (real.next(), real.next()) {
            at = resolve(root, only);
        }
    }
    at
}

/// Returns the only type of a value besides null.
fn kind(schema: &Value) -> Option<&str> {
    match kinds(schema.get("type")?)?.as_slice() {
        [kind] | ["null", kind] | [kind, "null"] => Some(*kind),
        _ => None,
    }
}

fn shape(root: &Value, schema: &Value) -> Shape {
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    if let Some(choices) = list("enum") {
        return Shape::Pick(choices.iter().filter(|choice| !choice.is_null()).cloned().collect());
    }
    if let Some(only) = schema.get("const") {
        return Shape::Pick(vec![only.clone()]);
    }
    // Choices with a description each.
    if let Some(forms) = list("oneOf").or_else(|| list("anyOf")) {
        let choices: Option<Vec<Value>> = forms.iter().map(|form| form.get("const").cloned()).collect();
        return choices.map_or(Shape::Json, Shape::Pick);
    }
    match kind(schema) {
        Some("string") => Shape::Text,
        Some("integer") => Shape::Number("integer"),
        Some("number") => Shape::Number("number"),
        Some("boolean") => Shape::Pick(vec![Value::Bool(true), Value::Bool(false)]),
        Some("array") => {
            let items = schema.get("items").map(|items| plain(root, items));
            match items.map(|items| shape(root, items)) {
                Some(Shape::Text) => Shape::Lines,
                Some(_) | None => Shape::Json,
            }
        }
        Some(_) | None => Shape::Json,
    }
}

impl Shape {
    /// Whether a value can be written in this shape and read back the same.
    fn holds(&self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Number(kind) => is_kind(value, kind),
            Self::Lines => value.as_array().is_some_and(|items| {
                items.iter().all(|item| item.as_str().is_some_and(|text| !text.contains('\n')))
            }),
            Self::Json => true,
            Self::Pick(choices) => choices.contains(value),
        }
    }

    fn text(&self, value: Option<&Value>) -> String {
        let Some(value) = value else { return String::new() };
        match self {
            Self::Text => value.as_str().unwrap_or_default().to_owned(),
            Self::Number(_) | Self::Pick(_) => value_text(value),
            Self::Lines => {
                let items = value.as_array().map_or(&[][..], Vec::as_slice);
                items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
            }
            Self::Json => serde_json::to_string_pretty(value).unwrap_or_default(),
        }
    }

    fn value(&self, text: &str, required: bool) -> Result<Option<Value>, String> {
        if !required && text.is_empty() {
            return Ok(None);
        }
        let value = match self {
            Self::Text => Value::from(text),
            Self::Lines if text.is_empty() => Value::Array(Vec::new()),
            Self::Lines => text.split('\n').map(Value::from).collect(),
            Self::Number(kind) => serde_json::from_str(text.trim())
                .ok()
                .filter(|value| is_kind(value, kind))
                .ok_or_else(|| format!("must be {}", kind_word(kind)))?,
            Self::Json | Self::Pick(_) => {
                fields::json(text).map_err(|why| format!("is not valid JSON: {why}"))?
            }
        };
        Ok(Some(value))
    }
}

fn about(outer: &Value, inner: &Value) -> String {
    let text = [outer, inner].into_iter().find_map(|schema| schema.get("description")?.as_str());
    text.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn hint(schema: &Value, shape: &Shape) -> String {
    let number = |key: &str| schema.get(key).filter(|value| value.is_number());
    let bounded = |what: &str, [least, most]: [&str; 2], unit: &str| match (number(least), number(most)) {
        (Some(least), Some(most)) => format!("{what} {least}-{most}{unit}"),
        (Some(least), None) => format!("{what} from {least}{unit}"),
        (None, Some(most)) => format!("{what} up to {most}{unit}"),
        (None, None) => what.trim_end_matches(',').to_owned(),
    };
    match shape {
        Shape::Text => bounded("text,", ["minLength", "maxLength"], " characters"),
        Shape::Number(kind) => bounded(kind_word(kind).trim_start_matches("a "), ["minimum", "maximum"], ""),
        Shape::Lines => bounded("list, one per line,", ["minItems", "maxItems"], ""),
        Shape::Pick(choices) if choices.iter().all(Value::is_boolean) => "Space toggles".to_owned(),
        Shape::Pick(choices) => choices.iter().map(value_text).collect::<Vec<_>>().join(", "),
        Shape::Json => kind(schema).map_or("JSON".to_owned(), |kind| format!("{} as JSON", kind_word(kind))),
    }
}
