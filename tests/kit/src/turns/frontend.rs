//! The front end of the turn scripts: records events as lines and does what the script says.

use std::collections::VecDeque;
use std::sync::Mutex;

use co_engine::agent::caps::CapAnswer;
use co_engine::agent::context::Summary;
use co_engine::agent::port::{Closed, Event, Frontend, Op, Settlement};
use co_engine::approval::{Approval, Request};
use co_engine::history::TurnEnd;
use co_engine::message::{ToolCall, UserPart};
use futures::future::BoxFuture;
use tokio::sync::Notify;

use super::run::Outside;
use super::script::Action;

pub struct ScriptedFrontend {
    state: Mutex<State>,
    spoken: Notify,
    outside: Outside,
    present: bool,
}

#[derive(Default)]
struct State {
    lines: Vec<String>,
    ops: VecDeque<Op>,
    answers: Vec<(String, Approval)>,
    triggers: Vec<(String, Action)>,
    /// The answers at caps, in order.
    cap_answers: VecDeque<CapAnswer>,
    text: String,
}

impl ScriptedFrontend {
    pub fn new(
        answers: Vec<(String, Approval)>,
        triggers: Vec<(String, Action)>,
        cap_answers: Vec<CapAnswer>,
        outside: Outside,
        present: bool,
    ) -> Self {
        let state = State { answers, triggers, cap_answers: cap_answers.into(), ..State::default() };
        Self { state: Mutex::new(state), spoken: Notify::new(), outside, present }
    }

    pub fn write(&self, line: impl Into<String>) {
        self.state.lock().unwrap().lines.push(line.into());
    }

    pub fn lines(&self) -> Vec<String> {
        self.state.lock().unwrap().lines.clone()
    }

    fn say(&self, op: Op) {
        self.state.lock().unwrap().ops.push_back(op);
        self.spoken.notify_one();
    }

    /// Records the event, and performs the script's answers and triggered actions.
    async fn on(&self, event: Event) {
        let line = {
            let mut state = self.state.lock().unwrap();
            match &event {
                Event::TextDelta { text } => state.text.push_str(text),
                Event::TextCommitted { .. } | Event::PartialReset => state.text.clear(),
                _ => {}
            }
            match line(&event) {
                Some(line) => {
                    state.lines.push(line.clone());
                    line
                }
                None => format!("delta {}", state.text),
            }
        };
        if let Event::ApprovalNeeded { request } = &event {
            self.answer(request);
        }
        let actions: Vec<Action> = {
            let mut state = self.state.lock().unwrap();
            let (fired, left) = std::mem::take(&mut state.triggers)
                .into_iter()
                .partition(|(prefix, _)| line.starts_with(prefix));
            state.triggers = left;
            let fired: Vec<(String, Action)> = fired;
            fired.into_iter().map(|(_, action)| action).collect()
        };
        for action in actions {
            self.act(action).await;
        }
        if let Event::CapReached { question } = &event {
            let answer = self.state.lock().unwrap().cap_answers.pop_front();
            if let Some(answer) = answer {
                self.say(Op::Cap { cap: question.cap, answer });
            }
        }
    }

    fn answer(&self, request: &Request) {
        let approval = {
            let mut state = self.state.lock().unwrap();
            let at = state.answers.iter().position(|(tool, _)| *tool == request.tool.0);
            at.map(|at| state.answers.remove(at).1)
        };
        if let Some(approval) = approval {
            self.say(Op::decide(request.id.clone(), approval));
        }
    }

    async fn act(&self, action: Action) {
        match action {
            Action::Interrupt => self.say(Op::Interrupt),
            Action::Close => self.say(Op::Close),
            Action::Defer => self.say(Op::Defer),
            Action::Retry => self.say(Op::RetryNow),
            Action::Steer(text) => self.say(Op::Steer { parts: vec![UserPart::Text { text }] }),
            Action::Yolo
            | Action::Mode(_)
            | Action::Rule(..)
            | Action::Advance(_)
            | Action::Expire
            | Action::Elsewhere(..)
            | Action::Spends(_)
            | Action::Release(_)
            | Action::Remove(_)
            | Action::Add(_)
            | Action::Change(..) => {
                self.outside.act(action).await;
            }
        }
    }
}

impl Frontend for ScriptedFrontend {
    fn show(&self, event: Event) -> BoxFuture<'_, Result<(), Closed>> {
        Box::pin(async move {
            self.on(event).await;
            Ok(())
        })
    }

    fn next_op(&self) -> BoxFuture<'_, Op> {
        Box::pin(async move {
            loop {
                if let Some(op) = self.state.lock().unwrap().ops.pop_front() {
                    return op;
                }
                self.spoken.notified().await;
            }
        })
    }

    fn can_approve(&self) -> bool {
        self.present
    }
}

/// Formats an event as a line; deltas have none.
fn line(event: &Event) -> Option<String> {
    Some(match event {
        Event::TextDelta { .. }
        | Event::ThinkingDelta { .. }
        | Event::ToolArgs { .. }
        | Event::Usage { .. } => {
            return None;
        }
        Event::Prompted { parts } => parts.iter().map(part).collect::<Vec<_>>().join("\n"),
        Event::TextCommitted { text } => format!("text {text}"),
        Event::ThinkingCommitted { text } => format!("thinking {text}"),
        Event::ToolCall { call } => format!("call {}", brief(call)),
        Event::ToolPlanned { call, plan } => format!("plan {}: {}", call.name, plan.summary),
        Event::ToolRunning { call } => format!("run {}", brief(call)),
        Event::ToolProgress { progress } => format!("progress {}", progress.text),
        Event::ToolReturn { call, returned } => {
            format!("return {} {:?}: {}", call.name, returned.status, returned.text().replace('\n', " / "))
        }
        Event::ApprovalNeeded { request } => ask(request),
        Event::ApprovalSettled { settled, .. } => match settled {
            Settlement::Decided { approval, by } => format!("decided {} ({})", decision(approval), by.word()),
            Settlement::Withdrawn => "withdrawn".to_owned(),
            Settlement::Late => "still waiting".to_owned(),
            Settlement::Superseded => "replaced".to_owned(),
            Settlement::Expired => "expired".to_owned(),
        },
        Event::Retry { class, wait, attempt, of, then, .. } => {
            let wait = if wait.is_zero() { "at once".to_owned() } else { "after a wait".to_owned() };
            let then = then.as_ref().map_or(String::new(), |then| format!(", then {then}"));
            format!("retry {class:?} {attempt}/{of} {wait}{then}")
        }
        Event::FellBack { from, to, class, why } => {
            format!("fell back from {from} to {to}, {class:?}: {why}")
        }
        Event::Refused { why } => format!("refused {why}"),
        Event::CapReached { question } => {
            format!("cap {}, {}", question.spent_words(), question.raise_words())
        }
        Event::CapAnswered { answer, .. } => format!("cap answered {answer:?}"),
        Event::PartialReset => "reset".to_owned(),
        Event::Compacting { messages } => format!("compacting {messages}"),
        Event::Compacted { compacted } => match &compacted.summary {
            Summary::Written { by, text } => format!("compacted {} by {by}: {text}", compacted.messages),
            Summary::None { why: Some(why) } => {
                format!("compacted {}, no summary: {why}", compacted.messages)
            }
            Summary::None { why: None } => format!("compacted {}", compacted.messages),
        },
        Event::Status { text } => format!("status {text}"),
        Event::DecisionsLost { text, .. } => format!("lost {text}"),
        Event::TurnEnded { end } => format!("end {}", ending(end)),
    })
}

pub fn part(part: &UserPart) -> String {
    match part {
        UserPart::Text { text } => format!("user {text}"),
        UserPart::Image { media_type, .. } => format!("image {media_type}"),
        UserPart::Note { kind, text } => {
            let kind = format!("{kind:?}");
            let kind = kind.split([' ', '{']).next().unwrap_or_default();
            format!("note {kind}: {}", text.replace('\n', " / "))
        }
    }
}

pub fn brief(call: &ToolCall) -> String {
    format!("{} {}", call.name, call.args)
}

fn ask(request: &Request) -> String {
    let mut line =
        format!("ask {} {} {}: {}", request.tool, request.args, request.risk.word(), request.why.join("; "));
    if !request.after.is_empty() {
        line.push_str(&format!(" [after {}]", request.after.join(", ")));
    }
    for taint in &request.taint {
        line.push_str(&format!(" [▲ {}]", taint.arg));
    }
    if request.expires.is_some() {
        line.push_str(" [expires]");
    }
    if let Some(again) = &request.again {
        line.push_str(&format!(" [again: {again}]"));
    }
    line
}

fn decision(approval: &Approval) -> String {
    match approval {
        Approval::Approve { instead: None, remember, .. } => format!("yes {remember:?}"),
        Approval::Approve { instead: Some((tool, args)), .. } => format!("yes, but {tool} {args}"),
        Approval::Deny { reason } => format!("no {}", reason.clone().unwrap_or_default()),
        Approval::Later => "later".to_owned(),
    }
}

pub fn ending(end: &TurnEnd) -> String {
    match end {
        TurnEnd::Failed { error } => format!("failed {:?}: {error}", error.class),
        TurnEnd::LimitReached { limit } => format!("limit {limit:?}"),
        TurnEnd::Completed | TurnEnd::Deferred | TurnEnd::Interrupted => format!("{end:?}").to_lowercase(),
    }
}
