//! The conversation that a service received, as lines that are the same for all wires.

use serde_json::Value;

use crate::co::Service;

/// The conversation of a request, counted from 1: `user …`, `assistant …`, `call NAME ARGS`, `return …`; the system
/// prompt and thinking are left out. Texts that one wire sends side by side are one text in another.
pub fn sent_lines(service: &Service, number: usize) -> Vec<String> {
    let requests = service.server.requests();
    let request =
        requests.get(number - 1).unwrap_or_else(|| panic!("no request {number}: {:?}", service.server.log()));
    let mut lines = Vec::new();
    for message in list(&request.body["messages"]) {
        said_in_message(message, &mut lines);
    }
    for item in list(&request.body["input"]) {
        match item["type"].as_str() {
            Some("function_call") => lines.push(call(item)),
            Some("function_call_output") => lines.push(format!("return {}", text(&item["output"]))),
            Some(_) | None => said_in_message(item, &mut lines),
        }
    }
    for content in list(&request.body["contents"]) {
        let who = if content["role"] == "model" { "assistant" } else { "user" };
        list(&content["parts"]).for_each(|part| said_in_part(who, part, &mut lines));
    }
    lines
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

fn say(who: &str, said: &str, lines: &mut Vec<String>) {
    let Some(said) = without_situation(said) else { return };
    match lines.last_mut().filter(|before| who == "user" && before.starts_with("user ")) {
        Some(before) => {
            before.push_str("\n\n");
            before.push_str(said);
        }
        None => lines.push(format!("{who} {said}")),
    }
}

/// A text without the note on date, mode and sandbox; `None` if that is all of it.
fn without_situation(said: &str) -> Option<&str> {
    match said.strip_prefix("[note from co: from now on]").and_then(|rest| rest.split_once("[end of note]")) {
        Some((_, rest)) => Some(rest.trim_start()).filter(|rest| !rest.is_empty()),
        None => Some(said),
    }
}

/// A message of Anthropic, Chat Completions, Ollama, or Responses.
fn said_in_message(message: &Value, lines: &mut Vec<String>) {
    let who = match message["role"].as_str().unwrap_or_default() {
        "" | "system" | "developer" => return,
        "tool" => "return",
        role => role,
    };
    match &message["content"] {
        Value::String(said) if !said.is_empty() => say(who, said, lines),
        Value::Array(blocks) => blocks.iter().for_each(|block| said_in_block(who, block, lines)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {}
    }
    lines.extend(list(&message["tool_calls"]).map(|made| call(&made["function"])));
}

fn said_in_block(who: &str, block: &Value, lines: &mut Vec<String>) {
    match block["type"].as_str() {
        Some("text" | "input_text" | "output_text") => say(who, &text(&block["text"]), lines),
        Some("tool_use") => lines.push(format!("call {} {}", name(block), block["input"])),
        Some("tool_result") => lines.push(format!("return {}", text(&block["content"]))),
        Some(_) | None => {}
    }
}

/// A part of Gemini's.
fn said_in_part(who: &str, part: &Value, lines: &mut Vec<String>) {
    if part["thought"] == true {
        return;
    }
    let (made, returned) = (&part["functionCall"], &part["functionResponse"]["response"]);
    match part["text"].as_str().filter(|said| !said.is_empty()) {
        Some(said) => say(who, said, lines),
        None if made.is_object() => lines.push(format!("call {} {}", name(made), made["args"])),
        None => lines.extend(
            ["output", "error"].iter().filter_map(|key| Some(format!("return {}", returned[key].as_str()?))),
        ),
    }
}

/// A call whose arguments are an object, or JSON as text.
fn call(function: &Value) -> String {
    let args = match &function["arguments"] {
        Value::String(text) => serde_json::from_str(text).unwrap(),
        args => args.clone(),
    };
    format!("call {} {args}", name(function))
}

fn name(value: &Value) -> &str {
    value["name"].as_str().unwrap_or_default()
}
