//! Runs commands in containers of Docker: one for each set of mounts, started with the first command that needs it and
//! kept until this process ends.
//!
//! A container has the image's tools, the workspace, and what the user made readable; no network unless the settings give
//! one, no capabilities, and a filter of system calls made from the same lists as that of the other backends. Its first
//! process waits for the end of an input that this process holds open, so that a container ends however this process
//! ends; one that is left nevertheless is removed by the next process. Blocking.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command as Process, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use rustix::io::Errno;
use rustix::process::Pid;
use serde_json::{Value, json};

use super::Confinement;
use super::child::Program;
use super::confine::{FAMILIES, FORBIDDEN, NEW_NAMESPACES, SOCKET_TYPE, TERMINAL_REQUESTS};
use super::mounts::{Guarded, MountPoints};
use super::policy::{DockerOptions, SandboxPolicy};
use crate::config::ContainerNetwork;
use crate::stdx::text::sanitize_line;

/// The private folder for temporary files is mounted here.
pub const TEMPORARY: &str = "/tmp";

/// The program of a container: waits for the end of its input, and reaps what commands leave behind.
const KEEPER: &str = "exec 3<&0; cat <&3 >/dev/null & echo ready; wait";

/// The label that names the process which a container belongs to: its boot and its number.
const OWNER: &str = "co.owner";

/// The largest number of containers that are kept; older ones end after their last command.
const MOST: usize = 4;

/// The number of the last family of sockets that Linux knows.
const LAST_FAMILY: i32 = 45;

/// The containers of this process.
#[derive(Debug)]
pub struct Docker {
    client: PathBuf,
    options: DockerOptions,
    /// By the arguments that they were started with; the newest last.
    running: Mutex<Vec<(Vec<OsString>, Arc<Container>)>>,
    /// The number of containers that were started.
    started: AtomicUsize,
}

/// A running container; it ends when this is dropped.
#[derive(Debug)]
pub struct Container {
    name: String,
    /// The input whose end ends the container.
    _input: Option<ChildStdin>,
    has_ended: Arc<AtomicBool>,
    _points: MountPoints,
}

impl Docker {
    /// `client` is Docker's program.
    #[must_use]
    pub fn new(client: PathBuf, options: DockerOptions) -> Self {
        Self { client, options, running: Mutex::default(), started: AtomicUsize::new(0) }
    }

    /// Returns the image's id; errs with what to do if Docker or the image cannot be used.
    pub fn image(&self) -> Result<String, String> {
        let mut inspect = self.process();
        inspect.args(["image", "inspect", "--format", "{{.Id}}", &self.options.image]);
        let ran = inspect.output().map_err(|error| format!("{}: {error}", self.client.display()))?;
        if ran.status.success() {
            Ok(String::from_utf8_lossy(&ran.stdout).trim().to_owned())
        } else {
            Err(self.trouble(&String::from_utf8_lossy(&ran.stderr)))
        }
    }

    /// Returns the program that runs a script in a container for this policy, and the container. `readable` is what the
    /// user made readable, `env` the whole environment of the command, `lock` a file that every `co` of the user can lock.
    pub fn program(
        &self,
        policy: &SandboxPolicy,
        readable: &[PathBuf],
        script: &str,
        env: &[(String, String)],
        lock: &Path,
    ) -> io::Result<(Program, Arc<Container>)> {
        let guarded = Guarded::of(policy)?;
        let container = self.container(self.arguments(policy, readable, &guarded)?, &guarded, lock)?;
        let mut args: Vec<OsString> = ["exec", "-i", "-w"].map(OsString::from).into();
        args.push(policy.workspace.clone().into());
        for (name, value) in env.iter().filter(|(name, _)| !OF_USER.contains(&name.as_str())) {
            args.extend(["-e".into(), format!("{name}={value}").into()]);
        }
        args.extend(["-e", "HOME=/tmp", &container.name, "/bin/sh", "-c", script].map(OsString::from));
        let (file, env) = (self.client.clone(), self.options.client_env.clone());
        Ok((Program { file, args, cwd: "/".into(), env, input: None }, container))
    }

    fn container(&self, args: Vec<OsString>, guarded: &Guarded, lock: &Path) -> io::Result<Arc<Container>> {
        // Held while a container starts, so that two commands do not start two.
        let mut running = self.running.lock();
        running.retain(|(_, container)| !container.has_ended.load(Ordering::Relaxed));
        if let Some((_, container)) = running.iter().find(|(known, _)| *known == args) {
            return Ok(Arc::clone(container));
        }
        self.remove_abandoned();
        let points = guarded.make_points(lock)?;
        let container = Arc::new(self.start(&args, points)?);
        if running.len() >= MOST {
            running.remove(0);
        }
        running.push((args, Arc::clone(&container)));
        Ok(container)
    }

    fn start(&self, args: &[OsString], points: MountPoints) -> io::Result<Container> {
        let boot = boot_id();
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let name = format!("co-{}-{}-{number}", boot.get(..8).unwrap_or(&boot), std::process::id());
        let mut profile = tempfile::NamedTempFile::new()?;
        profile.write_all(seccomp_profile().to_string().as_bytes())?;
        let mut process = self.process();
        process.args(["run", "--rm", "-i", "--pull", "never", "--name", &name, "--label"]);
        process.arg(format!("{OWNER}={}", owner()));
        process.arg("--security-opt").arg(format!("seccomp={}", profile.path().display()));
        process.args(args).args([&self.options.image, "-c", KEEPER]);
        process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Not ended by the keys of this terminal.
        process.process_group(0);
        let mut keeper = process.spawn()?;
        let mut line = String::new();
        if let Some(output) = keeper.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        if line.trim() != "ready" {
            let mut said = String::new();
            drop(keeper.stdin.take());
            let _ = keeper.stderr.take().map(|mut errors| errors.read_to_string(&mut said));
            let _ = keeper.wait();
            return Err(io::Error::other(format!("docker: {}", self.trouble(&said))));
        }
        let (input, has_ended) = (keeper.stdin.take(), Arc::new(AtomicBool::new(false)));
        let ended = Arc::clone(&has_ended);
        std::thread::spawn(move || {
            let _ = keeper.wait();
            ended.store(true, Ordering::Relaxed);
        });
        Ok(Container { name, _input: input, has_ended, _points: points })
    }

    fn process(&self) -> Process {
        let mut process = Process::new(&self.client);
        process.env_clear().envs(self.options.client_env.iter().map(|(name, value)| (name, value)));
        process.stdin(Stdio::null()).current_dir("/");
        process
    }

    /// Returns the arguments of a container for a policy, without its name.
    fn arguments(
        &self,
        policy: &SandboxPolicy,
        readable: &[PathBuf],
        guarded: &Guarded,
    ) -> io::Result<Vec<OsString>> {
        let owner = fs::metadata(&policy.workspace)?;
        // As root the workspace's owner, which is an ordinary user unless the workspace is root's.
        let user = match rustix::process::getuid() {
            uid if uid.is_root() => (owner.uid(), owner.gid()),
            uid => (uid.as_raw(), rustix::process::getgid().as_raw()),
        };
        let network = match (self.options.network, policy.confinement) {
            (ContainerNetwork::Bridge, Confinement::Network | Confinement::Unsandboxed) => "bridge",
            (ContainerNetwork::Bridge, Confinement::ReadOnly | Confinement::Workspace)
            | (ContainerNetwork::None, _) => "none",
        };
        let mut args: Vec<OsString> = [
            "--network".to_owned(),
            network.to_owned(),
            format!("--memory={}", self.options.memory),
            format!("--memory-swap={}", self.options.memory),
            format!("--cpus={}", self.options.cpus),
            format!("--pids-limit={}", policy.limits.processes),
            format!("--ulimit=fsize={}", policy.limits.file_bytes),
            "--ulimit=core=0".to_owned(),
            "--cap-drop=ALL".to_owned(),
            "--security-opt=no-new-privileges".to_owned(),
            "--log-driver=none".to_owned(),
            format!("--user={}:{}", user.0, user.1),
            "--entrypoint=/bin/sh".to_owned(),
        ]
        .map(OsString::from)
        .into();
        let shared = policy.temporary.join("container");
        if !shared.is_dir() {
            fs::create_dir(&shared)?;
            // The folder around it is private; the user of the container may be another one.
            fs::set_permissions(&shared, std::os::unix::fs::PermissionsExt::from_mode(0o1777))?;
        }
        args.push(mount(&shared, Path::new(TEMPORARY), ""));
        let writable = policy.writes.iter().filter(|path| **path != policy.temporary);
        let readable = readable.iter().filter_map(|path| path.canonicalize().ok());
        let roots: BTreeMap<PathBuf, &str> = readable
            .chain([policy.workspace.clone()])
            .map(|path| (path, ",readonly"))
            .chain(writable.chain(&guarded.held).map(|path| (path.clone(), "")))
            .chain(guarded.read_only.iter().map(|path| (path.clone(), ",readonly")))
            .collect();
        args.extend(roots.iter().map(|(path, how)| mount(path, path, how)));
        for path in policy.hidden.iter().filter(|path| roots.keys().any(|root| path.starts_with(root))) {
            args.push(if path.is_dir() {
                format!("--mount=type=tmpfs,tmpfs-mode=0555,{}", quoted("target", path)).into()
            } else {
                mount(Path::new("/dev/null"), path, ",readonly")
            });
        }
        Ok(args)
    }

    /// Removes the containers of processes of this machine that are gone.
    fn remove_abandoned(&self) {
        let format = format!("{{{{.ID}}}} {{{{.Label \"{OWNER}\"}}}}");
        let mut list = self.process();
        list.args(["ps", "-a", "--filter", &format!("label={OWNER}"), "--format", &format]);
        let Ok(listed) = list.output() else { return };
        let is_gone = |owner: &str| {
            let (boot, pid) = owner.split_once(':')?;
            let pid = Pid::from_raw(pid.parse().ok()?)?;
            let gone = rustix::process::test_kill_process(pid) == Err(Errno::SRCH);
            Some(boot == boot_id() && gone)
        };
        for line in String::from_utf8_lossy(&listed.stdout).lines() {
            if let Some((id, _)) = line.split_once(' ').filter(|(_, owner)| is_gone(owner) == Some(true)) {
                // It fails if the container ends by itself meanwhile.
                let _ = self.process().args(["rm", "-f", id]).output();
            }
        }
    }

    /// Says in a sentence what Docker complained of, and what to do.
    fn trouble(&self, said: &str) -> String {
        let image = sanitize_line(&self.options.image);
        if said.contains("permission denied") && said.contains("connect") {
            "this user may not use Docker; add the user to the group `docker` and log in again".to_owned()
        } else if said.contains("Cannot connect to the Docker daemon") || said.contains("connection refused")
        {
            "the Docker daemon does not answer; start it".to_owned()
        } else if said.contains("No such image") || said.contains("Unable to find image") {
            format!("the image {image} is missing; pull or build it, or name another with `sandbox.image`")
        } else {
            let line = said.lines().rev().find(|line| !line.trim().is_empty() && !line.contains("--help"));
            sanitize_line(line.unwrap_or("it ended without a message")).into_owned()
        }
    }
}

/// Variables that say something about the user's machine; a container has its own.
const OF_USER: &[&str] = &["PATH", "HOME", "USER", "LOGNAME", "SHELL"];

fn mount(from: &Path, to: &Path, how: &str) -> OsString {
    format!("--mount=type=bind,{},{}{how}", quoted("source", from), quoted("target", to)).into()
}

/// Returns a part of a mount's description, which is a line of comma-separated values.
fn quoted(name: &str, path: &Path) -> String {
    let part = format!("{name}={}", path.display());
    if part.contains([',', '"', '\n']) { format!("\"{}\"", part.replace('"', "\"\"")) } else { part }
}

fn owner() -> String {
    format!("{}:{}", boot_id(), std::process::id())
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Returns the filter of system calls in Docker's form. `clone3`, whose flags cannot be read, does not exist, so that the C
/// library uses `clone`.
fn seccomp_profile() -> Value {
    let forbidden: Vec<&str> =
        FORBIDDEN.iter().map(|(name, _)| name.strip_prefix("SYS_").unwrap_or(name)).collect();
    let denied = |names: &[&str], args: Value| json!({ "names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": libc::EPERM, "args": args });
    let masked = |index: u32, mask: u64, value: u64| json!([{ "index": index, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ" }]);
    let number = |constant: i32| u64::from(constant.unsigned_abs());
    let mut rules = vec![
        denied(&forbidden, json!([])),
        json!({ "names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": libc::ENOSYS }),
        denied(&["socketpair"], masked(1, SOCKET_TYPE, number(libc::SOCK_DGRAM))),
        denied(&["socket"], json!([{ "index": 0, "value": LAST_FAMILY + 1, "op": "SCMP_CMP_GE" }])),
    ];
    rules.extend(NEW_NAMESPACES.map(number).map(|flag| denied(&["clone"], masked(0, flag, flag))));
    let low_half = u64::from(u32::MAX);
    rules.extend(TERMINAL_REQUESTS.map(|request| denied(&["ioctl"], masked(1, low_half, request))));
    let others = (0..=LAST_FAMILY).filter(|family| !FAMILIES.contains(family));
    rules.extend(others.map(|family| denied(&["socket"], masked(0, low_half, number(family)))));
    json!({ "defaultAction": "SCMP_ACT_ALLOW", "syscalls": rules })
}
