//! `co approvals edit`: the arguments as JSON in the person's own editor, then a yes to what was saved.
//!
//! What is written is never lost: a text that is wrong comes back with the reason on top, and one that ends in no decision
//! is kept in its file, which its owner alone can read.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::{Builder, NamedTempFile};
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

use super::decide::Done;
use super::{Desk, Format, fields, words};
use crate::app::schema_of;
use crate::cli::error::{CliError, Kind};
use crate::frontend::dialogue::yes_to;
use crate::sandbox::shield::give_environment;
use crate::stdx::text::sanitize_line;
use crate::store::{RequestState, StoredRequest};

/// Lines of ours begin so; they stand above the arguments only.
const OURS: char = '#';

pub(super) async fn run(desk: &mut Desk<'_>, id: &str, note: Option<String>) -> Result<(), CliError> {
    let Some(editor) = editor(desk) else {
        let error = CliError::message(Kind::Error, "no editor is named");
        return Err(error
            .hint("set $VISUAL or $EDITOR, e.g. EDITOR=nano")
            .hint("or change arguments with `co approvals yes ID --set field=value`"));
    };
    let one = desk.store.find_request(id).await?;
    check_open(&one)?;
    let mut draft = Draft::of(&one)?;
    let Some(args) = draft.written(desk, &editor, &one).await? else {
        return desk.console.out(&format!("Nothing changed; request {} still waits.\n", one.id()));
    };
    let note = note.filter(|note| !note.trim().is_empty());
    let approval = yes_to(&one.request, args, note);
    let mut done = Done::default();
    done.decide(desk, one, approval).await?;
    let lost = done.failed();
    let told = done.tell(desk, Format::Words).await;
    if lost { told.map_err(|error| error.hint(draft.kept())) } else { told }
}

/// Errs where nobody can decide it any more, before anybody writes anything.
fn check_open(one: &StoredRequest) -> Result<(), CliError> {
    match one.state {
        RequestState::Waiting | RequestState::Later => Ok(()),
        RequestState::Approved
        | RequestState::Edited
        | RequestState::Replaced
        | RequestState::Denied
        | RequestState::Consumed
        | RequestState::Withdrawn
        | RequestState::Superseded
        | RequestState::Expired => {
            let was = words::state(one, super::around::Came::Nothing);
            let message = format!("request {} is not open any more: {}", one.id(), sanitize_line(&was));
            Err(CliError::message(Kind::Error, message))
        }
    }
}

fn editor(desk: &Desk<'_>) -> Option<String> {
    let mut named = ["VISUAL", "EDITOR"].into_iter().filter_map(|name| desk.world.env.get(name));
    named.find(|words| !words.trim().is_empty()).cloned()
}

/// The file that is edited; it goes with the value unless it is kept.
struct Draft {
    file: Option<NamedTempFile>,
    first: String,
}

impl Draft {
    fn of(one: &StoredRequest) -> Result<Self, CliError> {
        // Files of this kind can be read and written by their owner only.
        let file = Builder::new().prefix("co-arguments-").suffix(".json").tempfile()?;
        let first = format!("{:#}\n", one.request.args);
        Ok(Self { file: Some(file), first })
    }

    /// The arguments that were saved and can be run; `None` where nothing was changed or all was taken away.
    async fn written(
        &mut self,
        desk: &Desk<'_>,
        editor: &str,
        one: &StoredRequest,
    ) -> Result<Option<Value>, CliError> {
        let request = &one.request;
        let schema = schema_of(&request.tool, &desk.settings);
        let mut head = format!(
            "{OURS} Arguments of {}. What you save is approved; unchanged or empty, nothing is decided.\n",
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
            let wrong = match checked(request.tool.as_str(), schema.as_ref(), &saved) {
                Ok(args) if args == request.args => return Ok(None),
                Ok(args) => return Ok(Some(args)),
                Err(wrong) => wrong,
            };
            if saved == text {
                // Given back as it was: the person gives up, or nobody is there.
                let message = format!("nothing was decided: {wrong}");
                let error = CliError::message(Kind::Error, message);
                return Err(if saved == self.first { error } else { error.hint(self.kept()) });
            }
            head = format!("{OURS} {}\n{OURS} Save it unchanged to decide nothing.\n", sanitize_line(&wrong));
            text = saved;
        }
    }

    fn write(&self, text: &str) -> Result<(), CliError> {
        Ok(fs::write(self.path(), text)?)
    }

    fn path(&self) -> PathBuf {
        self.file.as_ref().map(|file| file.path().to_owned()).unwrap_or_default()
    }

    /// What was saved, without the lines of ours at its top.
    fn read(&mut self) -> Result<String, CliError> {
        let bytes = match fs::read(self.path()) {
            Ok(bytes) => bytes,
            Err(error) => {
                return Err(CliError::message(
                    Kind::Error,
                    format!("what was saved cannot be read: {error}"),
                ));
            }
        };
        let Ok(text) = String::from_utf8(bytes) else {
            let error = CliError::message(Kind::Error, "nothing was decided: what was saved is not UTF-8");
            return Err(error.hint(self.kept()));
        };
        let own = text.lines().take_while(|line| line.starts_with(OURS)).count();
        Ok(text.split_inclusive('\n').skip(own).collect())
    }

    /// Runs the editor and waits for its end.
    async fn edit(&mut self, editor: &str, before: &str) -> Result<(), CliError> {
        // A shell's words, so that `code -w` and quotes work; `env` takes `NAME=value vim` too.
        // Ctrl+C is the editor's while it has the terminal.
        let _theirs = signal(SignalKind::interrupt())?;
        let script = format!("exec env {editor} \"$@\"");
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &script, editor]).arg(self.path());
        give_environment(command.as_std_mut());
        let status = command.status().await?;
        if status.success() {
            return Ok(());
        }
        let why = match status.code() {
            Some(126 | 127) => "the editor could not be started: see $VISUAL and $EDITOR".to_owned(),
            Some(code) => format!("the editor ended with {code}"),
            None => "the editor was killed".to_owned(),
        };
        let error = CliError::message(Kind::Error, format!("nothing was decided: {why}"));
        let changed = self.read().is_ok_and(|text| text != before || text != self.first);
        Err(if changed { error.hint(self.kept()) } else { error })
    }

    /// Leaves the file where it is, and says where.
    fn kept(&mut self) -> String {
        let path = self.path();
        if let Some(Err(error)) = self.file.take().map(NamedTempFile::keep) {
            return format!("what you wrote could not be kept: {}", error.error);
        }
        format!("what you wrote is kept in {}", sanitize_line(&path.display().to_string()))
    }
}

/// The arguments of a text; errs with what is wrong.
fn checked(tool: &str, schema: Option<&Value>, text: &str) -> Result<Value, String> {
    let args: Value = serde_json::from_str(text).map_err(|error| {
        let words = error.to_string();
        let words = words.split(" at line ").next().unwrap_or(&words).to_owned();
        format!("this is no JSON: line {}: {words}", error.line())
    })?;
    fields::fits(tool, schema, &args).map(|()| args)
}
