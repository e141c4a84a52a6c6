//! The sections `[mcp_servers.NAME]`: one tool server (Model Context Protocol) each, named by the user.
//!
//! Pure. The environment variable holds all of them as JSON and replaces those of the files. Called by the loader.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value as Json};

use super::check::{Kind, Raw, RawEntry, check};
use super::problem::{ConfigError, Source, ValueProblem};
use super::sections::{EXPECTED_NAME, FieldTarget, SectionFields, by_section, is_name};
use super::value::{Key, Secret, SectionEntry, Value};
use crate::stdx::names::names;
use crate::stdx::secrecy::shown_address;

/// One tool server. Not `Debug`, because it may hold tokens.
#[derive(Clone, PartialEq)]
pub struct ServerSettings {
    pub how: ServerTransport,
    /// How long connecting may take.
    pub timeout: Duration,
    /// How long a call may take without a sign of progress.
    pub call_timeout: Duration,
    pub approval: ServerApproval,
    /// Whether its tools that claim to be read-only count as that.
    pub trusted: bool,
    /// The beginning of the names of its tools.
    pub prefix: String,
    pub enabled: bool,
    /// Globs of the tools that are used; none: all. One after `!` leaves out what it names.
    pub tools: Vec<String>,
    pub scope: ServerScope,
}

impl ServerSettings {
    /// Returns all that is written about how it is reached, a line each, as written.
    #[must_use]
    pub fn written_lines(&self) -> Vec<String> {
        match &self.how {
            ServerTransport::Program { command, args, env, .. } => {
                let is_plain = |c: char| c.is_alphanumeric() || "_-./:@=+,%$".contains(c);
                let word = |word: &String| match !word.is_empty() && word.chars().all(is_plain) {
                    true => word.clone(),
                    false => format!("{word:?}"),
                };
                let words: Vec<String> = std::iter::once(command).chain(args).map(word).collect();
                let env = env.iter().map(|(name, value)| format!("with {name}={}", value.expose()));
                std::iter::once(words.join(" ")).chain(env).collect()
            }
            ServerTransport::Http { url, headers, .. } => {
                let headers = headers.iter().map(|(name, value)| format!("sends {name}: {}", value.expose()));
                std::iter::once(url.clone()).chain(headers).collect()
            }
        }
    }

    /// Returns the variables of `co`'s environment that it is given, each as a sentence that says where it goes.
    #[must_use]
    pub fn variables(&self) -> Vec<String> {
        let given: Vec<(&str, String)> = match &self.how {
            ServerTransport::Program { args, env, .. } => {
                let args = args.iter().map(|arg| (arg.as_str(), "given to it as an argument".to_owned()));
                let env = env.iter().map(|(own, value)| (value.expose(), format!("given to it as {own}")));
                args.chain(env).collect()
            }
            ServerTransport::Http { url, headers, .. } => {
                let sent = format!("sent to {}", shown_address(url));
                let texts = std::iter::once(url.as_str()).chain(headers.values().map(Secret::expose));
                texts.map(|text| (text, sent.clone())).collect()
            }
        };
        let named = given.iter().flat_map(|(text, how)| variables(text).map(move |(name, _)| (name, how)));
        named.map(|(name, how)| format!("{name} is {how}")).collect()
    }

    /// Whether the server is to be connected.
    #[must_use]
    pub fn is_used(&self) -> bool {
        match self.scope {
            ServerScope::User | ServerScope::Project { .. } => self.enabled,
            ServerScope::Held { .. } => false,
        }
    }
}

/// Where a server is defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerScope {
    /// In the user's own settings.
    User,
    /// In the file of a trusted folder, with the content that the user agreed to.
    Project { content: String },
    /// In the same, and the user did not agree to it: it is not used.
    Held {
        why: String,
        /// The hash of what the user would agree to; `None` if that cannot be read.
        content: Option<String>,
    },
}

/// How a server is reached. `${NAME}` in `args`, `url`, a value of `env` or `headers`, and in a secret, is a variable of `co`'s
/// environment, and `${NAME:-text}` the text if there is none.
#[derive(Clone, PartialEq)]
pub enum ServerTransport {
    /// A program that is started, and talked to over its standard input and output.
    Program {
        command: String,
        args: Vec<String>,
        /// Variables besides the usual ones of child processes.
        env: BTreeMap<String, Secret>,
        /// `None`: the workspace.
        cwd: Option<PathBuf>,
        sandbox: ServerSandbox,
    },
    Http {
        url: String,
        headers: BTreeMap<String, Secret>,
        oauth: OAuthSettings,
    },
}

/// The sandbox of a server's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerSandbox {
    /// Nothing: it may do what the user may.
    None,
    /// The sandbox of commands, without a network.
    Workspace,
    /// The same with a network.
    Network,
}

/// How tokens for a server are got, where it asks for them. Not `Debug`, because it may hold a secret.
#[derive(Clone, PartialEq, Default)]
pub struct OAuthSettings {
    /// A client that is registered already; `None`: one is registered at the first login.
    pub client_id: Option<String>,
    pub client_secret: Option<Secret>,
    /// Empty: those that the server asks for.
    pub scopes: Vec<String>,
    /// The loopback port that the browser returns to; 0: a free one.
    pub port: u16,
    pub grant: OAuthGrant,
}

/// Who a token is given to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OAuthGrant {
    /// The user, who logs in with a browser.
    #[default]
    AuthorizationCode,
    /// The client itself, by its secret.
    ClientCredentials,
}

names! {
    OAuthGrant {
        AuthorizationCode = "authorization_code",
        ClientCredentials = "client_credentials",
    }
}

/// Returns each `${NAME}` of a text, or `${NAME:-default}`, with the default.
pub fn variables(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let inner = text.split("${").skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
    inner.map(name_and_default)
}

fn name_and_default(inner: &str) -> (&str, Option<&str>) {
    inner.split_once(":-").map_or((inner, None), |(name, default)| (name, Some(default)))
}

/// Replaces each `${NAME}` by the variable, and `${NAME:-text}` by the text if it is not set; errs if there is none.
pub fn filled_in(text: &str, known: &BTreeMap<String, String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inner, after)) = after.split_once('}') else { break };
        let (name, default) = name_and_default(inner);
        let variable = known.get(name).map(String::as_str).or(default);
        out.push_str(before);
        out.push_str(variable.ok_or_else(|| format!("the variable {name} is not set"))?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// Whether calls of a server's tools ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServerApproval {
    #[default]
    Ask,
    /// As if the user's file had a rule that allows its tools.
    Never,
}

// `auto` is the seed's word for asking.
names! { ServerApproval { Ask = "ask", Ask = "auto", Never = "never", } }

/// A server that is known by name, and off until the user adds it. Source: the default servers of seed 004.
#[derive(Debug, Clone, Copy)]
pub struct ServerPreset {
    pub name: &'static str,
    pub command: &'static [&'static str],
    /// A variable of its own, and the variable of the user that it is set to.
    pub env: Option<(&'static str, &'static str)>,
    pub approval: ServerApproval,
    pub about: &'static str,
}

/// All presets, in the order in which lists show them.
pub const SERVER_PRESETS: [ServerPreset; 3] = [
    ServerPreset {
        name: "github",
        command: &["npx", "-y", "@modelcontextprotocol/server-github"],
        env: Some(("GITHUB_PERSONAL_ACCESS_TOKEN", "GITHUB_TOKEN")),
        approval: ServerApproval::Ask,
        about: "issues, pull requests and files of GitHub",
    },
    ServerPreset {
        name: "thinking",
        command: &["npx", "-y", "@modelcontextprotocol/server-sequential-thinking"],
        env: None,
        approval: ServerApproval::Never,
        about: "a scratch pad for thoughts in steps",
    },
    ServerPreset {
        name: "context7",
        command: &["npx", "-y", "@upstash/context7-mcp@latest"],
        env: None,
        approval: ServerApproval::Never,
        about: "documentation of libraries",
    },
];

const SECONDS: Kind = Kind::Integer { min: 1, max: 60 };

/// The fields of one server's section.
const FIELDS: SectionFields = SectionFields {
    own: &[
        ("command", Kind::Text),
        ("args", Kind::List),
        ("cwd", Kind::Path),
        ("sandbox", Kind::Bool),
        ("network", Kind::Bool),
        ("url", Kind::Url),
        ("timeout", SECONDS),
        ("call_timeout", Kind::Integer { min: 1, max: 86_400 }),
        ("approval", Kind::Choice(ServerApproval::NAMES)),
        ("trusted", Kind::Bool),
        ("prefix", Kind::Text),
        ("enabled", Kind::Bool),
        ("tools", Kind::List),
        ("oauth.client_id", Kind::Text),
        ("oauth.client_secret", Kind::Text),
        ("oauth.scopes", Kind::List),
        ("oauth.port", Kind::Integer { min: 0, max: 65_535 }),
        ("oauth.grant", Kind::Choice(OAuthGrant::NAMES)),
    ],
    nested: &[("env", Kind::Text), ("headers", Kind::Text)],
    guess_by_part: false,
};

/// Finds the field of one key below `mcp_servers`, dotted as written. `got` describes its value.
pub(super) fn place(
    key: &str,
    dotted: &str,
    got: &str,
    source_of: &Source,
) -> Result<FieldTarget, ConfigError> {
    let key = format!("{key}.{dotted}");
    let Some((name, field)) = dotted.split_once('.') else {
        return Err(ValueProblem::new(got, "a section, as in [mcp_servers.NAME]").of(key, source_of.clone()));
    };
    // A name is a part of the names of tools.
    if !is_name(name) {
        let wrong = ValueProblem::new(format!("in a section of the name \"{name}\""), EXPECTED_NAME);
        return Err(wrong.of(key, source_of.clone()));
    }
    FIELDS.place(name, field, key, source_of)
}

/// Parses the JSON of the environment variable: an object with an object for each server. `Other` for anything else.
pub(super) fn from_json(text: &str) -> Raw {
    let Ok(Json::Object(servers)) = serde_json::from_str(text) else {
        return Raw::Other("text that is not a JSON object");
    };
    let mut entries = Vec::new();
    for (name, server) in servers {
        match server {
            Json::Object(fields) => flatten(&name, fields, &mut entries),
            _ => entries.push(RawEntry { name, raw: Raw::Other("no object"), line: 0 }),
        }
    }
    Raw::Table(entries)
}

fn flatten(path: &str, fields: Map<String, Json>, entries: &mut Vec<RawEntry>) {
    for (field, value) in fields {
        let name = format!("{path}.{field}");
        let raw = match value {
            Json::Null => continue,
            Json::Bool(value) => Raw::Bool(value),
            Json::Number(value) => value
                .as_i64()
                .map(Raw::Integer)
                .or(value.as_f64().map(Raw::Number))
                .unwrap_or(Raw::Other("a number")),
            Json::String(text) => Raw::Text(text),
            Json::Array(items) => {
                let texts =
                    items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
                texts.map_or(Raw::Other("a list of other things than strings"), Raw::List)
            }
            Json::Object(inner) => {
                flatten(&name, inner, entries);
                continue;
            }
        };
        entries.push(RawEntry { name, raw, line: 0 });
    }
}

/// Whether a field may hold a token, so that it is not shown.
pub(super) fn is_secret(field: &str) -> bool {
    field.starts_with("env.") || field.starts_with("headers.") || field == "oauth.client_secret"
}

/// Returns an error for each server that does not say how it is reached, or says it twice.
pub(super) fn incomplete(entries: &[SectionEntry]) -> Vec<ConfigError> {
    let mut seen: BTreeMap<&str, (&Source, Vec<&str>)> = BTreeMap::new();
    for entry in entries {
        let (_, fields) = seen.entry(&entry.section).or_insert((&entry.source, Vec::new()));
        fields.push(&entry.field);
    }
    let wrong = |(name, (source, fields)): (&str, (&Source, Vec<&str>))| {
        let has = |field: &str| fields.contains(&field);
        let got = match (has("command"), has("url")) {
            (true, false) | (false, true) => return None,
            (true, true) => "both `command` and `url`",
            (false, false) => "neither `command` nor `url`",
        };
        let wrong = ValueProblem::new(got, "`command` for a program, or `url` for a server in the network");
        Some(wrong.of(format!("mcp_servers.{name}"), source.clone()))
    };
    seen.into_iter().filter_map(wrong).collect()
}

/// Collects the sections by name. Those that [`incomplete`] names are left out.
pub(super) fn gather(entries: Vec<SectionEntry>) -> BTreeMap<String, ServerSettings> {
    let named = |(name, fields): (String, _)| server(&name, fields).map(|server| (name, server));
    by_section(entries).into_iter().filter_map(named).collect()
}

fn server(name: &str, mut fields: BTreeMap<String, Value>) -> Option<ServerSettings> {
    let (env, headers) = (texts(&mut fields, "env."), texts(&mut fields, "headers."));
    let mut take = |field: &str| fields.remove(field);
    let seconds = |value: Option<Value>, default| value.map_or(Duration::from_secs(default), Value::seconds);
    let flag = |value: Option<Value>| value.is_some_and(Value::bool);
    let command = take("command").and_then(Value::text);
    let url = take("url").and_then(Value::text);
    let how = match (command, url) {
        (Some(command), None) => ServerTransport::Program {
            command,
            args: take("args").and_then(Value::list).unwrap_or_default(),
            env,
            cwd: take("cwd").and_then(Value::path),
            sandbox: match (flag(take("sandbox")), flag(take("network"))) {
                (true, false) => ServerSandbox::Workspace,
                (true, true) => ServerSandbox::Network,
                (false, _) => ServerSandbox::None,
            },
        },
        (None, Some(url)) => {
            let oauth = OAuthSettings {
                client_id: take("oauth.client_id").and_then(Value::text),
                client_secret: take("oauth.client_secret").and_then(Value::secret),
                scopes: take("oauth.scopes").and_then(Value::list).unwrap_or_default(),
                port: take("oauth.port").map(Value::integer).unwrap_or_default(),
                grant: take("oauth.grant").map(|value| value.choice(OAuthGrant::named)).unwrap_or_default(),
            };
            ServerTransport::Http { url, headers, oauth }
        }
        (Some(_), Some(_)) | (None, None) => return None,
    };
    Some(ServerSettings {
        how,
        timeout: seconds(take("timeout"), 10),
        call_timeout: seconds(take("call_timeout"), 120),
        approval: take("approval").map(|value| value.choice(ServerApproval::named)).unwrap_or_default(),
        trusted: flag(take("trusted")),
        prefix: take("prefix").and_then(Value::text).unwrap_or_else(|| name.to_owned()),
        enabled: take("enabled").is_none_or(Value::bool),
        tools: take("tools").and_then(Value::list).unwrap_or_default(),
        scope: ServerScope::User,
    })
}

/// The file of a project's servers, below its folder: the convention of programs like this one.
pub const PROJECT_SERVERS: &str = ".mcp.json";

/// Variables that make programs load or find files without the user's knowledge: whole names, then prefixes. A project
/// cannot set them.
const LOADER_VARIABLES: (&[&str], &[&str]) = (
    &["PATH", "ENV", "CLASSPATH", "JAVA_TOOL_OPTIONS"],
    &["LD_", "DYLD_", "BASH_", "NODE_", "PYTHON", "PERL", "RUBY", "GIT_", "NPM_CONFIG_", "CO_"],
);

/// The servers of a project's file, or why one cannot be used.
pub type ProjectServers = BTreeMap<String, Result<ServerSettings, String>>;

/// Reads a project's file. Only the connection data of servers counts: a project cannot decide which calls ask. Errs if the file
/// is malformed.
pub fn project_servers(text: &str) -> Result<ProjectServers, String> {
    let all: Json = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    let Some(Json::Object(servers)) = all.get("mcpServers") else {
        return Err("it has no object `mcpServers`".to_owned());
    };
    Ok(servers.iter().map(|(name, definition)| (name.clone(), project_server(name, definition))).collect())
}

fn project_server(name: &str, definition: &Json) -> Result<ServerSettings, String> {
    const COUNTED: &[&str] = &["command", "args", "env", "url", "headers"];
    if !is_name(name) {
        return Err("its name must be of letters, digits, `-` and `_`".to_owned());
    }
    let transport = definition.get("type").and_then(Json::as_str).unwrap_or_default();
    if transport == "sse" {
        return Err("its transport `sse` is out of use; its `http` address may work".to_owned());
    }
    let Json::Object(fields) = definition else { return Err("it is not an object".to_owned()) };
    let counted = fields.iter().filter(|(field, _)| COUNTED.contains(&field.as_str()));
    let mut entries = Vec::new();
    flatten(name, counted.map(|(field, value)| (field.clone(), value.clone())).collect(), &mut entries);
    let source = Source::Environment { name: PROJECT_SERVERS.to_owned() };
    let mut values = BTreeMap::new();
    for RawEntry { name, raw, .. } in entries {
        let place = place("mcpServers", &name, "", &source).map_err(|error| error.to_string())?;
        let variable = place.field.strip_prefix("env.").unwrap_or_default().to_ascii_uppercase();
        let (names, beginnings) = LOADER_VARIABLES;
        if names.contains(&variable.as_str()) || beginnings.iter().any(|known| variable.starts_with(known)) {
            return Err(format!(
                "it sets {variable}, which decides what programs run; only your own settings may"
            ));
        }
        let value = check(place.kind, raw, None, &source)
            .map_err(|wrong| format!("`{}`: {}, not {}", place.field, wrong.expected, wrong.got))?;
        let value = match value {
            Value::Text(text) if is_secret(&place.field) => Value::Secret(Key::literal(&text)),
            value => value,
        };
        values.insert(place.field, value);
    }
    server(name, values).ok_or_else(|| "it needs either `command` or `url`".to_owned())
}

/// Takes the texts of a nested section.
fn texts(fields: &mut BTreeMap<String, Value>, prefix: &str) -> BTreeMap<String, Secret> {
    let inner: Vec<String> = fields.keys().filter(|field| field.starts_with(prefix)).cloned().collect();
    let taken = inner.into_iter().filter_map(|field| {
        let text = fields.remove(&field)?.secret()?;
        Some((field.get(prefix.len()..)?.to_owned(), text))
    });
    taken.collect()
}
