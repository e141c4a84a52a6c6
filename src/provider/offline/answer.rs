//! The next reply: from what was asked, and from what came of it.

use serde_json::json;

use super::outcome;
use super::understand::{Wanted, understand};
use super::{Say, words};
use crate::message::{AssistantMessage, Message, ReturnStatus, ToolCall, ToolReturn, UserPart};
use crate::provider::{ModelRequest, ToolChoice};

/// What a file holds that was asked for without words.
const EMPTY_NOTE: &str = "# A note\n\nWritten by the tour of `co`, because you asked for a note.\n";

/// How many replies stand in the conversation.
pub fn replies_so_far(request: &ModelRequest) -> usize {
    request.conversation().filter(|message| matches!(message, Message::Assistant(_))).count()
}

/// The next reply to a conversation.
pub fn reply(request: &ModelRequest) -> Vec<Say> {
    let turn = Turn::of(request);
    let wanted = understand(&turn.asked);
    let mut said = match turn.last_returns() {
        None => begin(&wanted, &turn),
        Some((calls, returns)) => go_on(&wanted, turn.rounds.len(), &calls, returns),
    };
    only_what_is_allowed(&mut said, request);
    if replies_so_far(request) == 0 {
        let first = said.iter().position(|say| !matches!(say, Say::Thinking(_))).unwrap_or(said.len());
        said.insert(first, Say::Text(words::WHO_I_AM.to_owned()));
    }
    joined(said)
}

/// One turn: what was asked last, and the rounds of calls since.
struct Turn<'a> {
    asked: String,
    /// Notes that came with it, and are not the user's words.
    notes: Vec<&'a str>,
    rounds: Vec<(&'a AssistantMessage, &'a [ToolReturn])>,
}

impl<'a> Turn<'a> {
    fn of(request: &'a ModelRequest) -> Self {
        let is_said = |message: &Message| match message {
            Message::User { parts } => parts.iter().any(|part| matches!(part, UserPart::Text { .. })),
            Message::Assistant(_) | Message::ToolReturns { .. } => false,
        };
        let messages: Vec<&Message> = request.conversation().collect();
        let start = messages.iter().rposition(|message| is_said(message)).unwrap_or(0);
        let mut turn = Self { asked: String::new(), notes: Vec::new(), rounds: Vec::new() };
        let mut reply: Option<&AssistantMessage> = None;
        for message in messages.into_iter().skip(start) {
            match message {
                Message::User { parts } => turn.hear(parts),
                Message::Assistant(message) => reply = Some(message),
                Message::ToolReturns { returns } => {
                    turn.rounds.extend(reply.map(|reply| (reply, returns.as_slice())));
                }
            }
        }
        turn
    }

    fn hear(&mut self, parts: &'a [UserPart]) {
        for part in parts {
            match part {
                UserPart::Text { text } => self.asked.clone_from(text),
                UserPart::Note { text, .. } => self.notes.push(text),
                UserPart::Image { .. } => {}
            }
        }
    }

    /// The calls of the last round with what came of them.
    fn last_returns(&self) -> Option<(Vec<&'a ToolCall>, &'a [ToolReturn])> {
        self.rounds.last().map(|(reply, returns)| (reply.calls().collect(), *returns))
    }
}

fn text(text: impl Into<String>) -> Say {
    Say::Text(text.into())
}

fn thinking(text: impl Into<String>) -> Say {
    Say::Thinking(text.into())
}

fn call(name: &'static str, args: serde_json::Value) -> Say {
    Say::Call { name, args }
}

/// The first reply of a turn.
fn begin(wanted: &Wanted, turn: &Turn<'_>) -> Vec<Say> {
    match wanted {
        Wanted::List { path } => proposed(
            "The request asks what is in a folder: `list_dir` tells.",
            "I look.\n",
            [call("list_dir", json!({ "path": path }))],
        ),
        Wanted::Read { paths } => proposed(
            "The request names files. `read_file` reads them; reading needs no approval.",
            "I read.\n",
            paths.iter().map(|path| call("read_file", json!({ "path": path }))),
        ),
        Wanted::Find { pattern } => proposed(
            "The request asks for files by name: that is `find_files`.",
            "I look for them.\n",
            [call("find_files", json!({ "pattern": pattern }))],
        ),
        Wanted::Search { text, path } => proposed(
            "The request asks where words occur. `search_text` takes a pattern, so I escape what is special.",
            "I search.\n",
            [call("search_text", json!({ "pattern": escaped(text), "path": path }))],
        ),
        Wanted::Run { .. } | Wanted::Write { .. } | Wanted::Replace { .. } => change(wanted),
        Wanted::Tour => proposed(
            "The tour: two reads at once, then a change that asks.",
            words::TOUR_LOOK,
            [call("list_dir", json!({ "path": "." })), call("find_files", json!({ "pattern": "README*" }))],
        ),
        Wanted::Help => vec![text(words::WHAT_I_CAN_DO), text(format!("\n{}", words::HOW_TO_CONNECT))],
        Wanted::Connect => vec![text(words::HOW_TO_CONNECT)],
        Wanted::Markdown => proposed("A page of Markdown shows how replies are drawn.", words::MARKDOWN, []),
        Wanted::Hello => vec![text(words::HELLO), text(format!("\n{}", words::HOW_TO_CONNECT))],
        Wanted::Unknown => unknown(turn),
    }
}

/// The first step of what changes something.
fn change(wanted: &Wanted) -> Vec<Say> {
    match wanted {
        Wanted::Run { command } => proposed(
            "The request is a command. Commands may do anything, so this will wait for a yes.",
            "I propose to run this; it waits for your decision.\n",
            [call("shell", json!({ "command": command }))],
        ),
        Wanted::Write { path, content } => proposed(
            "The request asks for a file to be written. That changes something, so it will wait for a yes.",
            "I propose to write this; it waits for your decision.\n",
            [call("write_file", json!({ "path": path, "content": note(content.as_deref()) }))],
        ),
        Wanted::Replace { path, .. } => proposed(
            "Before a file is changed it has to be read: first `read_file`, then `edit_file`.",
            "I read it first.\n",
            [call("read_file", json!({ "path": path }))],
        ),
        Wanted::List { .. }
        | Wanted::Read { .. }
        | Wanted::Find { .. }
        | Wanted::Search { .. }
        | Wanted::Tour
        | Wanted::Help
        | Wanted::Connect
        | Wanted::Markdown
        | Wanted::Hello
        | Wanted::Unknown => Vec::new(),
    }
}

fn proposed(thought: &str, words: &str, calls: impl IntoIterator<Item = Say>) -> Vec<Say> {
    [thinking(thought), text(words)].into_iter().chain(calls).collect()
}

fn unknown(turn: &Turn<'_>) -> Vec<Say> {
    let mut said = Vec::new();
    if turn.asked.is_empty() && !turn.notes.is_empty() {
        let notes: Vec<String> = turn.notes.iter().map(|note| outcome::fenced(note)).collect();
        said.push(text(format!(
            "`co` noted for me:\n\n{}\nI cannot make anything of it.\n",
            notes.join("\n")
        )));
        return said;
    }
    said.push(thinking("No rule fits these words. Saying so is better than guessing."));
    said.push(text(words::NOT_UNDERSTOOD));
    said.push(text(words::WHAT_I_CAN_DO));
    said.push(text(format!("\n{}", words::HOW_TO_CONNECT)));
    said
}

/// A later reply of a turn: says what came of the calls, and makes the next step where there is one.
fn go_on(wanted: &Wanted, rounds: usize, calls: &[&ToolCall], returns: &[ToolReturn]) -> Vec<Say> {
    let told: Vec<String> = returns
        .iter()
        .filter_map(|returned| {
            let call = calls.iter().find(|call| call.id == returned.call)?;
            Some(outcome::told(call, returned))
        })
        .collect();
    let mut said = vec![text(told.join("\n"))];
    let good = returns.iter().all(|returned| returned.status == ReturnStatus::Ok);
    match wanted {
        Wanted::Replace { path, old, new } if rounds == 1 && good => {
            said = vec![
                text("Now the change; it waits for your decision.\n"),
                call("edit_file", json!({ "path": path, "old": old, "new": new })),
            ];
        }
        Wanted::Tour if rounds == 1 => said.extend([
            text(words::TOUR_WRITE),
            call("write_file", json!({ "path": "co-tour.md", "content": words::TOUR_NOTE })),
        ]),
        Wanted::Tour => said.push(text(format!("{}{}", words::TOUR_END, words::HOW_TO_CONNECT))),
        Wanted::Replace { .. }
        | Wanted::List { .. }
        | Wanted::Read { .. }
        | Wanted::Find { .. }
        | Wanted::Search { .. }
        | Wanted::Run { .. }
        | Wanted::Write { .. }
        | Wanted::Help
        | Wanted::Connect
        | Wanted::Markdown
        | Wanted::Hello
        | Wanted::Unknown => {}
    }
    said
}

/// Calls only where calls may be made, of tools that are there.
fn only_what_is_allowed(said: &mut Vec<Say>, request: &ModelRequest) {
    let mut missing: Vec<&str> = Vec::new();
    said.retain(|say| match say {
        Say::Call { name, .. } => {
            let there = request.tools.iter().any(|tool| tool.name == *name);
            let allowed = there && request.tool_choice != ToolChoice::None;
            if !allowed {
                missing.push(name);
            }
            allowed
        }
        Say::Text(_) | Say::Thinking(_) => true,
    });
    if let Some(name) = missing.first() {
        let why = match request.tool_choice {
            ToolChoice::Auto | ToolChoice::Required => {
                format!("The tool `{name}` is not available here, so I stop.\n")
            }
            ToolChoice::None => "This turn may make no more calls, so I stop here.\n".to_owned(),
        };
        said.push(text(format!("\n{why}")));
    }
}

/// Texts in a row become one.
fn joined(said: Vec<Say>) -> Vec<Say> {
    let mut joined: Vec<Say> = Vec::new();
    for say in said {
        match (joined.last_mut(), say) {
            (Some(Say::Text(before)), Say::Text(more)) => before.push_str(&more),
            (_, say) => joined.push(say),
        }
    }
    joined
}

fn note(content: Option<&str>) -> String {
    match content {
        None => EMPTY_NOTE.to_owned(),
        Some(content) if content.ends_with('\n') => content.to_owned(),
        Some(content) => format!("{content}\n"),
    }
}

/// The words as a pattern that meets exactly them.
fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if "\\.+*?()|[]{}^$#&-~".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}
