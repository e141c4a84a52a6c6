//! Detects what makes a command line HIGH risk: words that destroy, reach out, or step outside the workspace.
//!
//! A table over the commands that the shell's grammar finds, designed to err only on the safe side: it raises
//! the risk, and nothing unknown lowers it. What the grammar does not understand is examined word by word. A
//! command can evade it; therefore every command asks unless it is isolated. Pure; it accesses no file.

use std::path::Path;

use super::loose;
use crate::bash::{self, Invocation};
use crate::stdx::paths::normalize;
use crate::stdx::secret_files::{is_common_word, may_hold_secrets};
use crate::tool::Risk;

/// The result of an assessment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    pub risk: Risk,
    /// Short phrases for the user, without repetition.
    pub reasons: Vec<&'static str>,
}

/// When a row of the table applies.
enum RowCondition {
    Always,
    /// If one of these short flags, alone or combined, or one of these words is present.
    Flags(&'static str, &'static [&'static str]),
    /// If all words of one of these lists are among the arguments.
    Words(&'static [&'static [&'static str]]),
    /// If one of these words is present, with one of these short or long flags.
    Sub(&'static [&'static str], &'static str, &'static [&'static str]),
    /// If the first argument, with or without a dash, has one of these letters, or a listed word is present.
    Letters(&'static str, &'static [&'static str]),
}

use RowCondition::{Always, Flags, Letters, Sub, Words};

const TABLE: &[(&[&str], RowCondition, &str)] = &[
    (&["sudo", "doas", "su", "pkexec", "run0"], Always, "runs as another user"),
    (&["rm", "unlink"], Always, "deletes permanently"),
    (&["sed", "perl", "ruby"], Flags("i", &["--in-place"]), "changes files in place"),
    (&["tar", "bsdtar"], Letters("x", &["--extract", "--get"]), "unpacks over existing files"),
    (&["unzip", "unrar", "7z", "cpio"], Always, "unpacks over existing files"),
    (&["shred", "wipefs", "truncate", "srm"], Always, "destroys data"),
    (&["dd", "fdisk", "sfdisk", "parted", "mkswap", "mount", "umount"], Always, "writes to disks directly"),
    (&["chmod", "chown", "chgrp", "setfacl"], Flags("R", &["--recursive"]), "changes permissions in bulk"),
    (&["kill", "pkill", "killall", "skill"], Always, "ends processes"),
    (&["shutdown", "reboot", "halt", "poweroff", "init", "telinit"], Always, "shuts down the machine"),
    (&["systemctl", "service", "launchctl", "crontab", "at"], Always, "changes scheduled jobs or services"),
    (&["useradd", "usermod", "userdel", "passwd", "chpasswd", "visudo"], Always, "changes accounts"),
    (&["iptables", "nft", "ufw", "ip", "ifconfig"], Always, "changes network settings"),
    (&["find", "fd"], Words(&[&["-delete"]]), "deletes what it finds"),
    (
        &["rsync"],
        Words(&[&["--delete"], &["--delete-after"], &["--remove-source-files"]]),
        "deletes permanently",
    ),
    (&["git"], Words(&[&["push"]]), "publishes commits"),
    (
        &["git"],
        Words(&[&["clean"], &["reset", "--hard"], &["checkout", "--"], &["checkout", "."], &["restore"]]),
        "discards work",
    ),
    (&["git"], Sub(&["branch"], "dDMf", &["--delete", "--force"]), "discards history"),
    (&["git"], Sub(&["tag"], "df", &["--delete", "--force"]), "discards history"),
    (
        &["git"],
        Words(&[
            &["stash", "drop"],
            &["stash", "clear"],
            &["filter-branch"],
            &["reflog", "expire"],
            &["update-ref", "-d"],
        ]),
        "discards history",
    ),
    (
        &["curl"],
        Flags(
            "dFTX",
            &[
                "--data",
                "--data-raw",
                "--data-binary",
                "--data-urlencode",
                "--json",
                "--form",
                "--upload-file",
                "--request",
            ],
        ),
        "sends data to other machines",
    ),
    (&["wget"], Words(&[&["--post-data"], &["--post-file"], &["--method"]]), "sends data to other machines"),
    (
        &["nc", "ncat", "netcat", "socat", "telnet", "ssh", "scp", "sftp", "ftp", "mail", "sendmail"],
        Always,
        "contacts other machines",
    ),
    (
        &["npm", "pnpm", "yarn", "cargo", "gem", "poetry", "twine"],
        Words(&[&["publish"], &["upload"], &["push"]]),
        "publishes a package",
    ),
    (
        &["docker", "podman"],
        Words(&[&["prune"], &["rm"], &["rmi"], &["push"], &["--privileged"]]),
        "removes or publishes containers",
    ),
    (
        &["kubectl", "helm"],
        Words(&[&["delete"], &["apply"], &["uninstall"], &["drain"]]),
        "changes a cluster",
    ),
    (&["terraform", "tofu", "pulumi"], Words(&[&["apply"], &["destroy"], &["up"]]), "changes infrastructure"),
    (
        &["gh", "glab"],
        Words(&[&["delete"], &["merge"], &["create"], &["close"], &["api"]]),
        "changes a code host",
    ),
    (&["eval", "source"], Always, "runs text as commands"),
];

/// Programs whose arguments are often ordinary text rather than files.
const SAYING: &[&str] = &["git", "grep", "egrep", "fgrep", "rg", "ag", "echo", "printf", "jq", "sed", "awk"];

fn in_list(name: Option<&str>, list: &[&str]) -> bool {
    name.is_some_and(|name| list.contains(&name))
}

/// Programs that write to the paths in their arguments.
const WRITERS: [&str; 8] = ["cp", "mv", "tee", "ln", "install", "touch", "mkdir", "rmdir"];

/// Devices that are safe to write to.
const HARMLESS_DEVICES: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

impl Assessment {
    /// Adds a reason, which raises the risk to HIGH.
    pub fn with(mut self, reason: &'static str) -> Self {
        self.reasons.push(reason);
        Self { risk: Risk::High, ..self }
    }
}

/// Assesses a command line to run in `workspace`. Medium if nothing is found: any command can do harm.
pub fn assess(script: &str, workspace: &Path) -> Assessment {
    let mut reasons = Vec::new();
    match bash::invocations(script) {
        Some(found) => found.iter().for_each(|one| weigh(one, workspace, &mut reasons)),
        None => loose::invocations(script).iter().for_each(|one| weigh(one, workspace, &mut reasons)),
    }
    let mut seen = Vec::new();
    reasons.retain(|reason| {
        !seen.contains(reason) && {
            seen.push(*reason);
            true
        }
    });
    let risk = if reasons.is_empty() { Risk::Medium } else { Risk::High };
    Assessment { risk, reasons }
}

fn weigh(one: &Invocation, workspace: &Path, reasons: &mut Vec<&'static str>) {
    if let Some(Some(name)) = one.words.first() {
        let name = name.rsplit('/').next().unwrap_or(name);
        let args = arguments(one);
        let rows = TABLE.iter().filter(|(names, when, _)| names.contains(&name) && applies(when, &args));
        reasons.extend(rows.map(|(_, _, reason)| *reason));
        if name.starts_with("mkfs") {
            reasons.push("writes to disks directly");
        }
        if bash::is_interpreter(name) && one.piped {
            reasons.push("runs what another command prints");
        }
        if WRITERS.contains(&name) && args.iter().any(|arg| leaves(arg, workspace)) {
            reasons.push("reaches outside the workspace");
        }
    }
    let is_secret = |word: &String| may_hold_secrets(word);
    // A search term or a printed word is not a file.
    let says = |word: &String| {
        one.words.first().is_some_and(|name| in_list(name.as_deref(), SAYING)) && is_common_word(word)
    };
    let mut said = one.words.iter().flatten().chain(&one.written);
    if one.reads.iter().flatten().any(is_secret) || said.any(|word| is_secret(word) && !says(word)) {
        reasons.push("may read secrets");
    }
    reasons.extend(one.writes.iter().filter_map(|target| writing_reason(target.as_deref(), workspace)));
}

/// Returns the arguments: without quotes if they are fixed, else as written.
fn arguments(one: &Invocation) -> Vec<&str> {
    let words = one.words.iter().zip(&one.written).skip(1);
    words.map(|(word, written)| word.as_deref().unwrap_or(written)).collect()
}

/// Returns the reason, if any, for writing to a file. A target only known at run time could be any file.
fn writing_reason(target: Option<&str>, workspace: &Path) -> Option<&'static str> {
    match target {
        Some(device) if device.starts_with("/dev/") => {
            let harmless = HARMLESS_DEVICES.contains(&device) || device.starts_with("/dev/fd/");
            (!harmless).then_some("writes to a device")
        }
        Some(path) if !leaves(path, workspace) => None,
        Some(_) | None => Some("writes outside the workspace"),
    }
}

fn applies(when: &RowCondition, args: &[&str]) -> bool {
    let has = |wanted: &str| args.iter().any(|arg| *arg == wanted || arg.starts_with(&format!("{wanted}=")));
    match when {
        Always => true,
        Flags(short, long) => {
            long.iter().any(|flag| has(flag)) || args.iter().any(|arg| in_cluster(arg, short))
        }
        Words(lists) => lists.iter().any(|list| list.iter().all(|word| has(word))),
        Sub(words, short, long) => words.iter().any(|word| has(word)) && applies(&Flags(short, long), args),
        Letters(letters, long) => {
            let bundled = args
                .first()
                .is_some_and(|first| !first.starts_with("--") && first.contains(|c| letters.contains(c)));
            bundled || applies(&Flags(letters, long), args)
        }
    }
}

/// Whether a word such as `-xvf` contains one of the letters.
fn in_cluster(arg: &str, letters: &str) -> bool {
    let Some(cluster) = arg.strip_prefix('-') else { return false };
    !cluster.starts_with('-') && cluster.contains(|c| letters.contains(c))
}

/// Whether a path, by its text alone, is outside the workspace or cannot be located.
fn leaves(path: &str, workspace: &Path) -> bool {
    // An expansion could result in any path.
    if path.starts_with('~') || path.contains(['$', '`']) {
        return true;
    }
    let inside = normalize(&workspace.join(path));
    !inside.starts_with(workspace)
}

#[cfg(test)]
mod tests;
