//! Changing the arguments of the open request: in the user's editor, or line by line where there is none.
//!
//! Nothing that was changed is approved before the question that shows the changes.

use serde_json::{Map, Value};

use super::approvals::{PAGE, QuestionStage};
use super::describe;
use super::state::Plain;
use crate::frontend::dialogue::{SeenPart, yes_to};
use crate::frontend::fields;

pub(super) const ARGUMENTS: &str = "FIELD=VALUE, all arguments as JSON, or an empty line when done: ";
pub(super) const APPROVES: &str = "yes approves the call with these arguments, anything else goes back: ";

const OPENS: &str = "Your editor opens with the arguments. What you save is shown here, and only a yes after that approves it.";
const LINES: &str =
    "The arguments now. Your changes are shown again, and only a yes after that approves them.";
const NOT_YET: &str = "Not approved. 3 goes on with the changes, 1 approves the call as it was asked.";
const UNCHANGED: &str = "Nothing was changed.";
const GONE: &str = "The request is no longer open here, so what was edited is not used.";

impl Plain {
    /// Begins to change the arguments.
    pub(super) fn edit(&mut self) {
        let Some(open) = &mut self.approvals.open else { return };
        if open.seen_part() != SeenPart::All {
            return self.page.line(&describe::unseen(&open.request));
        }
        if self.setup.has_editor {
            open.stage = QuestionStage::Away;
            self.to_edit = Some(open.written.clone().unwrap_or_else(|| format!("{:#}", open.args)));
            return self.page.line(OPENS);
        }
        let rows = describe::editable(&open.args);
        self.page.line(&format!("    {LINES}"));
        if rows.len() <= PAGE {
            self.page.block(&rows.join("\n"), "    ");
        }
        self.stage_anew(QuestionStage::Edit);
    }

    /// Takes the text that the editor saved, or why there is none. A text that holds no arguments is kept for the next
    /// time.
    pub(super) fn take_edited(&mut self, text: Result<String, String>) {
        let schema = self.schema();
        let Some(open) = self.approvals.open.as_mut().filter(|open| open.stage == QuestionStage::Away) else {
            return self.page.line(GONE);
        };
        let args = text.and_then(|text| match text.trim() {
            "" => Ok(open.request.args.clone()),
            whole => fields::parse_args(open.request.tool.as_str(), schema.as_ref(), whole).map_err(|why| {
                open.written = Some(text.clone());
                format!("{why}; 3 opens it again")
            }),
        });
        match args {
            Ok(args) => self.show_changes(args),
            Err(why) => {
                self.page.line(&format!("Not changed: {why}."));
                self.stage_anew(QuestionStage::Choice);
            }
        }
    }

    /// Takes one line of changes.
    pub(super) fn change(&mut self, line: &str) {
        let schema = self.schema();
        let Some(open) = &mut self.approvals.open else { return };
        let (tool, schema) = (&open.request.tool, schema.as_ref());
        let changed = match line.trim() {
            "" => {
                let args = open.args.clone();
                return self.show_changes(args);
            }
            whole if whole.starts_with('{') => match fields::parse_args(tool.as_str(), schema, whole) {
                Ok(args) => return self.show_changes(args),
                Err(why) => Err(why),
            },
            _ => {
                let set = line_of_text(&open.args, line).unwrap_or_else(|| line.to_owned());
                fields::with_changes(tool.as_str(), schema, &open.args, &[set])
            }
        };
        match changed {
            Ok(args) => {
                open.args = args;
                self.page.line("Changed.");
            }
            Err(why) => self.page.line(&format!("Not changed: {why}.")),
        }
    }

    /// Shows what was changed and asks whether the call is approved with it.
    fn show_changes(&mut self, args: Value) {
        let Some(open) = &mut self.approvals.open else { return };
        open.written = None;
        let rows = changes(&open.request.args, &args);
        open.args = args;
        if rows.is_empty() {
            self.page.line(UNCHANGED);
            return self.stage_anew(QuestionStage::Choice);
        }
        self.page.line("    The call would run with:");
        self.page.block(&rows.join("\n"), "    ");
        self.stage_anew(QuestionStage::Changed);
    }

    /// Takes the answer to the question about the changes.
    pub(super) fn approve_changed(&mut self, word: &str) {
        let Some(open) = &mut self.approvals.open else { return };
        if word == "yes" {
            let approval = yes_to(&open.request, open.args.clone(), None);
            return self.yes(approval);
        }
        open.stage = QuestionStage::Choice;
        self.page.line(NOT_YET);
    }

    /// Returns the schema of the open request's tool.
    fn schema(&self) -> Option<Value> {
        let request = &self.approvals.open.as_ref()?.request;
        let known = self.tools.iter().find(|spec| spec.name == request.tool);
        request.schema(|| known.map(|spec| spec.parameters.clone()))
    }
}

/// Returns a change of one line of a text, `FIELD.NUMBER=LINE`, as the change of the whole text; `None` if it is none.
fn line_of_text(args: &Value, change: &str) -> Option<String> {
    let (name, line) = change.split_once('=')?;
    let (field, number) = name.trim().rsplit_once('.')?;
    let text = args.pointer(&format!("/{}", field.replace('.', "/")))?.as_str()?;
    let end = if text.ends_with('\n') { "\n" } else { "" };
    let mut lines: Vec<&str> = text.lines().collect();
    let at = number.parse::<usize>().ok()?.checked_sub(1)?;
    if at == lines.len() {
        lines.push(line);
    }
    *lines.get_mut(at)? = line;
    Some(format!("{field}={}{end}", lines.join("\n")))
}

/// Returns the arguments that differ, in rows.
fn changes(asked: &Value, now: &Value) -> Vec<String> {
    let fields = |args: &Value| args.as_object().cloned().unwrap_or_default();
    let (asked, now) = (fields(asked), fields(now));
    let changed: Map<String, Value> = now
        .iter()
        .filter(|(name, value)| asked.get(*name) != Some(*value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut rows = describe::editable(&Value::Object(changed));
    rows.extend(asked.keys().filter(|name| !now.contains_key(*name)).map(|name| format!("without {name}")));
    rows
}
