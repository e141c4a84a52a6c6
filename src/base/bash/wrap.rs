//! Programs that run other programs: locates the inner program in their words.

use std::ops::Range;

use super::flags::{Arg, Order, parse};

/// The command that a program runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InnerCommand {
    /// The program and arguments at these word positions.
    Words(Range<usize>),
    /// A script.
    Script(String),
}

/// A wrapper and the structure of its own words.
pub struct Wrapper {
    pub name: &'static str,
    /// Its flags, in the notation of `flags.rs`.
    pub flags: &'static str,
    /// The number of its own operands before the inner program.
    own: usize,
    /// Its effect besides running the program.
    pub effect: WrapperEffect,
}

/// The effect of a wrapper besides running a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrapperEffect {
    /// Nothing relevant.
    Transparent,
    /// It sets variables.
    Sets,
    /// It passes words to the program that are only known at run time.
    Feeds,
    /// It does more than that.
    More,
}

const fn row(name: &'static str, flags: &'static str, own: usize, effect: WrapperEffect) -> Wrapper {
    Wrapper { name, flags, own, effect }
}

/// Wrappers whose inner program can be located with certainty; with an unlisted flag nothing is known.
const WRAPPERS: &[Wrapper] = &[
    row("env", "-i --ignore-environment -u: --unset:", 0, WrapperEffect::Sets),
    row(
        "timeout",
        "-s: --signal: -k: --kill-after: --preserve-status --foreground -v --verbose",
        1,
        WrapperEffect::Transparent,
    ),
    row("nice", "-n: --adjustment: -#", 0, WrapperEffect::Transparent),
    row("nohup", "", 0, WrapperEffect::Transparent),
    row("time", "-p -v", 0, WrapperEffect::Transparent),
    row("command", "-p", 0, WrapperEffect::Transparent),
    row("builtin", "", 0, WrapperEffect::Transparent),
    row(
        "xargs",
        "-0 --null -n: --max-args: -L: -P: --max-procs: -r --no-run-if-empty -t --verbose -I: -i? -d: --delimiter: -s: -x -a@ --arg-file@",
        0,
        WrapperEffect::Feeds,
    ),
    row("stdbuf", "-i: -o: -e:", 0, WrapperEffect::More),
    row("ionice", "-c: -n: -t", 0, WrapperEffect::More),
    row("chrt", "-b -f -i -o -r", 1, WrapperEffect::More),
    row("setsid", "-c -f -w", 0, WrapperEffect::More),
    row("exec", "-c -l -a:", 0, WrapperEffect::More),
    row("taskset", "-c -a -p", 1, WrapperEffect::More),
    row(
        "unshare",
        "-m -u -i -n -p -U -C -T -f -r --mount --uts --ipc --net --pid --user --cgroup --time --fork --map-root-user --mount-proc?",
        0,
        WrapperEffect::More,
    ),
    row(
        "setpriv",
        "--nnp --no-new-privs --reuid: --regid: --clear-groups --keep-groups --init-groups --inh-caps: --ambient-caps: --bounding-set:",
        0,
        WrapperEffect::More,
    ),
    row("chroot", "--userspec: --groups: --skip-chdir", 1, WrapperEffect::More),
    row("nsenter", "-t: -a -m -u -i -n -p -U --target: --all", 0, WrapperEffect::More),
    row("busybox", "", 0, WrapperEffect::More),
    row("toybox", "", 0, WrapperEffect::More),
    row("runuser", "-u: --user: -g: --group:", 0, WrapperEffect::More),
    row("prlimit", "-n? -v? -t? --nofile? --as? --cpu?", 0, WrapperEffect::More),
    row(
        "systemd-run",
        "--user --scope --pty --wait --collect -q --unit: -p: --property:",
        0,
        WrapperEffect::More,
    ),
    row("sudo", "-n -E -H -S -k -b -i -s -u: --user: -g: --group: -p: -C:", 0, WrapperEffect::More),
    row("doas", "-n -s -u: -C:", 0, WrapperEffect::More),
    row("run0", "-u: --user:", 0, WrapperEffect::More),
    row("pkexec", "-u: --user:", 0, WrapperEffect::More),
    row("chronic", "-v -e", 0, WrapperEffect::More),
    row("unbuffer", "-p", 0, WrapperEffect::More),
    row("strace", "-f -e: -o: -p: -s:", 0, WrapperEffect::More),
];

/// Shells that run the script after `-c`.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "csh", "tcsh", "rbash", "fish"];

/// Other programs that run code from their input.
const LANGUAGES: &[&str] = &[
    "python",
    "python2",
    "python3",
    "perl",
    "ruby",
    "node",
    "deno",
    "bun",
    "php",
    "lua",
    "tclsh",
    "pwsh",
    "osascript",
];

/// Whether a program is a shell, by its name without a folder.
pub fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// Whether a program runs code from its input, by its name without a folder.
pub fn is_interpreter(name: &str) -> bool {
    is_shell(name) || LANGUAGES.contains(&name)
}

const SHELL_FLAGS: &str = "-c -e -u -x -l -i -f -n -v -s -o: -O: --login --norc --noprofile --posix";

/// Programs that run others in ways that are not modelled, so that nothing is known of what they run.
#[rustfmt::skip]
const OPAQUE: &[&str] = &[
    "parallel", "watch", "script", "su", "sg", "newgrp", "ssh", "sshpass", "alias", "expect", "flock", "entr", "at",
    "batch", "screen", "tmux", "setarch", "linux32", "linux64", "i386", "x86_64", "uname26", "capsh", "fakeroot",
    "proot", "firejail", "bwrap", "start-stop-daemon", "dbus-run-session", "xvfb-run", "rlwrap", "numactl", "cpulimit",
    "torsocks", "proxychains", "hyperfine", "valgrind", "perf", "ltrace", "gdb",
];

/// Builtins and programs that run what their words name, each in a form of its own.
const OTHERS: &[&str] = &[".", "source", "eval", "trap", "find", "fd", "fdfind"];

/// Words of the shell after which a command begins.
const KEYWORDS: &[&str] = &["!", "{", "}", "if", "then", "else", "elif", "do", "while", "until"];

/// Whether a program runs other programs that its words may name, by its name without a folder. Interpreters
/// ([`is_interpreter`]) run files and code.
pub fn runs_others(name: &str) -> bool {
    wrapper(name).is_some() || OPAQUE.contains(&name) || OTHERS.contains(&name) || is_loader(name)
}

/// Whether a command begins after this word of the shell.
pub fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// Whether a program is the dynamic loader, which runs the program named after it.
fn is_loader(name: &str) -> bool {
    name.starts_with("ld-") && name.contains(".so")
}

/// Returns the row of a wrapper.
pub fn wrapper(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|row| row.name == name)
}

/// Returns a program's name without its folder.
pub fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Returns what the program of these words runs: nothing for most. `None` if it runs something undetermined.
pub fn inner(words: &[Option<String>]) -> Option<Vec<InnerCommand>> {
    let Some(Some(name)) = words.first() else { return Some(Vec::new()) };
    let name = base(name);
    if OPAQUE.contains(&name) {
        return None;
    }
    if let Some(wrapper) = wrapper(name) {
        let looked_up =
            name == "command" && words.iter().flatten().any(|word| ["-v", "-V"].contains(&word.as_str()));
        return if looked_up { Some(Vec::new()) } else { wrapper.inner(words) };
    }
    match name {
        "find" => find(words),
        "fd" | "fdfind" => fd(words),
        "eval" => one_script(words.get(1..)?),
        "trap" => one_script(words.get(1..2).unwrap_or_default()),
        "git" => git(words),
        _ if is_loader(name) => {
            let is_program = words.get(1)?.as_deref().is_some_and(|word| !word.starts_with('-'));
            is_program.then(|| vec![InnerCommand::Words(1..words.len())])
        }
        _ if SHELLS.contains(&name) => shell(words),
        _ => Some(Vec::new()),
    }
}

impl Wrapper {
    fn inner(&self, words: &[Option<String>]) -> Option<Vec<InnerCommand>> {
        let start = self.program(words)?;
        Some(if start < words.len() { vec![InnerCommand::Words(start..words.len())] } else { Vec::new() })
    }

    /// Returns the index of the wrapped program's name, or the number of words if there is none.
    pub fn program(&self, words: &[Option<String>]) -> Option<usize> {
        let args = fixed_head(words.get(1..)?);
        let allowed: Vec<&'static str> = self.flags.split_ascii_whitespace().collect();
        let parsed = parse(&allowed, &args, Order::First).ok()?;
        // Without a flag for the user it takes the words of `su`.
        if self.name == "runuser" && !parsed.has("-u") && !parsed.has("--user") {
            return None;
        }
        let mut at = 1 + parsed.first_operand.unwrap_or(args.len());
        at += self.own;
        let assigns = |word: &Option<String>| word.as_deref().is_some_and(|word| word.contains('='));
        let sets = self.effect == WrapperEffect::Sets || ["sudo", "doas", "time"].contains(&self.name);
        while sets && words.get(at).is_some_and(assigns) {
            at += 1;
        }
        // An unknown word could be a flag and shift the program's position.
        (at <= args.len() || args.len() + 1 == words.len()).then_some(at.min(words.len()))
    }
}

/// Returns the words before the first one that is only known at run time.
fn fixed_head(words: &[Option<String>]) -> Vec<Arg> {
    let fixed = words.iter().map_while(Option::as_ref);
    fixed.map(|text| Arg { text: text.clone(), pattern: false }).collect()
}

/// Joins all words into one script, as `eval` does.
fn one_script(words: &[Option<String>]) -> Option<Vec<InnerCommand>> {
    let words = words.iter().cloned().collect::<Option<Vec<String>>>()?;
    Some(vec![InnerCommand::Script(words.join(" "))])
}

/// Returns what `git` runs by its words: aliases or programs in settings, and commands given to subcommands.
fn git(words: &[Option<String>]) -> Option<Vec<InnerCommand>> {
    /// Suffixes of keys whose values are commands.
    const COMMANDS: &[&str] = &[
        "pager",
        "editor",
        "command",
        "cmd",
        "fsmonitor",
        "external",
        "textconv",
        "helper",
        "program",
        "clean",
        "smudge",
        "process",
        "driver",
    ];
    /// Prefixes of keys that affect only the output.
    const HARMLESS: &[&str] = &[
        "color.",
        "user.",
        "log.",
        "column.",
        "advice.",
        "core.quotepath",
        "core.abbrev",
        "init.defaultbranch",
    ];
    let mut inner = Vec::new();
    let mut at = 1;
    while let Some(word) =
        words.get(at).filter(|word| word.as_deref().is_none_or(|word| word.starts_with('-')))
    {
        at += 1;
        match word.as_deref()? {
            "-c" => {
                let setting = words.get(at)?.as_deref()?;
                at += 1;
                let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
                let key = key.to_lowercase();
                let script = value.strip_prefix('!');
                match script.unwrap_or(value) {
                    text if script.is_some() || COMMANDS.iter().any(|end| key.ends_with(end)) => {
                        inner.push(InnerCommand::Script(text.to_owned()));
                    }
                    _ if HARMLESS.iter().any(|begin| key.starts_with(begin)) => {}
                    // The effect of any other setting is unknown.
                    _ => return None,
                }
            }
            "-C" | "--git-dir" | "--work-tree" | "--namespace" | "--attr-source" => at += 1,
            // Settings taken from a variable, or another folder of programs.
            word if word.starts_with("--config-env") || word.starts_with("--exec-path=") => return None,
            _ => {}
        }
    }
    inner.extend(subcommand_runs(words, at)?);
    Some(inner)
}

/// Returns what the `git` subcommand at `at` runs; `None` if it runs something that cannot be determined.
fn subcommand_runs(words: &[Option<String>], at: usize) -> Option<Option<InnerCommand>> {
    let word = |at: usize| words.get(at).and_then(Option::as_deref);
    match (word(at), word(at + 1)) {
        (Some("bisect"), Some("run")) => Some(Some(InnerCommand::Words(at + 2..words.len()))),
        (Some("submodule"), _) => {
            let Some(each) = words.iter().position(|word| word.as_deref() == Some("foreach")) else {
                return Some(None);
            };
            let script = words.get(each + 1..)?.iter().filter(|word| word.as_deref() != Some("--recursive"));
            let script = script.cloned().collect::<Option<Vec<String>>>()?;
            Some(Some(InnerCommand::Script(script.join(" "))))
        }
        (Some("filter-branch"), _) => None,
        (Some("rebase"), _) => {
            let mut given = words.get(at + 1..)?.iter();
            let mut script = None;
            while let Some(word) = given.next() {
                let word = word.as_deref()?;
                let found = match (word.strip_prefix("--exec="), word.strip_prefix("-x")) {
                    (Some(stuck), _) => stuck.to_owned(),
                    (None, Some("")) => given.next()?.clone()?,
                    (None, Some(stuck)) => stuck.to_owned(),
                    (None, None) if word == "--exec" => given.next()?.clone()?,
                    // Abbreviations, and combined short flags.
                    (None, None) if word.starts_with("--e") => return None,
                    (None, None)
                        if !word.starts_with("--") && word.starts_with('-') && word.contains('x') =>
                    {
                        return None;
                    }
                    (None, None) => continue,
                };
                if script.replace(found).is_some() {
                    return None;
                }
            }
            Some(script.map(InnerCommand::Script))
        }
        _ => Some(None),
    }
}

/// Whether the words of a shell contain the script that it runs (`sh -c TEXT`).
pub(super) fn is_inline(words: &[Option<String>]) -> bool {
    matches!(shell(words).as_deref(), Some([InnerCommand::Script(_)]))
}

fn shell(words: &[Option<String>]) -> Option<Vec<InnerCommand>> {
    let args = fixed_head(words.get(1..)?);
    let allowed: Vec<&'static str> = SHELL_FLAGS.split_ascii_whitespace().collect();
    let parsed = parse(&allowed, &args, Order::First).ok()?;
    // `+x` unsets a flag, and more flags may follow.
    if parsed.operands.first().is_some_and(|arg| arg.text.starts_with('+')) {
        return None;
    }
    if !parsed.has("-c") {
        // It runs a file or its input; if a word is unknown, what it runs cannot be determined.
        return (args.len() + 1 == words.len() || parsed.first_operand.is_some()).then(Vec::new);
    }
    // Flags may still follow `-c`.
    let script = parsed.operands.first()?;
    Some(vec![InnerCommand::Script(script.text.clone())])
}

/// Returns the programs that `find` runs: from `-exec` to `;` or `+`.
fn find(words: &[Option<String>]) -> Option<Vec<InnerCommand>> {
    const RUNS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];
    // An unknown word could be one of these.
    let words = words.iter().map(Option::as_deref).collect::<Option<Vec<&str>>>()?;
    let mut inner = Vec::new();
    let mut at = 1;
    while let Some(word) = words.get(at) {
        at += 1;
        if !RUNS.contains(word) {
            continue;
        }
        let ends = |end: usize| words[end] == ";" || (words[end] == "+" && words[end - 1] == "{}");
        let end = (at..words.len()).find(|end| ends(*end))?;
        inner.push(InnerCommand::Words(at..end));
        at = end;
    }
    Some(inner)
}

/// Returns the program that `fd` runs: all words after `-x`.
fn fd(words: &[Option<String>]) -> Option<Vec<InnerCommand>> {
    const RUNS: [&str; 4] = ["-x", "--exec", "-X", "--exec-batch"];
    // An unknown word, or a part of one, could be one of these.
    let words = words.iter().map(Option::as_deref).collect::<Option<Vec<&str>>>()?;
    if let Some(at) = words.iter().position(|word| RUNS.contains(word)) {
        return Some(vec![InnerCommand::Words(at + 1..words.len())]);
    }
    let hides = |word: &&str| {
        word.starts_with("--exec")
            || (word.starts_with('-') && !word.starts_with("--") && word.contains(['x', 'X']))
    };
    (!words.iter().any(hides)).then(Vec::new)
}
