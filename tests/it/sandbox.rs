//! The sandbox, by attack: the probe of the test kit tries to leave each backend, as root and as an ordinary user, and the
//! result is the table of `co help sandbox`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::co::{Co, Service, Wire};
use crate::end_to_end::kit::{USUAL, each, ended, on_terminal, run, run_through, say, sent_lines};
use crate::skip::skipped;

/// The backends, as the columns of the table.
const BACKENDS: [&str; 3] = ["landlock", "bubblewrap", "docker"];

/// The user and group `nobody` of most systems.
const NOBODY: u32 = 65_534;

const TABLE: &str = "src/cli/help/sandbox_table.txt";

/// Whether the tests of sandboxes run here; otherwise says that they are skipped.
fn runs(what: &str) -> bool {
    let wanted = std::env::var_os("CO_TEST_SANDBOX").is_some();
    if !wanted {
        skipped(&format!("{what} (set CO_TEST_SANDBOX=1; needs bubblewrap and Landlock)"));
    }
    wanted
}

/// Returns the backends that can be tested here; says which cannot.
fn backends() -> Vec<&'static str> {
    let has_docker = std::env::var_os("CO_SANDBOX_IMAGE").is_some();
    if !has_docker {
        skipped("the docker sandbox (run the tests with scripts/with-docker)");
    }
    BACKENDS.into_iter().filter(|backend| *backend != "docker" || has_docker).collect()
}

/// Returns a `co` whose commands run in this backend.
fn in_backend(co: Co, backend: &str) -> Co {
    let co = co.env("CO_SANDBOX_BACKEND", backend);
    let docker =
        ["DOCKER_HOST", "CO_SANDBOX_IMAGE"].map(|name| (name, std::env::var(name).unwrap_or_default()));
    docker.into_iter().fold(co, |co, (name, value)| if value.is_empty() { co } else { co.env(name, &value) })
}

/// Copies of the binaries that every user can run.
struct Binaries {
    folder: tempfile::TempDir,
}

impl Binaries {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("co-it-").tempdir_in("/var/tmp").unwrap();
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path(), all).unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_co"));
        for name in ["co", "co-probe"] {
            let from = program.with_file_name(name);
            assert!(from.exists(), "{} is missing; build the workspace first", from.display());
            std::fs::copy(from, folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes all attempts in a backend; returns the names with the verdicts.
    fn matrix(&self, backend: &str, user: Option<u32>) -> Vec<(String, String)> {
        let mut probe = Command::new(self.path("co-probe"));
        probe.args(["matrix".as_ref(), self.path("co").as_os_str(), backend.as_ref()]);
        probe.env("CO_PROBE_SECRET", "1").env("HOME", "/nonexistent").stdin(Stdio::null()).current_dir("/");
        if let Some(user) = user {
            probe.uid(user).gid(user);
        }
        let ran = probe.output().unwrap();
        let err = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.success(), "{backend}, user {user:?}: {err}");
        let rows = String::from_utf8(ran.stdout).unwrap();
        rows.lines().filter_map(|row| row.split_once('\t')).map(|(a, b)| (a.into(), b.into())).collect()
    }
}

/// The worst of two verdicts; one that was not run says nothing.
fn worst(one: &str, other: &str) -> String {
    let order = ["not run", "held", "not held"];
    let rank = |verdict: &str| order.iter().position(|known| *known == verdict).unwrap();
    order[rank(one).max(rank(other))].to_owned()
}

/// `CO_UPDATE_SANDBOX=1` rewrites the table.
#[test]
fn attempts_to_leave_end_as_the_table_says() {
    if !runs("attempts to leave a sandbox") {
        return;
    }
    let binaries = Binaries::new();
    let users: &[Option<u32>] = if is_root() { &[None, Some(NOBODY)] } else { &[None] };
    let mut table = Table::read();
    for backend in backends() {
        let mut cells: Vec<(String, String)> = Vec::new();
        for user in users {
            for (name, verdict) in binaries.matrix(backend, *user) {
                match cells.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, cell)) => *cell = worst(cell, &verdict),
                    None => cells.push((name, verdict)),
                }
            }
        }
        if std::env::var_os("CO_UPDATE_SANDBOX").is_some() {
            table.put(backend, cells);
        } else {
            assert_eq!(cells, table.column(backend), "{backend}");
        }
    }
    table.write();
}

/// The table of `co help sandbox`: for each attempt one verdict a backend, in the order of [`BACKENDS`].
struct Table(Vec<(String, Vec<String>)>);

impl Table {
    const NAME: usize = 44;
    const CELL: usize = 12;

    fn file() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE)
    }

    fn read() -> Self {
        let text = std::fs::read_to_string(Self::file()).unwrap();
        let row = |line: &str| {
            let part = |from: usize, length: usize| {
                let rest = line.get(from..).unwrap_or_default();
                rest.get(..length).unwrap_or(rest).trim().to_owned()
            };
            let cells = (0..BACKENDS.len()).map(|at| part(2 + Self::NAME + at * Self::CELL, Self::CELL));
            (part(2, Self::NAME), cells.collect())
        };
        Self(text.lines().skip(1).map(row).collect())
    }

    fn at(backend: &str) -> usize {
        BACKENDS.iter().position(|known| *known == backend).unwrap()
    }

    fn column(&self, backend: &str) -> Vec<(String, String)> {
        let at = Self::at(backend);
        self.0.iter().map(|(name, cells)| (name.clone(), cells[at].clone())).collect()
    }

    fn put(&mut self, backend: &str, cells: Vec<(String, String)>) {
        let at = Self::at(backend);
        let old = std::mem::take(&mut self.0);
        for (name, verdict) in cells {
            let known = old.iter().find(|(known, _)| *known == name);
            let mut row = known.map_or(vec![String::new(); BACKENDS.len()], |(_, row)| row.clone());
            row[at] = verdict;
            self.0.push((name, row));
        }
    }

    /// Does nothing where the file says the same.
    fn write(&self) {
        let line = |name: &str, cells: &[&str]| {
            let cells: String = cells.iter().map(|cell| format!("{cell:0$}", Self::CELL)).collect();
            format!("  {}\n", format!("{name:0$}{cells}", Self::NAME).trim_end())
        };
        let mut text = line("a command tries to", &BACKENDS);
        for (name, cells) in &self.0 {
            text.push_str(&line(name, &cells.iter().map(String::as_str).collect::<Vec<_>>()));
        }
        if std::env::var_os("CO_UPDATE_SANDBOX").is_some() {
            std::fs::write(Self::file(), text).unwrap();
        } else {
            assert_eq!(text, std::fs::read_to_string(Self::file()).unwrap());
        }
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

/// Commands with the backend and mode, and whether they run unasked.
#[rustfmt::skip]
const UNASKED: &[(&str, &str, &str, bool)] = &[
    ("bubblewrap", "ask", "ls", true),
    ("bubblewrap", "ask", "git status --short", true),
    ("bubblewrap", "ask", "git log --oneline | head -3", true),
    ("bubblewrap", "ask", "sh check.sh", false),
    ("bubblewrap", "ask", "curl https://a.example", false),
    ("bubblewrap", "ask", "echo x > /etc/co-test", false),
    ("bubblewrap", "auto", "sh check.sh", true),
    ("bubblewrap", "auto", "echo more >> check.sh && git add -A && git commit -qm second", true),
    ("bubblewrap", "auto", "curl https://a.example", false),
    ("bubblewrap", "auto", "echo x > /etc/co-test", false),
    ("bubblewrap", "auto", "rm -rf sub", false),
    ("landlock", "ask", "ls", true),
    ("landlock", "ask", "git status --short", true),
    ("landlock", "auto", "sh check.sh", false),
    ("docker", "ask", "ls", true),
    ("docker", "ask", "sh check.sh", false),
    ("docker", "auto", "sh check.sh", true),
    ("docker", "auto", "curl https://a.example", false),
    ("docker", "auto", "echo x > /etc/co-test", false),
    ("none", "ask", "ls", false),
    ("none", "auto", "sh check.sh", false),
];

#[test]
fn commands_run_unasked_where_a_sandbox_holds_them() {
    if !runs("commands that run unasked in a sandbox") {
        return;
    }
    let here = backends();
    each(UNASKED, 4, |(backend, mode, command, unasked)| {
        if *backend != "none" && !here.contains(backend) {
            return;
        }
        let reply = format!("reply\n  call shell {}\nreply\n  text Done.\n", json!({ "command": command }));
        let service = Service::new(&reply);
        let co = in_backend(Co::new().with(&service, Wire::Anthropic), backend);
        let co = co.file("work/check.sh", "echo checked > made.txt\n");
        let git = "git init -q . && git config user.email a@b.example && git config user.name a && git add -A && \
                   git commit -qm first";
        assert!(Command::new("sh").args(["-c", git]).current_dir(co.workspace()).status().unwrap().success());
        let ran = run(&co, &["-p", "go", "--mode", mode, "--output", "json"]);
        let told = ran.json();
        let status = told["tool_calls"][0]["status"].as_str().unwrap_or("waiting").to_owned();
        let case = format!("{backend} {mode} `{command}`: {told:#}");
        assert_eq!(status == "ok", *unasked, "{case}");
        assert_eq!(told["end"] == "deferred", !*unasked, "{case}");
        if *command == "sh check.sh" {
            assert_eq!(co.workspace().join("made.txt").exists(), *unasked, "{case}");
        }
        assert!(
            !co.workspace().join(".co").exists() && !co.workspace().join(".git/commondir").exists(),
            "{case}"
        );
    });
}

/// Commands that misbehave, with what their report says: one of several texts.
#[rustfmt::skip]
const MISBEHAVING: &[(&str, &str)] = &[
    ("i=0; while [ $i -lt 1500 ]; do sleep 30 & i=$((i+1)); done; wait", "more than 1024 processes|can't fork"),
    ("trap '' TERM; setsid -f sleep 300; sleep 300", "timed out after 2s"),
    ("exec >&- 2>&-; exit 3", "exit 3"),
    ("head -c 300000000 /dev/zero | tr '\\0' x", "left out here"),
    ("dd if=/dev/zero of=\"$TMPDIR/x\" bs=1M count=1 seek=9000", "File too large|limit exceeded|signal 25|exit 153"),
    ("read line </dev/tty", "exit "),
    ("touch /var/co-test", "sandbox, which may be why it failed"),
    ("cat \"$HOME/.ssh/id_ed25519\"", "exit 1"),
    ("kill -9 $$", "9"),
];

#[test]
fn misbehaving_commands_end_with_a_clear_report() {
    if !runs("misbehaving commands in a sandbox") {
        return;
    }
    for backend in backends() {
        for (command, report) in MISBEHAVING {
            let args =
                json!({ "command": command, "timeout": if command.contains("TERM") { 2 } else { 60 } });
            let service = Service::new(&format!("reply\n  call shell {args}\nreply\n  text Done.\n"));
            let co = in_backend(Co::new().with(&service, Wire::Anthropic), backend);
            let co = co.file(".ssh/id_ed25519", "the key");
            let rule = format!(
                "[[rule]]\neffect = \"allow\"\ntool = \"shell\"\nargs.command = {}\n",
                json!(command)
            );
            let co = co.file(".config/co/rules.toml", rule);
            let began = std::time::Instant::now();
            let ran = run(&co, &["-p", "go"]);
            let sent = sent_lines(&service, 2).join("\n");
            assert!(
                report.split('|').any(|report| sent.contains(report)) && !sent.contains("the key"),
                "{backend} `{command}`: {sent} {ran:?}"
            );
            assert!(began.elapsed().as_secs() < 30, "{backend} `{command}`");
        }
    }
}

#[test]
fn leaving_the_sandbox_is_a_request_that_only_a_person_answers() {
    if !runs("requests to leave a sandbox") {
        return;
    }
    for backend in backends() {
        let call = |args| format!("reply\n  call shell {args}\n");
        // Not in the folder for temporary files: a sandbox has another one there.
        let elsewhere = tempfile::Builder::new().prefix("co-it-").tempdir_in("/var/tmp").unwrap();
        let co = Co::new().env("CO_SHELL_ENV", "OUTSIDE");
        let co = co.env("OUTSIDE", elsewhere.path().display().to_string());
        let outside = "touch \"$OUTSIDE/made\"";
        let held = json!({ "command": outside });
        let leaves = json!({ "command": outside, "unsandboxed": "the file belongs there" });
        let service = Service::new(&format!("{}{}reply\n  text Done.\n", call(&held), call(&leaves)));
        let co = in_backend(co.with(&service, Wire::Anthropic), backend);
        let allow =
            format!("[[rule]]\neffect = \"allow\"\ntool = \"shell\"\nargs.command = {}\n", json!(outside));
        let co = co.file(".config/co/rules.toml", allow);
        let told = run(&co, &["-p", "go", "--output", "json"]).json();
        let output = told["tool_calls"][0]["output"].as_str().unwrap();
        assert!(output.contains("call shell again with `unsandboxed`"), "{backend}: {told:#}");
        assert_eq!(told["end"], "deferred", "{backend}: {told:#}");
        let summary = "outside of the sandbox: the file belongs there";
        assert!(told["waiting"][0]["summary"].as_str().unwrap().ends_with(summary), "{backend}: {told:#}");
        assert!(!elsewhere.path().join("made").exists(), "{backend}: it ran unasked");
        let request = co.waiting().remove(0);
        let ran = run(&co, &["approvals", "yes", &request]);
        assert_eq!(ran.code, Some(0), "{backend}: {ran:?}");
        assert_eq!(run(&co, &["resume", "--output", "json"]).json()["end"], "completed", "{backend}");
        assert!(elsewhere.path().join("made").exists(), "{backend}: it did not run outside");
    }
}

/// Keys of remotes are hidden by the sandbox; a push with a reason waits for a person and reaches them.
#[test]
fn a_push_leaves_the_sandbox_with_a_person_only() {
    if !runs("pushes out of the sandbox") {
        return;
    }
    for backend in backends() {
        let outside = tempfile::tempdir().unwrap();
        let remote = outside.path().join("remote.git");
        let args = json!({ "unsandboxed": "the remote is a folder outside" });
        let service = Service::new(&format!("reply\n  call git_push {args}\nreply\n  text Done.\n"));
        let co = in_backend(Co::new().with(&service, Wire::Anthropic), backend);
        let allow = "[[rule]]\neffect = \"allow\"\ntool = \"git_push\"\nargs.unsandboxed = \"the remote is a folder outside\"\n";
        let co = co.file(".config/co/rules.toml", allow);
        let git = |words: &[&str]| {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=n", "-c", "user.email=e@x.invalid"]).args(words);
            let output = git.current_dir(co.workspace()).env("HOME", co.home()).output().unwrap();
            assert!(output.status.success(), "{words:?}: {output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        let to = remote.display().to_string();
        git(&["init", "-q", "-b", "main"]);
        git(&["init", "-q", "--bare", &to]);
        git(&["commit", "-q", "--allow-empty", "-m", "First"]);
        git(&["remote", "add", "origin", &to]);
        git(&["config", "branch.main.remote", "origin"]);
        git(&["config", "branch.main.merge", "refs/heads/main"]);
        let told = run(&co, &["-p", "go", "--output", "json"]).json();
        assert_eq!(told["end"], "deferred", "{backend}: {told:#}");
        assert_eq!(git(&["ls-remote", "--heads", "origin"]), "", "{backend}: it ran unasked");
        let ran = run(&co, &["approvals", "yes", &co.waiting().remove(0)]);
        assert_eq!(ran.code, Some(0), "{backend}: {ran:?}");
        assert_eq!(run(&co, &["resume", "--output", "json"]).json()["end"], "completed", "{backend}");
        assert!(git(&["ls-remote", "--heads", "origin"]).contains("refs/heads/main"), "{backend}");
    }
}

/// Faults that make docker unusable, with the message of a command then.
#[rustfmt::skip]
const UNUSABLE: &[(&str, &str, &str)] = &[
    ("DOCKER_HOST", "unix:///nonexistent/docker.sock", "the Docker daemon does not answer; start it"),
    ("DOCKER_HOST", "unix://SOCKET", "this user may not use Docker; add the user to the group `docker`"),
    ("CO_SANDBOX_IMAGE", "no-such-image", "the image no-such-image is missing; pull or build it"),
    ("CO_SANDBOX_MEMORY", "much", "invalid size"),
];

#[test]
fn a_docker_that_cannot_be_used_makes_commands_fail_and_says_why() {
    if !runs("unusable docker") || !backends().contains(&"docker") {
        return;
    }
    let binaries = Binaries::new();
    let socket = binaries.path("docker.sock");
    let _closed = UnixListener::bind(&socket).unwrap();
    std::fs::set_permissions(&socket, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    for (name, value, why) in UNUSABLE {
        let args = json!({ "command": "touch made" });
        let service = Service::new(&format!("reply\n  call shell {args}\nreply\n  text Done.\n"));
        let value = value.replace("SOCKET", &socket.display().to_string());
        let co = in_backend(Co::new().with(&service, Wire::Anthropic), "docker").env(name, value.clone());
        let co = co.file(".config/co/rules.toml", "[[rule]]\neffect = \"allow\"\ntool = \"shell\"\n");
        // Root may use every socket.
        if value.contains("docker.sock") && !value.contains("nonexistent") && is_root() {
            let mut client = Command::new("docker");
            client.args(["image", "inspect", "x"]).uid(NOBODY).gid(NOBODY).env("DOCKER_HOST", &value);
            let said = client.env("HOME", "/nonexistent").output().unwrap();
            let said = String::from_utf8_lossy(&said.stderr).into_owned();
            assert!(said.contains("permission denied") && said.contains("connect"), "{said}");
            continue;
        }
        let ran = run(&co, &["-p", "go"]);
        assert_eq!(ran.code, Some(0), "{name}={value}: {ran:?}");
        let sent = sent_lines(&service, 2).join("\n");
        assert!(sent.contains(why), "{name}={value}: {sent}");
        assert!(!co.workspace().join("made").exists(), "{name}={value}: it ran nevertheless");
    }
}

#[test]
fn a_sandbox_in_a_sandbox_says_what_it_cannot_hold() {
    if !runs("a sandbox in a sandbox") {
        return;
    }
    let binaries = Binaries::new();
    for backend in ["landlock", "bubblewrap"] {
        let program = binaries.path("co").display().to_string();
        let inner = format!("HOME=$TMPDIR CO_SANDBOX_BACKEND=bubblewrap {program} doctor --json");
        let service = Service::new(&format!(
            "reply\n  call shell {}\nreply\n  text Done.\n",
            json!({ "command": inner })
        ));
        let co = in_backend(Co::new().with(&service, Wire::Anthropic), backend);
        let co = co.env("CO_SANDBOX_READ", binaries.folder.path().display().to_string());
        let rule =
            format!("[[rule]]\neffect = \"allow\"\ntool = \"shell\"\nargs.command = {}\n", json!(inner));
        let co = co.file(".config/co/rules.toml", rule);
        let told = run(&co, &["-p", "go", "--output", "json"]).json();
        let output = told["tool_calls"][0]["output"].as_str().unwrap_or_default();
        assert!(
            output.contains("bubblewrap: ") && output.contains("\"backend\": \"none\""),
            "{backend}: {told:#}"
        );
    }
}

#[test]
fn a_workspace_may_be_reached_through_a_link() {
    if !runs("workspaces that are links") {
        return;
    }
    for backend in backends() {
        lists_a_workspace(backend, |real, workspace| {
            std::fs::remove_dir_all(workspace).unwrap();
            std::os::unix::fs::symlink(real, workspace).unwrap();
        });
    }
}

/// A file system of a program, as network mounts are: only the system knows what is behind it.
#[test]
fn a_workspace_may_be_on_a_mount_of_a_program() {
    if !runs("workspaces on mounts of programs") {
        return;
    }
    let mount = |real: &Path, workspace: &Path| {
        let ran = Command::new("bindfs").arg(real).arg(workspace).status();
        ran.is_ok_and(|status| status.success()).then(|| MountGuard(workspace.to_owned()))
    };
    let probe = tempfile::tempdir().unwrap();
    if mount(probe.path(), probe.path()).is_none() {
        return skipped("workspaces on mounts of programs: bindfs cannot mount here");
    }
    for backend in backends() {
        lists_a_workspace(backend, |real, workspace| mount(real, workspace).expect("it can mount"));
    }
}

/// A mount, undone when it is dropped.
struct MountGuard(PathBuf);

impl Drop for MountGuard {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Checks that a sandboxed `ls` lists a folder that has the name of the workspace.
fn lists_a_workspace<T>(backend: &str, put: impl FnOnce(&Path, &Path) -> T) {
    let call = json!({ "command": "ls" });
    let service = Service::new(&format!("reply\n  call shell {call}\nreply\n  text Done.\n"));
    let co = in_backend(Co::new().with(&service, Wire::Anthropic), backend);
    let co = co.file("real/in-the-folder.txt", "x");
    let _placed = put(&co.home().join("real"), &co.workspace());
    let told = run(&co, &["-p", "go", "--output", "json"]).json();
    let output = told["tool_calls"][0]["output"].as_str().unwrap_or_default();
    assert!(output.contains("in-the-folder.txt"), "{backend}: {told:#}");
}

#[test]
fn a_workspace_that_is_deleted_meanwhile_is_told() {
    if !runs("workspaces that are deleted") {
        return;
    }
    for backend in backends() {
        let co = in_backend(Co::new(), backend);
        let mut screen = on_terminal(&co, &[], USUAL);
        screen.wait_for("── ask ──");
        std::fs::remove_dir_all(co.workspace()).unwrap();
        say(&mut screen, "!pwd");
        screen.wait_until("what is wrong", |screen| screen.contains("no longer"));
        screen.keys("<c-c><c-c>");
        assert_eq!(screen.wait_exit().code, 0, "{backend}");
    }
}

/// A filter of system calls (classic BPF): `landlock_create_ruleset` (444) does not exist.
const WITHOUT_LANDLOCK: [(u16, u8, u8, u32); 4] =
    [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x0005_0026), (0x06, 0, 0, 0x7fff_0000)];

#[test]
fn a_kernel_without_landlock_gives_no_sandbox_and_says_so() {
    if !runs("a kernel without Landlock") {
        return;
    }
    let filter = WITHOUT_LANDLOCK.into_iter().flat_map(|(code, yes, no, k)| {
        code.to_ne_bytes().into_iter().chain([yes, no]).chain(k.to_ne_bytes())
    });
    let why = "this kernel lacks Landlock as of Linux 6.12; update it, or switch it on";
    for backend in ["landlock", "bubblewrap", "auto"] {
        let call = json!({ "command": "touch made" });
        let service = Service::new(&format!("reply\n  call shell {call}\nreply\n  text Done.\n"));
        let co = in_backend(Co::new().with(&service, Wire::Anthropic), backend);
        let co = co.file("filter", filter.clone().collect::<Vec<u8>>());
        let co = co.file(".config/co/rules.toml", "[[rule]]\neffect = \"allow\"\ntool = \"shell\"\n");
        let script = "exec bwrap --dev-bind / / --seccomp 9 \"$@\" 9<\"$HOME/filter\"";
        let doctor = run_through(&co, script, &["doctor"], "");
        assert!(doctor.out.contains(why), "{backend}: {doctor:?}");
        let ran = run_through(&co, script, &["-p", "go", "--output", "json"], "");
        let sent = sent_lines(&service, 2).join("\n");
        let is_auto = backend == "auto";
        assert_eq!(sent.contains(why), !is_auto, "{backend}: {sent} {ran:?}");
        // The person's own rule allows it where no sandbox was asked for.
        assert_eq!(co.workspace().join("made").exists(), is_auto, "{backend}");
    }
}

/// The folders that are mounted over while a command runs must not become a repository for the next one, whose settings
/// name programs.
#[test]
fn a_command_makes_no_repository_beside_another_one() {
    if !runs("repositories made in a sandbox") {
        return;
    }
    let script = "mkdir -p .git/objects .git/refs; echo evil > .git/config; echo 'ref: refs/heads/main' > .git/HEAD; \
                  mkdir .co; echo evil > .co/config.toml";
    for backend in ["bubblewrap", "docker"] {
        if !backends().contains(&backend) {
            continue;
        }
        let call = |args| format!("reply\n  call shell {args}\n");
        let service = Service::new(&format!(
            "{}{}reply\n  text Done.\n",
            call(json!({ "command": "sh a.sh", "background": true })),
            call(json!({ "command": "sh b.sh" })),
        ));
        let co = in_backend(Co::new().with(&service, Wire::Anthropic), backend);
        let co = co.file("work/a.sh", "echo begun; sleep 20").file("work/b.sh", script);
        assert_eq!(run(&co, &["-p", "go", "--mode", "auto"]).code, Some(0));
        assert!(sent_lines(&service, 3).join("\n").contains("task 1: running"), "{backend}");
        for made in [".git", ".co"] {
            assert!(!co.workspace().join(made).exists(), "{backend}: {made} was made, or stayed");
        }
    }
}

/// Folders that were made to be mounted over are removed after the container, which Docker may remove slowly.
#[test]
fn a_process_does_not_end_before_its_containers_are_removed() {
    if !runs("a docker that is slow to remove") || !backends().contains(&"docker") {
        return;
    }
    let args = json!({ "command": "sleep 20", "background": true });
    let service = Service::new(&format!("reply\n  call shell {args}\nreply\n  text Done.\n"));
    let removal = Arc::new(Mutex::new(()));
    let (_folder, host) = docker_through(&removal);
    let co = in_backend(Co::new().with(&service, Wire::Anthropic), "docker").env("DOCKER_HOST", host);
    // The self-test removes a container as well.
    assert_eq!(run(&co, &["doctor"]).code, Some(0));
    let closed = removal.lock().unwrap();
    let mut child = co.start(&["-p", "go", "--mode", "auto"]);
    let said = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let waits = said.into_iter().any(|line| line.contains("waiting for the sandbox"));
    drop(closed);
    assert!(waits, "it ended before");
    assert_eq!(ended(&co, child).code, Some(0));
    assert!(sent_lines(&service, 2).join("\n").contains("task 1"));
    for made in [".git", ".co"] {
        assert!(!co.workspace().join(made).exists(), "{made} stayed");
    }
}

/// Returns the host of a proxy to the Docker of the tests, with the folder of its socket. The proxy holds requests to remove
/// a container back while `removal` is locked.
fn docker_through(removal: &Arc<Mutex<()>>) -> (tempfile::TempDir, String) {
    let docker = std::env::var("DOCKER_HOST").unwrap().trim_start_matches("unix://").to_owned();
    let folder = tempfile::Builder::new().prefix("co-it-").tempdir_in("/var/tmp").unwrap();
    let socket = folder.path().join("docker.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let removal = Arc::clone(removal);
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = UnixStream::connect(&docker).unwrap();
            forward(server.try_clone().unwrap(), client.try_clone().unwrap(), Arc::default());
            forward(client, server, Arc::clone(&removal));
        }
    });
    (folder, format!("unix://{}", socket.display()))
}

/// Copies bytes on a thread of its own; holds a request to remove a container back while `removal` is locked.
fn forward(mut from: UnixStream, mut to: UnixStream, removal: Arc<Mutex<()>>) {
    std::thread::spawn(move || {
        let mut bytes = [0; 16 * 1024];
        while let Ok(length @ 1..) = from.read(&mut bytes) {
            if bytes[..length].starts_with(b"DELETE ") {
                drop(removal.lock());
            }
            if to.write_all(&bytes[..length]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}
