//! The paths that a sandboxed command may read and write, as data.
//!
//! Reading is allowed by a list: the system, the tools on `PATH`, caches that builds need, the workspace, and what the
//! user added. Everything else is unreadable, so that places of credentials need no list of their own; only what lies
//! inside an allowed folder is hidden by name. Built for each command, from what exists at that moment. Blocking.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Confinement;
use crate::config::ContainerNetwork;
use crate::stdx::secret_files::may_hold_secrets;

/// Folders of the system that every command may read.
pub(super) const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/sys"];

/// Files of the system that hold passwords and private keys, inside [`SYSTEM`].
const SYSTEM_HIDDEN: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/NetworkManager",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/krb5.keytab",
];

/// Parts of the home folder that tools need: toolchains, caches of packages, settings of git.
const HOME: &[&str] = &[
    ".cargo",
    ".rustup",
    ".pyenv",
    ".rbenv",
    ".nvm",
    ".volta",
    ".asdf",
    ".bun",
    ".deno",
    ".sdkman",
    ".jenv",
    ".ghcup",
    ".nix-profile",
    ".npm/_cacache",
    ".m2/repository",
    ".m2/wrapper",
    ".gradle/caches",
    ".gradle/wrapper",
    ".ivy2",
    "go/pkg",
    "go/bin",
    ".local/bin",
    ".local/lib",
    ".local/share/mise",
    ".local/share/uv",
    ".local/share/pnpm",
    ".local/share/fnm",
    ".gitconfig",
    ".config/git/config",
    ".config/git/ignore",
    ".config/git/attributes",
    ".terminfo",
];

/// Files with keys inside [`HOME`].
const HOME_HIDDEN: &[&str] = &[".cargo/credentials", ".cargo/credentials.toml", ".deno/credentials.json"];

/// Places of credentials further below a home folder.
const CREDENTIALS: &[&str] = &[
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".config/rclone",
    ".local/share/keyrings",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
];

/// Paths inside `.git` that name programs, or lead git to other settings.
const GIT_PROTECTED: &[&str] = &["hooks", "config", "config.worktree", "info", "commondir"];

/// The maximum size of one file that a command writes, in bytes.
const LARGEST_FILE: u64 = 8 * 1024 * 1024 * 1024;

/// The maximum number of processes and threads of a command.
const MOST_PROCESSES: usize = 1_024;

/// The facts that the policy of every command is made from; known once the program started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SandboxPaths {
    /// The user's home folder. Absolute.
    pub home: Option<PathBuf>,
    /// The folders of `PATH`.
    pub path: Vec<PathBuf>,
    /// The user's additions to the readable roots. Absolute.
    pub reads: Vec<PathBuf>,
    /// Folders of `co` itself: settings, rules, hooks, keys, data. Absolute.
    pub own: Vec<PathBuf>,
}

/// Settings that containers are made with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DockerOptions {
    pub image: String,
    pub network: ContainerNetwork,
    /// As Docker writes it.
    pub memory: String,
    pub cpus: u32,
    /// The environment of Docker's own client, which says where its daemon is.
    pub client_env: Vec<(String, String)>,
}

/// The permissions of one command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPolicy {
    pub confinement: Confinement,
    /// The folder of the command. Absolute.
    pub workspace: PathBuf,
    /// Readable and executable.
    pub reads: Vec<PathBuf>,
    /// Writable as well.
    pub writes: Vec<PathBuf>,
    /// Inside `writes`: readable, and neither written nor replaced. They need not exist.
    pub protected: Vec<PathBuf>,
    /// Inside `reads` and `writes`: unreadable.
    pub hidden: Vec<PathBuf>,
    /// The command's folder for temporary files; writable.
    pub temporary: PathBuf,
    pub limits: Limits,
}

/// Bounds of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of one file that it writes.
    pub file_bytes: u64,
    /// Its processes and threads.
    pub processes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { file_bytes: LARGEST_FILE, processes: MOST_PROCESSES }
    }
}

impl SandboxPolicy {
    /// Returns the policy of a command in this folder.
    #[must_use]
    pub fn new(
        confinement: Confinement,
        workspace: &Path,
        temporary: &Path,
        paths: &SandboxPaths,
    ) -> SandboxPolicy {
        let mut reads: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        let mut hidden: Vec<PathBuf> = SYSTEM_HIDDEN.iter().map(PathBuf::from).collect();
        reads.extend(paths.path.iter().filter_map(|folder| tool_root(folder, paths.home.as_deref())));
        if let Some(home) = &paths.home {
            reads.extend(HOME.iter().map(|part| home.join(part)));
            hidden.extend(HOME_HIDDEN.iter().map(|part| home.join(part)));
            if home.starts_with(workspace) {
                hidden.extend(credentials(home));
            }
        }
        reads.extend(paths.reads.iter().cloned());
        reads.push(workspace.to_owned());
        let mut writes = vec![temporary.to_owned()];
        let mut protected = Vec::new();
        let dot = workspace.join(".git");
        match confinement {
            Confinement::ReadOnly => {}
            Confinement::Workspace | Confinement::Network | Confinement::Unsandboxed => {
                let git = git_folders(workspace);
                writes.push(workspace.to_owned());
                writes.extend(git.iter().cloned());
                protected.extend(git.iter().flat_map(|folder| protected_of(folder)));
                protected.push(workspace.join(".co"));
                // A file; a link, which a backend refuses; nothing, or a folder that is no repository yet, as one that was
                // made to be mounted over: a command could make one that names programs.
                if !is_repository(&dot) {
                    protected.push(dot);
                }
            }
        }
        // The folders of `co` hold keys; a workspace inside one of them is the user's own choice.
        hidden.extend(paths.own.iter().filter(|own| !workspace.starts_with(own)).cloned());
        [&mut reads, &mut writes, &mut hidden].into_iter().for_each(keep_existing);
        let limits = Limits::default();
        let (workspace, temporary) = (workspace.to_owned(), temporary.to_owned());
        SandboxPolicy { confinement, workspace, reads, writes, protected, hidden, temporary, limits }
    }

    /// Whether the command may use the network.
    #[must_use]
    pub fn has_network(&self) -> bool {
        match self.confinement {
            Confinement::ReadOnly | Confinement::Workspace => false,
            Confinement::Network | Confinement::Unsandboxed => true,
        }
    }
}

/// Returns the places of credentials in a home folder that is readable as a whole.
fn credentials(home: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(home).into_iter().flatten().flatten();
    let secret = entries.filter(|entry| may_hold_secrets(&entry.file_name().to_string_lossy()));
    let inner = CREDENTIALS.iter().map(|part| home.join(part));
    secret.map(|entry| entry.path()).chain(inner).collect()
}

/// Keeps what exists, with links resolved, each once, and nothing that lies in another.
fn keep_existing(paths: &mut Vec<PathBuf>) {
    let mut found: Vec<PathBuf> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
    found.sort();
    found.dedup_by(|later, kept| later.starts_with(&*kept));
    *paths = found;
}

/// Returns what a folder of `PATH` needs to be readable: for `X/bin` all of X, in the home folder `X/bin` alone.
fn tool_root(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    if !folder.is_absolute() {
        return None;
    }
    let is_wide = |root: &Path| root.parent().is_none() || home.is_some_and(|home| home.starts_with(root));
    let root = folder.parent().filter(|root| !is_wide(root));
    match folder.file_name().and_then(|name| name.to_str()) {
        // In the home folder a tool's folder may hold its keys as well.
        _ if home.is_some_and(|home| folder.starts_with(home)) => {
            (!is_wide(folder)).then(|| folder.to_owned())
        }
        Some("bin" | "sbin" | "shims") => Some(root.unwrap_or(folder).to_owned()),
        Some(_) if !is_wide(folder) => Some(folder.to_owned()),
        Some(_) | None => None,
    }
}

/// Whether git takes a `.git` for a repository.
fn is_repository(dot: &Path) -> bool {
    std::fs::symlink_metadata(dot).is_ok_and(|found| found.is_dir()) && dot.join("HEAD").exists()
}

/// Returns the folders of git that belong to a workspace: `.git` itself, or of a linked worktree the repository's folder
/// and its own. What a repository contains cannot name any other: the folders must lie in each other as git makes them,
/// and the worktree's must name the workspace.
fn git_folders(workspace: &Path) -> Vec<PathBuf> {
    let dot = workspace.join(".git");
    let Ok(found) = std::fs::symlink_metadata(&dot) else { return Vec::new() };
    if found.is_dir() {
        return if is_repository(&dot) { vec![dot] } else { Vec::new() };
    }
    let named = |text: &str| workspace.join(text.trim().strip_prefix("gitdir: ")?).canonicalize().ok();
    let own =
        if found.is_file() { std::fs::read_to_string(&dot).ok().and_then(|text| named(&text)) } else { None };
    let Some(own) = own else { return Vec::new() };
    let back = std::fs::read_to_string(own.join("gitdir")).ok();
    let is_named = back.is_some_and(|back| Path::new(back.trim()) == dot);
    let above = own.parent().filter(|above| above.file_name().is_some_and(|name| name == "worktrees"));
    match above.and_then(Path::parent) {
        Some(common) if is_named => vec![common.to_owned(), own],
        Some(_) | None => Vec::new(),
    }
}

/// Returns the protected paths of one folder of git, those of its modules and worktrees included.
fn protected_of(git: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = GIT_PROTECTED.iter().map(|name| git.join(name)).collect();
    for worktree in folders_in(&git.join("worktrees")) {
        found.extend(["commondir", "config.worktree"].map(|name| worktree.join(name)));
    }
    let mut modules = folders_in(&git.join("modules"));
    // The name of a module may be a path.
    while let Some(module) = modules.pop() {
        if module.join("HEAD").exists() {
            found.extend(protected_of(&module));
        } else {
            modules.extend(folders_in(&module));
        }
    }
    found
}

/// Returns the folders in a folder, links not included.
fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries.filter(is_folder).map(|entry| entry.path()).collect()
}

/// Returns what of `/etc` only root may read, which a command of root must not: settings with passwords, keys.
#[must_use]
pub fn closed_settings() -> Vec<PathBuf> {
    let is_closed = |path: &Path| {
        std::fs::symlink_metadata(path).is_ok_and(|found| {
            !found.is_symlink() && std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o004 == 0
        })
    };
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let mut found = Vec::new();
    let mut open = entries(Path::new("/etc"));
    while let Some(path) = open.pop() {
        if is_closed(&path) {
            found.push(path);
        } else if path.is_dir() && !path.is_symlink() {
            open.extend(entries(&path));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn made(root: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn a_repository_makes_no_other_folder_writable() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let work = root.join("work");
        let dot = work.join(".git").display().to_string();
        let gitdir = |to: &str| format!("gitdir: {}\n", root.join(to).display());
        // As git makes it.
        made(
            &root,
            &[("work/.git", &gitdir("repo/.git/worktrees/w")), ("repo/.git/worktrees/w/gitdir", &dot)],
        );
        assert_eq!(git_folders(&work), [root.join("repo/.git"), root.join("repo/.git/worktrees/w")]);
        // It names a folder of the workspace, whose `commondir` names another place.
        made(
            &root,
            &[
                ("work/.git", &gitdir("work/evil")),
                ("work/evil/gitdir", &dot),
                ("work/evil/commondir", "/"),
                ("victim/worktrees/w/gitdir", "/elsewhere/.git"),
            ],
        );
        assert!(git_folders(&work).is_empty());
        made(&root, &[("work/.git", &gitdir("victim/worktrees/w"))]);
        assert!(git_folders(&work).is_empty(), "the folder does not name the workspace");
        fs::remove_file(work.join(".git")).unwrap();
        std::os::unix::fs::symlink(root.join("repo/.git"), work.join(".git")).unwrap();
        assert!(git_folders(&work).is_empty(), "a link leads anywhere");
    }

    #[test]
    fn credentials_stay_hidden_where_the_home_folder_is_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        made(
            &home,
            &[(".ssh/id_rsa", "x"), (".netrc", "x"), (".config/gh/hosts.yml", "x"), ("notes/a.md", "x")],
        );
        let paths = SandboxPaths { home: Some(home.clone()), ..SandboxPaths::default() };
        let hidden = |workspace: &Path| {
            let policy = SandboxPolicy::new(Confinement::Workspace, workspace, Path::new("/tmp"), &paths);
            let own = policy.hidden.iter().filter_map(|path| path.strip_prefix(&home).ok());
            own.map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(hidden(&home), [".config/gh", ".netrc", ".ssh"]);
        assert_eq!(hidden(&home.join("notes")), [""; 0], "what is not readable need not be hidden");
    }
}
