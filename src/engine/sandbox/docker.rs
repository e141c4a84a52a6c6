//! Runs each command in a container of Docker of its own.
//!
//! A container has the image's tools, the workspace, and what the user made readable; no network unless the settings give
//! one, no capabilities, and a filter of system calls made from the same lists as that of the other backends. It is not kept
//! for the next command: what one command leaves running, or does to its mounts, must not reach another one. The stage of
//! this program starts it, and removes it when this process ends, however it does; one that is left nevertheless is removed
//! by the next process of the same boot. Blocking.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::Pid;
use serde_json::{Value, json};

use super::Confinement;
use super::child::{Program, run_to_end};
use super::confine::{FAMILIES, FORBIDDEN, NEW_NAMESPACES, SOCKET_TYPE, TERMINAL_REQUESTS};
use super::mounts::{MountPoints, ProtectiveMounts};
use super::policy::{DockerOptions, SandboxPolicy};
use super::stage::StageRole;
use crate::config::ContainerNetwork;
use crate::stdx::fs::{create_private_dir, write_atomic};
use crate::stdx::text::sanitize_line;

/// The folder for temporary files is mounted here; `/tmp` is empty in each container.
pub const TEMPORARY: &str = "/run/co-tmp";

/// The label that names the process which a container belongs to: its boot and its number.
const OWNER: &str = "co.owner";

/// The time for one request to Docker.
const PATIENCE: Duration = Duration::from_secs(5);

/// The time for removing a container, and the time between two attempts.
const REMOVAL: Duration = Duration::from_secs(20);
const RETRY: Duration = Duration::from_millis(100);

/// The number of the last family of sockets that Linux knows.
const LAST_FAMILY: i32 = 45;

/// Docker, as the settings say.
#[derive(Debug)]
pub struct Docker {
    client: PathBuf,
    options: DockerOptions,
    /// The number of containers that were started.
    started: AtomicUsize,
}

/// The container of one command; removed when this is dropped.
#[derive(Debug)]
pub struct Container {
    docker: Arc<Docker>,
    name: String,
    /// Removed after the container is gone.
    points: MountPoints,
}

impl Drop for Container {
    fn drop(&mut self) {
        let began = Instant::now();
        loop {
            match self.docker.ask(&["rm", "-f", &self.name]) {
                Ok((_, true)) => return,
                // It has ended by itself.
                Ok((said, false)) if said.contains("No such container") => return,
                // Most often Docker, or the stage, is removing it already.
                Ok(_) | Err(_) => {}
            }
            if began.elapsed() > REMOVAL {
                // Mounted in something that may run still, they stay; a later command of the folder removes them.
                return self.points.leave();
            }
            std::thread::sleep(RETRY);
        }
    }
}

impl Docker {
    /// `client` is Docker's program.
    #[must_use]
    pub fn new(client: PathBuf, options: DockerOptions) -> Self {
        Self { client, options, started: AtomicUsize::new(0) }
    }

    /// Returns the image's id; errs with what to do if Docker or the image cannot be used.
    pub fn image(&self) -> Result<String, String> {
        match self.ask(&["image", "inspect", "--format", "{{.Id}}", &self.options.image]) {
            Ok((id, true)) => Ok(id.trim().to_owned()),
            Ok((said, false)) if said.trim().is_empty() => Err(SILENT.to_owned()),
            Ok((said, false)) => Err(self.trouble(&said)),
            Err(error) => Err(format!("{}: {error}", self.client.display())),
        }
    }

    /// Returns what the stage is to run for a script, and its container. `readable` is what the user made readable, `env`
    /// the whole environment of the command, `locks` a folder of `co`'s own in which every `co` of the
    /// user locks files.
    pub fn container(
        self: &Arc<Self>,
        policy: &SandboxPolicy,
        readable: &[PathBuf],
        env: &[(String, String)],
        (locks, has_input): (&Path, bool),
    ) -> io::Result<(StageRole, Container)> {
        let boot = boot_id();
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        if number == 0 {
            let docker = Arc::clone(self);
            // Nothing waits for it.
            std::thread::spawn(move || docker.remove_abandoned());
        }
        let name = format!("co-{}-{}-{number}", boot.get(..8).unwrap_or(&boot), std::process::id());
        let mounts = ProtectiveMounts::of(policy)?;
        let points = mounts.make_points(locks)?;
        // Not in the folder for temporary files, which commands may write.
        let profile = locks.join("seccomp.json");
        create_private_dir(locks)?;
        write_atomic(&profile, seccomp_profile().to_string().as_bytes())?;
        let mut args: Vec<String> =
            ["run", "--rm", "--pull=never", "--name", &name].map(str::to_owned).into();
        args.extend(has_input.then(|| "-i".to_owned()));
        args.push(format!("--label={OWNER}={}", owner()));
        args.push(format!("--security-opt=seccomp={}", profile.display()));
        args.extend(self.arguments(policy, readable, &mounts)?);
        for (name, value) in env.iter().filter(|(name, _)| !OF_USER.contains(&name.as_str())) {
            // From the client's own environment: other users can read the arguments of a process.
            args.push(if self.is_of_client(name) {
                format!("--env={name}={value}")
            } else {
                format!("--env={name}")
            });
        }
        args.extend(["--env=HOME=/tmp", &self.options.image, "-c"].map(str::to_owned));
        let (client, parent) = (self.client.clone(), std::process::id());
        let role = StageRole::Container { parent, client, name: name.clone(), args };
        Ok((role, Container { docker: Arc::clone(self), name, points }))
    }

    /// Returns the environment of Docker's client for a command with this one.
    #[must_use]
    pub fn client_env(&self, env: &[(String, String)]) -> Vec<(String, String)> {
        let passed =
            env.iter().filter(|(name, _)| !OF_USER.contains(&name.as_str()) && !self.is_of_client(name));
        self.options.client_env.iter().chain(passed).cloned().collect()
    }

    /// Whether the client itself would follow a variable.
    fn is_of_client(&self, name: &str) -> bool {
        name.starts_with("DOCKER_")
            || name.starts_with("LD_")
            || self.options.client_env.iter().any(|(own, _)| own == name)
    }

    /// Runs Docker's client; returns what it printed, and whether it succeeded in time.
    fn ask(&self, args: &[&str]) -> io::Result<(String, bool)> {
        let program = Program {
            file: self.client.clone(),
            args: args.iter().map(OsString::from).collect(),
            cwd: "/".into(),
            env: self.options.client_env.clone(),
            input: None,
            errors: None,
        };
        run_to_end(&program, PATIENCE)
    }

    /// Returns what a container for a policy is made with.
    fn arguments(
        &self,
        policy: &SandboxPolicy,
        readable: &[PathBuf],
        mounts: &ProtectiveMounts,
    ) -> io::Result<Vec<String>> {
        // Docker's client reads mounts as lines.
        let plain = |path: &Path| path.to_str().is_some_and(|text| !text.contains(['\r', '\n']));
        if !plain(&policy.workspace) {
            return Err(io::Error::other("Docker cannot mount a folder with such a name; rename the folder"));
        }
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
        let mut args: Vec<String> = [
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
            "--tmpfs=/tmp:mode=1777".to_owned(),
            format!("--workdir={}", policy.workspace.display()),
        ]
        .into();
        let shared = policy.temporary.join("container");
        if !shared.is_dir() {
            fs::create_dir_all(&shared)?;
            // The folder around it is private; the user of the container may be another one.
            fs::set_permissions(&shared, std::os::unix::fs::PermissionsExt::from_mode(0o1777))?;
        }
        args.push(mount(&shared, Path::new(TEMPORARY), ""));
        let writable = policy.writes.iter().filter(|path| **path != policy.temporary);
        let readable = readable.iter().filter_map(|path| path.canonicalize().ok());
        let roots: BTreeMap<PathBuf, &str> = readable
            .chain([policy.workspace.clone()])
            .map(|path| (path, ",readonly"))
            .chain(writable.chain(&mounts.held).map(|path| (path.clone(), "")))
            .chain(mounts.read_only.iter().map(|path| (path.clone(), ",readonly")))
            .collect();
        args.extend(roots.iter().map(|(path, how)| mount(path, path, how)));
        for path in policy.hidden.iter().filter(|path| roots.keys().any(|root| path.starts_with(root))) {
            args.push(if path.is_dir() {
                format!("--mount=type=tmpfs,tmpfs-mode=0555,{}", mount_field("target", path))
            } else {
                mount(Path::new("/dev/null"), path, ",readonly")
            });
        }
        Ok(args)
    }

    /// Removes the containers of processes of this machine that are gone.
    fn remove_abandoned(&self) {
        let format = format!("{{{{.ID}}}} {{{{.Label \"{OWNER}\"}}}}");
        let listed = self.ask(&["ps", "-a", "--filter", &format!("label={OWNER}"), "--format", &format]);
        let Ok((listed, true)) = listed else { return };
        let is_gone = |owner: &str| {
            let (space, pid) = owner.rsplit_once(':')?;
            let pid = Pid::from_raw(pid.parse().ok()?)?;
            let gone = rustix::process::test_kill_process(pid) == Err(Errno::SRCH);
            Some(space == process_space() && gone)
        };
        for line in listed.lines() {
            if let Some((id, _)) = line.split_once(' ').filter(|(_, owner)| is_gone(owner) == Some(true)) {
                // It fails if the container ends by itself meanwhile.
                let _ = self.ask(&["rm", "-f", id]);
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

/// The sentence about a daemon that takes a request and does not answer it.
const SILENT: &str = "the Docker daemon does not answer; restart it";

/// Variables that say something about the user's machine; a container has its own.
const OF_USER: &[&str] = &["PATH", "HOME", "USER", "LOGNAME", "SHELL"];

fn mount(from: &Path, to: &Path, how: &str) -> String {
    format!("--mount=type=bind,{},{}{how}", mount_field("source", from), mount_field("target", to))
}

/// Returns a part of a mount's description, which is a line of comma-separated values.
fn mount_field(name: &str, path: &Path) -> String {
    let part = format!("{name}={}", path.display());
    if part.contains([',', '"', '\n']) { format!("\"{}\"", part.replace('"', "\"\"")) } else { part }
}

fn owner() -> String {
    format!("{}:{}", process_space(), std::process::id())
}

/// Names what process ids belong to: this boot, and this namespace.
fn process_space() -> String {
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{}:{}", boot_id(), namespace.display().to_string().replace([':', '[', ']'], ""))
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
