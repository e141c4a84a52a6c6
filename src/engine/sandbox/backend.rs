//! Chooses the backend of commands: the first that passes its self-test, or the one that was asked for, and none weaker.
//!
//! The self-test runs a command that tries to leave; its verdict is kept in a file, by kernel and program. A backend that
//! was asked for and is not available gives commands an error that says why, and isolates nothing. Called by the
//! composition root.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::policy::{DockerOptions, SandboxPaths};
use super::subprocess::{Launch, Subprocess};
use super::{Backend, Isolation, Sandbox};
use crate::config::SandboxChoice;

/// The facts that the backend is chosen by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxOptions {
    pub wanted: SandboxChoice,
    pub paths: SandboxPaths,
    /// This program; started as the stage of sandboxed commands. Absolute.
    pub helper: PathBuf,
    /// The file that keeps verdicts.
    pub verdicts: PathBuf,
    pub docker: DockerOptions,
}

/// A chosen sandbox.
#[derive(Clone)]
pub struct SandboxSelection {
    pub sandbox: Arc<dyn Sandbox>,
    /// Remarks on the choice, for people: why a better backend is not used, with the remedy. Empty if there are none.
    pub remarks: Vec<String>,
}

/// Chooses a sandbox. Blocking: without a kept verdict it runs self-tests of at most a second each.
#[must_use]
pub fn choose(options: &SandboxOptions) -> SandboxSelection {
    let order: &[Backend] = match options.wanted {
        SandboxChoice::Auto => &[Backend::Bubblewrap, Backend::Landlock],
        SandboxChoice::Bubblewrap => &[Backend::Bubblewrap],
        SandboxChoice::Landlock => &[Backend::Landlock],
        SandboxChoice::Docker => &[Backend::Docker],
        SandboxChoice::Nothing => &[],
    };
    let mut remarks = Vec::new();
    for backend in order {
        match available(*backend, options) {
            Ok(sandbox) => return SandboxSelection { sandbox: Arc::new(sandbox), remarks },
            Err(why) => remarks.push(format!("{}: {why}", backend.word())),
        }
    }
    let sandbox = match options.wanted {
        SandboxChoice::Auto | SandboxChoice::Nothing => Subprocess::plain(),
        SandboxChoice::Bubblewrap | SandboxChoice::Landlock | SandboxChoice::Docker => {
            let why = format!(
                "the sandbox that `sandbox.backend` names cannot be used here ({}); fix that, or set it to auto or none",
                remarks.join("; ")
            );
            Subprocess::new(Launch::Unavailable(why), Isolation::NONE)
        }
    };
    SandboxSelection { sandbox: Arc::new(sandbox), remarks }
}

#[cfg(not(target_os = "linux"))]
fn available(_backend: Backend, _options: &SandboxOptions) -> Result<Subprocess, String> {
    Err("works on Linux only".to_owned())
}

#[cfg(target_os = "linux")]
fn available(backend: Backend, options: &SandboxOptions) -> Result<Subprocess, String> {
    linux::available(backend, options)
}

/// Returns a file's length and time of change, which tell whether it is still the same program.
fn stamp(path: &Path) -> Option<String> {
    let found = std::fs::metadata(path).ok()?;
    let changed = found.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(format!("{} {} {}", path.display(), found.len(), changed.as_nanos()))
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::path::{Path, PathBuf};
    use std::process::Stdio;
    use std::sync::Arc;
    use std::time::Duration;

    use super::super::child::run_to_end;
    use super::super::docker::Docker;
    use super::super::subprocess::{Launch, StageSetup, Subprocess};
    use super::super::{Backend, Command, Confinement, Hold, Isolation};
    use super::{SandboxOptions, stamp};
    use crate::stdx::fs::write_atomic;

    /// Where bubblewrap is looked for. Never on `PATH`, which a project's tools may have changed.
    const BUBBLEWRAP: [&str; 3] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];

    /// The same for the client of Docker.
    const DOCKER: [&str; 2] = ["/usr/bin/docker", "/usr/local/bin/docker"];

    /// The oldest version of bubblewrap that has every option in use.
    const OLDEST: (u32, u32) = (0, 4);

    /// The time for a self-test.
    const TRIAL: Duration = Duration::from_secs(5);

    /// The attempts of a self-test. `OUTSIDE` names a file outside of the policy; a private folder may have the same
    /// name, so that only that file tells whether it was written.
    const SCRIPT: &str = "\
        cat \"$OUTSIDE\" 2>/dev/null && echo READ; \
        (echo x >\"$OUTSIDE.new\") 2>/dev/null; \
        echo x >here && rm here && echo HERE; \
        while read -r name value; do case $name in \
        NoNewPrivs: | Seccomp: | CapEff:) echo \"$name$value\" ;; \
        esac; done </proc/self/status";

    /// The output of a self-test that was held.
    const HELD: &str = "HERE\nCapEff:0000000000000000\nNoNewPrivs:1\nSeccomp:2\n";

    pub(super) fn available(backend: Backend, options: &SandboxOptions) -> Result<Subprocess, String> {
        let locks = options.verdicts.with_extension("locks");
        let place = Arc::new(StageSetup::new(options.helper.clone(), options.paths.clone(), locks));
        let (launch, isolation, program) = match backend {
            Backend::None => return Ok(Subprocess::plain()),
            Backend::Landlock => (Launch::Landlock(place), LANDLOCK, None),
            Backend::Bubblewrap => {
                let program = system_program(&BUBBLEWRAP, "bubblewrap")?;
                (Launch::Bubblewrap(place, program.clone()), Isolation::FULL, Some(program))
            }
            Backend::Docker => {
                let program = system_program(&DOCKER, "docker")?;
                let docker = Arc::new(Docker::new(program.clone(), options.docker.clone()));
                (Launch::Docker(place, docker), Isolation { backend, ..Isolation::FULL }, Some(program))
            }
        };
        let subprocess = Subprocess::new(launch, isolation);
        let kept = Verdicts::read(&options.verdicts);
        let mut key = key(backend, &options.helper, program.as_deref());
        if let Launch::Docker(_, docker) = subprocess.launch() {
            key = format!("{key} {}", docker.image()?);
        }
        if kept.passed(backend, &key) {
            return Ok(subprocess);
        }
        if let (Backend::Bubblewrap, Some(program)) = (backend, &program) {
            let version = std::process::Command::new(program)
                .arg("--version")
                .env_clear()
                .stdin(Stdio::null())
                .output();
            let version =
                version.map_err(|error| format!("{} does not start: {error}", program.display()))?;
            recent(program, &String::from_utf8_lossy(&version.stdout))?;
        }
        self_test(&subprocess)?;
        kept.keep(backend, key, &options.verdicts);
        Ok(subprocess)
    }

    /// The limits of Landlock: it grants, and can take nothing out of a writable folder.
    const LANDLOCK: Isolation = Isolation {
        backend: Backend::Landlock,
        protected: Hold::NotHeld,
        metadata: Hold::NotHeld,
        ..Isolation::FULL
    };

    /// Returns the first of these files that exists, if it can be relied on.
    fn system_program(places: &[&str], package: &str) -> Result<PathBuf, String> {
        match places.iter().map(Path::new).find(|path| path.exists()) {
            Some(path) => reliable(path, package).map(|()| path.to_owned()),
            None => Err(format!("not installed; install the package {package}")),
        }
    }

    /// Checks that a file is a program of the system, without starting it.
    fn reliable(path: &Path, package: &str) -> Result<(), String> {
        let found = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let shown = path.display();
        if found.permissions().mode() & 0o6000 != 0 {
            return Err(format!(
                "{shown} runs as root (setuid), which is not relied on; remove that bit with chmod u-s"
            ));
        }
        if found.uid() != 0 || found.permissions().mode() & 0o022 != 0 {
            return Err(format!("{shown} can be changed by others than root"));
        }
        let mut magic = [0; 4];
        let read = fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut magic));
        if read.is_err() || magic != *b"\x7fELF" {
            return Err(format!("{shown} is not a system program; reinstall the package {package}"));
        }
        Ok(())
    }

    /// Checks a bubblewrap by what it says of its version.
    fn recent(path: &Path, version: &str) -> Result<(), String> {
        let number = version.split_ascii_whitespace().last().and_then(|word| {
            let (major, rest) = word.split_once('.')?;
            Some((major.parse().ok()?, rest.split('.').next()?.parse().ok()?))
        });
        match number {
            Some(number) if number >= OLDEST => Ok(()),
            Some(_) | None => {
                Err(format!("{} is too old ({}); 0.4 is needed", path.display(), version.trim()))
            }
        }
    }

    fn self_test(sandbox: &Subprocess) -> Result<(), String> {
        let trial = tempfile::tempdir().map_err(|error| format!("no folder for the self-test: {error}"))?;
        let (inside, outside) = (trial.path().join("inside"), trial.path().join("outside"));
        fs::create_dir(&inside)
            .and_then(|()| fs::write(&outside, "outside\n"))
            .map_err(|error| format!("no folder for the self-test: {error}"))?;
        let command = Command {
            script: SCRIPT.to_owned(),
            cwd: inside.canonicalize().unwrap_or(inside),
            env: vec![
                ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
                ("OUTSIDE".to_owned(), outside.display().to_string()),
            ],
            timeout: TRIAL,
            confinement: Confinement::Workspace,
            ..Command::default()
        };
        let (program, _points) = sandbox.program(&command).map_err(|error| error.to_string())?;
        let (output, ended) = run_to_end(&program, TRIAL).map_err(|error| error.to_string())?;
        if outside.with_extension("new").exists() {
            return Err("its self-test could write outside".to_owned());
        }
        if ended && output == HELD {
            return Ok(());
        }
        let shown = output.lines().next().unwrap_or("it printed nothing");
        Err(format!("its self-test failed: {shown}"))
    }

    /// Tells whether a verdict still counts.
    fn key(backend: Backend, helper: &Path, program: Option<&Path>) -> String {
        let kernel = rustix::system::uname();
        let (release, version) = (kernel.release().to_string_lossy(), kernel.version().to_string_lossy());
        let stamps =
            [Some(helper), program].into_iter().flatten().map(|path| stamp(path).unwrap_or_default());
        let stamps: Vec<String> = stamps.collect();
        let user = rustix::process::getuid().as_raw();
        format!("{} {release} {version} {user} {}", backend.word(), stamps.join(" "))
    }

    /// The verdicts that were kept: what passed, by backend.
    struct Verdicts(BTreeMap<String, String>);

    impl Verdicts {
        fn read(file: &Path) -> Self {
            let text = fs::read(file).unwrap_or_default();
            Self(serde_json::from_slice(&text).unwrap_or_default())
        }

        fn passed(&self, backend: Backend, key: &str) -> bool {
            self.0.get(backend.word()).is_some_and(|kept| kept == key)
        }

        /// Keeps a verdict. Without it the test is only run again.
        fn keep(mut self, backend: Backend, key: String, file: &Path) {
            self.0.insert(backend.word().to_owned(), key);
            if let Ok(text) = serde_json::to_vec(&self.0) {
                let _ = write_atomic(file, &text);
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn only_a_bubblewrap_of_the_system_is_relied_on() {
            let folder = tempfile::tempdir().unwrap();
            let file = |name: &str, bytes: &[u8], mode| {
                let path = folder.path().join(name);
                fs::write(&path, bytes).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
                reliable(&path, "bubblewrap").map_err(|why| why.replace(&path.display().to_string(), "bwrap"))
            };
            let elf = b"\x7fELF\x02";
            let root = rustix::process::getuid().is_root();
            let changeable = "bwrap can be changed by others than root";
            let script = "bwrap is not a system program; reinstall the package bubblewrap";
            let setuid =
                "bwrap runs as root (setuid), which is not relied on; remove that bit with chmod u-s";
            assert_eq!(file("a", elf, 0o4755), Err(setuid.to_owned()));
            assert_eq!(file("b", elf, 0o777), Err(changeable.to_owned()));
            assert_eq!(
                file("c", b"#!/bin/sh\n", 0o755),
                Err(if root { script } else { changeable }.to_owned())
            );
            assert_eq!(file("d", elf, 0o755), if root { Ok(()) } else { Err(changeable.to_owned()) });
            let old = |version: &str| Err(format!("/bwrap is too old ({version}); 0.4 is needed"));
            for (version, expected) in [
                ("bubblewrap 0.3.3\n", old("bubblewrap 0.3.3")),
                ("bubblewrap 0.4.0\n", Ok(())),
                ("bubblewrap 1.0\n", Ok(())),
                ("what?", old("what?")),
                ("", old("")),
            ] {
                assert_eq!(recent(Path::new("/bwrap"), version), expected, "{version}");
            }
        }
    }
}
