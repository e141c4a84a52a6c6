//! A name for a session, asked of a model once, between turns.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use tokio_util::sync::CancellationToken;

use super::env::{ActiveModel, AgentEnv};
use crate::agent::assemble::{Assembler, Step};
use crate::agent::caps::{Estimate, Figures};
use crate::agent::{context, prompt};
use crate::history::{History, Record, TurnEnd, UsageTotals};
use crate::message::{StopKind, StopReason, Usage};
use crate::provider::{ErrorClass, ModelRequest, Price, RequestKind};
use crate::session::Session;
use crate::stdx::clock::{day_start, system_zone};
use crate::stdx::secrecy::mask;
use crate::stdx::text::one_line_summary;

/// Cells of a title.
const WIDTH: usize = 60;

/// The timeout of the request; nothing waits for it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request for a title, not sent yet.
pub struct TitleRequest {
    model: Arc<ActiveModel>,
    request: ModelRequest,
}

/// Returns the request for a session whose first turn is complete, that has no title and for which none was asked. `None`
/// also if a cap would be exceeded: a title is not worth a question to the user.
pub async fn title_request(session: &Session, env: &AgentEnv) -> Option<TitleRequest> {
    let history = session.history();
    if !is_due(history) {
        return None;
    }
    let model = env.summarizer.clone().unwrap_or_else(|| Arc::clone(&env.model.borrow()));
    let request = prompt::title_request(&model, &context::first_exchange(history));
    let midnight = day_start(env.clock.now(), &system_zone());
    let figures = Figures {
        session: history.total_usage(),
        // A store that cannot be read is reported by the next turn.
        day: session.store().used_since(midnight).await.ok()?,
        next: Estimate::of(&request, model.profile.price.as_ref()),
        model: request.model.clone(),
    };
    let mut caps = env.caps.borrow().clone();
    let is_free = caps.judge(&UsageTotals::default(), &figures, &BTreeSet::new()).question.is_none();
    is_free.then_some(TitleRequest { model, request })
}

fn is_due(history: &History) -> bool {
    let is_done = history.turns() > 0 && history.last_end() == Some(&TurnEnd::Completed);
    is_done && history.title().is_none() && !history.is_title_asked()
}

impl TitleRequest {
    /// Sends it. Returns the record of the request, and the title if there is one. Dropping the future ends the request;
    /// [`TitleRequest::cut_off`] is then its record.
    pub async fn send(&self) -> (Record, Option<String>) {
        let mut assembler = Assembler::new("title".to_owned(), BTreeSet::new());
        let reading = self.read(&mut assembler);
        let ended = tokio::time::timeout(PATIENCE, reading).await.unwrap_or(Err(ErrorClass::Idle));
        match ended {
            Ok((stop, usage)) => {
                let is_whole = matches!(stop.kind, StopKind::EndTurn | StopKind::StopSequence);
                let reply = assembler.finish(self.model.full_name(), stop).filter(|_| is_whole);
                (self.end_record(Some(usage), None), reply.and_then(|reply| title_of(&reply.text())))
            }
            Err(class) => {
                tracing::info!(?class, model = %self.model.full_name(), "no title was made");
                (self.end_record(assembler.usage(), Some(class)), None)
            }
        }
    }

    async fn read(&self, assembler: &mut Assembler) -> Result<(StopReason, Usage), ErrorClass> {
        let mut stream = self.model.provider.stream(self.request.clone(), CancellationToken::new());
        while let Some(event) = stream.next().await {
            let step = event.and_then(|event| assembler.apply(event)).map_err(|error| error.class)?;
            if let Step::Finished(stop, usage) = step {
                return Ok((stop, usage));
            }
        }
        Err(ErrorClass::Truncated)
    }

    /// The record of a request that was ended because something else began.
    pub fn cut_off(&self) -> Record {
        self.end_record(None, None)
    }

    fn end_record(&self, usage: Option<Usage>, error: Option<ErrorClass>) -> Record {
        let price = self.model.profile.price.as_ref();
        let known = usage.or_else(|| price.is_some_and(Price::is_free).then(Usage::default));
        Record::RequestEnded {
            attempt: 1,
            usage,
            provider: self.model.provider.name().to_owned(),
            model: self.model.name.clone(),
            cost: known.and_then(|usage| Price::of_request(price, &usage)),
            error,
            purpose: RequestKind::Title,
        }
    }
}

/// Returns the title in a reply: its first line with words, without marks around it and without secrets.
fn title_of(reply: &str) -> Option<String> {
    let marks = |one: char| one.is_whitespace() || "\"'`*#.«»“”".contains(one);
    let line = reply.lines().map(|line| line.trim_matches(marks)).find(|line| !line.is_empty())?;
    Some(one_line_summary(&mask(line), WIDTH)).filter(|title| !title.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_clean_line() {
        for (reply, title) in [
            ("Count the birds", Some("Count the birds")),
            ("\n  \"Count the birds.\"  \nmore words", Some("Count the birds")),
            ("# Zähle die Vögel", Some("Zähle die Vögel")),
            (" \n\"\"\n", None),
            ("", None),
        ] {
            assert_eq!(title_of(reply).as_deref(), title, "{reply:?}");
        }
        let key = format!("sk-ant-api03-{}", "AbCd1234".repeat(10));
        for (reply, hidden) in
            [(format!("use {key}"), "AbCd1234AbCd"), ("ab\u{202e}cd".to_owned(), "\u{202e}")]
        {
            let title = title_of(&reply).unwrap();
            assert!(!title.contains(hidden), "{title}");
        }
        assert!(title_of(&"long ".repeat(100)).unwrap().chars().count() <= WIDTH);
    }
}
