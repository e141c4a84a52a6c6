//! Which commands use the network, by their words. Pure.
//!
//! A sandbox without a network makes these fail, so that they ask, and get one. What is missing here fails in the sandbox.

use crate::bash::Invocation;

/// Programs that always use it.
const ALWAYS: &[&str] = &[
    "curl",
    "wget",
    "aria2c",
    "http",
    "https",
    "xh",
    "nc",
    "ncat",
    "netcat",
    "socat",
    "telnet",
    "ssh",
    "scp",
    "sftp",
    "ftp",
    "lftp",
    "rsync",
    "rclone",
    "ping",
    "ping6",
    "traceroute",
    "dig",
    "nslookup",
    "host",
    "whois",
    "mail",
    "sendmail",
    "docker",
    "podman",
    "kubectl",
    "helm",
    "gh",
    "glab",
    "aws",
    "gcloud",
    "az",
    "terraform",
    "tofu",
    "npx",
    "pnpx",
    "bunx",
    "uvx",
    "pipx",
    "apt",
    "apt-get",
    "dnf",
    "yum",
    "pacman",
    "apk",
    "brew",
    "snap",
    "flatpak",
];

/// Subcommands that use it, by program.
const SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("git", &["clone", "fetch", "pull", "push", "ls-remote", "submodule", "lfs", "send-email"]),
    (
        "npm",
        &[
            "install", "i", "ci", "add", "update", "audit", "view", "publish", "outdated", "exec", "create",
            "init",
        ],
    ),
    (
        "pnpm",
        &["install", "i", "add", "update", "up", "audit", "dlx", "fetch", "publish", "outdated", "create"],
    ),
    ("yarn", &["install", "add", "up", "upgrade", "dlx", "npm", "outdated", "create"]),
    ("bun", &["install", "i", "add", "update", "create", "x"]),
    ("pip", &["install", "download", "index", "search"]),
    ("pip3", &["install", "download", "index", "search"]),
    ("uv", &["add", "sync", "lock", "pip", "tool", "python"]),
    ("poetry", &["install", "add", "update", "lock", "publish"]),
    (
        "cargo",
        &[
            "install",
            "add",
            "update",
            "fetch",
            "search",
            "publish",
            "login",
            "owner",
            "yank",
            "generate-lockfile",
        ],
    ),
    ("rustup", &["update", "install", "toolchain", "component", "target"]),
    ("go", &["get", "install", "mod"]),
    ("gem", &["install", "update", "push", "fetch"]),
    ("bundle", &["install", "update", "add"]),
    ("composer", &["install", "update", "require"]),
];

/// Whether a command uses the network.
pub fn uses_network(command: &Invocation) -> bool {
    let mut words = command.words.iter().map(|word| word.as_deref().unwrap_or(""));
    let program = words.next().and_then(|program| program.rsplit('/').next()).unwrap_or("");
    if ALWAYS.contains(&program) {
        return true;
    }
    let known = SUBCOMMANDS.iter().find(|(name, _)| *name == program);
    known.is_some_and(|(_, subcommands)| {
        // Values of flags are looked at as well: it errs on the side of the network, which asks.
        words.take_while(|word| *word != "--").any(|word| subcommands.contains(&word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bash;

    #[test]
    fn commands_that_use_the_network_are_known_by_their_words() {
        for (script, uses) in [
            ("curl https://a.example", true),
            ("/usr/bin/curl x", true),
            ("make && wget x", true),
            ("git fetch", true),
            ("git -C sub pull", true),
            ("git commit -m x", false),
            ("npm ci", true),
            ("npm test", false),
            ("cargo test", false),
            ("cargo test -- update", false),
            ("cargo update", true),
            ("echo curl", false),
        ] {
            let invocations = bash::invocations(script).unwrap();
            assert_eq!(invocations.iter().any(uses_network), uses, "{script}");
        }
    }
}
