//! `co auth`: keys of model services, kept in an owner-only file and never printed.

use serde::Serialize;

use super::args::{Auth, AuthAction, Flags};
use super::console;
use super::error::{CliError, Kind, Result};
use super::input::Terminals;
use super::table::table;
use super::{secret, setup};
use crate::accounts::login::{check, hint};
use crate::accounts::{HttpService, KeyFileError, Keys, ModelError, Service};
use crate::app::AppError;
use crate::config::{Key, LoadedSettings, Settings, Source, Value};
use crate::provider::catalog::PRESETS;
use crate::stdx::text::count;
use crate::workspace::{World, load_settings};

pub(super) async fn run(what: Auth, world: &World, flags: Flags) -> Result<()> {
    let loaded = load_settings(world, flags)?;
    match what.what {
        AuthAction::Add { rest, .. } if !rest.is_empty() => {
            let words = "a key on the command line is visible to other programs and in the shell history";
            let error = CliError::usage(words);
            Err(error.hint("omit it: `co auth add NAME` asks for it, or reads it from a pipe"))
        }
        AuthAction::Add { service: Some(service), .. } => add(&service, &loaded),
        AuthAction::Add { service: None, .. } if Terminals::of_process().interactive() => {
            setup::choose(world, &loaded).await.map(drop)
        }
        AuthAction::Add { service: None, .. } => {
            let error = CliError::usage("for which service is the key?");
            Err(error.hint("`co auth add NAME`; `co auth list` names the services"))
        }
        AuthAction::List(listed) => list(&loaded, listed.json),
        AuthAction::Remove { service } => remove(&service, &loaded),
        AuthAction::Test { service } => test(service.as_deref(), &loaded).await,
    }
}

impl From<KeyFileError> for CliError {
    fn from(error: KeyFileError) -> Self {
        Self::new(Kind::Error, error)
    }
}

impl From<ModelError> for CliError {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::NoProvider { .. } => Self::new(Kind::Usage, error),
            other => AppError::Model(other).into(),
        }
    }
}

fn add(service: &str, loaded: &LoadedSettings) -> Result<()> {
    let keys = Keys::of(&loaded.settings);
    let name = service_name(service, &loaded.settings, &keys)?;
    // An unusable file is reported before the key is typed.
    keys.stored_key(&name)?;
    let key = secret::key(&name)?;
    let again = if keys.keep(&name, &key)? { ", replacing the old one" } else { "" };
    let place = keys.file().path().display();
    console::out(&format!(
        "Saved the key for {name} ({}){again} in {place}, which only you can read.\n",
        hint(&key)
    ))?;
    if let Some((_, source)) = set_key(&name, loaded) {
        console::note(&format!("co: the key from {source} takes precedence"));
    }
    console::note(&format!("co: `co auth test {name}` tests it"));
    Ok(())
}

fn remove(service: &str, loaded: &LoadedSettings) -> Result<()> {
    let keys = Keys::of(&loaded.settings);
    let name = service.trim().to_ascii_lowercase();
    let place = keys.file().path().display();
    if !keys.file().remove(&name)? {
        let error = CliError::error(format!("there is no key for {name} in {place}"));
        return Err(error.hint("`co auth list` shows where keys come from"));
    }
    console::out(&format!("Removed the key for {name} from {place}.\n"))?;
    if let Some((_, source)) = set_key(&name, loaded) {
        console::note(&format!("co: the key from {source} is still used"));
    }
    Ok(())
}

/// One known key, in the form for programs.
#[derive(Serialize)]
struct AuthRow {
    service: String,
    key: String,
    from: String,
    counts: bool,
}

fn list(loaded: &LoadedSettings, as_json: bool) -> Result<()> {
    let keys = Keys::of(&loaded.settings);
    let own = loaded.settings.providers.keys().map(String::as_str);
    let mut names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    let further: Vec<&str> = own.filter(|name| !names.contains(name)).collect();
    names.extend(further);
    let mut rows = Vec::new();
    if let Some(key) = &loaded.settings.endpoint.api_key {
        let service = loaded.settings.provider.clone().unwrap_or_else(|| "(chosen provider)".to_owned());
        let from = source_of("api_key", loaded).unwrap_or_default();
        rows.push(AuthRow { service, key: key_text(key), from, counts: true });
    }
    for name in &names {
        let set = set_key(name, loaded);
        let stored = keys.stored_key(name)?;
        let counts = set.is_none();
        let row =
            |key: String, from: String, counts| AuthRow { service: (*name).to_owned(), key, from, counts };
        rows.extend(set.map(|(key, from)| row(key_text(&key), from, true)));
        rows.extend(stored.map(|key| row(hint(&key), "the key file".to_owned(), counts)));
    }
    if as_json {
        return console::json(&rows);
    }
    let cells = |row: &AuthRow| {
        let counts = if row.counts { "in use" } else { "overridden" };
        [row.service.clone(), row.key.clone(), counts.to_owned(), row.from.clone()]
    };
    match rows.is_empty() {
        true => console::out("No keys found.\n")?,
        false => console::out(&table(["SERVICE", "KEY", "", "FROM"], rows.iter().map(cells)))?,
    }
    names.retain(|name| rows.iter().all(|row| row.service != *name));
    let place = keys.file().path().display();
    console::out(&format!(
        "\nWithout a key: {}.\n`co auth add NAME` saves one in the key file {place}.\n",
        names.join(", ")
    ))
}

async fn test(service: Option<&str>, loaded: &LoadedSettings) -> Result<()> {
    let mut settings = loaded.settings.clone();
    let keys = Keys::of(&settings);
    let names = match service {
        Some(service) => vec![service_name(service, &settings, &keys)?],
        None => {
            let ready = Service::configured(&settings, &keys)?;
            let mut names: Vec<String> = ready.iter().map(|service| service.name().to_owned()).collect();
            names.extend(settings.provider.clone().filter(|name| name != "offline" && !names.contains(name)));
            names
        }
    };
    if names.is_empty() {
        let error = CliError::error("no service is set up, so there is nothing to test");
        return Err(error.hint("`co auth add` saves a key"));
    }
    if let Some(chosen) = settings.provider.clone().filter(|name| names.contains(name)) {
        Service::adopt(&chosen, &mut settings);
    }
    let mut failed = 0;
    for name in &names {
        let target = HttpService::by_name(name, &settings, &keys)?;
        console::notes(target.warning());
        match check(&target, &settings, &keys).await {
            Ok(models) => console::out(&good(name, target.key.as_ref(), loaded, &keys, models.len()))?,
            Err(error) => {
                failed += 1;
                console::out(&format!("{name}: {error}\n"))?;
            }
        }
    }
    match failed {
        0 => Ok(()),
        1 => Err(CliError::message(Kind::Provider, "one service cannot be used")),
        many => Err(CliError::message(Kind::Provider, format!("{many} services cannot be used"))),
    }
}

fn good(name: &str, key: Option<&Key>, loaded: &LoadedSettings, keys: &Keys, models: usize) -> String {
    let listed = match models {
        0 => String::new(),
        models => format!("; it has {}", count(models, "model")),
    };
    match key {
        None => format!("{name}: works without a key{listed}.\n"),
        Some(key) => {
            let stored = || keys.file().path().display().to_string();
            let from = set_key(name, loaded).map_or_else(stored, |(_, source)| source);
            format!("{name}: the key ({}, from {from}) is valid{listed}.\n", key_text(key))
        }
    }
}

/// Returns the service's name as it is stored. Errors if there is no such service, or if it takes no key.
fn service_name(service: &str, settings: &Settings, keys: &Keys) -> Result<String> {
    let name = service.trim().to_ascii_lowercase();
    if name == "offline" || name == "auto" {
        let error = CliError::usage(format!("`{name}` is not a known service"));
        return Err(error.hint("`co auth list` names the services"));
    }
    match HttpService::by_name(&name, settings, keys) {
        Ok(_) | Err(ModelError::NoAddress { .. }) => Ok(name),
        Err(error) => Err(error.into()),
    }
}

/// Returns the key of the settings and its source; it takes precedence over a stored key.
fn set_key(name: &str, loaded: &LoadedSettings) -> Option<(Key, String)> {
    if loaded.settings.provider.as_deref() == Some(name)
        && let Some(key) = &loaded.settings.endpoint.api_key
    {
        return Some((key.clone(), source_of("api_key", loaded)?));
    }
    let key = loaded.settings.providers.get(name)?.api_key.clone()?;
    let own = source_of(&format!("{name}.api_key"), loaded);
    let mut entries = loaded.values.iter().flat_map(|set| set.value.sections());
    let section = entries.find(|entry| entry.section == name && entry.field == "api_key");
    Some((key, own.or_else(|| Some(section?.source.to_string()))?))
}

fn source_of(row: &str, loaded: &LoadedSettings) -> Option<String> {
    let set = loaded.values.iter().find(|set| set.row.key == row)?;
    (set.source != Source::Default && matches!(set.value, Value::Secret(_))).then(|| set.source.to_string())
}

/// Formats a key for a list.
fn key_text(key: &Key) -> String {
    match key {
        Key::Literal(secret) => hint(secret),
        Key::Missing { variable } => format!("${variable} (not set)"),
        Key::Command(_) => "from a command".to_owned(),
    }
}
