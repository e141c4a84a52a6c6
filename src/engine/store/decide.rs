//! Deciding requests, from any process, and consuming decisions, by the session's owner.
//!
//! Deciding runs nothing: it writes the row, and the first answer wins. Consuming hands the decision to the
//! session in the same transaction that marks the row, so that it happens only once.

use std::sync::Arc;

use rusqlite::Row;

use super::encode::{self, DecisionRow};
use super::redact::Redactor;
use super::request_rows::{RequestRow, request_row};
use super::statements::Statements as _;
use super::writer::Write;
use super::{RequestState, Store, StoreError, records, requests};
use crate::approval::{Approval, Decider, Request, RequestId};
use crate::history::{Durability, Record, SessionId};
use crate::message::CallId;

/// The outcome of a decision.
#[derive(Debug, Clone, PartialEq)]
pub enum DecideOutcome {
    /// The decision is valid and synced to disk.
    Recorded,
    /// Another decision was recorded first.
    AlreadyDecided { approval: Approval, by: Decider },
    /// The request ended without a decision by the user.
    NotOpen { state: RequestState },
    /// No request has this id.
    Unknown,
}

impl DecideOutcome {
    /// Returns what happened to the request instead, to follow its name.
    pub fn describe(&self, request: Option<&Request>) -> String {
        match self {
            Self::Recorded => "was decided".to_owned(),
            Self::AlreadyDecided { approval, by } => {
                format!("was already {} by {}; nothing was changed", approval.verdict(request), by.who())
            }
            Self::NotOpen { state } => state.describe_closed(request.is_some_and(Request::is_question)),
            Self::Unknown => "no longer exists".to_owned(),
        }
    }

    /// Describes the decisions that did not count, in one line; empty if all did.
    pub fn losses(outcomes: &[Self]) -> String {
        let lost_ones: Vec<&Self> = outcomes.iter().filter(|outcome| **outcome != Self::Recorded).collect();
        match lost_ones[..] {
            [] => String::new(),
            [one] if outcomes.len() == 1 => one.to_string(),
            [one] => format!("1 of {} was not recorded. {one}", outcomes.len()),
            [..] => {
                let faster =
                    lost_ones.iter().filter(|one| matches!(one, Self::AlreadyDecided { .. })).count();
                let rest = lost_ones.len() - faster;
                let words = match (faster, rest) {
                    (_, 0) => "already decided elsewhere".to_owned(),
                    (0, _) => "they can no longer be decided".to_owned(),
                    (faster, rest) => {
                        format!("{faster} already decided elsewhere, {rest} can no longer be decided")
                    }
                };
                format!("{} of {} were not recorded: {words}.", lost_ones.len(), outcomes.len())
            }
        }
    }
}

impl std::fmt::Display for DecideOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "This request {}.", self.describe(None))
    }
}

/// Decisions and expiries that the session's records do not contain yet; those of questions go to their servers. An index has
/// the condition about states.
pub(super) const UNTAKEN: &str = "session = ?1 AND (state IN ('approved', 'edited', 'replaced', 'denied') OR (state = 'later' AND later_noted = 0)
        OR (state = 'expired' AND expiry_noted = 0)) AND tool <> 'question'";

impl Store {
    /// Decides a request in one synced transaction: the first approval or denial wins. A request set to later
    /// can still be decided; setting it to later again changes nothing. An expired request cannot be decided.
    pub async fn decide(
        &self,
        request: &RequestId,
        approval: Approval,
        by: Decider,
    ) -> Result<DecideOutcome, StoreError> {
        let verdict = encode::verdict(request, &approval, &by, &self.inner.redactor)?;
        self.transact(Durability::Synced, move |write| decide(write, &verdict)).await
    }

    /// [`Store::decide`] for each of these requests, in order, in one synced transaction.
    pub async fn decide_all(
        &self,
        decisions: &[(RequestId, Approval)],
        by: &Decider,
    ) -> Result<Vec<DecideOutcome>, StoreError> {
        let verdict = |(request, approval): &_| encode::verdict(request, approval, by, &self.inner.redactor);
        let verdicts = decisions.iter().map(verdict).collect::<Result<Vec<_>, _>>()?;
        let decided =
            move |write: &Write<'_>| verdicts.iter().map(|verdict| decide(write, verdict)).collect();
        self.transact(Durability::Synced, decided).await
    }

    /// Takes every decision of a session that its records do not contain yet, appends a [`Record::Decided`]
    /// for each (in the order of decision) after the `after` records the session has, in one synced
    /// transaction, and returns them. A request that expired, or was changed after it was asked, becomes a
    /// [`Record::Expired`] instead. Only the session's owner calls this. Without any, writes nothing.
    ///
    /// A decision made in time may be consumed after the request expired: the owner compares its own
    /// request's `expires` before the call runs, and asks again.
    pub async fn consume(&self, session: &SessionId, after: u64) -> Result<Vec<Record>, StoreError> {
        let session = session.clone();
        let asked = session.clone();
        let any = self.read(move |reader| {
            let select = format!("SELECT EXISTS (SELECT 1 FROM approvals WHERE {UNTAKEN})");
            Ok(reader.one(&select, [&asked.0], |row| row.get(0))?)
        });
        if !any.await? {
            return Ok(Vec::new());
        }
        let redactor = Arc::clone(&self.inner.redactor);
        self.transact(Durability::Synced, move |write| consume(write, &session, after, &redactor)).await
    }

    /// [`Store::decide`] for each of these requests, in order, and [`Store::consume`], in one synced transaction, for the
    /// owner of the session.
    pub async fn decide_and_consume(
        &self,
        session: &SessionId,
        after: u64,
        decisions: &[(RequestId, Approval, Decider)],
    ) -> Result<(Vec<DecideOutcome>, Vec<Record>), StoreError> {
        let (session, redactor) = (session.clone(), Arc::clone(&self.inner.redactor));
        let verdict = |(request, approval, by): &_| encode::verdict(request, approval, by, &redactor);
        let verdicts = decisions.iter().map(verdict).collect::<Result<Vec<_>, _>>()?;
        self.transact(Durability::Synced, move |write| {
            let outcomes = verdicts.iter().map(|verdict| decide(write, verdict)).collect::<Result<_, _>>()?;
            Ok((outcomes, consume(write, &session, after, &redactor)?))
        })
        .await
    }
}

fn decide(write: &Write<'_>, verdict: &DecisionRow) -> Result<DecideOutcome, StoreError> {
    requests::reopen(write)?;
    let Some(row) = request_row(write, &verdict.request)? else { return Ok(DecideOutcome::Unknown) };
    let state = row.state;
    match state {
        RequestState::Waiting | RequestState::Later if row.is_over(write.now) => {
            requests::end_undecided(write, &row)?;
            Ok(DecideOutcome::NotOpen { state: RequestState::Expired })
        }
        RequestState::Later if verdict.state == RequestState::Later => Ok(DecideOutcome::Recorded),
        RequestState::Waiting | RequestState::Later => {
            requests::write_decision(write, &row, verdict)?;
            Ok(DecideOutcome::Recorded)
        }
        RequestState::Approved
        | RequestState::Edited
        | RequestState::Replaced
        | RequestState::Denied
        | RequestState::Consumed => winner(write, &row),
        RequestState::Withdrawn | RequestState::Superseded | RequestState::Expired => {
            Ok(DecideOutcome::NotOpen { state })
        }
    }
}

/// The outcome for a decision that came too late: the decision that won.
fn winner(write: &Write<'_>, row: &RequestRow) -> Result<DecideOutcome, StoreError> {
    let select = "SELECT decision, decided_by FROM approvals WHERE id = ?1";
    // A winning decision that cannot be read, as one of a newer version, must not undo the other decisions of the round.
    let decided = write
        .sql
        .all(select, [&row.id.0], |row| Ok::<_, StoreError>(decision(row, 0).unwrap_or_default()))?;
    Ok(match decided.into_iter().next().flatten() {
        Some((approval, by)) => DecideOutcome::AlreadyDecided { approval, by },
        None => DecideOutcome::NotOpen { state: row.state },
    })
}

fn consume(
    write: &Write<'_>,
    session: &SessionId,
    after: u64,
    redactor: &Redactor,
) -> Result<Vec<Record>, StoreError> {
    requests::reopen(write)?;
    let untaken = untaken(write, UNTAKEN, &session.0)?;
    if untaken.is_empty() {
        return Ok(Vec::new());
    }
    let records: Vec<Record> = untaken.iter().map(|one| take(write, one)).collect::<Result<_, _>>()?;
    let mut rows = encode::rows(&records, redactor)?;
    for row in &mut rows {
        // `take` has already marked the rows of the requests.
        row.implied = None;
    }
    records::append(write, session, after, &rows)?;
    Ok(records)
}

/// Marks the row as consumed; returns the record for the session.
pub(super) fn take(write: &Write<'_>, one: &OutstandingDecision) -> Result<Record, StoreError> {
    let OutstandingDecision { request, state, decision, .. } = one;
    // "Later" runs nothing.
    let sound = *state == RequestState::Later || (*state != RequestState::Expired && one.is_as_asked());
    let (request, call) = (request.clone(), one.call.clone());
    match (sound, decision) {
        (true, Some((approval, by))) => {
            requests::take(write, &request, *state)?;
            Ok(Record::Decided { request, call, approval: approval.clone(), by: by.clone() })
        }
        (_, _) if *state == RequestState::Expired => {
            requests::take(write, &request, *state)?;
            Ok(Record::Expired { request, call })
        }
        (_, _) => {
            // The decider saw something other than what was asked, so the decision is void.
            if let Some(row) = request_row(write, &request)? {
                requests::refuse_changed(write, &row)?;
            }
            Ok(Record::Expired { request, call })
        }
    }
}

pub(super) struct OutstandingDecision {
    request: RequestId,
    call: CallId,
    state: RequestState,
    decision: Option<(Approval, Decider)>,
    tool: String,
    args_hash: String,
    /// The summary shown in lists.
    summary: String,
    risk: String,
    /// JSON of the request.
    stored: String,
}

impl OutstandingDecision {
    /// Whether the stored request, and what lists showed of it, are what was asked.
    fn is_as_asked(&self) -> bool {
        let Ok(stored) = parse::<Request>(&self.stored) else { return false };
        let same_call =
            stored.id == self.request && stored.call == self.call && stored.tool.as_str() == self.tool;
        let same_words = stored.plan.summary == self.summary && stored.risk.word() == self.risk;
        same_call && same_words && encode::request_hash(&self.stored) == self.args_hash
    }
}

/// Returns the requests for which an SQL condition about `?1` holds, in the order of their changes.
pub(super) fn untaken(
    write: &Write<'_>,
    condition: &str,
    of: &str,
) -> Result<Vec<OutstandingDecision>, StoreError> {
    let select = format!(
        "SELECT id, call, state, decision, decided_by, tool, args_hash, request, summary, risk FROM approvals
         WHERE {condition} ORDER BY seq"
    );
    write.sql.all(&select, [of], |row| {
        Ok::<_, StoreError>(OutstandingDecision {
            request: RequestId(row.get(0)?),
            call: CallId(row.get(1)?),
            state: row.get(2)?,
            decision: decision(row, 3)?,
            tool: row.get(5)?,
            args_hash: row.get(6)?,
            stored: row.get(7)?,
            summary: row.get(8)?,
            risk: row.get(9)?,
        })
    })
}

/// Reads the columns `decision` and `decided_by`, of which the first is `at`; both are there, or it is not decided.
pub(super) fn decision(row: &Row<'_>, at: usize) -> Result<Option<(Approval, Decider)>, StoreError> {
    let (decision, by): (Option<String>, Option<String>) = (row.get(at)?, row.get(at + 1)?);
    decision.zip(by).map(|(decision, by)| Ok((parse(&decision)?, parse(&by)?))).transpose()
}

/// Parses a stored decision or decider, which a newer version may have written.
pub(super) fn parse<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(|error| StoreError::Failed {
        folder: std::path::PathBuf::new(),
        detail: format!(
            "an approval that this co cannot read ({error}); it was written by a newer co: use that one"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losers_are_told_in_one_line() {
        let faster = || DecideOutcome::AlreadyDecided { approval: Approval::yes(), by: Decider::Cli };
        let expired = || DecideOutcome::NotOpen { state: RequestState::Expired };
        let won = || DecideOutcome::Recorded;
        for (outcomes, sentence) in [
            (vec![], ""),
            (vec![won(), won()], ""),
            (vec![faster()], "This request was already approved by you (co approvals); nothing was changed."),
            (
                vec![won(), expired()],
                "1 of 2 was not recorded. This request has expired and can no longer be decided.",
            ),
            (vec![faster(), faster(), won()], "2 of 3 were not recorded: already decided elsewhere."),
            (
                vec![expired(), DecideOutcome::Unknown],
                "2 of 2 were not recorded: they can no longer be decided.",
            ),
            (
                vec![expired(), faster()],
                "2 of 2 were not recorded: 1 already decided elsewhere, 1 can no longer be decided.",
            ),
        ] {
            assert_eq!(DecideOutcome::losses(&outcomes), sentence);
        }
    }
}
