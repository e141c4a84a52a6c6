//! Makes every attempt in a backend, and without one as the control.

use std::fs;
use std::io::Read as _;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode, Stdio};
use std::time::{Duration, Instant, SystemTime};

use co_engine::config::{ContainerNetwork, SandboxChoice};
use co_engine::sandbox::backend::{SandboxOptions, choose};
use co_engine::sandbox::env::docker_client_env;
use co_engine::sandbox::policy::{DockerOptions, SandboxPaths};
use co_engine::sandbox::{Backend, Command, Confinement, ExecEvent, Sandbox};
use futures::StreamExt as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tokio_util::sync::CancellationToken;

/// The time for one attempt.
const LIMIT: Duration = Duration::from_secs(20);

/// The time after which what should have ended is still there.
const PATIENCE: Duration = Duration::from_secs(4);

/// The content of a file outside, which no attempt should print.
const SECRET: &str = "the-secret-outside";

/// An attempt: its name, the confinement, the command, and what happened outside if it was not held.
struct Attempt {
    name: &'static str,
    confinement: Confinement,
    script: fn(&Scene) -> String,
    happened: fn(&mut Scene, &str) -> bool,
}

/// A workspace, what lies outside of it, and who listens there.
struct Scene {
    _root: tempfile::TempDir,
    work: PathBuf,
    outside: PathBuf,
    own: PathBuf,
    victim: Child,
    tcp: TcpListener,
    udp: UdpSocket,
    unix: UnixListener,
    /// Inside of the workspace.
    near: UnixListener,
    datagram: UnixDatagram,
    hidden: UnixListener,
    hidden_name: String,
    /// Unlikely seconds, to find a process by.
    token: String,
}

impl Scene {
    fn new() -> Self {
        // Not in the folder for temporary files: bubblewrap shows another one there.
        let root = tempfile::Builder::new().prefix("co-probe-").tempdir_in(parent()).expect("a folder");
        let path = root.path().canonicalize().expect("a folder that exists");
        let (work, outside, own) = (path.join("work"), path.join("outside"), path.join("own"));
        for folder in [&work, &outside, &own, &work.join(".git"), &work.join(".git/hooks")] {
            fs::create_dir(folder).expect("a folder");
        }
        for file in ["a", "secret", "mode", "time", "short", "linked"] {
            fs::write(outside.join(file), SECRET).expect("a file");
        }
        fs::write(own.join("key"), SECRET).expect("a file");
        fs::write(work.join(".git/config"), "[core]\n").expect("a file");
        fs::copy(std::env::current_exe().expect("this program"), work.join("probe")).expect("a copy");
        let unix = UnixListener::bind(outside.join("socket")).expect("a socket");
        let near = UnixListener::bind(work.join("socket")).expect("a socket");
        let datagram = UnixDatagram::bind(outside.join("datagram")).expect("a socket");
        let nanos = SystemTime::UNIX_EPOCH.elapsed().expect("a clock").subsec_nanos();
        let hidden_name = format!("co-probe-{}-{nanos}", std::process::id());
        let address = SocketAddr::from_abstract_name(&hidden_name).expect("a name");
        let hidden = UnixListener::bind_addr(&address).expect("a socket");
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
        for nonblocking in [tcp.set_nonblocking(true), udp.set_nonblocking(true), unix.set_nonblocking(true)]
        {
            nonblocking.expect("a socket that does not block");
        }
        near.set_nonblocking(true).expect("a socket that does not block");
        datagram.set_nonblocking(true).expect("a socket that does not block");
        hidden.set_nonblocking(true).expect("a socket that does not block");
        let victim = std::process::Command::new("sleep").arg("600").spawn().expect("sleep");
        let token = format!("{}.{nanos:09}", 100_000 + std::process::id() % 1_000);
        Self {
            _root: root,
            work,
            outside,
            own,
            victim,
            tcp,
            udp,
            unix,
            near,
            datagram,
            hidden,
            hidden_name,
            token,
        }
    }

    fn says(&self, file: &str) -> String {
        fs::read_to_string(self.outside.join(file)).unwrap_or_default()
    }

    /// Whether the process that was to be left behind still runs after a while.
    fn left(&self) -> bool {
        let end = Instant::now() + PATIENCE;
        !self.leftovers().into_iter().all(|pid| ends(pid, end.saturating_duration_since(Instant::now())))
    }

    fn leftovers(&self) -> Vec<i32> {
        let is_one = |pid: &i32| {
            fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| {
                line.starts_with(b"sleep\0") && String::from_utf8_lossy(&line).contains(&self.token)
            })
        };
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_one).collect()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        for pid in self.leftovers() {
            let _ = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
    }
}

/// Whether a process ends within this time.
fn ends(pid: i32, limit: Duration) -> bool {
    let Some(pid) = Pid::from_raw(pid) else { return true };
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return true };
    let limit = Timespec::try_from(limit).expect("a few seconds");
    poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&limit)).is_ok_and(|ready| ready > 0)
}

fn parent() -> PathBuf {
    let shared = Path::new("/var/tmp");
    if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() }
}

/// Returns the command line of an attempt.
fn try_it(name: &str, args: &[&str]) -> String {
    let args: String = args.iter().map(|arg| format!(" '{arg}'")).collect();
    format!("./probe try {name}{args}")
}

fn outside(scene: &Scene, name: &str, file: &str) -> String {
    try_it(name, &[&scene.outside.join(file).display().to_string()])
}

fn of_co(name: &str, file: &str) -> String {
    try_it(name, &[&format!("/proc/{}/{file}", std::process::id())])
}

const WRITE: Confinement = Confinement::Workspace;
const READ: Confinement = Confinement::ReadOnly;

#[rustfmt::skip]
const ATTEMPTS: &[Attempt] = &[
    Attempt { name: "write a file outside", confinement: WRITE, script: |s| outside(s, "write", "new"),
        happened: |s, _| s.outside.join("new").exists() },
    Attempt { name: "rename a file outside", confinement: WRITE,
        script: |s| try_it("rename", &[&s.outside.join("a").display().to_string(), &s.outside.join("b").display().to_string()]),
        happened: |s, _| s.outside.join("b").exists() },
    Attempt { name: "link a file outside into the workspace", confinement: WRITE,
        script: |s| try_it("link", &[&s.outside.join("linked").display().to_string(), "x"]),
        happened: |s, _| s.says("linked") == "linked" },
    Attempt { name: "truncate a file outside", confinement: WRITE, script: |s| outside(s, "truncate", "short"),
        happened: |s, _| s.says("short").is_empty() },
    Attempt { name: "write through exchanged links", confinement: WRITE,
        script: |s| try_it("through-link", &["link", &s.outside.join("raced").display().to_string()]),
        happened: |s, _| s.outside.join("raced").exists() },
    Attempt { name: "chmod outside", confinement: WRITE, script: |s| outside(s, "chmod", "mode"),
        happened: |s, _| mode(&s.outside.join("mode")) == 0o777 },
    Attempt { name: "chmod outside, read-only command", confinement: READ, script: |s| outside(s, "chmod", "mode"),
        happened: |s, _| mode(&s.outside.join("mode")) == 0o777 },
    Attempt { name: "change times outside", confinement: WRITE, script: |s| outside(s, "utimes", "time"),
        happened: |s, _| is_old(&s.outside.join("time")) },
    Attempt { name: "change times outside, read-only command", confinement: READ, script: |s| outside(s, "utimes", "time"),
        happened: |s, _| is_old(&s.outside.join("time")) },
    Attempt { name: "write in the workspace, read-only command", confinement: READ, script: |_| try_it("write", &["new"]),
        happened: |s, _| s.work.join("new").exists() },
    Attempt { name: "write .git/config", confinement: WRITE, script: |_| try_it("write", &[".git/config"]),
        happened: |s, _| fs::read_to_string(s.work.join(".git/config")).is_ok_and(|text| text == "x") },
    Attempt { name: "make a hook of git", confinement: WRITE, script: |_| try_it("write", &[".git/hooks/pre-commit"]),
        happened: |s, _| s.work.join(".git/hooks/pre-commit").exists() },
    Attempt { name: "redirect .git by commondir", confinement: WRITE, script: |_| "echo evil >.git/commondir".to_owned(),
        happened: |s, _| fs::read_to_string(s.work.join(".git/commondir")).is_ok_and(|text| text == "evil\n") },
    Attempt { name: "replace .git", confinement: WRITE, script: |_| try_it("rename", &[".git", "old"]),
        happened: |s, _| s.work.join("old").exists() },
    Attempt { name: "make settings of co", confinement: WRITE, script: |_| "mkdir -p .co; echo x >.co/config.toml".to_owned(),
        happened: |s, _| s.work.join(".co/config.toml").exists() },
    Attempt { name: "read a file outside", confinement: WRITE, script: |s| outside(s, "read", "secret"),
        happened: |_, output| output.contains(SECRET) },
    Attempt { name: "read the folders of co", confinement: WRITE,
        script: |s| try_it("read", &[&s.own.join("key").display().to_string()]),
        happened: |_, output| output.contains(SECRET) },
    Attempt { name: "read the environment of co", confinement: WRITE, script: |_| of_co("read", "environ"),
        happened: |_, output| output.contains("CO_PROBE_SECRET=") },
    Attempt { name: "read the memory map of co", confinement: WRITE, script: |_| of_co("read", "maps"),
        happened: |_, output| output.contains("co-probe") || output.contains("/probe") },
    Attempt { name: "read the memory of co", confinement: WRITE, script: |_| try_it("memory", &[&std::process::id().to_string()]),
        happened: |_, output| output == "read" },
    Attempt { name: "connect by TCP", confinement: WRITE,
        script: |s| try_it("tcp", &[&s.tcp.local_addr().expect("an address").to_string()]),
        happened: |s, _| s.tcp.accept().is_ok() },
    Attempt { name: "send by UDP", confinement: WRITE,
        script: |s| try_it("udp", &[&s.udp.local_addr().expect("an address").to_string()]),
        happened: |s, _| s.udp.recv(&mut [0; 8]).is_ok() },
    Attempt { name: "connect to a unix socket outside", confinement: WRITE, script: |s| outside(s, "unix", "socket"),
        happened: |s, _| s.unix.accept().is_ok() },
    Attempt { name: "connect to a unix socket, network allowed", confinement: Confinement::Network, script: |s| outside(s, "unix", "socket"),
        happened: |s, _| s.unix.accept().is_ok() },
    Attempt { name: "send to a unix socket outside", confinement: WRITE, script: |s| outside(s, "unix-datagram", "datagram"),
        happened: |s, _| s.datagram.recv(&mut [0; 8]).is_ok() },
    Attempt { name: "send from a pair of sockets", confinement: WRITE, script: |s| outside(s, "pair-datagram", "datagram"),
        happened: |s, _| s.datagram.recv(&mut [0; 8]).is_ok() },
    Attempt { name: "connect to an abstract unix socket", confinement: WRITE, script: |s| try_it("abstract", &[&s.hidden_name]),
        happened: |s, _| s.hidden.accept().is_ok() },
    Attempt { name: "connect to an abstract one, network allowed", confinement: Confinement::Network,
        script: |s| try_it("abstract", &[&s.hidden_name]), happened: |s, _| s.hidden.accept().is_ok() },
    Attempt { name: "connect to a unix socket in the workspace", confinement: WRITE, script: |_| try_it("unix", &["socket"]),
        happened: |s, _| s.near.accept().is_ok() },
    Attempt { name: "open a kernel setting for writing", confinement: WRITE,
        script: |_| "(: >>/proc/sys/kernel/core_pattern) 2>/dev/null && echo opened".to_owned(),
        happened: |_, output| output.contains("opened") },
    Attempt { name: "limit another process", confinement: WRITE,
        script: |s| format!("prlimit --pid {} --core=0:0 2>/dev/null && echo limited", s.victim.id()),
        happened: |_, output| output.contains("limited") },
    Attempt { name: "signal another process", confinement: WRITE, script: |s| try_it("signal", &[&s.victim.id().to_string()]),
        happened: |s, _| ends(s.victim.id().cast_signed(), Duration::from_millis(300)) },
    Attempt { name: "trace another process", confinement: WRITE, script: |s| try_it("ptrace", &[&s.victim.id().to_string()]),
        happened: |_, output| output == "seized" },
    Attempt { name: "read another process (process_vm_readv)", confinement: WRITE, script: |s| try_it("process-vm", &[&s.victim.id().to_string()]),
        happened: |_, output| output == "read" },
    Attempt { name: "use io_uring", confinement: WRITE, script: |_| try_it("io-uring", &[]), happened: |_, output| output == "made" },
    Attempt { name: "make a user namespace", confinement: WRITE, script: |_| try_it("user-namespace", &[]), happened: |_, output| output == "made" },
    Attempt { name: "join a keyring", confinement: WRITE, script: |_| try_it("keyring", &[]), happened: |_, output| output == "joined" },
    Attempt { name: "type into a terminal (TIOCSTI)", confinement: WRITE, script: |_| try_it("terminal", &[]), happened: |_, output| output == "typed" },
    Attempt { name: "leave a process behind", confinement: WRITE, script: |s| try_it("escape", &[&s.token]),
        happened: |s, _| s.left() },
];

fn mode(path: &Path) -> u32 {
    fs::metadata(path).map_or(0, |found| found.permissions().mode() & 0o777)
}

fn is_old(path: &Path) -> bool {
    let changed = fs::metadata(path).and_then(|found| found.modified());
    changed.is_ok_and(|changed| changed == SystemTime::UNIX_EPOCH + Duration::from_secs(1))
}

/// Returns the backend of this name, with `co`'s own folder; `Err` says why it is not available.
fn sandbox(
    helper: &Path,
    backend: &str,
    own: &Path,
    verdicts: &Path,
) -> Result<std::sync::Arc<dyn Sandbox>, String> {
    let (choice, wanted) = match backend {
        "bubblewrap" => (SandboxChoice::Bubblewrap, Backend::Bubblewrap),
        "landlock" => (SandboxChoice::Landlock, Backend::Landlock),
        "docker" => (SandboxChoice::Docker, Backend::Docker),
        _ => (SandboxChoice::Nothing, Backend::None),
    };
    let paths = SandboxPaths { own: vec![own.to_owned()], ..SandboxPaths::default() };
    let verdicts = verdicts.join("verdicts");
    let chosen = choose(&SandboxOptions {
        wanted: choice,
        paths,
        helper: helper.to_owned(),
        verdicts,
        docker: DockerOptions {
            image: std::env::var("CO_SANDBOX_IMAGE").unwrap_or_default(),
            network: ContainerNetwork::None,
            memory: "512m".to_owned(),
            cpus: 1,
            client_env: docker_client_env(&std::env::vars().collect()),
        },
    });
    if chosen.sandbox.isolation().backend == wanted {
        Ok(chosen.sandbox)
    } else {
        Err(chosen.remarks.join("; "))
    }
}

/// Runs a command to its end; returns its output.
async fn output(sandbox: &dyn Sandbox, command: Command) -> String {
    let mut events = sandbox.spawn(command, CancellationToken::new());
    let mut text = Vec::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(ExecEvent::Output(bytes)) => text.extend(bytes),
            Ok(ExecEvent::Survivors { .. } | ExecEvent::Exited(_)) => {}
            Err(error) => text.extend(error.to_string().into_bytes()),
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn command(folder: &Path, script: String, confinement: Confinement) -> Command {
    let env = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
    Command {
        script,
        cwd: folder.to_owned(),
        env,
        timeout: LIMIT,
        confinement,
        input: None,
        errors: None,
        unlimited: Default::default(),
    }
}

/// Makes all attempts in a backend. Prints `NAME<tab>VERDICT` for each.
pub fn run(helper: &Path, backend: &str) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let verdicts = tempfile::tempdir().expect("a folder");
    runtime.block_on(async {
        for attempt in ATTEMPTS {
            let mut happened = [false; 2];
            for (at, backend) in ["none", backend].into_iter().enumerate() {
                let mut scene = Scene::new();
                let sandbox = match sandbox(helper, backend, &scene.own, verdicts.path()) {
                    Ok(sandbox) => sandbox,
                    Err(why) => {
                        eprintln!("{backend} is not available: {why}");
                        return ExitCode::FAILURE;
                    }
                };
                let script = (attempt.script)(&scene);
                let said = output(&*sandbox, command(&scene.work, script, attempt.confinement)).await;
                happened[at] = (attempt.happened)(&mut scene, &said);
            }
            println!("{}\t{}", attempt.name, verdict(happened));
        }
        println!(
            "leave a process behind when co is killed\t{}",
            verdict([killed(helper, "none"), killed(helper, backend)])
        );
        ExitCode::SUCCESS
    })
}

fn verdict(happened: [bool; 2]) -> &'static str {
    match happened {
        [false, _] => "not run",
        [true, false] => "held",
        [true, true] => "not held",
    }
}

/// Kills the process that started a command; returns whether what the command left behind still runs.
fn killed(helper: &Path, backend: &str) -> bool {
    let scene = Scene::new();
    let this = std::env::current_exe().expect("this program");
    let script = format!("./probe try escape {}; echo; sleep 60", scene.token);
    let mut holder = std::process::Command::new(this)
        .args([
            "hold".as_ref(),
            helper.as_os_str(),
            backend.as_ref(),
            scene.work.as_os_str(),
            script.as_ref(),
        ])
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process that holds the command");
    // Its first output says that the process was left behind.
    let _ = holder.stdout.as_mut().map(|pipe| pipe.read(&mut [0; 1]));
    let _ = holder.kill();
    let _ = holder.wait();
    scene.left()
}

/// Runs a command in a folder until it ends, and prints its output.
pub fn hold(helper: &Path, backend: &str, folder: &Path, script: &str) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let own = folder.with_file_name("own");
        let Ok(sandbox) = sandbox(helper, backend, &own, &own) else {
            return ExitCode::FAILURE;
        };
        let command = command(folder, script.to_owned(), WRITE);
        let mut events = sandbox.spawn(command, CancellationToken::new());
        while let Some(event) = events.next().await {
            if let Ok(ExecEvent::Output(_)) = event {
                println!();
            }
        }
        ExitCode::SUCCESS
    })
}
