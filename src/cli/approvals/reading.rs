//! Shows what a request does before `co approvals yes` approves it.
//!
//! A short effect is printed with the answer. A longer one is shown in the pager on a terminal, and the user is asked;
//! elsewhere it needs `--unread`, which covers what [`Request::may_be_unread`] allows and nothing else.

use std::io::stdin;
use std::process::Stdio;
use std::time::Instant;

use rustix::termios::{QueueSelector, tcflush};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

use super::CommandContext;
use super::context::ApprovalContext;
use super::show::{body::effect, facts};
use crate::approval::Request;
use crate::cli::console;
use crate::cli::error::Result;
use crate::cli::input::Terminals;
use crate::cli::secret::line;
use crate::frontend::dialogue::{ApprovalEffect, Dialogue, SeenPart};
use crate::frontend::sentences;
use crate::sandbox::privacy::give_environment;
use crate::stdx::text::{one_line_summary, sanitize, width};
use crate::store::StoredRequest;
use crate::tool::Risk;

/// The most rows of an effect that is printed without a question, in a terminal of [`COLUMNS`].
const SHORT: usize = 20;

const COLUMNS: usize = 80;

/// Width of a call's summary in the question, in cells.
const WHAT: usize = 60;

/// Whether a request was shown.
pub(super) enum ReadingOutcome {
    /// All of it was shown, or the user approves it unread, as it may be.
    All,
    /// The user saw it and did not approve.
    Declined,
    /// It was not shown, with advice.
    Not(String),
}

/// Shows the effect of a request, and asks if it is long; `unread`: not where it may be approved unread.
pub(super) async fn show(
    context: &CommandContext<'_>,
    one: &StoredRequest,
    unread: bool,
) -> Result<ReadingOutcome> {
    let request = &one.request;
    let effect = effect(request);
    let rows = rows(&effect);
    if rows <= SHORT {
        if rows > 0 {
            console::note(effect.trim_end());
        }
        return Ok(ReadingOutcome::All);
    }
    if unread && request.may_be_unread() {
        return Ok(ReadingOutcome::All);
    }
    if !Terminals::of_process().interactive() {
        return Ok(ReadingOutcome::Not(unseen(request, rows, unread)));
    }
    let around = ApprovalContext::of(&context.store, one).await?;
    page(context, &format!("{}\n{effect}", facts(one, &around))).await?;
    let what = one_line_summary(&request.plan.summary, WHAT);
    ask(&format!("Approve {} ({}): {what}? y/N ", request.id, request.risk.word()))
}

/// Asks for the approval of a request that was shown whole. Input from before the question is dropped; an approval within the
/// guard time does not count.
fn ask(question: &str) -> Result<ReadingOutcome> {
    let (mut dialogue, began) = (Dialogue::of_lines(), Instant::now());
    dialogue.show((), 0);
    loop {
        // Keys for the pager may be left over; without a terminal nothing was shown.
        let _ = tcflush(stdin(), QueueSelector::IFlush);
        let Some("y" | "Y" | "yes") = line(question)?.as_deref() else { return Ok(ReadingOutcome::Declined) };
        let now_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        // The first approval of a HIGH request was to name it.
        if dialogue.yes((), Risk::Medium, SeenPart::All, now_ms) == ApprovalEffect::Send(()) {
            return Ok(ReadingOutcome::All);
        }
        console::note(sentences::TOO_SOON);
    }
}

/// Returns the rows that a text takes on a terminal.
fn rows(text: &str) -> usize {
    text.lines().map(|line| width(&sanitize(line)).div_ceil(COLUMNS).max(1)).sum()
}

fn unseen(request: &Request, rows: usize, unread: bool) -> String {
    let id = &request.id;
    let advice = match (request.may_be_unread(), unread) {
        (true, _) => ": add --unread, or".to_owned(),
        (false, false) => ":".to_owned(),
        (false, true) => format!("; {}:", sentences::MAY_BE_UNREAD),
    };
    format!(
        "request {id} has {rows} lines that were not shown{advice} approve it on a terminal, which shows it first"
    )
}

/// Shows a text in the pager; prints it if there is no pager or it cannot be started.
async fn page(context: &CommandContext<'_>, text: &str) -> Result<()> {
    if let Some(pager) = context.world.pager()
        && show_in_pager(&pager, &sanitize(text)).await?
    {
        return Ok(());
    }
    console::out(text)
}

/// Runs the pager on a text; returns whether it could be started.
async fn show_in_pager(pager: &str, text: &str) -> Result<bool> {
    // While the pager has the terminal, it handles Ctrl+C.
    let _theirs = signal(SignalKind::interrupt())?;
    let mut command = Command::new("/bin/sh");
    // Split by a shell, so that `less -R` and `LESS=S less` work.
    command.args(["-c", &format!("exec env {pager}")]).stdin(Stdio::piped());
    give_environment(command.as_std_mut());
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A pager that was left early reads no more.
        let _ = stdin.write_all(text.as_bytes()).await;
    }
    let status = child.wait().await?;
    Ok(!matches!(status.code(), Some(126 | 127)))
}
