//! A server's tool as one of ours.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use rmcp::model;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ServerResult};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde_json::Value;

use super::connect::shown;
use super::kept::{Definition, about};
use super::{Server, names, result, schema};
use crate::message::{ReturnPart, ReturnStatus, Source, ToolName, Trust};
use crate::stdx::fs::fingerprint;
use crate::stdx::text::one_line_summary;
use crate::tool::builtin::{Spill, cap};
use crate::tool::schema::faults;
use crate::tool::{
    Access, CallPlan, Category, Effect, Origin, PlanContext, Preview, Resource, Risk, SideEffect, Tool,
    ToolContext, ToolError, ToolOutput, ToolSpec, Undo, Version,
};

/// A call ends by its own time limit, which progress begins anew.
const WITHOUT_LIMIT: Duration = Duration::from_secs(86_400);

/// A part of the error that the library makes of a call that was sent in a session that is over.
const MADE_ANEW: &str = "re-initialized";

/// The most cells of the arguments in a summary.
const ARGUMENTS: usize = 60;

pub struct ServerTool {
    server: Arc<Server>,
    /// The name that the server knows it by.
    own_name: String,
    spec: ToolSpec,
    /// Of the structured content that it returns.
    output_schema: Option<Value>,
    definition: Definition,
}

impl ServerTool {
    /// Errs with the reason if no model service would take the tool.
    pub fn new(server: Arc<Server>, name: ToolName, tool: model::Tool) -> Result<Self, String> {
        let definition = Definition::of(&tool);
        let hints = tool.annotations.clone().unwrap_or_default();
        // Words of a server never lower a risk, unless the user trusts it.
        let reads = hints.read_only_hint == Some(true) && server.settings.trusted;
        let destroys = hints.destructive_hint == Some(true) && !reads;
        let spec = ToolSpec {
            name,
            description: names::description(about(&tool)),
            parameters: schema::mended(&tool.input_schema)?,
            category: Category::Server,
            risk: match (reads, destroys) {
                (true, _) => Risk::Low,
                (false, true) => Risk::High,
                (false, false) => Risk::Medium,
            },
            side_effect: if reads { SideEffect::None { cache_for: None } } else { SideEffect::External },
            origin: Origin::Server(server.name.clone()),
            output_limit: server.place.output_limit,
            timeout: WITHOUT_LIMIT,
        };
        let output_schema = tool.output_schema.map(|schema| Value::Object((*schema).clone()));
        Ok(Self { server, own_name: tool.name.into_owned(), spec, output_schema, definition })
    }

    /// Whether another description of this tool would make the same of it.
    pub fn is_as(&self, other: &Self) -> bool {
        self.own_name == other.own_name
            && self.definition == other.definition
            && self.spec == other.spec
            && self.output_schema == other.output_schema
    }

    /// What an approval of a call is about besides its arguments: the tool as it was said to be, at its place.
    fn basis(&self) -> (Resource, Version) {
        let Definition { description, rest } = &self.definition;
        let said = format!("{description}\n{rest}\n{}", shown(&self.server.settings));
        let resource = format!("mcp:{}/{}", self.server.name, names::shown(&self.own_name));
        (Resource(resource), Version(fingerprint(said.as_bytes())))
    }

    /// The outcome of a call that got no answer.
    fn unanswered(&self, why: &str) -> ToolError {
        if self.spec.side_effect.is_none() {
            return ToolError::Transient { message: format!("The server {} {why}.", self.server.name) };
        }
        ToolError::Unknown {
            message: format!(
                "The server {} {why}; whether the call took effect is unknown. Look before you repeat it.",
                self.server.name
            ),
        }
    }

    /// The outcome of a call for which the server wants a login, or more rights.
    fn refused(&self, challenge: &str) -> ToolError {
        let name = &self.server.name;
        // The user may copy the command: only names of rights that mean nothing to a shell stand in it.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.:/".contains(c);
        let scopes =
            challenge.split_once("scope=\"").and_then(|(_, rest)| rest.split('"').next()).unwrap_or_default();
        let plain = scopes.split_whitespace().filter(|scope| scope.chars().all(is_plain));
        let flags: String = plain.map(|scope| format!(" --scope {scope}")).collect();
        ToolError::Terminal {
            message: format!(
                "The server {name} refused the call; it did not run. The user can allow it: `co mcp login {name}{flags}`."
            ),
        }
    }

    async fn call(&self, args: &Value, cx: &ToolContext) -> Result<model::CallToolResult, ToolError> {
        let unreachable = |why: String| ToolError::Transient {
            message: format!(
                "The server {} is not connected: {why}. The call did not run.",
                self.server.name
            ),
        };
        let peer = tokio::select! {
            () = cx.cancel.cancelled() => {
                let message = "Interrupted before the call was sent; it did not run.".to_owned();
                return Err(ToolError::Terminal { message });
            }
            peer = self.server.peer() => peer.map_err(unreachable)?,
        };
        let mut params = CallToolRequestParams::new(self.own_name.clone());
        params.arguments = args.as_object().cloned();
        let options =
            PeerRequestOptions::with_timeout(self.server.settings.call_timeout).reset_timeout_on_progress();
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = peer.send_cancellable_request(request, options).await;
        let handle = sent.map_err(|error| match error.auth_challenge() {
            Some(challenge) => self.refused(challenge),
            None => unreachable(names::error(&error.to_string())),
        })?;
        let (token, id, peer) = (handle.progress_token.clone(), handle.id.clone(), handle.peer.clone());
        self.server.handlers.progressing.add(token.clone(), cx.call.clone(), cx.progress.clone());
        let answer = tokio::select! {
            answer = handle.await_response() => Some(answer),
            () = cx.cancel.cancelled() => None,
        };
        self.server.handlers.progressing.remove(&token);
        match answer {
            Some(Ok(ServerResult::CallToolResult(result))) => Ok(result),
            Some(Ok(_)) => Err(self.unanswered("gave an answer of another kind")),
            // The library's own, for a call that was sent before the session was made anew.
            Some(Err(ServiceError::McpError(error))) if error.message.contains(MADE_ANEW) => {
                Err(self.unanswered("began a new session before it answered"))
            }
            Some(Err(ServiceError::McpError(error))) => {
                Err(ToolError::Terminal { message: names::description(&error.message) })
            }
            Some(Err(ServiceError::Timeout { timeout })) => {
                Err(self.unanswered(&format!("did not answer within {} s", timeout.as_secs())))
            }
            Some(Err(error)) => Err(match error.auth_challenge() {
                Some(challenge) => self.refused(challenge),
                None => self.unanswered("ended before it answered"),
            }),
            None => {
                let told = model::CancelledNotificationParam::new(Some(id), Some("interrupted".to_owned()));
                // A server that is gone needs no word.
                let _ = peer.notify_cancelled(told).await;
                let effect = if self.spec.side_effect.is_none() { "" } else { " It may have taken effect." };
                let message = format!("Interrupted; the server was told to stop.{effect}");
                Err(ToolError::Terminal { message })
            }
        }
    }
}

impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan<'a>(&'a self, args: &'a Value, _: &'a PlanContext) -> BoxFuture<'a, Result<CallPlan, ToolError>> {
        Box::pin(async move {
            let Some(fields) = args.as_object() else {
                return Err(ToolError::Misuse { hint: "the arguments are not a JSON object".to_owned() });
            };
            let wrong: Vec<String> =
                faults(&self.spec.parameters, args).iter().map(ToString::to_string).collect();
            if !wrong.is_empty() {
                return Err(ToolError::Misuse { hint: wrong.join("; ") });
            }
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let shown: Vec<String> = fields.values().map(text).collect();
            let summary = format!("{} of {}", names::shown(&self.own_name), self.server.name);
            let arguments = one_line_summary(&shown.join(", "), ARGUMENTS);
            Ok(CallPlan {
                summary: if arguments.is_empty() { summary } else { format!("{summary}: {arguments}") },
                preview: Preview::Fields {
                    fields: fields.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
                },
                risk: self.spec.risk,
                access: Access::External {
                    server: self.server.name.clone(),
                    unsandboxed: self.server.is_unsandboxed(),
                },
                basis: vec![self.basis()],
                undo: Undo::None,
                effect: Effect::OfTool,
                question: None,
                needs_person: self.server.changed(&self.own_name, &self.definition),
            })
        })
    }

    fn run<'a>(
        &'a self,
        args: &'a Value,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            self.server.accept(&self.own_name, &self.definition).await;
            let result = self.call(args, cx).await?;
            let (mut text, images) = result::parts(&result);
            if let (Some(schema), Some(value)) = (&self.output_schema, &result.structured_content) {
                let wrong: Vec<String> = faults(schema, value).iter().map(ToString::to_string).collect();
                if !wrong.is_empty() {
                    let wrong = names::line(&wrong.join("; "));
                    text.push_str(&format!("\n[the result differs from what the server declared: {wrong}]"));
                }
            }
            let (spill, limit) = (Spill::new(&cx.spill, &cx.call), self.spec.output_limit);
            // The task fails only at the end of the runtime.
            let text =
                tokio::task::spawn_blocking(move || cap(text, limit, &spill)).await.unwrap_or_default();
            if result.is_error == Some(true) {
                return Err(ToolError::Terminal { message: text });
            }
            let content = std::iter::once(ReturnPart::Text { text }).chain(images).collect();
            let source = Source::Tool { name: self.spec.name.clone() };
            Ok(ToolOutput { content, source, trust: Trust::Untrusted, seen: Vec::new(), state: None })
        })
    }

    fn outcome(&self, status: ReturnStatus, text: &str) -> String {
        match (status, text.lines().count()) {
            (ReturnStatus::Ok, 1) => "1 line".to_owned(),
            (ReturnStatus::Ok, lines) => format!("{lines} lines"),
            _ => String::new(),
        }
    }
}
