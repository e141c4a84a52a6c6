//! Reads a Gemini body; findings are worded like the service's errors.

use serde_json::Value;

use super::super::{Call, Conversation, Entry, Finding, Order};
use super::text;
use co_engine::provider::gemini::demands_signatures;

/// The keywords that a schema of this wire may contain.
const KNOWN: [&str; 22] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "items",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
    "default",
];

/// Reads a body for `model`, which is in the path.
pub fn read(model: &str, body: &Value) -> Result<Conversation, Finding> {
    declarations(body)?;
    let contents = body.get("contents").and_then(Value::as_array).filter(|contents| !contents.is_empty());
    let contents = contents.ok_or_else(|| Finding::new("contents are required"))?;
    let mut reader = Reader {
        conversation: Conversation { model: model.to_owned(), entries: Vec::new(), order: Order::AsCalled },
        names: Vec::new(),
        signed: demands_signatures(model),
    };
    for (at, content) in contents.iter().enumerate() {
        reader.content(at, content)?;
    }
    Ok(reader.conversation)
}

struct Reader {
    conversation: Conversation,
    /// The calls of the model's last turn: name, and the id if there is one.
    names: Vec<(String, String)>,
    /// Whether the first call of a turn must have a signature.
    signed: bool,
}

impl Reader {
    fn content(&mut self, at: usize, content: &Value) -> Result<(), Finding> {
        let parts = content.get("parts").and_then(Value::as_array).filter(|parts| !parts.is_empty());
        let parts = parts.ok_or_else(|| {
            Finding::new(format!(
                "* GenerateContentRequest.contents[{at}].parts: contents.parts must not be empty."
            ))
        })?;
        for (number, part) in parts.iter().enumerate() {
            one_of(at, number, part)?;
        }
        match text(content, "role") {
            "user" => self.user(at, parts),
            "model" => self.model(at, parts),
            _ => Err(Finding::new("Please use a valid role: user, model.")),
        }
    }

    fn user(&mut self, at: usize, parts: &[Value]) -> Result<(), Finding> {
        let answers: Vec<&Value> = parts.iter().filter_map(|part| part.get("functionResponse")).collect();
        let calls = std::mem::take(&mut self.names);
        if !answers.is_empty() && calls.is_empty() {
            return Err(Finding::new(
                "Please ensure that function response turn comes immediately after a function call turn.",
            ));
        }
        if answers.len() != calls.len() {
            return Err(Finding::new(
                "Please ensure that the number of function response parts is equal to the number of function call \
                 parts of the function call turn.",
            ));
        }
        for ((name, id), answer) in calls.iter().zip(&answers) {
            if text(answer, "name") != name || text(answer, "id") != id {
                return Err(Finding::new(format!(
                    "contents[{at}]: a response to `{}` stands where the one to `{name}` belongs",
                    text(answer, "name")
                )));
            }
            if !answer.get("response").is_some_and(Value::is_object) {
                return Err(Finding::new(format!(
                    "Invalid value at 'contents[{at}].parts.function_response.response': an object is required"
                )));
            }
        }
        if !answers.is_empty() {
            let before = self.conversation.entries.last();
            let ids = match before {
                Some(Entry::Assistant { calls, .. }) => calls.iter().map(|call| call.id.clone()).collect(),
                Some(Entry::User | Entry::Returns(_)) | None => Vec::new(),
            };
            self.conversation.entries.push(Entry::Returns(ids));
        }
        if parts.len() > answers.len() {
            self.conversation.entries.push(Entry::User);
        }
        Ok(())
    }

    fn model(&mut self, at: usize, parts: &[Value]) -> Result<(), Finding> {
        let found: Vec<(usize, &Value)> = parts
            .iter()
            .enumerate()
            .filter_map(|(number, part)| Some((number, part.get("functionCall")?)))
            .collect();
        let bare = |first: usize| {
            self.signed && parts.get(first).is_none_or(|part| text(part, "thoughtSignature").is_empty())
        };
        if let Some((first, call)) = found.first().filter(|(first, _)| bare(*first)) {
            return Err(Finding::new(unsigned(text(call, "name"), *first)));
        }
        let mut calls = Vec::new();
        for (number, call) in found {
            function_name(text(call, "name"), &format!("contents[{at}].parts[{number}].function_call.name"))?;
            if call.get("args").is_some_and(|args| !args.is_object()) {
                return Err(Finding::new(format!(
                    "Invalid value at 'contents[{at}].parts[{number}].function_call.args': an object is required"
                )));
            }
            let id = text(call, "id");
            self.names.push((text(call, "name").to_owned(), id.to_owned()));
            // Without an id a call is identified by its position.
            calls.push(Call { id: format!("{at}.{number}"), wire_id: id.to_owned() });
        }
        let signatures = parts.iter().map(|part| text(part, "thoughtSignature"));
        let thoughts = parts.iter().filter(|part| part.get("thought") == Some(&Value::Bool(true)));
        self.conversation.entries.push(Entry::Assistant {
            calls,
            signatures: signatures.filter(|signature| !signature.is_empty()).map(str::to_owned).collect(),
            thinking: thoughts.map(|part| text(part, "text").to_owned()).collect(),
            paused: false,
        });
        Ok(())
    }
}

fn unsigned(name: &str, position: usize) -> String {
    let position = position + 1;
    format!(
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work \
         correctly, and missing thought_signature may lead to degraded model performance. Additional data, function \
         call `default_api:{name}`, position {position}. Please refer to \
         https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
    )
}

/// Checks that a part has exactly one kind of content.
fn one_of(at: usize, number: usize, part: &Value) -> Result<(), Finding> {
    const KINDS: [&str; 9] = [
        "text",
        "inlineData",
        "fileData",
        "functionCall",
        "functionResponse",
        "executableCode",
        "codeExecutionResult",
        "toolCall",
        "toolResponse",
    ];
    match KINDS.iter().filter(|kind| part.get(**kind).is_some()).count() {
        1 => Ok(()),
        _ => Err(Finding::new(format!(
            "* GenerateContentRequest.contents[{at}].parts[{number}].data: required oneof field 'data' must have one \
             initialized field"
        ))),
    }
}

fn function_name(name: &str, place: &str) -> Result<(), Finding> {
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    if begins && name.len() <= 64 && name.bytes().all(fits) {
        return Ok(());
    }
    Err(Finding::new(format!(
        "* GenerateContentRequest.{place}: Invalid function name. Must start with a letter or an underscore. Must be \
         alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:) or dashes (-), with a maximum length of 64."
    )))
}

fn declarations(body: &Value) -> Result<(), Finding> {
    let tools = body.get("tools").and_then(Value::as_array).into_iter().flatten();
    for (at, tool) in tools.enumerate() {
        let declared = tool.get("functionDeclarations").and_then(Value::as_array).into_iter().flatten();
        for (number, declaration) in declared.enumerate() {
            let place = format!("tools[{at}].function_declarations[{number}]");
            function_name(text(declaration, "name"), &format!("{place}.name"))?;
            if let Some(parameters) = declaration.get("parameters") {
                schema(parameters, &format!("{place}.parameters"))?;
                let named = parameters.get("properties").and_then(Value::as_object);
                if named.is_none_or(serde_json::Map::is_empty) {
                    return Err(invalid(
                        &format!("{place}.parameters.properties"),
                        "should be non-empty for OBJECT type",
                    ));
                }
            }
        }
    }
    Ok(())
}

fn invalid(place: &str, what: &str) -> Finding {
    Finding::new(format!("* GenerateContentRequest.{place}: {what}"))
}

fn schema(schema: &Value, place: &str) -> Result<(), Finding> {
    let fields = schema.as_object().ok_or_else(|| invalid(place, "must be an object"))?;
    if let Some(unknown) = fields.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return Err(Finding::new(format!(
            "Invalid JSON payload received. Unknown name \"{unknown}\" at '{place}': Cannot find field."
        )));
    }
    let kind = text(schema, "type");
    if let Some(variants) = fields.get("anyOf").and_then(Value::as_array) {
        if fields.len() > 1 {
            return Err(invalid(place, "when using any_of, it must be the only field set"));
        }
        let mut variants = variants.iter().enumerate();
        return variants
            .try_for_each(|(at, variant)| self::schema(variant, &format!("{place}.any_of[{at}]")));
    }
    if !["STRING", "INTEGER", "NUMBER", "BOOLEAN", "ARRAY", "OBJECT"].contains(&kind) {
        return Err(invalid(place, "type: must be specified"));
    }
    if fields.contains_key("enum") && kind != "STRING" {
        return Err(invalid(place, "enum: only allowed for STRING type"));
    }
    if kind == "STRING" && !["", "enum", "date-time"].contains(&text(schema, "format")) {
        return Err(invalid(place, "format: only 'enum' and 'date-time' are supported for STRING type"));
    }
    let named = fields.get("properties").and_then(Value::as_object);
    for (at, (_, property)) in named.into_iter().flatten().enumerate() {
        self::schema(property, &format!("{place}.properties[{at}].value"))?;
    }
    for (at, name) in fields.get("required").and_then(Value::as_array).into_iter().flatten().enumerate() {
        let name = name.as_str().unwrap_or_default();
        if named.is_none_or(|named| !named.contains_key(name)) {
            return Err(invalid(&format!("{place}.required[{at}]"), "property is not defined"));
        }
    }
    match fields.get("items") {
        Some(items) => self::schema(items, &format!("{place}.items")),
        None if kind == "ARRAY" => Err(invalid(&format!("{place}.items"), "missing field.")),
        None => Ok(()),
    }
}
