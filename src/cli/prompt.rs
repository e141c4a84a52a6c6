//! `co prompt show`: the prompt that the next turn in this folder would send, without a session, or that a turn sent.

use std::sync::Arc;

use serde_json::json;

use super::args::{Flags, PromptAction, PromptArgs};
use super::console;
use super::error::{CliError, Result};
use crate::accounts::{Models, Pace};
use crate::agent::context::ToolBudget;
use crate::agent::prompt::{self, Preamble, PromptPart, SentConversation};
use crate::app::{AppError, Tools, open_store_for_lists, server_place, tools, view_settings};
use crate::approval::Policy;
use crate::config::{FolderTrust, Settings};
use crate::history::History;
use crate::message::Message;
use crate::stdx::text::{group_digits, sanitize, sanitize_line};
use crate::tool::mcp::Servers;
use crate::workspace::rules::RuleBook;
use crate::workspace::trust::{has_texts, trusted_contents};
use crate::workspace::{Prompts, World, load_settings};

/// Prints the prompt; what is wrong with its files goes to standard error.
pub(super) async fn run(
    PromptArgs { what: PromptAction::Show { session, turn, request, json } }: PromptArgs,
    world: &World,
    flags: Flags,
) -> Result<()> {
    let loaded = load_settings(world, flags)?;
    let settings = &loaded.settings;
    if let Some(turn) = turn {
        return show_sent(session.as_deref(), (turn, request), json, world, settings).await;
    }
    let models = Models::choose(settings, Arc::clone(&world.clock), Pace::Instant).map_err(AppError::from)?;
    if models.may_discover() {
        models.discover().await;
    }
    let model = models.active().borrow().clone();
    let Tools { registry, sandbox, child_env, .. } = tools(world, settings);
    let place = server_place(world, settings, &child_env, &sandbox);
    Servers::new(&settings.mcp_servers, place, registry.clone()).offer_kept();
    let folder = &world.workspace;
    let rules = RuleBook::new(world, settings).read(folder, loaded.trust);
    let policy = Policy { mode: settings.mode, rules: Arc::new(rules), ..Policy::default() };
    let prompts = Prompts::new(world, settings);
    let book = prompts.read(folder, trusted_contents(&settings.trusted_folders, world, folder));
    let window = settings.context_tokens.or(model.profile.window);
    let room = ToolBudget::of(view_settings(settings), window, &History::default());
    let preamble = Preamble::of(&book, folder, &policy, (&registry.tools(), &room));
    let now = prompt::situation(&policy, sandbox.isolation(), world.clock.now());
    let parts = prompt::parts(&preamble, &model, now);
    let tokens: u64 = parts.iter().map(|part| part.tokens).sum();
    if json {
        let system = preamble.system(&model);
        console::json(
            &json!({"model": model.full_name(), "tokens": tokens, "system": system, "parts": parts}),
        )?;
    } else {
        console::out(&as_text(&parts, tokens))?;
    }
    if loaded.trust == FolderTrust::Untrusted && has_texts(folder) {
        console::note(
            "co: this folder has texts for the model, which are not used, because you do not trust it as it is now; \
             `co trust` shows them",
        );
    }
    console::notes(prompts.take_news());
    Ok(())
}

/// Prints what a turn sent, or one request of it.
async fn show_sent(
    session: Option<&str>,
    (turn, request): (u32, Option<usize>),
    json: bool,
    world: &World,
    settings: &Settings,
) -> Result<()> {
    let store = open_store_for_lists(world, settings).await?;
    let id = match session {
        Some(prefix) => store.find_session(prefix).await?,
        None => store.latest_session(&world.workspace).await?.ok_or(AppError::NoSession)?,
    };
    let records = store.load(&id).await?;
    let sent = match request {
        Some(number) => prompt::sent_request(&records, turn, number).map(|one| vec![one]),
        None => prompt::sent_prompts(&records, turn),
    };
    let sent = sent.map_err(|error| CliError::usage(format!("{id}: {error}")))?;
    if json {
        let prompts = sent.iter().map(|one| {
            let (tokens, conversation) = (one.tokens(), one.conversation.as_ref());
            let mut value =
                json!({"model": one.model, "tokens": tokens, "system": one.system(), "parts": one.parts});
            if let Some(SentConversation { messages, left_out }) = conversation {
                let messages: Vec<&Message> = messages.iter().map(Arc::as_ref).collect();
                value["messages"] = json!(messages);
                value["left_out"] = json!(left_out);
            }
            value
        });
        return console::json(&json!({"session": id, "turn": turn, "prompts": prompts.collect::<Vec<_>>()}));
    }
    sent.iter().try_for_each(|one| {
        let number = request.map(|number| format!(", request {number}")).unwrap_or_default();
        let mut head = sanitize_line(&format!("turn {turn}{number}, sent to {}", one.model)).into_owned();
        let left_out = one.conversation.iter().flat_map(|sent| &sent.left_out);
        head.extend(left_out.flat_map(|text| ["\n", text]));
        console::out(&format!("{head}\n\n{}", as_text(&one.parts, one.tokens())))
    })
}

fn as_text(parts: &[PromptPart], whole: u64) -> String {
    let mut text = String::new();
    for PromptPart { name, place, source, tokens, text: words } in parts {
        let head = format!("── {name} ({}, {} tokens) {source}", place.word(), group_digits(*tokens));
        text.push_str(&format!("{}\n{}\n\n", sanitize_line(&head), sanitize(words)));
    }
    let prefix: u64 = parts.iter().filter(|part| part.place.is_prefix()).map(|part| part.tokens).sum();
    text.push_str(&format!(
        "── {} tokens, {} of them in the prefix, which stays the same until a part of it changes\n",
        group_digits(whole),
        group_digits(prefix)
    ));
    text
}
