//! The model's list of steps, as the `todo` tool last returned it. Plain data, shown by the side panel.

use std::collections::HashSet;

use crate::message::{CallId, Message, ReturnStatus, ToolReturn};
use crate::tool::TODO;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TodoStep {
    pub state: StepState,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepState {
    Pending,
    InProgress,
    Done,
}

/// Returns the list in a return of the tool; `None` if the call did not succeed.
pub fn of_return(returned: &ToolReturn) -> Option<Vec<TodoStep>> {
    (returned.status == ReturnStatus::Ok).then(|| returned.text().lines().filter_map(step).collect())
}

/// Returns the last list of a conversation.
pub fn of_messages<'a>(messages: impl Iterator<Item = &'a Message>) -> Vec<TodoStep> {
    let mut calls: HashSet<&CallId> = HashSet::new();
    let mut steps = Vec::new();
    for message in messages {
        match message {
            Message::User { .. } => {}
            Message::Assistant(reply) => {
                calls.extend(reply.calls().filter(|call| call.name.as_str() == TODO).map(|call| &call.id));
            }
            Message::ToolReturns { returns } => {
                let mut lists = returns.iter().filter(|one| calls.contains(&one.call)).filter_map(of_return);
                steps = lists.next_back().unwrap_or(steps);
            }
        }
    }
    steps
}

fn step(line: &str) -> Option<TodoStep> {
    let marks = [("[ ] ", StepState::Pending), ("[>] ", StepState::InProgress), ("[x] ", StepState::Done)];
    marks
        .iter()
        .find_map(|(mark, state)| Some(TodoStep { state: *state, text: line.strip_prefix(mark)?.to_owned() }))
}
