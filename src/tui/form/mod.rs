//! A form for a tool's arguments, made from its JSON Schema; the same arguments as JSON text; and their errors. Plain
//! data: keys are handled by `keys`, drawing by `draw`. Written text is never lost: invalid JSON is
//! kept, with the reason beside it.

pub mod draw;
mod field;
pub mod keys;

use serde_json::{Map, Value};

use self::field::Rules;
pub use self::field::{Field, FieldEntry, LONGEST};
use crate::frontend::fields;
use crate::tool::DiffLine;
use crate::tool::diff::diff;
use crate::tool::schema::{Fault, faults, resolve};
use crate::tui::composer::Editor;
use crate::tui::keys::{Context, Nav};

/// Lines of the changes that a page scrolls by.
const PAGE: usize = 10;

/// The arguments of one request while they are edited.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// The tool's schema, if known.
    pub schema: Option<Value>,
    asked: Value,
    pub mode: Mode,
    pub fields: Vec<Field>,
    /// The index of the field with the cursor; after the last one comes the note.
    pub at: usize,
    /// The user's note to the model, if any.
    pub note: Editor,
    /// The arguments as text; outdated while the fields are shown.
    pub raw: Editor,
    /// The arguments to be run, or the first error.
    pub check: Result<Value, String>,
    /// Errors that belong to no field.
    pub others: Vec<String>,
    /// The changes from the requested arguments, if they are valid; `None` until needed.
    pub changes: Option<Vec<DiffLine>>,
    /// First line of the changes that is shown.
    pub scroll: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Fields,
    Raw,
}

/// Why the form cannot switch between fields and text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormSwitchError {
    TooLong,
    NotJson,
    NoFields,
}

impl Form {
    /// Creates a form that starts with `now`, where the model requested `asked`.
    pub fn new(schema: Option<Value>, asked: &Value, now: &Value) -> Self {
        let known =
            schema.as_ref().is_some_and(|schema| properties(schema).is_some_and(|all| !all.is_empty()));
        let mut form = Self {
            schema,
            asked: asked.clone(),
            mode: Mode::Fields,
            fields: Vec::new(),
            at: 0,
            note: Editor::default(),
            raw: Editor::default(),
            check: Ok(now.clone()),
            others: Vec::new(),
            changes: None,
            scroll: 0,
        };
        form.fill(now);
        // An argument object too long for a text is better shown field by field.
        let text = pretty(now);
        if !known && text.len() <= LONGEST {
            form.mode = Mode::Raw;
            form.raw = Editor::plain(&text);
        }
        form.validate();
        form
    }

    /// Creates the fields: those of the schema in its order, then all others.
    fn fill(&mut self, now: &Value) {
        let nothing = Value::Null;
        let root = self.schema.as_ref().unwrap_or(&nothing);
        let required: Vec<&str> = resolve(root, root)
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let empty = Map::new();
        let known = properties(root).unwrap_or(&empty);
        let mut names: Vec<&String> = known.keys().collect();
        for args in [&self.asked, now] {
            let others = args.as_object().into_iter().flat_map(Map::keys);
            names.extend(others.filter(|name| !known.contains_key(*name)).collect::<Vec<_>>());
        }
        let mut fields: Vec<Field> = Vec::new();
        for name in names {
            if fields.iter().any(|field| field.name == *name) {
                continue;
            }
            let required = required.contains(&name.as_str());
            let rules = Rules { root, schema: known.get(name).unwrap_or(&nothing), required };
            fields.push(Field::new(name, rules, self.asked.get(name), now.get(name)));
        }
        self.fields = fields;
        self.at = self.at.min(self.fields.len());
    }

    pub fn field(&self) -> Option<&Field> {
        self.fields.get(self.at).filter(|_| self.mode == Mode::Fields)
    }

    pub fn field_mut(&mut self) -> Option<&mut Field> {
        self.fields.get_mut(self.at).filter(|_| self.mode == Mode::Fields)
    }

    pub fn editor_mut(&mut self) -> Option<&mut Editor> {
        match self.mode {
            Mode::Raw => Some(&mut self.raw),
            Mode::Fields => match self.fields.get_mut(self.at).map(|field| &mut field.entry) {
                None => Some(&mut self.note),
                Some(FieldEntry::Text(editor)) => Some(editor),
                Some(FieldEntry::Pick { .. } | FieldEntry::Long(_)) => None,
            },
        }
    }

    pub fn next(&mut self) {
        self.at = (self.at + 1) % (self.fields.len() + 1);
    }

    pub fn previous(&mut self) {
        self.at = self.at.checked_sub(1).unwrap_or(self.fields.len());
    }

    /// Whether the cursor is in the note.
    pub fn is_in_note(&self) -> bool {
        self.mode == Mode::Fields && self.at == self.fields.len()
    }

    /// Returns the user's note to the model, if it is not empty.
    pub fn note_text(&self) -> Option<String> {
        let note = self.note.text().trim().to_owned();
        (!note.is_empty()).then_some(note)
    }

    /// Scrolls the changes beside the fields, by at most `most` lines in total.
    pub fn scroll_side_pane(&mut self, by: Nav, most: usize) {
        self.scroll = by.row(self.scroll, PAGE).min(most);
    }

    /// Restores the requested value of the field with the cursor; in text mode, of everything.
    pub fn reset(&mut self) {
        match self.mode {
            Mode::Raw => self.raw = Editor::plain(&pretty(&self.asked)),
            Mode::Fields => match self.fields.get_mut(self.at) {
                Some(field) => field.reset(),
                None => self.note.replace(""),
            },
        }
        self.validate();
    }

    /// Returns the context of its keys.
    pub fn context(&self) -> Context {
        match self.mode {
            Mode::Fields => Context::Form,
            Mode::Raw => Context::Arguments,
        }
    }

    /// Switches between fields and text. Fails with the reason if that is not possible.
    pub fn turn(&mut self) -> Result<(), FormSwitchError> {
        match self.mode {
            Mode::Fields => {
                let text = self.text();
                if text.len() > LONGEST {
                    return Err(FormSwitchError::TooLong);
                }
                self.raw = Editor::plain(&text);
                self.mode = Mode::Raw;
            }
            Mode::Raw => {
                let Ok(args) = read(&self.raw.text()) else {
                    return Err(FormSwitchError::NotJson);
                };
                self.mode = Mode::Fields;
                self.fill(&args);
                if self.fields.is_empty() {
                    self.mode = Mode::Raw;
                    return Err(FormSwitchError::NoFields);
                }
            }
        }
        self.validate();
        Ok(())
    }

    /// Takes a text edited outside. One that is no JSON object stays as text.
    pub fn take(&mut self, text: &str) {
        match (read(text), self.mode) {
            (Ok(args), Mode::Fields) => self.fill(&args),
            (Ok(_), Mode::Raw) | (Err(_), _) => {
                self.mode = Mode::Raw;
                self.raw = if text.len() > LONGEST { Editor::default() } else { Editor::plain(text) };
                if text.len() > LONGEST {
                    // As one piece: it can be opened outside again, and slows nothing down.
                    self.raw.paste(text);
                }
            }
        }
        self.validate();
    }

    /// Returns everything as text, including invalid fields.
    pub fn text(&self) -> String {
        match self.mode {
            Mode::Raw => self.raw.text(),
            Mode::Fields => {
                let written = |field: &Field| field.value().unwrap_or_else(|_| Some(field.text().into()));
                pretty(&self.assemble(written))
            }
        }
    }

    /// Returns the number of fields that differ from the request.
    pub fn changed_count(&self) -> usize {
        match (&self.check, self.mode) {
            (Ok(args), _) => differing(&self.asked, args),
            (Err(_), Mode::Fields) => self.fields.iter().filter(|field| field.is_changed()).count(),
            (Err(_), Mode::Raw) => read(&self.raw.text()).map_or(0, |args| differing(&self.asked, &args)),
        }
    }

    /// Assembles the arguments in the requested order.
    fn assemble(&self, value: impl Fn(&Field) -> Option<Value>) -> Value {
        let mut args = self.asked.as_object().cloned().unwrap_or_default();
        for field in &self.fields {
            match value(field) {
                Some(value) => {
                    args.insert(field.name.clone(), value);
                }
                None => {
                    args.shift_remove(&field.name);
                }
            }
        }
        Value::Object(args)
    }

    /// Validates everything; called after every change.
    pub fn validate(&mut self) {
        self.others.clear();
        self.check = match self.mode {
            Mode::Raw => self.check_raw(),
            Mode::Fields => self.check_fields(),
        };
        self.changes = None;
    }

    /// Computes the changes when they are shown: too slow for every key press.
    pub fn compare(&mut self) {
        let of = |args: &Value| diff(&readable(&self.asked, &self.asked), &readable(args, &self.asked));
        if self.changes.is_none() {
            self.changes = Some(self.check.as_ref().map(of).unwrap_or_default());
        }
    }

    fn check_raw(&mut self) -> Result<Value, String> {
        let args = read(&self.raw.text())?;
        self.others = self.faults(&args).iter().map(Fault::to_string).collect();
        match self.others.first() {
            Some(fault) => Err(fault.clone()),
            None => Ok(args),
        }
    }

    fn check_fields(&mut self) -> Result<Value, String> {
        let args = self.assemble(|field| field.value().ok().flatten());
        let faults = self.faults(&args);
        for field in &mut self.fields {
            field.faults = match field.value() {
                Err(wanted) => vec![wanted],
                Ok(_) => faults.iter().filter_map(|fault| inside(fault, &field.name)).collect(),
            };
        }
        let names: Vec<&String> = self.fields.iter().map(|field| &field.name).collect();
        let has_field = |fault: &Fault| fault.path.first().is_some_and(|name| names.contains(&name));
        self.others = faults.iter().filter(|fault| !has_field(fault)).map(Fault::to_string).collect();
        let first = self.fields.iter().find_map(|field| Some((&field.name, field.faults.first()?)));
        match (first, self.others.first()) {
            (Some((name, wanted)), _) => Err(format!("{name} {wanted}")),
            (None, Some(fault)) => Err(fault.clone()),
            (None, None) => Ok(args),
        }
    }

    fn faults(&self, args: &Value) -> Vec<Fault> {
        self.schema.as_ref().map_or(Vec::new(), |schema| faults(schema, args))
    }
}

/// Formats a fault inside this field, without the field's name.
fn inside(fault: &Fault, name: &str) -> Option<String> {
    let (first, rest) = fault.path.split_first()?;
    (first == name).then(|| Fault { path: rest.to_vec(), wanted: fault.wanted.clone() }.to_string())
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    resolve(schema, schema).get("properties")?.as_object()
}

fn differing(asked: &Value, args: &Value) -> usize {
    let (Some(asked), Some(args)) = (asked.as_object(), args.as_object()) else { return 0 };
    let gone = asked.keys().filter(|name| !args.contains_key(*name)).count();
    gone + args.iter().filter(|(name, value)| asked.get(*name) != Some(value)).count()
}

pub fn pretty(args: &Value) -> String {
    serde_json::to_string_pretty(args).unwrap_or_default()
}

/// Parses arguments.
fn read(text: &str) -> Result<Value, String> {
    let args = fields::json(text)?;
    if args.is_object() { Ok(args) } else { Err(fields::NO_OBJECT.to_owned()) }
}

/// Formats arguments for a comparison by lines with `asked`: multi-line texts stay readable; for texts too long to be
/// edited it only says whether they are equal.
fn readable(args: &Value, asked: &Value) -> String {
    let mut out = String::new();
    for (name, value) in args.as_object().into_iter().flatten() {
        match value {
            Value::String(text) if text.len() > LONGEST => {
                let state = if asked.get(name) == Some(value) { "as requested" } else { "changed" };
                out.push_str(&format!("{name}: {} bytes, {state}\n", text.len()));
            }
            Value::String(text) if text.contains('\n') => {
                out.push_str(&format!("{name}:\n"));
                text.split('\n').for_each(|line| out.push_str(&format!("  {line}\n")));
            }
            _ => out.push_str(&format!("{name}: {}\n", pretty(value))),
        }
    }
    out
}
