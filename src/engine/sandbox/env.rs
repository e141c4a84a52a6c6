//! The part of the user's environment that is passed to child processes: an allow-list, never a deny-list.
//!
//! An allow-list prevents a key or token with an unforeseen name from reaching a command: only names listed
//! here, and those that the user adds in the settings, are passed on. Called by the composition root; pure.

use std::collections::BTreeMap;

/// Names that are passed on.
const ALLOWED: [&str; 8] = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "SHELL", "TMPDIR", "TZ"];

/// The prefix of further names that are passed on: the locale.
const ALLOWED_PREFIX: &str = "LC_";

/// Variables set for every child, regardless of the parent: no terminal to draw on, no pager that waits for a
/// key, and unbuffered output.
const FIXED: [(&str, &str); 4] =
    [("TERM", "dumb"), ("PAGER", "cat"), ("GIT_PAGER", "cat"), ("PYTHONUNBUFFERED", "1")];

/// Substrings of names that hold secrets. Such a name is not passed on even if the user lists it.
const SECRET_PARTS: [&str; 9] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "PASS",
    "CREDENTIAL",
    "AUTHORIZATION",
    "COOKIE",
    "PRIVATE",
    "CONNECTION_STRING",
];

/// Pairs of substrings: a name with both, in this order, is secret. Database addresses contain passwords.
const SECRET_PAIRS: [(&str, &str); 3] = [("DB", "URL"), ("DATABASE", "URL"), ("DSN", "")];

/// Suffixes of names that hold secrets.
const SECRET_ENDS: [&str; 3] = ["_SK", "_PAT", "_PW"];

/// Returns the environment of a child, sorted by name: the allowed variables of `parent`, the variables named
/// in `extra` whose names are not secret, and the fixed ones, which take precedence.
#[must_use]
pub fn child_env(parent: &BTreeMap<String, String>, extra: &[String]) -> Vec<(String, String)> {
    let passes = |name: &str| {
        ALLOWED.contains(&name)
            || name.starts_with(ALLOWED_PREFIX)
            || (extra.iter().any(|listed| listed == name) && !is_secret_name(name))
    };
    let mut env: BTreeMap<&str, &str> = parent
        .iter()
        .filter(|(name, _)| passes(name))
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    env.extend(FIXED);
    env.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Returns what Docker's own client gets of the environment: where its daemon and its settings are.
#[must_use]
pub fn docker_client_env(parent: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let passes =
        |name: &str| matches!(name, "HOME" | "PATH" | "XDG_RUNTIME_DIR") || name.starts_with("DOCKER_");
    let passed = parent.iter().filter(|(name, _)| passes(name));
    passed.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Whether a variable of this name is assumed to hold a key, a token or a password, so is never passed on.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let pair = |(first, second): &(&str, &str)| {
        upper.split_once(first).is_some_and(|(_, rest)| rest.contains(second))
    };
    SECRET_PARTS.iter().any(|part| upper.contains(part))
        || SECRET_PAIRS.iter().any(pair)
        || SECRET_ENDS.iter().any(|end| upper.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_names_pass() {
        let parent: BTreeMap<String, String> = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("TERM", "xterm"),
            ("PAGER", "less"),
            ("ANTHROPIC_API_KEY", "k"),
            ("GITHUB_TOKEN", "t"),
            ("my_password", "p"),
            ("CARGO_HOME", "/c"),
            ("EDITOR", "vi"),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
        let extra = ["CARGO_HOME", "GITHUB_TOKEN", "my_password", "TERM", "MISSING"].map(str::to_owned);
        let shown = |extra: &[String]| -> String {
            child_env(&parent, extra).iter().map(|(name, value)| format!("{name}={value} ")).collect()
        };
        assert_eq!(shown(&[]), "GIT_PAGER=cat LC_ALL=C PAGER=cat PATH=/bin PYTHONUNBUFFERED=1 TERM=dumb ");
        for name in ["MYPASS", "STRIPE_SK", "DBURL", "DATABASE_URL", "GH_PAT", "SENTRY_DSN", "AWS_SECRET"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["PATH", "CARGO_HOME", "SKIP", "URL", "TASK"] {
            assert!(!is_secret_name(name), "{name}");
        }
        assert_eq!(
            shown(&extra),
            "CARGO_HOME=/c GIT_PAGER=cat LC_ALL=C PAGER=cat PATH=/bin PYTHONUNBUFFERED=1 TERM=dumb "
        );
    }
}
