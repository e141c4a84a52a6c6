//! Reads a Responses body for the checker, and rejects in the service's own words what only this wire
//! forbids: reasoning without the item it belongs to, calls without outputs, outputs without calls.

use std::collections::HashSet;

use serde_json::Value;

use super::super::{Call, Conversation, Entry, Finding, Order};
use super::text;

/// Reads the items of a body as a conversation.
pub fn read(body: &Value) -> Result<Conversation, Finding> {
    let mut conversation =
        Conversation { model: super::model(body)?, entries: Vec::new(), order: Order::Any };
    let items = match body.get("input") {
        Some(Value::String(said)) if !said.is_empty() => {
            conversation.entries.push(Entry::User);
            return Ok(conversation);
        }
        Some(Value::Array(items)) => items,
        Some(_) | None => return Err(missing("input")),
    };
    for (at, item) in items.iter().enumerate() {
        match kind(item, at)? {
            Kind::Instructions => {}
            Kind::User => conversation.entries.push(Entry::User),
            Kind::Output => add_output(&mut conversation.entries, item),
            kind @ (Kind::Message | Kind::Call | Kind::Reasoning | Kind::Hosted) => {
                if matches!(kind, Kind::Reasoning) {
                    reasoning(item, items.get(at + 1), at, stored(body))?;
                }
                add(&mut conversation.entries, item);
            }
        }
    }
    pairs(items)?;
    Ok(conversation)
}

/// The kind of an item.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Instructions,
    User,
    Message,
    Call,
    Output,
    Reasoning,
    Hosted,
}

fn kind(item: &Value, at: usize) -> Result<Kind, Finding> {
    let needs = |keys: &[&str]| match keys.iter().find(|key| item.get(**key).is_none_or(Value::is_null)) {
        Some(key) => Err(missing(&format!("input[{at}].{key}"))),
        None => Ok(()),
    };
    match text(item, "type") {
        "" | "message" => message(item, at),
        "function_call" => {
            needs(&["call_id", "name", "arguments"])?;
            call(item, at)?;
            Ok(Kind::Call)
        }
        "function_call_output" => {
            needs(&["call_id", "output"])?;
            content(item, "output", at, &["input_text", "input_image", "input_file"])?;
            Ok(Kind::Output)
        }
        "reasoning" => {
            needs(&["summary"])?;
            Ok(Kind::Reasoning)
        }
        "web_search_call"
        | "file_search_call"
        | "code_interpreter_call"
        | "image_generation_call"
        | "mcp_call"
        | "mcp_list_tools" => {
            needs(&["id"])?;
            Ok(Kind::Hosted)
        }
        other => Err(Finding::new(format!("Invalid value: '{other}' of 'input[{at}].type'"))),
    }
}

fn message(item: &Value, at: usize) -> Result<Kind, Finding> {
    let (kind, parts): (Kind, &[&str]) = match text(item, "role") {
        "user" => (Kind::User, &["input_text", "input_image", "input_file"]),
        "assistant" => (Kind::Message, &["output_text", "refusal"]),
        "system" | "developer" => (Kind::Instructions, &["input_text"]),
        "" => return Err(missing(&format!("input[{at}].role"))),
        role => return Err(Finding::new(format!("Invalid value: '{role}' of 'input[{at}].role'"))),
    };
    content(item, "content", at, parts)?;
    Ok(kind)
}

/// Checks a text, or a list of parts of the kinds that are allowed there.
fn content(item: &Value, field: &str, at: usize, kinds: &[&str]) -> Result<(), Finding> {
    let place = format!("input[{at}].{field}");
    match item.get(field) {
        Some(Value::String(_)) => Ok(()),
        Some(Value::Array(parts)) if !parts.is_empty() => {
            let wrong = parts.iter().map(|part| text(part, "type")).find(|kind| !kinds.contains(kind));
            match wrong {
                Some(kind) => {
                    let known = kinds.join("', '");
                    Err(Finding::new(format!(
                        "Invalid value: '{kind}' of '{place}'. Supported values are: '{known}'."
                    )))
                }
                None => Ok(()),
            }
        }
        Some(Value::Array(_)) => Err(Finding::new(format!("Invalid '{place}': empty array."))),
        Some(_) => Err(Finding::new(format!("Invalid type for '{place}'."))),
        None => Err(missing(&place)),
    }
}

fn call(item: &Value, at: usize) -> Result<(), Finding> {
    super::fits("call_id", text(item, "call_id"), 64, at)?;
    super::fits("name", text(item, "name"), 64, at)?;
    let arguments = serde_json::from_str::<Value>(text(item, "arguments"));
    if arguments.is_ok_and(|arguments| arguments.is_object()) {
        return Ok(());
    }
    Err(Finding::new(format!("Invalid 'input[{at}].arguments': no JSON object.")))
}

/// Checks that each call has its output and each output its call, once.
fn pairs(items: &[Value]) -> Result<(), Finding> {
    let ids = |kind: &'static str| {
        let items = items.iter().filter(move |item| text(item, "type") == kind);
        items.map(|item| text(item, "call_id"))
    };
    let calls: HashSet<&str> = ids("function_call").collect();
    let outputs: HashSet<&str> = ids("function_call_output").collect();
    if let Some(id) = ids("function_call_output").find(|id| !calls.contains(id)) {
        return Err(Finding::new(format!("No tool call found for function call output with call_id {id}.")));
    }
    match ids("function_call").find(|id| !outputs.contains(id)) {
        Some(id) => Err(Finding::new(format!("No tool output found for function call {id}."))),
        None => Ok(()),
    }
}

/// Whether the service stores its output.
#[derive(Clone, Copy, PartialEq)]
enum OutputStorage {
    Yes,
    No,
}

fn stored(body: &Value) -> OutputStorage {
    if body.get("store") == Some(&Value::Bool(false)) { OutputStorage::No } else { OutputStorage::Yes }
}

/// Checks that reasoning precedes an item of the same reply, and has content that can be read again.
fn reasoning(item: &Value, next: Option<&Value>, at: usize, stored: OutputStorage) -> Result<(), Finding> {
    let id = match text(item, "id") {
        "" => format!("input[{at}]"),
        id => id.to_owned(),
    };
    let follows = next.is_some_and(|next| match text(next, "type") {
        "" | "message" => text(next, "role") == "assistant",
        "function_call_output" => false,
        _ => true,
    });
    if !follows {
        return Err(Finding::new(format!(
            "Item '{id}' of type 'reasoning' was provided without its required following item."
        )));
    }
    let said = item.get("content").and_then(Value::as_array).is_some_and(|content| !content.is_empty());
    if stored == OutputStorage::No && text(item, "encrypted_content").is_empty() && !said {
        return Err(Finding::new(format!(
            "Item with id '{id}' not found. Items are not persisted when `store` is set to false."
        )));
    }
    Ok(())
}

fn add_output(entries: &mut Vec<Entry>, item: &Value) {
    let id = text(item, "call_id").to_owned();
    match entries.last_mut() {
        Some(Entry::Returns(ids)) => ids.push(id),
        Some(Entry::User | Entry::Assistant { .. }) | None => entries.push(Entry::Returns(vec![id])),
    }
}

/// Adds an item to its reply: on this wire replies are separated only by the items between them. The service
/// allows one at the end.
fn add(entries: &mut Vec<Entry>, item: &Value) {
    if !matches!(entries.last(), Some(Entry::Assistant { .. })) {
        let (calls, signatures, thinking) = (Vec::new(), Vec::new(), Vec::new());
        entries.push(Entry::Assistant { calls, signatures, thinking, paused: true });
    }
    let Some(Entry::Assistant { calls, signatures, thinking, .. }) = entries.last_mut() else { return };
    match text(item, "type") {
        "function_call" => {
            let id = text(item, "call_id").to_owned();
            calls.push(Call { id: id.clone(), wire_id: id });
        }
        "reasoning" => {
            signatures
                .extend(Some(text(item, "encrypted_content").to_owned()).filter(|text| !text.is_empty()));
            let summary = item.get("summary").and_then(Value::as_array).into_iter().flatten();
            thinking.extend(summary.map(|part| text(part, "text").to_owned()));
        }
        _ => {}
    }
}

fn missing(place: &str) -> Finding {
    Finding::new(format!("Missing required parameter: '{place}'."))
}

#[cfg(test)]
mod tests;
