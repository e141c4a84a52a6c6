//! Sets up a service in lines of text, for `co auth add` without a name and for a first run in lines.
//!
//! Choices are numbered and each question is answered with a line; an empty one skips. A key is never
//! displayed.

use std::sync::Arc;

use super::console;
use super::error::{Kind, Result};
use super::input::Terminals;
use super::secret;
use crate::accounts::login::{Credentials, LoginError, keep, may_offer, offers, skip, try_out, write_choice};
use crate::accounts::{Keys, Models, Origin, Service};
use crate::command::by_number;
use crate::config::{LoadedSettings, user_file};
use crate::frontend::protocol::{Consent, LoginNeed, ServiceLine};
use crate::workspace::World;

/// The most models listed at once.
const LISTED: usize = 40;

/// The number of attempts to enter an address and a key.
const TRIES: usize = 3;

/// Offers to set up a service if none is known and the user was not asked before; returns whether one was set
/// up.
pub(super) async fn first_run(
    world: &World,
    loaded: &LoadedSettings,
    models: &Models,
    at: Terminals,
) -> Result<bool> {
    let known = models.current().origin != Origin::Offline;
    if known || !at.interactive() || !may_offer(&loaded.settings) {
        return Ok(false);
    }
    if models.may_discover() {
        models.discover().await;
        if models.current().origin != Origin::Offline {
            return Ok(false);
        }
    }
    console::out(
        "No model service is set up yet. Set one up now, or press Enter to skip it and take the tour.\n",
    )?;
    let done = choose(world, loaded).await?;
    if !done {
        skip(&loaded.settings);
        console::out("Skipped; you will not be asked again. `co auth add` does it later.\n")?;
    }
    Ok(done)
}

/// Lets the user choose a service, enter the required values, and choose a model. Returns whether one was set up.
pub(super) async fn choose(world: &World, loaded: &LoadedSettings) -> Result<bool> {
    let keys = Arc::new(Keys::of(&loaded.settings));
    let found = Service::search(&loaded.settings, &keys).await;
    let offers = offers(&loaded.settings, &keys, &found);
    let lines: Vec<String> = offers.iter().map(as_text).collect();
    console::out("Services:\n")?;
    let Some(offer) = pick(&offers, &lines)? else { return Ok(false) };
    for _ in 0..TRIES {
        let Some(mut entered) = enter(offer)? else { return Ok(false) };
        console::out(&format!("Trying {}…\n", offer.name))?;
        let mut tried = try_out(&entered, &loaded.settings, &keys).await;
        if let Err(LoginError::Unencrypted(warning)) = &tried {
            console::out(&format!("{warning}\n"))?;
            if secret::line("Type y to send it anyway, or press Enter to stop: ")?.as_deref() != Some("y") {
                return Ok(false);
            }
            entered.unencrypted = Consent::Given;
            tried = try_out(&entered, &loaded.settings, &keys).await;
        }
        match tried {
            Ok(models) => return finish(&entered, &models, world, &keys).await,
            Err(error) => console::out(&format!("{error}\n"))?,
        }
        if offer.key == LoginNeed::Known && offer.address == LoginNeed::Known {
            break;
        }
    }
    Ok(false)
}

fn as_text(offer: &ServiceLine) -> String {
    let note = if offer.note.is_empty() { String::new() } else { format!(", {}", offer.note) };
    format!("{}{note}", offer.title)
}

/// Asks for the address and the key, if they are needed.
fn enter(offer: &ServiceLine) -> Result<Option<Credentials>> {
    let mut entered = Credentials {
        service: offer.name.clone(),
        base_url: None,
        key: None,
        unencrypted: Consent::NotAsked,
    };
    if offer.address == LoginNeed::Needed {
        entered.base_url = ask_line("Address (http:// or https://): ")?;
        if entered.base_url.is_none() {
            return Ok(None);
        }
    }
    if offer.key != LoginNeed::Known {
        entered.key = match secret::key(&offer.name) {
            // The input was empty or not a valid key.
            Err(error) if error.kind == Kind::Usage => None,
            key => Some(key?),
        };
        if offer.key == LoginNeed::Needed && entered.key.is_none() {
            return Ok(None);
        }
    }
    Ok(Some(entered))
}

/// Stores the working values and lets the user choose the model.
async fn finish(entered: &Credentials, models: &[String], world: &World, keys: &Arc<Keys>) -> Result<bool> {
    keep(entered, keys).await?;
    if entered.key.is_some() {
        let place = keys.file().path().display();
        console::out(&format!("Connected. The key is saved in {place}, which only you can read.\n"))?;
    }
    let model = if models.is_empty() {
        ask_line("Name of the model: ")?
    } else {
        console::out("Models:\n")?;
        let shown = models.get(..LISTED).unwrap_or(models);
        if models.len() > shown.len() {
            console::out(&format!("(the first {LISTED} of {}; you can also type a name)\n", models.len()))?;
        }
        list(shown)?;
        let named = ask_line("Type a number or a name, or press Enter for later: ")?;
        named.map(|typed| by_number(models, &typed).cloned().unwrap_or(typed))
    };
    let file = user_file(&world.env);
    let written =
        write_choice(file.as_deref(), &entered.service, entered.base_url.as_deref(), model.as_deref());
    match (written, &model) {
        (Ok(path), Some(model)) => {
            let service = &entered.service;
            console::out(&format!("{service}/{model} is now the model, saved in {}.\n", path.display()))?;
        }
        (Ok(_), None) => console::out("No model is set yet; choose one with `--model`.\n")?,
        (Err(error), _) => console::note(&format!("co: {error}")),
    }
    Ok(true)
}

/// Prints the services as numbered lines and asks for one.
fn pick<'a>(offers: &'a [ServiceLine], lines: &[String]) -> Result<Option<&'a ServiceLine>> {
    list(lines)?;
    loop {
        let Some(typed) = ask_line("Type a number, or press Enter to skip: ")? else { return Ok(None) };
        match by_number(offers, &typed) {
            Some(offer) => return Ok(Some(offer)),
            None => console::out(&format!("Type a number from 1 to {}.\n", lines.len()))?,
        }
    }
}

/// Asks for a line; `None` if it is empty or the input ended.
fn ask_line(question: &str) -> Result<Option<String>> {
    Ok(secret::line(question)?.filter(|typed| !typed.is_empty()))
}

fn list(lines: &[String]) -> Result<()> {
    let text: String =
        lines.iter().enumerate().map(|(at, line)| format!("{:>3}: {line}\n", at + 1)).collect();
    console::out(&text)
}
