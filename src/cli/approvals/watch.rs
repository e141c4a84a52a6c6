//! `co approvals watch`: prints what waits, then each change as it happens.
//!
//! Changes wake it; it never polls. It sleeps until a change, the next expiry, a signal, or until its output
//! has no reader.

use std::collections::{HashMap, HashSet};
use std::os::fd::AsFd as _;

use serde_json::json;
use tokio::io::Interest;
use tokio::net::unix::pipe::Sender;

use super::context::Calls;
use super::describe::{self, CallProgress};
use super::{CommandContext, request_row};
use crate::approval::RequestId;
use crate::cli::console;
use crate::cli::error::{CliError, Kind, Result};
use crate::cli::signals::{Stop, pause};
use crate::frontend::sentences;
use crate::message::ReturnStatus;
use crate::runtime::interactive::time_to_expiry;
use crate::stdx::text::sanitize_line;
use crate::store::{RequestFilter, RequestState, Store, StoredRequest};

/// Maximum number of requests printed at the start.
const LISTED: usize = 20_000;

pub(super) async fn run(context: &CommandContext<'_>, json: bool) -> Result<()> {
    let stop = Stop::on_signals()?;
    let mut listener = context.store.change_listener();
    let mut watch =
        ApprovalWatch { store: &context.store, json, seq: 0, known: HashMap::new(), running: HashMap::new() };
    watch.begin().await?;
    loop {
        let expiry = time_to_expiry(&context.store).await?;
        tokio::select! {
            () = stop.token.cancelled() => {
                let signal = stop.caught().unwrap_or_default();
                return Err(CliError::message(Kind::Interrupted(signal), "output closed; requests keep waiting"));
            }
            () = unread() => return Ok(()),
            () = listener.changed() => {}
            () = pause(expiry) => { context.store.expire_due().await?; }
        }
        watch.news().await?;
    }
}

/// Resolves once standard output has no reader; never if that cannot be detected.
async fn unread() {
    if let Ok(out) = std::io::stdout().as_fd().try_clone_to_owned()
        && let Ok(watched) = Sender::from_owned_fd_unchecked(out)
        && watched.ready(Interest::ERROR).await.is_ok()
    {
        return;
    }
    // A file, or no file at all: errors show only when it is written to.
    std::future::pending::<()>().await;
}

struct ApprovalWatch<'a> {
    store: &'a Store,
    json: bool,
    /// The last change that was printed.
    seq: u64,
    /// The states that were printed.
    known: HashMap<RequestId, RequestState>,
    /// Decided calls whose outcome is not known yet.
    running: HashMap<RequestId, StoredRequest>,
}

impl ApprovalWatch<'_> {
    async fn begin(&mut self) -> Result<()> {
        // Read before listing: changes during the listing are then printed with their new state.
        self.seq = self.store.latest_change().await?;
        for one in self.store.requests(RequestFilter::Undecided, LISTED).await? {
            self.tell(&one)?;
        }
        Ok(())
    }

    async fn news(&mut self) -> Result<()> {
        for one in self.store.changes_since(self.seq).await? {
            self.seq = self.seq.max(one.seq);
            self.tell(&one)?;
            if one.state == RequestState::Consumed && one.decision.is_some() {
                self.running.insert(one.id().clone(), one);
            }
        }
        self.outcomes().await
    }

    /// Prints the outcomes of decided calls.
    async fn outcomes(&mut self) -> Result<()> {
        let sessions: HashSet<_> = self.running.values().map(|one| one.session.clone()).collect();
        for session in sessions {
            let calls = Calls::of(self.store, &session).await?;
            let ended: Vec<(RequestId, ReturnStatus)> = self
                .running
                .values()
                .filter(|one| one.session == session)
                .filter_map(|one| match calls.came(&one.request.call) {
                    // This return was made before the decision; the real one is still to come.
                    CallProgress::Nothing
                    | CallProgress::Started
                    | CallProgress::Returned(ReturnStatus::Undecided) => None,
                    CallProgress::Returned(status) => Some((one.id().clone(), status)),
                })
                .collect();
            for (id, status) in ended {
                if let Some(one) = self.running.remove(&id) {
                    self.print_outcome(&one, status)?;
                }
            }
        }
        Ok(())
    }

    fn tell(&mut self, one: &StoredRequest) -> Result<()> {
        let before = self.known.insert(one.id().clone(), one.state);
        if before == Some(one.state) {
            return Ok(());
        }
        let was_decided = before.is_some_and(|before| before.is_open() && !before.is_undecided());
        if one.state == RequestState::Consumed && was_decided {
            // Its session took up a decision that was printed already; the outcome follows.
            return Ok(());
        }
        if !self.json {
            return console::out(&line(one, &status_text(one)));
        }
        let mut value = serde_json::to_value(request_row(one)).map_err(std::io::Error::from)?;
        value["event"] = json!(event(one.state));
        value["decision"] = json!(one.decision.as_ref().map(|(approval, by)| json!([approval, by])));
        console::json_line(&value)
    }

    fn print_outcome(&self, one: &StoredRequest, status: ReturnStatus) -> Result<()> {
        if !self.json {
            return console::out(&line(one, describe::outcome(CallProgress::Returned(status))));
        }
        let session = &one.session;
        console::json_line(&json!({"event": "ended", "id": one.id(), "session": session, "status": status}))
    }
}

/// Returns the name of the event for programs.
fn event(state: RequestState) -> &'static str {
    match state {
        RequestState::Waiting => "asked",
        RequestState::Later => "put_off",
        RequestState::Approved | RequestState::Edited | RequestState::Replaced => "approved",
        RequestState::Denied => "denied",
        RequestState::Consumed => "taken_up",
        RequestState::Withdrawn => "withdrawn",
        RequestState::Superseded => "superseded",
        RequestState::Expired => "expired",
    }
}

fn status_text(one: &StoredRequest) -> String {
    match (one.state, describe::decision(one)) {
        (RequestState::Waiting, _) => format!("waiting ({})", one.request.risk.word()),
        (RequestState::Later, _) => "postponed".to_owned(),
        (RequestState::Expired, _) => sentences::EXPIRED.to_owned(),
        (RequestState::Withdrawn, _) => sentences::WITHDRAWN.to_owned(),
        (RequestState::Superseded, _) => sentences::SUPERSEDED.to_owned(),
        (_, Some(decided)) => decided,
        (_, None) => "closed without a decision".to_owned(),
    }
}

fn line(one: &StoredRequest, outcome: &str) -> String {
    let request = &one.request;
    let mark = if request.taint.is_empty() { "" } else { " ▲" };
    let session = one.title.as_deref().unwrap_or(&one.session.0);
    let text =
        format!("{}  {outcome}  {}: {}{mark}  [{session}]", request.id, request.tool, request.plan.summary);
    format!("{}\n", sanitize_line(&text))
}
