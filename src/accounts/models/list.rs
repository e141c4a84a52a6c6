//! The models that can be switched to: those that are known at once, and the services' own lists as they answer.

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;

use super::{ModelChoice, Models, model_note, why};
use crate::accounts::choice::{Origin, split};
use crate::accounts::error::ModelError;
use crate::accounts::services::{HttpService, Service};
use crate::accounts::{offers, profiles};
use crate::command::ModelLine;
use crate::provider::ProviderError;
use crate::provider::catalog::AZURE_OPENAI;
use crate::stdx::text::nearest;

/// The result of checking a name that is not known.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelCheck {
    /// Its service has it.
    Found,
    /// Its service has no list to check it against, or did not answer.
    Unchecked(Option<ProviderError>),
}

impl Models {
    /// Returns the models that can be switched to: the one in use, then those used last, then by service. `used` are
    /// names used before, the latest first.
    pub fn lines(&self, used: &[String]) -> Vec<ModelLine> {
        let current = self.current();
        let note = model_note(why(&current.origin), &self.active.borrow().profile);
        let mut lines = vec![ModelLine { name: current.name(), note, current: true }];
        let context = self.context();
        let latest: Vec<String> = self.switched.lock().iter().rev().chain(used).cloned().collect();
        for service in self.ready_services() {
            let note = match (service.target(), service.server()) {
                (None, _) => why(&Origin::Offline),
                (Some(_), Some(server)) => why(&Origin::Found { server }),
                (Some(_), None) => format!("{} is set up", service.title()),
            };
            let mut models = self.models_of(&service);
            // A service that answers under a longer name than was asked for still lists the one that was asked for.
            for name in &latest {
                let of_service = name.strip_prefix(service.name()).and_then(|rest| rest.strip_prefix('/'));
                let is_new = |model: &&str| models.iter().all(|known| !model.starts_with(known.as_str()));
                let unlisted = of_service.filter(is_new).map(str::to_owned);
                models.extend(unlisted);
            }
            for model in models {
                let name = format!("{}/{model}", service.name());
                if lines.iter().all(|line| line.name != name) {
                    let reported = self.reported_profile(service.name(), &model);
                    let known = profiles::profile(&service, &model, &context.settings, reported);
                    lines.push(ModelLine { name, note: model_note(note.clone(), &known), current: false });
                }
            }
        }
        let age = |line: &ModelLine| latest.iter().position(|name| *name == line.name);
        lines.sort_by_key(|line| (!line.current, age(line).unwrap_or(usize::MAX)));
        lines
    }

    /// Returns every service that can answer.
    fn ready_services(&self) -> Vec<Service> {
        let context = self.context();
        let found = self.found.lock().clone();
        let mut ready = Service::configured(&context.settings, &context.keys).unwrap_or_default();
        ready.retain(|service| found.iter().all(|one| one.name() != service.name()));
        ready.extend(found);
        ready.push(Service::Offline);
        ready
    }

    /// Returns the models of the settings, of the service's own list, and of the catalogue as far as that list has them.
    fn models_of(&self, service: &Service) -> Vec<String> {
        let mut models = service.models();
        let rows = offers::known_models(service).into_iter().map(|listed| listed.name);
        match self.listed.lock().get(service.name()) {
            None => models.extend(rows),
            Some(listed) => {
                models.extend(rows.filter(|name| is_listed(name, listed)));
                models.extend(listed.iter().cloned());
            }
        }
        models
    }

    /// Asks every service for its list, all at once. `report` gets the failures so far and the number of services that
    /// have not answered yet: first before any answer, then after each.
    pub async fn ask_lists(
        &self,
        report: impl Fn(Vec<String>, usize) -> BoxFuture<'static, ()> + Send + Sync,
    ) {
        self.search().await;
        let ready = self.ready_services();
        let targets = ready.iter().filter_map(Service::target);
        let asked = targets.map(|target| async move { (target, self.ask_list(target).await) });
        let mut asked: FuturesUnordered<_> = asked.collect();
        let mut failed = Vec::new();
        report(failed.clone(), asked.len()).await;
        while let Some((target, answer)) = asked.next().await {
            if let Err(error) = answer {
                failed.push(format!("{}: {}", target.name, error.describe()));
            }
            report(failed.clone(), asked.len()).await;
        }
    }

    /// Asks a service for its list, and keeps it.
    async fn ask_list(&self, target: &HttpService) -> Result<Vec<String>, ProviderError> {
        let context = self.context();
        let listed = offers::fetch_list(target, &context.settings, &context.keys).await?;
        let names: Vec<String> = listed.iter().map(|one| one.name.clone()).collect();
        let mut reported = self.reported.lock();
        reported.extend(listed.into_iter().map(|one| ((target.name.clone(), one.name), one.profile)));
        self.listed.lock().insert(target.name.clone(), names.clone());
        Ok(names)
    }

    /// Whether [`Models::switch`] can take this name without a check.
    pub fn knows(&self, name: &str) -> bool {
        match self.named_model(name) {
            Ok((service, Some(model))) => {
                let models = self.models_of(&service);
                models.contains(&model)
                    || self.listed.lock().get(service.name()).is_some_and(|listed| is_listed(&model, listed))
            }
            // The default model; or an error that switching reports.
            Ok((_, None)) | Err(_) => true,
        }
    }

    /// Asks the service whether it has this model. Errs, with the nearest name, if it does not.
    pub async fn check(&self, name: &str) -> Result<ModelCheck, ModelError> {
        let (service, Some(model)) = self.named_model(name)? else { return Ok(ModelCheck::Found) };
        let listed = match service.target() {
            None => service.models(),
            // Its models have names that its owner gave them.
            Some(target) if target.preset.name == AZURE_OPENAI.name => {
                return Ok(ModelCheck::Unchecked(None));
            }
            Some(target) => match self.ask_list(target).await {
                Ok(listed) => listed,
                Err(error) => return Ok(ModelCheck::Unchecked(Some(error))),
            },
        };
        if listed.is_empty() {
            return Ok(ModelCheck::Unchecked(None));
        }
        if is_listed(&model, &listed) {
            return Ok(ModelCheck::Found);
        }
        let provider = service.name().to_owned();
        let nearest = self.nearest_model(&provider, &model);
        Err(ModelError::NoSuchModel { provider, model, nearest })
    }

    /// Returns the service and the model that a name given to `/model` means.
    pub(super) fn named_model(&self, name: &str) -> Result<(Service, Option<String>), ModelError> {
        let context = self.context();
        let (provider, model) = split(name.trim(), &context.settings);
        let ModelChoice { provider: current, .. } = self.current();
        Ok((self.service(provider.unwrap_or(&current))?, model.map(str::to_owned)))
    }

    /// Returns the model of that name at another service, or the one with the most similar name.
    fn nearest_model(&self, provider: &str, model: &str) -> Option<String> {
        let names: Vec<String> = self.lines(&[]).into_iter().map(|line| line.name).collect();
        let elsewhere =
            names.iter().find(|name| name.split_once('/').is_some_and(|(_, other)| other == model));
        let wanted = format!("{provider}/{model}");
        elsewhere.cloned().or_else(|| nearest(&wanted, names.iter().map(String::as_str)).map(str::to_owned))
    }
}

/// Whether a service with this list takes the name: a listed one, one without its date or its tag, or a variant.
fn is_listed(model: &str, listed: &[String]) -> bool {
    let takes = |name: &String| {
        let rest = name.strip_prefix(model);
        let is_dated =
            rest.is_some_and(|rest| rest.strip_prefix('-').is_some_and(is_date) || rest == ":latest");
        let is_variant = model.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with(':'));
        name == model || is_dated || is_variant
    };
    listed.iter().any(takes)
}

/// Whether a suffix of a name is a date or the word for the newest.
fn is_date(text: &str) -> bool {
    text == "latest" || (text.len() >= 4 && text.chars().all(|c| c.is_ascii_digit() || c == '-'))
}
