//! Names that are known, but have no effect: settings of seed 004 for features that do not exist yet.

use super::check::Kind;
use super::problem::NoEffect;
use super::settings::{Env, SettingRow, SettingTarget, row};

const fn inert(key: &'static str, env: Env, why: NoEffect, doc: &'static str) -> SettingRow {
    SettingRow { target: SettingTarget::Nothing(why), ..row(key, env, Kind::Text, doc, |_, _| {}) }
}

/// All of them, in the order in which `co config` and `co help settings` list them.
#[rustfmt::skip]
pub static INERT: &[SettingRow] = &[
    inert("auto_confirm", &["CO_CLI_AUTO_CONFIRM"],
        NoEffect::Replaced("never stored; type /yolo in a session, it ends with the session"),
        "Approve without asking"),
    inert("notes.vault", &["OBSIDIAN_VAULT_PATH"], NoEffect::ComesWith("the notes tools"),
        "Folder of Markdown notes").aliases(&["obsidian_vault_path"]),
    inert("slack.bot_token", &["SLACK_BOT_TOKEN"], NoEffect::ComesWith("the Slack tools"),
        "Token for Slack").aliases(&["slack_bot_token"]),
    inert("google.credentials", &["GOOGLE_CREDENTIALS_PATH"], NoEffect::ComesWith("the Google tools"),
        "File with Google credentials").aliases(&["google_credentials_path"]),
];
