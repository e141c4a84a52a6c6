//! Names that are known, but have no effect: settings of seed 004 for features that do not exist yet.

use super::problem::NoEffect;

/// A known setting without effect.
pub struct InertSetting {
    /// The key in a file, then other keys with the same meaning.
    pub names: &'static [&'static str],
    pub env: &'static [&'static str],
    /// What it will do, in one line without a full stop.
    pub doc: &'static str,
    pub why: NoEffect,
}

impl InertSetting {
    /// Returns the setting of a file key, or of one inside its section.
    pub(super) fn find(key: &str) -> Option<&'static Self> {
        let is =
            |name: &str| key.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        INERT.iter().find(|inert| inert.names.iter().any(|name| is(name)))
    }

    /// The key by which it is listed.
    pub(super) fn key(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }
}

type Names = &'static [&'static str];

const fn later(names: Names, env: Names, with: &'static str, doc: &'static str) -> InertSetting {
    InertSetting { names, env, doc, why: NoEffect::ComesWith(with) }
}

/// All of them, in the order in which `co config` and `co help settings` list them.
#[rustfmt::skip]
pub static INERT: &[InertSetting] = &[
    InertSetting {
        names: &["auto_confirm"], env: &["CO_CLI_AUTO_CONFIRM"], doc: "Approve without asking",
        why: NoEffect::Replaced("never stored; type /yolo in a session, it ends with the session"),
    },
    later(&["notes.vault", "obsidian_vault_path"], &["OBSIDIAN_VAULT_PATH"], "the notes tools", "Folder of Markdown notes"),
    later(&["slack.bot_token", "slack_bot_token"], &["SLACK_BOT_TOKEN"], "the Slack tools", "Token for Slack"),
    later(&["web.brave_api_key", "brave_search_api_key"], &["BRAVE_SEARCH_API_KEY"], "the web tools", "Key for Brave web search"),
    later(&["google.credentials", "google_credentials_path"], &["GOOGLE_CREDENTIALS_PATH"], "the Google tools", "File with Google credentials"),
    later(&["memory.max_count", "memory_max_count"], &["CO_CLI_MEMORY_MAX_COUNT"], "memory", "Maximum number of memories"),
    later(&["memory.dedup_window_days", "memory_dedup_window_days"], &["CO_CLI_MEMORY_DEDUP_WINDOW_DAYS"], "memory", "Days in which similar memories are merged"),
    later(&["memory.dedup_threshold", "memory_dedup_threshold"], &["CO_CLI_MEMORY_DEDUP_THRESHOLD"], "memory", "Similarity at which memories are merged"),
    later(&["memory.decay_strategy", "memory_decay_strategy"], &["CO_CLI_MEMORY_DECAY_STRATEGY"], "memory", "What happens to the oldest memories"),
    later(&["memory.decay_percentage", "memory_decay_percentage"], &["CO_CLI_MEMORY_DECAY_PERCENTAGE"], "memory", "Share of memories that decays at a time"),
    later(&["web.allowed_domains", "web_fetch_allowed_domains"], &["CO_CLI_WEB_FETCH_ALLOWED_DOMAINS"], "the web tools", "Only domains that may be fetched"),
    later(&["web.blocked_domains", "web_fetch_blocked_domains"], &["CO_CLI_WEB_FETCH_BLOCKED_DOMAINS"], "the web tools", "Domains that are never fetched"),
    later(&["web.search", "web_policy.search"], &["CO_CLI_WEB_POLICY_SEARCH"], "the web tools", "Whether web searches ask"),
    later(&["web.fetch", "web_policy.fetch"], &["CO_CLI_WEB_POLICY_FETCH"], "the web tools", "Whether web pages are fetched without asking"),
];
