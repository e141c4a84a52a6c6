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
    later(&["google.credentials", "google_credentials_path"], &["GOOGLE_CREDENTIALS_PATH"], "the Google tools", "File with Google credentials"),
];
