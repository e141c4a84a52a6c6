//! Texts about changes and their undo: for people, in Markdown, and for the model.

use std::fmt::Write as _;
use std::path::Path;

use super::file::UndoEntry;
use super::restore::{Conflict, Direction, Restoration, RestoreStep};
use super::state::FileState;
use crate::stdx::text::{code, count, one_line_summary, sanitize_line};
use crate::tool::diff::as_text;

/// The most files that are listed, and lines of a diff.
const LISTED: usize = 40;

/// The width of a label, in terminal cells.
const LABEL: usize = 100;

impl Restoration {
    /// Returns why it is not applied, with a diff of each conflict; `None` if it can be applied.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        if self.conflicts.is_empty() {
            let is_stuck = self.steps.is_empty() && !self.lost.is_empty();
            return is_stuck.then(|| format!("Nothing was changed.{}", lost_text(self)));
        }
        let mut text = "Nothing was changed, because this would overwrite later work:\n".to_owned();
        for conflict in self.conflicts.iter().take(LISTED) {
            let _ = write!(text, "\n- {}: {}", path_code(&conflict.path), conflict.why);
            text.push_str(&diff_of(conflict));
        }
        more(&mut text, self.conflicts.len());
        Some(text)
    }

    /// Lists what would be done, for a user who has to agree to it first.
    #[must_use]
    pub fn question(&self) -> String {
        let commands: Vec<String> =
            self.entries.iter().filter(|entry| entry.is_command).map(|entry| label(&entry.label)).collect();
        let cut_off = self.entries.iter().any(|entry| entry.ended.is_none());
        let mut text = match (commands.is_empty(), cut_off) {
            (false, _) => format!(
                "These files changed while {} ran. Others may have made some of the changes. What the command did beyond \
                 files stays done.\n",
                commands.join(", ")
            ),
            (true, _) => {
                "A call was cut off here. These files would go back to what they were before it:\n".to_owned()
            }
        };
        text.push_str(&lines(&self.steps, &TO_DO));
        text.push_str(&lost_text(self));
        text
    }
}

/// The verbs for a moved, a restored, a removed and a changed file.
type Verbs = [&'static str; 4];

const TO_DO: Verbs = ["to be moved here from", "to be restored", "to be removed", "to be changed back"];
const DONE: Verbs = ["moved here from", "restored", "removed", "changed back"];

/// Says what was done.
pub fn restoration(restoration: &Restoration) -> String {
    let verb = match restoration.direction {
        Direction::Undo => "Took back",
        Direction::Redo => "Did again",
    };
    let calls = restoration.entries.iter().take(LISTED).map(|entry| label(&entry.label));
    let mut text = format!("{verb}: {}", calls.collect::<Vec<_>>().join(", "));
    if restoration.entries.len() > LISTED {
        let _ = write!(text, " and {} more", restoration.entries.len() - LISTED);
    }
    text.push('\n');
    text.push_str(&lines(&restoration.steps, &DONE));
    if restoration.steps.is_empty() {
        text.push_str("\nThe files were as they are already.");
    }
    text.push_str(&lost_text(restoration));
    text
}

/// Says that a turn changed more than what was taken back.
pub fn more_of_turn(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "\n\n`/undo` again takes back the other change of that turn.".to_owned(),
        many => format!("\n\n`/undo turn` takes back the other {many} changes of that turn."),
    }
}

/// Returns the note for the model.
pub fn note_for_model(restoration: &Restoration) -> String {
    let verb = match restoration.direction {
        Direction::Undo => "took back",
        Direction::Redo => "did again what it had taken back of",
    };
    let calls: Vec<String> =
        restoration.entries.iter().take(LISTED).map(|entry| one_line_summary(&entry.label, LABEL)).collect();
    format!(
        "The user {verb}: {}. Files as they are now:{}\nRead a file again before you change it.",
        calls.join("; "),
        lines(&restoration.steps, &DONE)
    )
}

/// Lists changes, the newest first.
#[must_use]
pub fn list(entries: &[UndoEntry]) -> String {
    let line = |entry: &UndoEntry| {
        let files = count(entry.files, "file");
        let state = match (entry.undone, entry.ended, entry.is_command) {
            (Some(_), _, _) => ", taken back",
            (None, None, _) => ", cut off",
            (None, Some(_), true) => ", a command",
            (None, Some(_), false) => "",
        };
        format!("- {}: {} ({files}{state})\n", entry.id, label(&entry.label))
    };
    entries.iter().map(line).collect()
}

fn lines(steps: &[RestoreStep], [moved, restored, removed, changed]: &Verbs) -> String {
    let mut text = String::new();
    let sources: Vec<_> = steps.iter().filter_map(|step| step.from.as_deref()).collect();
    let shown_steps: Vec<&RestoreStep> =
        steps.iter().filter(|step| !sources.contains(&step.path.as_path())).collect();
    for step in shown_steps.iter().take(LISTED) {
        let path = path_code(&step.path);
        let _ = match (&step.from, &step.now, &step.then) {
            (Some(from), _, _) => write!(text, "\n- {path}: {moved} {}", path_code(from)),
            (None, FileState::Absent, _) => write!(text, "\n- {path}: {restored}"),
            (None, _, FileState::Absent) => write!(text, "\n- {path}: {removed}"),
            (None, _, _) => write!(text, "\n- {path}: {changed}"),
        };
    }
    more(&mut text, shown_steps.len());
    text
}

fn lost_text(restoration: &Restoration) -> String {
    let mut text = String::new();
    if !restoration.lost.is_empty() {
        text.push_str("\n\nThese stay as they are, because their content was not kept:");
        for path in restoration.lost.iter().take(LISTED) {
            let _ = write!(text, "\n- {}", path_code(path));
        }
        more(&mut text, restoration.lost.len());
    }
    text
}

fn more(text: &mut String, count: usize) {
    if count > LISTED {
        let _ = write!(text, "\n- and {} more", count - LISTED);
    }
}

fn diff_of(conflict: &Conflict) -> String {
    if conflict.lines.is_empty() {
        return String::new();
    }
    let diff = as_text(conflict.lines.get(..LISTED).unwrap_or(&conflict.lines));
    let quoted: String = diff.lines().map(|line| format!("      {}\n", sanitize_line(line))).collect();
    format!(". Taking it back would do this:\n\n{quoted}")
}

fn path_code(path: &Path) -> String {
    code(&path.to_string_lossy())
}

fn label(text: &str) -> String {
    code(&one_line_summary(text, LABEL))
}
