//! Requests missing data of the model in use from its service, in the background.

use std::sync::Arc;

use super::{ModelChoice, Models, most_output};
use crate::accounts::offers;
use crate::accounts::profiles;
use crate::agent::prompt::Steering;
use crate::provider::Profile;

impl Models {
    /// Asks the service about the model in use, if its window or its price is unknown. The answer applies
    /// from the next request on, and whenever that model is switched to again.
    pub async fn learn(&self) {
        let ModelChoice { provider, model, .. } = self.current();
        let known = self.active.borrow().profile;
        if known.window.is_some() && known.price.is_some() {
            return;
        }
        let Ok(service) = self.service(&provider) else { return };
        let context = self.context();
        let settings = &context.settings;
        let reported = offers::reported_profile(&service, &model, settings).await;
        if reported == Profile::default() {
            return;
        }
        let mut all = self.reported.lock();
        all.insert((provider.clone(), model.clone()), reported);
        drop(all);
        let profile = profiles::profile(&service, &model, settings, reported);
        let is_it = |choice: &ModelChoice| choice.provider == provider && choice.model == model;
        // The user may have switched meanwhile. Watchers are not notified: the choice is the same.
        self.choice.send_if_modified(|choice| {
            if is_it(choice) {
                choice.context_tokens = profile.window;
            }
            false
        });
        self.active.send_modify(|active| {
            if active.name == model && active.provider.name() == provider {
                let active = Arc::make_mut(active);
                active.max_output_tokens = most_output(settings, Steering::of(&provider, &model), &profile);
                active.profile = profile;
            }
        });
    }

    /// Returns what was learned about a model.
    pub(super) fn reported_profile(&self, provider: &str, model: &str) -> Profile {
        let all = self.reported.lock();
        all.get(&(provider.to_owned(), model.to_owned())).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Pace;
    use super::*;
    use crate::config::Settings;
    use crate::stdx::clock::SystemClock;
    use kit::replay::server::{Page, Plan, ReplayServer};

    #[tokio::test]
    async fn the_window_of_a_server_is_learned_from_its_list() {
        let body =
            r#"{"data": [{"id": "other", "max_model_len": 1000}, {"id": "qwen", "max_model_len": 32768}]}"#;
        let pages = vec![Page { path: "/v1/models".to_owned(), status: 200, body: body.to_owned() }];
        let server = ReplayServer::start(Plan { pages, ..Plan::default() }).await.unwrap();
        let mut settings = Settings {
            provider: Some("openai-compatible".to_owned()),
            model: Some("qwen".to_owned()),
            max_output_tokens: Some(500),
            ..Settings::default()
        };
        settings.endpoint.base_url = Some(server.chat_url());
        let models = Models::choose(&settings, Arc::new(SystemClock), Pace::Instant).unwrap();
        let mut watched = models.choices();
        assert_eq!(models.current().context_tokens, None);
        models.learn().await;
        assert_eq!(models.current().context_tokens, Some(32_768));
        assert!(!watched.has_changed().unwrap(), "it is the same choice");
        watched.mark_unchanged();
        let active = Arc::clone(&models.active().borrow());
        assert_eq!((active.profile.window, active.max_output_tokens), (Some(32_768), Some(500)));
        assert_eq!(models.lines(&[])[0].note, "33k");
        // It is known when the user switches back.
        assert_eq!(models.switch("openai-compatible/new").unwrap().context_tokens, None);
        models.learn().await;
        assert_eq!(models.current().context_tokens, None);
        assert_eq!(models.switch("qwen").unwrap().context_tokens, Some(32_768));
    }
}
