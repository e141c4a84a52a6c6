//! `co-conformance`: our client of tool servers under the protocol's conformance suite: what a user and a model would do,
//! done by rote. The suite names the address of its server in the argument, and the scenario in the environment.
//!
//! Source: the client scenarios of the package `@modelcontextprotocol/conformance`, 0.1.16.
#![expect(clippy::print_stderr, reason = "a tool for the command line")]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use co::app::{server_place, tools};
use co::config::{
    OAuthGrant, OAuthSettings, Secret, ServerApproval, ServerScope, ServerSettings, ServerTransport,
};
use co::tool::mcp::{
    Account, ConnectError, Connection, ElicitationAnswer, ElicitationKind, Elicitor, Handlers,
    ServerEnvironment, authorize, connect,
};
use co::workspace::{World, load_settings};
use rmcp::model::CallToolRequestParams;
use rmcp::service::ServiceError;
use serde_json::{Map, Value, json};

/// The name under which tokens are kept.
const NAME: &str = "conformance";

/// The most logins of one scenario.
const MOST_LOGINS: usize = 3;

/// The client that the suite knows by a document of its own.
const CLIENT_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(url) = std::env::args().nth(1) else {
        eprintln!("usage: co-conformance URL");
        return ExitCode::from(2);
    };
    match run(&url).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("the scenario failed: {why}");
            ExitCode::FAILURE
        }
    }
}

async fn run(url: &str) -> Result<(), String> {
    let world = World::of_process(std::env::vars().collect()).map_err(|error| error.to_string())?;
    let settings = load_settings(&world, Vec::new()).map_err(|errors| format!("{errors:?}"))?.settings;
    let tools = tools(&world, &settings);
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut place = server_place(&world, &settings, &tools.child_env, &tools.sandbox);
    place.kept = folder.path().to_owned();
    let variable = |name: &str| world.env.get(name).map(String::as_str);
    let scenario = variable("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    Box::pin(conformance(url, scenario, variable("MCP_CONFORMANCE_CONTEXT"), &place)).await
}

/// Connects the server of a scenario, logs in where it asks for it, and calls each of its tools. `context` is the JSON that
/// the suite gives to the scenario. Errs with the reason.
async fn conformance(
    url: &str,
    scenario: &str,
    context: Option<&str>,
    place: &ServerEnvironment,
) -> Result<(), String> {
    let context: Value = context.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let text = |field: &str| context.get(field).and_then(Value::as_str).map(str::to_owned);
    let own_document = (scenario == "auth/basic-cimd").then(|| CLIENT_DOCUMENT.to_owned());
    let is_by_credentials = scenario.starts_with("auth/client-credentials");
    let settings = ServerSettings {
        how: ServerTransport::Http {
            url: url.to_owned(),
            headers: BTreeMap::new(),
            oauth: OAuthSettings {
                client_id: text("client_id").or(own_document),
                client_secret: text("client_secret").map(Secret::new),
                grant: if is_by_credentials {
                    OAuthGrant::ClientCredentials
                } else {
                    OAuthGrant::AuthorizationCode
                },
                ..OAuthSettings::default()
            },
        },
        timeout: Duration::from_secs(20),
        call_timeout: Duration::from_secs(20),
        approval: ServerApproval::Ask,
        trusted: false,
        prefix: NAME.to_owned(),
        enabled: true,
        scope: ServerScope::User,
        tools: Vec::new(),
    };
    let mut run = Run { url, settings, place, logins: 0 };
    let mut connection = run.connected().await?;
    for tool in listed_or_login(&mut run, &mut connection).await? {
        let arguments = example(&tool.input_schema);
        loop {
            let mut params = CallToolRequestParams::new(tool.name.clone());
            params.arguments = Some(arguments.clone());
            match connection.peer().call_tool(params).await {
                Ok(_) => break,
                Err(error) => connection = run.logged_in(&error).await?,
            }
        }
    }
    Ok(())
}

/// A scenario under way.
struct Run<'a> {
    url: &'a str,
    settings: ServerSettings,
    place: &'a ServerEnvironment,
    logins: usize,
}

impl Run<'_> {
    async fn connected(&mut self) -> Result<Connection, String> {
        let handlers = Handlers { elicitor: Some(defaults()), ..Handlers::default() };
        loop {
            match connect(NAME, &self.settings, self.place, &handlers).await {
                Ok(connection) => return Ok(connection),
                Err(ConnectError { challenge: Some(challenge), .. }) => self.log_in(&challenge).await?,
                Err(ConnectError { why, challenge: None }) => return Err(why),
            }
        }
    }

    /// Connects again with more rights, if that is what an error asks for.
    async fn logged_in(&mut self, error: &ServiceError) -> Result<Connection, String> {
        let challenge = error.auth_challenge().ok_or_else(|| error.to_string())?;
        self.log_in(challenge).await?;
        self.connected().await
    }

    async fn log_in(&mut self, challenge: &str) -> Result<(), String> {
        let ServerTransport::Http { oauth, .. } = &self.settings.how else { return Ok(()) };
        self.logins += 1;
        if self.logins > MOST_LOGINS {
            return Err(format!("the server wants more than {MOST_LOGINS} logins"));
        }
        let visit = |address: &str| {
            let visiting = reqwest::get(address.to_owned());
            // The address leads back to the one that is waited for.
            tokio::spawn(async move { visiting.await.map(drop) });
        };
        let of = Account { name: NAME, url: self.url, oauth, place: self.place };
        authorize(of, &[], Some(challenge), visit).await
    }
}

async fn listed_or_login(
    run: &mut Run<'_>,
    connection: &mut Connection,
) -> Result<Vec<rmcp::model::Tool>, String> {
    loop {
        match connection.peer().list_all_tools().await {
            Ok(tools) => return Ok(tools),
            Err(error) => *connection = run.logged_in(&error).await?,
        }
    }
}

/// Accepts each form with its defaults.
fn defaults() -> Elicitor {
    Arc::new(|asked| {
        Box::pin(async move {
            let ElicitationKind::Form { schema } = asked.wanted else { return ElicitationAnswer::Cancel };
            let fields = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
            let set =
                fields.iter().filter_map(|(name, field)| Some((name.clone(), field.get("default")?.clone())));
            ElicitationAnswer::Accept(Value::Object(set.collect()))
        })
    })
}

/// Returns arguments that fit a tool's schema.
fn example(schema: &Map<String, Value>) -> Map<String, Value> {
    let fields = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let value = |field: &Value| match field.get("type").and_then(Value::as_str) {
        Some("number" | "integer") => json!(5),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        Some(_) | None => json!("text"),
    };
    fields.iter().map(|(name, field)| (name.clone(), value(field))).collect()
}
