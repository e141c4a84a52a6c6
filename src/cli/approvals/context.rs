//! The context of a request: the outcome of its call, the calls it runs after, and those that run after it.
//!
//! Read from the session's records and its other requests. Called to show, decide and watch requests.

use std::collections::BTreeMap;

use super::describe::{self, CallProgress};
use crate::approval::{Approval, RequestId};
use crate::history::{Record, SessionId};
use crate::message::{CallId, ToolName};
use crate::store::{RequestFilter, RequestState, Store, StoreError, StoredRequest};

/// Maximum number of requests of one session that are read.
const LOOKED_AT: usize = 10_000;

/// The context of a request.
pub(super) struct ApprovalContext {
    pub progress: CallProgress,
    /// Calls that must have succeeded before, a line each.
    pub depends: Vec<String>,
    /// Requests that wait for this one, a line each.
    pub dependents: Vec<String>,
    /// The request that replaced it.
    pub newer: Option<RequestId>,
}

/// The outcome of every call of a session, with the name of its tool.
pub(super) struct Calls(BTreeMap<CallId, (Option<ToolName>, CallProgress)>);

impl Calls {
    pub(super) async fn of(store: &Store, session: &SessionId) -> Result<Self, StoreError> {
        let mut calls = Self(BTreeMap::new());
        for record in store.load(session).await? {
            if let Record::ToolStarted { call } = &record {
                calls.entry(call).1 = CallProgress::Started;
            } else if let Record::ToolFinished { returned } = &record {
                calls.entry(&returned.call).1 = CallProgress::Returned(returned.status);
            } else if let Some(reply) = record.reply() {
                reply.calls().for_each(|call| calls.entry(&call.id).0 = Some(call.name.clone()));
            }
        }
        Ok(calls)
    }

    fn entry(&mut self, call: &CallId) -> &mut (Option<ToolName>, CallProgress) {
        self.0.entry(call.clone()).or_insert((None, CallProgress::Nothing))
    }

    pub(super) fn came(&self, call: &CallId) -> CallProgress {
        self.0.get(call).map_or(CallProgress::Nothing, |(_, came)| *came)
    }

    fn tool(&self, call: &CallId) -> Option<&ToolName> {
        self.0.get(call)?.0.as_ref()
    }
}

impl ApprovalContext {
    pub(super) async fn of(store: &Store, one: &StoredRequest) -> Result<Self, StoreError> {
        let others = store.requests(RequestFilter::Of(one.session.clone()), LOOKED_AT).await?;
        let calls = Calls::of(store, &one.session).await?;
        let request = &one.request;
        let depends = request.depends.iter().map(|call| match latest(&others, call) {
            Some(other) => line(other, calls.came(call)),
            None => {
                let tool = calls.tool(call).map_or_else(|| call.to_string(), ToString::to_string);
                format!("{tool} ({})", describe::outcome(calls.came(call)))
            }
        });
        let dependents = others.iter().filter(|other| {
            other.request.depends.contains(&request.call) && other.state != RequestState::Superseded
        });
        let newer = latest(&others, &request.call).map(|other| other.id().clone());
        Ok(Self {
            progress: calls.came(&request.call),
            depends: depends.collect(),
            dependents: dependents.map(|other| line(other, calls.came(&other.request.call))).collect(),
            newer: newer.filter(|id| id != one.id()),
        })
    }
}

/// Returns the current one of a call's requests.
fn latest<'a>(others: &'a [StoredRequest], call: &CallId) -> Option<&'a StoredRequest> {
    others.iter().rev().find(|other| other.request.call == *call && other.state != RequestState::Superseded)
}

fn line(other: &StoredRequest, progress: CallProgress) -> String {
    let request = &other.request;
    format!(
        "{} {}: {} ({})",
        request.id,
        request.tool,
        request.plan.summary,
        describe::state(other, progress)
    )
}

/// Returns why an approved call will not run yet, or at all: one sentence per unapproved call it depends on.
pub(super) async fn held_up(store: &Store, one: &StoredRequest) -> Result<Vec<String>, StoreError> {
    if one.request.depends.is_empty() {
        return Ok(Vec::new());
    }
    let others = store.requests(RequestFilter::Of(one.session.clone()), LOOKED_AT).await?;
    let all = one.request.depends.iter().filter_map(|call| latest(&others, call));
    Ok(all.filter_map(|other| hold(one, other)).collect())
}

fn hold(one: &StoredRequest, other: &StoredRequest) -> Option<String> {
    let (id, request) = (one.id(), &other.request);
    let what = format!("{} ({}: {})", request.id, request.tool, request.plan.summary);
    let is_no = matches!(other.decision, Some((Approval::Deny { .. }, _)));
    let end = match other.state {
        RequestState::Waiting | RequestState::Later => {
            return Some(format!("{id} runs only after {what}, which is still waiting for your decision"));
        }
        RequestState::Denied => "was denied",
        RequestState::Consumed if is_no => "was denied",
        RequestState::Expired => "expired",
        RequestState::Withdrawn => "was withdrawn",
        RequestState::Approved
        | RequestState::Edited
        | RequestState::Replaced
        | RequestState::Consumed
        | RequestState::Superseded => return None,
    };
    Some(format!("{id} will not run: it depends on {what}, which {end}"))
}
