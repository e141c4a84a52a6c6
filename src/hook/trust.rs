//! Which hooks the user trusts: by the content of their definition and of the files that their command names.
//!
//! A changed script has another hash, and is not trusted until the user trusts it again. A program named
//! without a path and found in `PATH` belongs to the system and is not hashed. Blocking. Called by `command`
//! before each run, and by `app`.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::file::{HookCommand, HookDef, HookScope};
use super::words::{named, named_by_args};
use crate::stdx::fs::{create_private_dir, write_private};

pub use super::words::Whereabouts;

/// Maximum bytes of a file that a hook's command names.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Maximum bytes of the list of trusted hooks.
const LARGEST_LIST: u64 = 4 * 1024 * 1024;

/// Prefix of the hashed content; changes with the way of hashing.
const FORM: &[u8] = b"co hook 1\n";

/// Why a hook cannot run at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    #[error("there is no program {}", path.display())]
    NoProgram { path: PathBuf },
    #[error("{} is not executable; `chmod +x` makes it so", path.display())]
    NotExecutable { path: PathBuf },
    #[error("{} cannot be read: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("{} is larger than {} MiB", path.display(), LARGEST / 1024 / 1024)]
    TooLarge { path: PathBuf },
    #[error("`{word}` in its command could be any program; give the program's file, or use a list of words")]
    Unclear { word: String },
}

/// Returns the file to run. Paths are relative to the project's folder, or to that of the user's own file.
pub fn program(def: &HookDef, at: &Whereabouts) -> PathBuf {
    match &def.command {
        HookCommand::Shell { .. } => PathBuf::from("/bin/sh"),
        HookCommand::Program { program, .. } if !program.contains('/') => PathBuf::from(program),
        HookCommand::Program { program, .. } => {
            let base = match def.scope {
                HookScope::Project => at.workspace.as_path(),
                HookScope::User => def.file.parent().unwrap_or(Path::new("/")),
            };
            base.join(at.expanded(program))
        }
    }
}

/// Returns the hash of a hook's content, 64 hexadecimal digits: equal for equal definitions and files.
pub fn content(def: &HookDef, at: &Whereabouts) -> Result<String, Broken> {
    let mut hash = Sha256::new();
    hash.update(FORM);
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(def.file.as_os_str().as_encoded_bytes());
    part(def.name.as_bytes());
    def.events.iter().for_each(|event| part(event.word().as_bytes()));
    part(b"tools");
    def.tools.iter().for_each(|tool| part(tool.as_bytes()));
    match &def.command {
        HookCommand::Program { program, args } => {
            part(b"program");
            part(program.as_bytes());
            args.iter().for_each(|arg| part(arg.as_bytes()));
        }
        HookCommand::Shell { line } => {
            part(b"shell");
            part(line.as_bytes());
        }
    }
    part(b"timeout");
    part(&def.timeout.as_secs().to_le_bytes());
    for path in files(def, at)? {
        part(path.as_os_str().as_encoded_bytes());
        part(&bytes_of(&path)?);
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The files that the command names: the program, if it is a path, and every other word that is a file.
fn files(def: &HookDef, at: &Whereabouts) -> Result<Vec<PathBuf>, Broken> {
    let mut files = Vec::new();
    let paths: Vec<PathBuf> = match &def.command {
        HookCommand::Program { program, args } => {
            if program.contains('/') {
                let path = self::program(def, at);
                is_program(&path)?;
                files.push(path);
            }
            named_by_args(program, args, at).map_err(|word| Broken::Unclear { word })?
        }
        HookCommand::Shell { line } => named(line, at).map_err(|word| Broken::Unclear { word })?,
    };
    let paths = paths.into_iter();
    files.extend(paths.filter(|path| path.is_file() && !is_of_the_system(path)));
    Ok(files)
}

/// Whether a program is part of the system: then it changes with the system, not with the hook.
fn is_of_the_system(path: &Path) -> bool {
    ["/bin", "/usr/bin", "/usr/local/bin"].iter().any(|folder| path.parent() == Some(Path::new(folder)))
}

fn is_program(path: &Path) -> Result<(), Broken> {
    let path = path.to_owned();
    match fs::metadata(&path) {
        Ok(metadata) if !metadata.is_file() => Err(Broken::NoProgram { path }),
        Ok(metadata) if metadata.permissions().mode() & 0o111 == 0 => Err(Broken::NotExecutable { path }),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Broken::NoProgram { path }),
        Err(error) => Err(Broken::Unreadable { path, why: error.to_string() }),
    }
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, Broken> {
    let unreadable = |error: io::Error| Broken::Unreadable { path: path.to_owned(), why: error.to_string() };
    let mut bytes = Vec::new();
    File::open(path).map_err(unreadable)?.take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LARGEST { Err(Broken::TooLarge { path: path.to_owned() }) } else { Ok(bytes) }
}

/// The trust state of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookState {
    Trusted {
        hash: String,
    },
    New {
        hash: String,
    },
    /// Another content of this hook was trusted.
    Changed {
        hash: String,
    },
    Broken(Broken),
}

/// The hooks that the user trusts, by content hash.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedHooks {
    hooks: Vec<TrustedHook>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TrustedHook {
    file: PathBuf,
    name: String,
    hash: String,
}

impl TrustedHooks {
    /// Reads the list; empty if there is none. On failure returns a message for the user.
    pub fn read(path: &Path) -> Result<Self, String> {
        let failed = |why: String| format!("{} cannot be read: {why}; move it away", path.display());
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(failed(error.to_string())),
        };
        let mut text = String::new();
        file.take(LARGEST_LIST).read_to_string(&mut text).map_err(|error| failed(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| failed(error.to_string()))
    }

    /// Writes the list, readable only by the owner.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            create_private_dir(folder)?;
        }
        write_private(path, &serde_json::to_vec_pretty(self)?)
    }

    pub fn state(&self, def: &HookDef, at: &Whereabouts) -> HookState {
        let hash = match content(def, at) {
            Ok(hash) => hash,
            Err(broken) => return HookState::Broken(broken),
        };
        let mut same = self.hooks.iter().filter(|known| known.is(def)).peekable();
        if same.peek().is_none() {
            HookState::New { hash }
        } else if same.any(|known| known.hash == hash) {
            HookState::Trusted { hash }
        } else {
            HookState::Changed { hash }
        }
    }

    /// Whether any content of this hook was trusted.
    pub fn knows(&self, def: &HookDef) -> bool {
        self.hooks.iter().any(|known| known.is(def))
    }

    pub fn add(&mut self, def: &HookDef, hash: &str) {
        let hook = TrustedHook { file: def.file.clone(), name: def.name.clone(), hash: hash.to_owned() };
        if !self.hooks.contains(&hook) {
            self.hooks.push(hook);
        }
    }

    /// Removes every content of this hook; returns whether there was one.
    pub fn remove(&mut self, def: &HookDef) -> bool {
        let before = self.hooks.len();
        self.hooks.retain(|known| !known.is(def));
        self.hooks.len() < before
    }
}

impl TrustedHook {
    fn is(&self, def: &HookDef) -> bool {
        self.file == def.file && self.name == def.name
    }
}
