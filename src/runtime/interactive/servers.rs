//! Changes of tool servers, their prompts, and what they ask. A change is written into the settings, and these are read again.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;

use super::client::{ClientHandler, OwnerAction, say};
use super::questions::QuestionEvent;
use super::server_list::{prompt_lines, server_list};
use crate::app::App;
use crate::command::{Notice, code};
use crate::config::{SERVER_PRESETS, ServerScope};
use crate::frontend::channel::Updates;
use crate::frontend::protocol::{ServerChange, ServerMessage};
use crate::message::UserPart;
use crate::runtime::{NewServer, add_server, mentions, set_tools, switch_server};
use crate::stdx::text::sanitize_line;
use crate::tool::mcp::{CompletionTarget, ServerPrompt, log_in, tools_with};
use crate::workspace::agree_to_server;

/// Changes that follow each other sooner are sent as one.
const DEBOUNCE: Duration = Duration::from_millis(50);

const TITLE: &str = "tool servers";

/// Sends the list of servers after each change, until it is aborted.
pub(super) fn follow(app: Arc<App>, updates: Updates) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        let mut changes = app.servers.changes();
        while changes.changed().await.is_ok() {
            tokio::time::sleep(DEBOUNCE).await;
            changes.mark_unchanged();
            let tools = app.tools.registry.tools().specs().cloned().collect();
            let known = ServerMessage::Offered { prompts: prompt_lines(&app.servers), tools };
            for message in [known, ServerMessage::ServersChanged { servers: server_list(&app) }] {
                if updates.notice(message).await.is_err() {
                    return;
                }
            }
        }
    })
}

impl ClientHandler {
    /// Returns the prompt of a server that a slash command names.
    pub(super) fn server_prompt(&self, name: &str) -> Option<ServerPrompt> {
        let (server, prompt) = name.split_once(':')?;
        let prompts = self.app.servers.prompts().into_iter();
        let mut of_server = prompts.filter(|one| one.server.eq_ignore_ascii_case(server));
        of_server.find(|one| one.name.eq_ignore_ascii_case(prompt))
    }

    /// Fills in a prompt of a server, and submits it.
    pub(super) async fn use_prompt(&mut self, prompt: ServerPrompt, args: &str) -> OwnerAction {
        match mentions::arguments(&prompt, args) {
            Ok(arguments) => {
                let text = format!("/{}:{} {args}", prompt.server, prompt.name).trim_end().to_owned();
                let servers = self.app.servers.clone();
                let filled = async move {
                    mentions::fill_in(prompt, arguments, &servers, servers.place().output_limit).await
                };
                self.submit_with(vec![UserPart::Text { text }], filled.boxed()).await
            }
            Err(why) => {
                self.say(Notice::warning(TITLE, format!("{why}."))).await;
                OwnerAction::Answered
            }
        }
    }

    /// Returns the server of a prompt or of a resource template (as `@server:uri`), and what values are suggested for.
    pub(super) fn completion_target(&self, command: &str) -> Option<(String, CompletionTarget)> {
        match command.strip_prefix('@').and_then(|name| name.split_once(':')) {
            Some((server, uri)) => Some((server.to_owned(), CompletionTarget::Template(uri.to_owned()))),
            None => {
                let prompt = self.server_prompt(command)?;
                Some((prompt.server, CompletionTarget::Prompt(prompt.name)))
            }
        }
    }

    /// Changes a server, and sends the list again.
    pub(super) async fn change_server(&mut self, change: ServerChange) {
        match change {
            ServerChange::Reconnect { name } => self.reconnect_server(name),
            ServerChange::Login { name } => self.log_in_to(name),
            ServerChange::Switch { .. } | ServerChange::SwitchTool { .. } => {
                let app = Arc::clone(&self.app);
                let done = tokio::task::spawn_blocking(move || write(&app, &change)).await;
                let done = done.unwrap_or_else(|error| Err(format!("this is a bug in co: {error}")));
                if let Err(why) = done {
                    self.say(Notice::error(TITLE, format!("{why}."))).await;
                }
                // A server that never asks has a rule.
                self.refresh_rules().await;
            }
        }
        let servers = server_list(&self.app);
        self.tell(ServerMessage::ServersChanged { servers }).await;
    }

    /// Takes a change of the questions of servers.
    pub(super) async fn on_question(&mut self, event: QuestionEvent) {
        if let Some(text) = event {
            self.say(Notice::plain(TITLE, text)).await;
        }
        self.send_pending_requests().await;
    }

    /// Connects a tool server again, in the background, and says how it went.
    pub(super) fn reconnect_server(&self, name: String) {
        let (app, updates) = (Arc::clone(&self.app), self.updates.clone());
        self.background_commands.spawn(async move {
            app.servers.reconnect(&name);
            let state = app.servers.settled_state(&name).await;
            let state = state.map_or_else(|| "off".to_owned(), |state| state.line());
            say(&updates, Notice::plain(TITLE, format!("{}: {}", code(&name), sanitize_line(&state)))).await;
        });
    }

    /// Logs in to a server in the network, in the background.
    fn log_in_to(&self, name: String) {
        let Some(settings) = self.app.servers.settings().remove(&name) else { return };
        let (app, updates) = (Arc::clone(&self.app), self.updates.clone());
        tokio::spawn(async move {
            let show = |address: &str| {
                let text = format!("Log in to {} at this address: {}", code(&name), sanitize_line(address));
                let (updates, said) = (updates.clone(), Notice::plain(TITLE, text));
                tokio::spawn(async move { say(&updates, said).await });
                app.world.open_address(address);
            };
            let said = match log_in(&name, &settings, app.servers.place(), &[], show).await {
                Ok(()) => {
                    app.servers.reconnect(&name);
                    Notice::plain(TITLE, format!("Logged in to {}.", code(&name)))
                }
                Err(why) => {
                    let text = format!("{} cannot be logged in to: {}", code(&name), sanitize_line(&why));
                    Notice::error(TITLE, text)
                }
            };
            say(&updates, said).await;
        });
    }
}

/// Writes a change into the settings, and applies them. Errs with the reason. Blocking.
fn write(app: &App, change: &ServerChange) -> Result<(), String> {
    let before = app.servers.settings();
    let (world, name, wanted) = match change {
        ServerChange::Switch { name, on, .. } | ServerChange::SwitchTool { name, on, .. } => {
            (&app.world, name, *on)
        }
        ServerChange::Reconnect { .. } | ServerChange::Login { .. } => return Ok(()),
    };
    let written = match (change, before.get(name).map(|one| &one.scope)) {
        (
            ServerChange::Switch { content, .. },
            Some(ServerScope::Project { .. } | ServerScope::Held { .. }),
        ) => {
            let content = content.as_deref().filter(|_| wanted);
            agree_to_server(world, &app.settings.data_dir, name, content)
        }
        (ServerChange::Switch { .. }, Some(ServerScope::User)) => {
            switch_server(world, name, wanted).map(drop).map_err(|error| error.to_string())
        }
        (ServerChange::Switch { .. }, None) => {
            let preset = SERVER_PRESETS.iter().find(|preset| preset.name == *name);
            let new = preset.map(NewServer::of_preset).ok_or("There is no such server")?;
            add_server(world, name, &new).map(drop).map_err(|error| error.to_string())
        }
        (ServerChange::SwitchTool { tool, .. }, Some(ServerScope::User)) => {
            let tools = before.get(name).map(|one| tools_with(&one.tools, tool, wanted)).unwrap_or_default();
            set_tools(world, name, &tools).map(drop).map_err(|error| error.to_string())
        }
        (ServerChange::SwitchTool { .. }, Some(ServerScope::Project { .. } | ServerScope::Held { .. })) => {
            Err("a project's server is used as a whole; define it in your own settings to choose its tools"
                .to_owned())
        }
        (_, _) => Err("there is no such server".to_owned()),
    };
    written.map_err(|why| format!("{why}. Nothing was changed"))?;
    let after =
        app.reload_servers().map_err(|why| format!("It is saved, but the settings cannot be read: {why}"))?;
    match (change, after.get(name)) {
        (ServerChange::Switch { .. }, Some(one)) if one.is_used() != wanted => Err(format!(
            "It is saved, but something else decides about {name}: a variable, or a file that changed meanwhile"
        )),
        _ => Ok(()),
    }
}
