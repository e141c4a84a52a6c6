//! `co approvals edit`: opens the arguments as JSON in the user's editor, then approves what was saved.
//!
//! The user's text is never lost: invalid text is opened again with the reason at the top, and text that led
//! to no decision is kept in its file, which only its owner can read.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::{Builder, NamedTempFile};

use super::decide::{DecisionResults, check_named, with_args};
use super::{CommandContext, describe};
use crate::app::schema_of;
use crate::cli::console;
use crate::cli::editor::{self, editor};
use crate::cli::error::{CliError, Result};
use crate::frontend::dialogue::yes_to;
use crate::frontend::fields;
use crate::stdx::text::sanitize_line;
use crate::store::StoredRequest;

/// The prefix of this program's own lines, which are only above the arguments.
const OURS: char = '#';

pub(super) async fn run(context: &CommandContext<'_>, id: &str, note: Option<String>) -> Result<()> {
    let editor = editor(context.world)
        .map_err(|error| error.hint("or change arguments with `co approvals yes ID --set field=value`"))?;
    let one = context.store.find_request(id).await?;
    check_open(&one)?;
    let named = |one: &StoredRequest| check_named(&one.request, id, "edit").map_err(CliError::error);
    named(&one)?;
    let mut draft = Draft::of(&one)?;
    let Some(args) = draft.edited_args(context, &editor, &one).await? else {
        return console::out(&format!("Nothing changed; request {} is still waiting.\n", one.id()));
    };
    let note = note.filter(|note| !note.trim().is_empty());
    let approval = yes_to(&one.request, args.clone(), note);
    let (one, _) = with_args(context, one, args).await;
    named(&one).map_err(|error| error.hint(draft.keep_file()))?;
    let mut done = DecisionResults::default();
    // The user wrote the contents.
    done.approve_shown(context, one, approval, true).await?;
    let is_undecided = done.is_empty();
    let reported = done.tell(context, false).await;
    if is_undecided {
        let kept = draft.keep_file();
        reported.map_err(|error| error.hint(kept.clone()))?;
        console::note(&kept);
        return Ok(());
    }
    reported
}

/// Errs if the request can no longer be decided, before the user starts to edit.
fn check_open(one: &StoredRequest) -> Result<()> {
    if one.state.is_undecided() {
        return Ok(());
    }
    let was = describe::state(one, describe::CallProgress::Nothing);
    let message = format!("request {} is no longer open: {}", one.id(), sanitize_line(&was));
    Err(CliError::error(message))
}

/// The file that is edited; dropping the value deletes it unless it was kept.
struct Draft {
    file: Option<NamedTempFile>,
    first: String,
}

impl Draft {
    fn of(one: &StoredRequest) -> Result<Self> {
        // Only their owner can read and write files of this kind.
        let file = Builder::new().prefix("co-arguments-").suffix(".json").tempfile()?;
        let first = format!("{:#}\n", one.request.args);
        Ok(Self { file: Some(file), first })
    }

    /// Returns the saved arguments if they can be run; `None` if nothing was changed or the text is empty.
    async fn edited_args(
        &mut self,
        context: &CommandContext<'_>,
        editor: &str,
        one: &StoredRequest,
    ) -> Result<Option<Value>> {
        let request = &one.request;
        let schema = request.schema(|| schema_of(&request.tool, context.world, &context.settings));
        let mut head = format!(
            "{OURS} Arguments of {}. Saving approves it; unchanged or empty decides nothing.\n",
            sanitize_line(request.tool.as_str())
        );
        let mut text = self.first.clone();
        loop {
            self.write(&format!("{head}{text}"))?;
            self.edit(editor, &text).await?;
            let saved = self.read()?;
            if saved.trim().is_empty() {
                return Ok(None);
            }
            let wrong = match fields::parse_args(request.tool.as_str(), schema.as_ref(), &saved) {
                Ok(args) if args == request.args => return Ok(None),
                Ok(args) => return Ok(Some(args)),
                Err(wrong) => wrong,
            };
            if saved == text {
                // Saved unchanged: the user gave up, or the editor ran without a user.
                let error = CliError::error(format!("nothing was decided: {wrong}"));
                return Err(if saved == self.first { error } else { error.hint(self.keep_file()) });
            }
            head = format!("{OURS} {}\n{OURS} Save it unchanged to decide nothing.\n", sanitize_line(&wrong));
            text = saved;
        }
    }

    fn write(&self, text: &str) -> Result<()> {
        Ok(fs::write(self.path(), text)?)
    }

    fn path(&self) -> PathBuf {
        self.file.as_ref().map(|file| file.path().to_owned()).unwrap_or_default()
    }

    /// Returns what was saved, without this program's own lines at the top.
    fn read(&mut self) -> Result<String> {
        let unread = |error| CliError::error(format!("the saved file cannot be read: {error}"));
        let bytes = fs::read(self.path()).map_err(unread)?;
        let Ok(text) = String::from_utf8(bytes) else {
            let error = CliError::error("nothing was decided: the saved file is not UTF-8");
            return Err(error.hint(self.keep_file()));
        };
        let own = text.lines().take_while(|line| line.starts_with(OURS)).count();
        Ok(text.split_inclusive('\n').skip(own).collect())
    }

    /// Runs the editor and waits for its end.
    async fn edit(&mut self, editor: &str, before: &str) -> Result<()> {
        let Err(why) = editor::edit(editor, &self.path()).await? else { return Ok(()) };
        let error = CliError::error(format!("nothing was decided: {why}"));
        let changed = self.read().is_ok_and(|text| text != before || text != self.first);
        Err(if changed { error.hint(self.keep_file()) } else { error })
    }

    /// Keeps the file, and returns a message with its path.
    fn keep_file(&mut self) -> String {
        let path = self.path();
        if let Some(Err(error)) = self.file.take().map(NamedTempFile::keep) {
            return format!("your text could not be saved: {}", error.error);
        }
        format!("your text was saved in {}", sanitize_line(&path.display().to_string()))
    }
}
