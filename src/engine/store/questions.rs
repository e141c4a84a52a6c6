//! Questions of tool servers: requests without a call. They are stored, listed and decided like a session's other requests, but
//! its records do not contain them: the answer goes to the server that waits for it. A question is withdrawn once its server
//! no longer waits.

use super::decide::{take, untaken};
use super::request_rows::request_rows;
use super::statements::Statements as _;
use super::{Store, StoreError, encode, requests};
use crate::approval::{Approval, Request, RequestId};
use crate::history::{Durability, Record, SessionId};

/// Questions that are not settled.
const OPEN: &str =
    "tool = 'question' AND state IN ('waiting', 'later', 'approved', 'edited', 'replaced', 'denied')";

/// Questions whose decision is not consumed.
const DECIDED: &str = "tool = 'question' AND state IN ('approved', 'edited', 'replaced', 'denied')";

/// The outcome of a question.
#[derive(Debug, Clone, PartialEq)]
pub enum QuestionStatus {
    Undecided,
    Decided(Approval),
    /// It was withdrawn, or deleted with its session.
    Over,
}

impl Store {
    /// Stores a question ([`Request::is_question`]) in a session, which must be stored already. Synced.
    pub async fn ask_question(&self, session: &SessionId, question: &Request) -> Result<(), StoreError> {
        let (session, ask) = (session.clone(), encode::ask(question, &self.inner.redactor)?);
        self.transact(Durability::Synced, move |write| requests::ask(write, &session, &ask)).await
    }

    /// Returns what became of a question; a decision is consumed, and so returned once.
    pub async fn take_answer(&self, question: &RequestId) -> Result<QuestionStatus, StoreError> {
        match self.find_request(&question.0).await {
            Ok(found) if found.state.is_undecided() => return Ok(QuestionStatus::Undecided),
            Ok(found) if !found.state.is_open() => return Ok(QuestionStatus::Over),
            Ok(_) => {}
            Err(StoreError::NotFound { .. }) => return Ok(QuestionStatus::Over),
            Err(error) => return Err(error),
        }
        let id = question.0.clone();
        self.transact(Durability::Synced, move |write| {
            let found = untaken(write, &format!("id = ?1 AND {DECIDED}"), &id)?.pop();
            match found.map(|one| take(write, &one)).transpose()? {
                Some(Record::Decided { approval, .. }) => Ok(QuestionStatus::Decided(approval)),
                Some(_) | None => Ok(QuestionStatus::Over),
            }
        })
        .await
    }

    /// Withdraws a question, unless it is settled.
    pub async fn end_question(&self, question: &RequestId) -> Result<(), StoreError> {
        self.withdraw_questions("id = ?1", question.0.clone()).await
    }

    /// Withdraws the questions of a session, because no server waits for their answers any more.
    pub async fn end_questions(&self, session: &SessionId) -> Result<(), StoreError> {
        self.withdraw_questions("session = ?1", session.0.clone()).await
    }

    async fn withdraw_questions(&self, which: &'static str, of: String) -> Result<(), StoreError> {
        self.transact(Durability::Written, move |write| {
            let rows = request_rows(write, &format!("WHERE {which} AND {OPEN}"), &[&of])?;
            let because = "nobody waits for the answer any more";
            rows.iter().try_for_each(|row| requests::withdraw(write, row, because))
        })
        .await
    }

    /// Returns the sessions with undecided questions.
    pub(crate) async fn sessions_with_questions(&self) -> Result<Vec<SessionId>, StoreError> {
        self.read(|reader| {
            let select = "SELECT DISTINCT session FROM approvals
                WHERE state IN ('waiting', 'later') AND tool = 'question'";
            reader.all(select, [], |row| Ok(SessionId(row.get(0)?)))
        })
        .await
    }
}
