//! Builds audit rows from records, requests and decisions, with secrets redacted.
//!
//! Pure. Called where records are encoded as rows, and by the changes of requests.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::super::StoreError;
use super::super::redact::{Redactor, to_json};
use super::AuditKind;
use crate::approval::{Approval, Decider, Judgement, Request, RequestId};
use crate::message::{CallId, ToolReturn};
use crate::stdx::fs::fingerprint;

/// An audit row to append, without number, time and session.
#[derive(Clone)]
pub struct Entry {
    pub kind: AuditKind,
    pub call: Option<CallId>,
    pub request: Option<RequestId>,
    /// The tool that ran or would have run; `None` with a call: the tool of the call's previous row.
    pub tool: Option<String>,
    /// JSON.
    pub decider: Option<String>,
    /// JSON.
    pub details: String,
}

impl Entry {
    /// The same with the SHA-256 hash of its details in their place: they can be proved, and not read.
    pub fn hashed(&self, tool: Option<&str>, details: &str) -> Self {
        let hash: String = Sha256::digest(details).iter().map(|byte| format!("{byte:02x}")).collect();
        let details = json!({ "sha256": hash }).to_string();
        Self { tool: tool.map(str::to_owned), details, ..self.clone() }
    }

    /// An entry that concerns no call.
    pub fn about_nothing(kind: AuditKind, details: String) -> Self {
        Self { kind, call: None, request: None, tool: None, decider: None, details }
    }

    /// A call that became a request. `request` is given as stored (redacted).
    pub fn asked(request: &Request, args_hash: &str) -> Self {
        let mut details = json!({
            "args": request.args,
            "args_hash": args_hash,
            "summary": request.plan.summary,
            "risk": request.risk,
            "why": request.why,
            "undo": request.plan.undo,
        });
        add(&mut details, "taint", &request.taint);
        add(&mut details, "depends", &request.depends);
        add(&mut details, "basis", &request.plan.basis);
        add(&mut details, "expires", &request.expires);
        add(&mut details, "again", &request.again);
        Self::of_request(AuditKind::Asked, (&request.id, &request.call, request.tool.as_str()), &details)
    }

    /// A decision on a request. `request` and `approval` are given as stored (redacted).
    pub fn decided(request: &Request, approval: &Approval, by: &Decider) -> Result<Self, StoreError> {
        let mut details = json!({ "risk": request.risk, "args": request.args });
        let mut tool = &request.tool;
        let answer = match approval {
            Approval::Approve { instead, remember, note, rule } => {
                add(&mut details, "remember", remember);
                add(&mut details, "note", note);
                add(&mut details, "rule", rule);
                match instead {
                    Some((name, args)) => {
                        let before = json!({ "tool": request.tool, "args": request.args });
                        // Set even if it is null or empty.
                        details["args"] = args.clone();
                        details["before"] = before;
                        tool = name;
                        if *name == request.tool { "edited" } else { "replaced" }
                    }
                    None => "approved",
                }
            }
            Approval::Deny { reason } => {
                add(&mut details, "reason", reason);
                "denied"
            }
            Approval::Later => "later",
        };
        add(&mut details, "answer", &answer);
        add(&mut details, "taint", &request.taint);
        let entry =
            Self::of_request(AuditKind::Decided, (&request.id, &request.call, tool.as_str()), &details);
        Ok(Self { decider: Some(to_json(by)?), ..entry })
    }

    pub fn judged(call: &CallId, judgement: &Judgement, redactor: &Redactor) -> Result<Self, StoreError> {
        let Judgement { tool, args, before, verdict, risk, because, by, taint } = judgement;
        let mut details = json!({ "verdict": verdict, "risk": risk, "because": because, "args": args });
        let before = before.as_ref().map(|(tool, args)| json!({ "tool": tool, "args": args }));
        add(&mut details, "before", &before);
        add(&mut details, "taint", taint);
        Ok(Self {
            call: Some(call.clone()),
            tool: Some(tool.to_string()),
            decider: Some(redactor.json(by)?),
            ..Self::about_nothing(AuditKind::Judged, redactor.json(&details)?)
        })
    }

    pub fn started(call: &CallId) -> Self {
        Self { call: Some(call.clone()), ..Self::about_nothing(AuditKind::Started, "{}".to_owned()) }
    }

    /// A finished call. The result itself is in the records; its hash shows whether it was changed since.
    pub fn finished(returned: &ToolReturn, redactor: &Redactor) -> Result<Self, StoreError> {
        let content = redactor.json(&returned.content)?;
        let details = json!({
            "status": returned.status,
            "result": fingerprint(content.as_bytes()),
            "source": returned.source,
            "trust": returned.trust,
        });
        let entry = Self::about_nothing(AuditKind::Finished, redactor.json(&details)?);
        Ok(Self { call: Some(returned.call.clone()), ..entry })
    }

    /// An event of a request, about the call and the tool that it is for.
    pub fn of_request(
        kind: AuditKind,
        (request, call, tool): (&RequestId, &CallId, &str),
        details: &Value,
    ) -> Self {
        Self {
            call: Some(call.clone()),
            request: Some(request.clone()),
            tool: Some(tool.to_owned()),
            ..Self::about_nothing(kind, details.to_string())
        }
    }
}

/// Adds a field, unless its value is null or an empty list.
fn add(details: &mut Value, name: &str, value: &impl serde::Serialize) {
    let Ok(value) = serde_json::to_value(value) else { return };
    let says_nothing = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    if let (false, Some(fields)) = (says_nothing, details.as_object_mut()) {
        fields.insert(name.to_owned(), value);
    }
}
