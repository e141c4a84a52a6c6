//! Encodes records as rows, with the changes they imply for other tables.
//!
//! Pure: it runs on the caller's thread, so that the writer thread only writes. Called by
//! [`super::Store::append`] and when decisions are consumed.

use jiff::Timestamp;

use super::audit::entry::Entry;
use super::decide::parse;
use super::redact::Redactor;
use super::search::{beginning, searchable};
use super::usage::Spend;
use super::{RequestState, StoreError};
use crate::approval::{Approval, Decider, Judgement, Request, RequestId};
use crate::history::Record;
use crate::message::{CallId, Message, ReturnStatus, images};
use crate::stdx::fs::fingerprint;
use crate::stdx::secrecy::mask;
use crate::stdx::text::one_line_summary;

/// Maximum width, in terminal cells, of a title made from a prompt.
const TITLE_WIDTH: usize = 60;

/// Maximum number of bytes of a prompt that its title is made from.
const TITLE_BYTES: usize = 4_096;

/// A record ready to write.
pub(super) struct Row {
    pub kind: String,
    pub json: String,
    pub implied: Option<Change>,
    /// The part of it that can be searched.
    pub text: Option<String>,
}

/// A change to other tables that a record implies, made in the same transaction.
pub(super) enum Change {
    Open {
        workspace: String,
    },
    StartTurn {
        turn: u32,
    },
    /// Sets the title, unless there is one.
    Suggest {
        title: String,
    },
    Rename {
        title: String,
    },
    /// `end` is JSON.
    EndTurn {
        end: String,
    },
    Spend(Box<Spend>),
    Ask(Box<RequestInsert>),
    Decide(DecisionRow),
    /// The request timed out without a decision.
    Expire {
        request: RequestId,
    },
    /// Settled without the user; if a rule did it, its use is counted.
    Judge {
        rule: Option<String>,
        audit: Box<Entry>,
    },
    Start {
        audit: Box<Entry>,
    },
    Finish {
        call: CallId,
        how: ReturnEffect,
        audit: Box<Entry>,
    },
    Clear,
}

/// The columns of a new approvals row.
pub(super) struct RequestInsert {
    pub request: RequestId,
    pub call: CallId,
    pub tool: String,
    pub args_hash: String,
    pub summary: String,
    pub risk: &'static str,
    pub tainted: bool,
    /// Milliseconds since 1970.
    pub expires: Option<i64>,
    /// JSON of the whole request.
    pub json: String,
    pub audit: Entry,
}

/// The columns of a decision.
pub(super) struct DecisionRow {
    pub request: RequestId,
    /// The state of the row until the session consumes the decision.
    pub state: RequestState,
    /// The tool that runs instead, if the arguments or the call were changed.
    pub tool: Option<String>,
    /// JSON of the approval.
    pub approval: String,
    /// JSON of the decider.
    pub by: String,
}

/// The effect of a call's return on its open request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReturnEffect {
    /// Interrupted: withdrawn, unless the user chose later.
    Withdraw,
    /// Undecided: it stays open, and its call becomes a late call.
    MakeLate,
    /// Answered in any other way: nothing more can be decided.
    Consume,
}

pub(super) fn rows(records: &[Record], redactor: &Redactor) -> Result<Vec<Row>, StoreError> {
    records.iter().map(|record| row(record, redactor)).collect()
}

fn row(record: &Record, redactor: &Redactor) -> Result<Row, StoreError> {
    let json = redactor.json(record)?;
    // The tag comes first; a secret that equals it is not replaced.
    let tag = json.strip_prefix(r#"{"record":""#).and_then(|rest| rest.split('"').next());
    Ok(Row {
        kind: tag.unwrap_or_default().to_owned(),
        json,
        implied: implied_change(record, redactor)?,
        text: searchable(record).map(|text| mask(&redactor.text(&text)).into_owned()),
    })
}

fn implied_change(record: &Record, redactor: &Redactor) -> Result<Option<Change>, StoreError> {
    Ok(match record {
        Record::Opened { workspace } => {
            let Some(workspace) = workspace.to_str() else {
                let detail = format!("the folder's name {} is not UTF-8", workspace.display());
                return Err(StoreError::Unstorable { detail });
            };
            Some(Change::Open { workspace: workspace.to_owned() })
        }
        Record::TurnStarted { turn, .. } => Some(Change::StartTurn { turn: *turn }),
        Record::Said { message } => title_of(message, redactor).map(|title| Change::Suggest { title }),
        Record::Asked { request, .. } => Some(Change::Ask(Box::new(ask(request, redactor)?))),
        Record::Decided { request, approval, by, .. } => {
            Some(Change::Decide(verdict(request, approval, by, redactor)?))
        }
        Record::ToolFinished { returned } => {
            let audit = Box::new(Entry::finished(returned, redactor)?);
            Some(Change::Finish { call: returned.call.clone(), how: closing(returned.status), audit })
        }
        Record::Expired { request, .. } => Some(Change::Expire { request: request.clone() }),
        Record::Judged { call, judgement } => Some(judge(call, judgement, redactor)?),
        Record::ToolStarted { call } => Some(Change::Start { audit: Box::new(Entry::started(call)) }),
        Record::TurnEnded { end } => Some(Change::EndTurn { end: redactor.json(end)? }),
        Record::Cleared | Record::Rewound { .. } => Some(Change::Clear),
        Record::Renamed { title } => Some(Change::Rename { title: mask(&redactor.text(title)).into_owned() }),
        Record::RequestEnded { usage, provider, model, cost, error, .. } => {
            let (provider, model) = (redactor.text(provider).into_owned(), redactor.text(model).into_owned());
            let spend = Spend { provider, model, usage: *usage, cost: *cost, error: *error };
            Some(Change::Spend(Box::new(spend)))
        }
        Record::Damaged { .. }
        | Record::Revoked { .. }
        | Record::Partial { .. }
        | Record::Deferred { .. }
        | Record::Queued { .. }
        | Record::Draft { .. }
        | Record::Noted { .. }
        | Record::Compacted { .. }
        | Record::Uncompacted
        | Record::Copied { .. }
        | Record::State { .. } => None,
    })
}

pub(super) fn ask(request: &Request, redactor: &Redactor) -> Result<RequestInsert, StoreError> {
    let json = redactor.json(request)?;
    // The decision is about the stored request: secrets are redacted in it, and so in the hash.
    let stored: Request = parse(&json)?;
    let args_hash = request_hash(&json);
    Ok(RequestInsert {
        request: request.id.clone(),
        call: request.call.clone(),
        tool: stored.tool.to_string(),
        summary: redactor.text(&request.plan.summary).into_owned(),
        risk: request.risk.word(),
        tainted: !request.taint.is_empty(),
        expires: request.expires.map(Timestamp::as_millisecond),
        audit: Entry::asked(&stored, &args_hash),
        args_hash,
        json,
    })
}

/// Hash of the whole stored request: the arguments, and what the user is shown.
pub(super) fn request_hash(stored: &str) -> String {
    fingerprint(stored.as_bytes())
}

fn judge(call: &CallId, judgement: &Judgement, redactor: &Redactor) -> Result<Change, StoreError> {
    let rule =
        if let Decider::Rule { id } = &judgement.by { Some(redactor.text(id).into_owned()) } else { None };
    Ok(Change::Judge { rule, audit: Box::new(Entry::judged(call, judgement, redactor)?) })
}

pub(super) fn verdict(
    request: &RequestId,
    approval: &Approval,
    by: &Decider,
    redactor: &Redactor,
) -> Result<DecisionRow, StoreError> {
    let (state, tool) = match approval {
        Approval::Approve { instead: None, .. } => (RequestState::Approved, None),
        // The SQL update changes this to `replaced` if it is another tool.
        Approval::Approve { instead: Some((tool, _)), .. } => (RequestState::Edited, Some(tool.to_string())),
        Approval::Deny { .. } => (RequestState::Denied, None),
        Approval::Later => (RequestState::Later, None),
    };
    Ok(DecisionRow {
        request: request.clone(),
        state,
        tool,
        approval: redactor.json(approval)?,
        by: redactor.json(by)?,
    })
}

fn closing(status: ReturnStatus) -> ReturnEffect {
    match status {
        ReturnStatus::Interrupted => ReturnEffect::Withdraw,
        ReturnStatus::Undecided => ReturnEffect::MakeLate,
        ReturnStatus::Ok | ReturnStatus::Failed | ReturnStatus::Denied | ReturnStatus::Unknown => {
            ReturnEffect::Consume
        }
    }
}

/// Makes a title from the first words of a prompt.
fn title_of(message: &Message, redactor: &Redactor) -> Option<String> {
    let Message::User { parts } = message else { return None };
    let text = images::in_short(parts);
    (!text.trim().is_empty())
        .then(|| one_line_summary(&mask(&redactor.text(beginning(&text, TITLE_BYTES))), TITLE_WIDTH))
}
