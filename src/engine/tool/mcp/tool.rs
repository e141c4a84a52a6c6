//! A server's tool as one of ours.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelTaskParams, ClientRequest, GetTaskParams, ServerResult,
    TaskPayload,
};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use rmcp::{RoleClient, model};
use serde_json::Value;
use tracing::Instrument as _;

use super::client::Handlers;
use super::connect::server_address;
use super::known_tools::{Definition, about};
use super::server::Server;
use super::{names, result, schema};
use crate::message::{ReturnPart, ReturnStatus, Source, ToolName, Trust};
use crate::stdx::fs::fingerprint;
use crate::stdx::moment::duration;
use crate::stdx::text::{count, one_line_summary};
use crate::tool::builtin::{Spill, cap};
use crate::tool::schema::faults;
use crate::tool::{
    Access, CallPlan, Category, Origin, PlanContext, Preview, Resource, Risk, SideEffect, Tool, ToolContext,
    ToolError, ToolOutput, ToolSpec, Version,
};

/// A call ends by its own time limit, which progress begins anew.
const WITHOUT_LIMIT: Duration = Duration::from_secs(86_400);

/// How often the state of a task is asked for, if the server does not say.
const POLL: Duration = Duration::from_secs(1);
const SHORTEST_POLL: Duration = Duration::from_millis(50);
const LONGEST_POLL: Duration = Duration::from_secs(60);

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
            parameters: schema::mend(&tool.input_schema)?,
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

    /// The basis of an approval besides the arguments: the definition of the tool and the address of its server.
    fn basis(&self) -> (Resource, Version) {
        let Definition { description, rest } = &self.definition;
        let said = format!("{description}\n{rest}\n{}", server_address(&self.server.settings));
        let resource = format!("mcp:{}/{}", self.server.name, names::display_name(&self.own_name));
        (Resource(resource), Version(fingerprint(said.as_bytes())))
    }

    /// The outcome of a call that got no answer.
    fn no_answer_error(&self, why: &str) -> ToolError {
        if self.spec.side_effect.is_none() {
            return ToolError::Transient(format!("The server {} {why}.", self.server.name));
        }
        ToolError::Unknown(format!(
            "The server {} {why}; whether the call took effect is unknown. Look before you repeat it.",
            self.server.name
        ))
    }

    /// The outcome of a call for which the server wants a login, or more rights.
    fn login_error(&self, challenge: &str) -> ToolError {
        let name = &self.server.name;
        // The user may copy the command: only names of rights that mean nothing to a shell stand in it.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.:/".contains(c);
        let scopes =
            challenge.split_once("scope=\"").and_then(|(_, rest)| rest.split('"').next()).unwrap_or_default();
        let plain = scopes.split_whitespace().filter(|scope| scope.chars().all(is_plain));
        let flags: String = plain.map(|scope| format!(" --scope {scope}")).collect();
        ToolError::Terminal(format!(
            "The server {name} refused the call; it did not run. The user can allow it: `co mcp login {name}{flags}`."
        ))
    }

    async fn call(&self, args: &Value, cx: &ToolContext) -> Result<model::CallToolResult, ToolError> {
        let unreachable = |why: String| {
            ToolError::Transient(format!(
                "The server {} is not connected: {why}. The call did not run.",
                self.server.name
            ))
        };
        let peer = tokio::select! {
            () = cx.cancel.cancelled() => {
                let message = "Interrupted before the call was sent; it did not run.".to_owned();
                return Err(ToolError::Terminal(message));
            }
            peer = self.server.peer() => peer.map_err(unreachable)?,
        };
        let mut params = CallToolRequestParams::new(self.own_name.clone());
        params.arguments = args.as_object().cloned();
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let handlers = self.server.handlers();
        let calls = &handlers.calls;
        let sent = peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let handle = sent.map_err(|error| match error.auth_challenge() {
            Some(challenge) => self.login_error(challenge),
            None => {
                calls.lost.notify_one();
                unreachable(names::error(&error.to_string()))
            }
        })?;
        let (token, id) = (handle.progress_token.clone(), handle.id.clone());
        calls.add(token.clone(), cx.call.clone(), cx.progress.clone());
        let limit = self.server.settings.call_timeout;
        let mut task = None;
        let span = tracing::info_span!(
            "tools/call",
            otel.name = %format!("tools/call {}", self.own_name),
            otel.kind = "client",
            mcp.method.name = "tools/call",
            mcp.server.name = %self.server.name,
            gen_ai.tool.name = %self.own_name,
        );
        let answer = async {
            match handle.await_response().await {
                Ok(ServerResult::CreateTaskResult(created)) => {
                    task = Some(created.task.task_id.clone());
                    self.result_of(created.task, &peer, (&handlers, &token)).await
                }
                answer => self.result(answer),
            }
        };
        let stopped = tokio::select! {
            answer = answer.instrument(span) => {
                calls.remove(&token);
                if matches!(answer, Err(ToolError::Unknown(_))) {
                    calls.lost.notify_one();
                }
                return answer;
            }
            () = cx.cancel.cancelled() => {
                let effect = if self.spec.side_effect.is_none() { "" } else { " It may have taken effect." };
                ToolError::Terminal(format!("Interrupted; the server was told to stop.{effect}"))
            }
            () = calls.silent(&token, limit) => {
                self.no_answer_error(&format!("did not answer within {}", duration(limit)))
            }
        };
        calls.remove(&token);
        // A server that is gone needs no word.
        let _ = match task {
            Some(task) => peer.cancel_task(CancelTaskParams::new(task)).await,
            None => {
                let params = model::CancelledNotificationParam::new(Some(id), Some("interrupted".to_owned()));
                peer.notify_cancelled(params).await
            }
        };
        Err(stopped)
    }

    /// Reads the answer to a call.
    fn result(&self, answer: Result<ServerResult, ServiceError>) -> Result<model::CallToolResult, ToolError> {
        match answer {
            Ok(ServerResult::CallToolResult(result)) => Ok(result),
            Ok(_) => Err(self.no_answer_error("gave an answer of another kind")),
            // The library's own, for a call that was sent before the session was made anew.
            Err(ServiceError::McpError(error)) if error.message.contains(MADE_ANEW) => {
                Err(self.no_answer_error("began a new session before it answered"))
            }
            Err(ServiceError::McpError(error)) => {
                Err(ToolError::Terminal(names::description(&error.message)))
            }
            Err(error) => Err(match error.auth_challenge() {
                Some(challenge) => self.login_error(challenge),
                None => self.no_answer_error(&match error {
                    ServiceError::TransportClosed => "ended before it answered".to_owned(),
                    error => format!("did not answer ({})", names::error(&error.to_string())),
                }),
            }),
        }
    }

    /// Waits for the result of a task that the server made of a call, asking as often as it wants to be asked; each
    /// change is a sign of the call.
    async fn result_of(
        &self,
        task: model::Task,
        peer: &Peer<RoleClient>,
        (handlers, token): (&Handlers, &model::ProgressToken),
    ) -> Result<model::CallToolResult, ToolError> {
        let mut seen = task;
        let mut answered = BTreeSet::new();
        loop {
            let wanted = seen.poll_interval_ms.map_or(POLL, Duration::from_millis);
            tokio::time::sleep(wanted.clamp(SHORTEST_POLL, LONGEST_POLL)).await;
            let status = match peer.get_task(GetTaskParams::new(seen.task_id.clone())).await {
                Ok(answer) => answer.task,
                Err(error) => {
                    let why = names::error(&error.to_string());
                    return Err(
                        self.no_answer_error(&format!("does not tell what became of the call ({why})"))
                    );
                }
            };
            match status.payload {
                TaskPayload::Completed { result } => {
                    let result = serde_json::from_value(Value::Object(result));
                    return result.map_err(|_| self.no_answer_error("gave an answer of another kind"));
                }
                TaskPayload::Failed { error } => {
                    let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
                    return Err(ToolError::Terminal(names::description(message)));
                }
                TaskPayload::Cancelled => {
                    return Err(self.no_answer_error("gave the call up"));
                }
                TaskPayload::InputRequired { input_requests } => {
                    let new = input_requests.into_iter().filter(|(key, _)| answered.insert(key.clone()));
                    self.answer(&seen.task_id, new.collect(), peer, handlers).await?;
                }
                _ => {}
            }
            if (&status.task.last_updated_at, &status.task.status_message)
                != (&seen.last_updated_at, &seen.status_message)
            {
                handlers.calls.note_progress(token);
            }
            seen = status.task;
        }
    }

    /// Answers what a server asks in the middle of a task.
    async fn answer(
        &self,
        task: &str,
        wanted: model::InputRequests,
        peer: &Peer<RoleClient>,
        handlers: &Handlers,
    ) -> Result<(), ToolError> {
        let mut answers = model::InputResponses::new();
        for (key, wanted) in wanted {
            let model::InputRequest::Elicitation(wanted) = wanted else {
                // The server may have given it up already.
                let _ = peer.cancel_task(CancelTaskParams::new(task)).await;
                let message = "The server wants more than an answer of the user before it goes on; \
                               that is not supported in a task.";
                return Err(ToolError::Terminal(message.to_owned()));
            };
            let answer = handlers.elicit(&self.server.name, wanted.params).await;
            answers.insert(key, serde_json::to_value(answer).unwrap_or_default());
        }
        if answers.is_empty() {
            return Ok(());
        }
        let updated = peer.update_task(model::UpdateTaskParams::new(task, answers)).await;
        updated.map_err(|error| {
            let why = names::error(&error.to_string());
            self.no_answer_error(&format!("does not take the answer to its question ({why})"))
        })
    }
}

/// Says how a value differs from its schema; `None` if it does not.
fn unfit(schema: &Value, value: &Value) -> Option<String> {
    let faults: Vec<String> = faults(schema, value).iter().map(ToString::to_string).collect();
    (!faults.is_empty()).then(|| faults.join("; "))
}

impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan<'a>(&'a self, args: &'a Value, _: &'a PlanContext) -> BoxFuture<'a, Result<CallPlan, ToolError>> {
        Box::pin(async move {
            let Some(fields) = args.as_object() else {
                return Err(ToolError::Misuse("the arguments are not a JSON object".to_owned()));
            };
            if let Some(hint) = unfit(&self.spec.parameters, args) {
                return Err(ToolError::Misuse(hint));
            }
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let shown: Vec<String> = fields.values().map(text).collect();
            let summary = format!("{} of {}", names::display_name(&self.own_name), self.server.name);
            let arguments = one_line_summary(&shown.join(", "), ARGUMENTS);
            let summary = if arguments.is_empty() { summary } else { format!("{summary}: {arguments}") };
            let access = Access::External {
                server: self.server.name.clone(),
                unsandboxed: self.server.is_unsandboxed(),
            };
            Ok(CallPlan {
                preview: Preview::Fields {
                    fields: fields.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
                },
                basis: vec![self.basis()],
                needs_person: self.server.definition_change(&self.own_name, &self.definition),
                ..CallPlan::new(summary, self.spec.risk, access)
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
            if let (Some(schema), Some(value)) = (&self.output_schema, &result.structured_content)
                && let Some(wrong) = unfit(schema, value)
            {
                let wrong = names::line(&wrong);
                text.push_str(&format!("\n[the result differs from what the server declared: {wrong}]"));
            }
            let (spill, limit) = (Spill::new(&cx.spill, &cx.call), self.spec.output_limit);
            // The task fails only at the end of the runtime.
            let text =
                tokio::task::spawn_blocking(move || cap(text, limit, &spill)).await.unwrap_or_default();
            if result.is_error == Some(true) {
                return Err(ToolError::Terminal(text));
            }
            let content = std::iter::once(ReturnPart::Text { text }).chain(images).collect();
            let source = Source::Tool { name: self.spec.name.clone() };
            Ok(ToolOutput { content, source, trust: Trust::Untrusted, seen: Vec::new(), state: None })
        })
    }

    fn outcome(&self, status: ReturnStatus, text: &str) -> String {
        if status == ReturnStatus::Ok { count(text.lines().count(), "line") } else { String::new() }
    }
}
