//! Which programs that a file defines the user trusts: by the content of their definition and of the files that their
//! command names. Hooks are such programs, and a project's tool servers.
//!
//! A changed script has another hash, and is not trusted until the user trusts it again. A program named
//! without a path and found in `PATH` belongs to the system and is not hashed. Blocking. Called by `command`
//! before each run, and by `workspace`.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::command_files::{named_by_args, possible_files};
use super::file::{HookCommand, HookDef, HookScope};
use crate::stdx::fs::{create_private_dir, if_exists, write_private};
use crate::stdx::text::binary_size;

pub use super::command_files::PathRoots;

/// Maximum bytes of a file that a command names.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Maximum bytes of a list of trusted contents.
const LARGEST_LIST: u64 = 4 * 1024 * 1024;

/// Prefix of the hashed content; changes with the way of hashing.
const FORM: &[u8] = b"co hook 1\n";

/// Why a defined program cannot run at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    #[error("there is no program {}", path.display())]
    NoProgram { path: PathBuf },
    #[error("{} is not executable; `chmod +x` makes it so", path.display())]
    NotExecutable { path: PathBuf },
    #[error("{} cannot be read: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("{} is larger than {}", path.display(), binary_size(LARGEST))]
    TooLarge { path: PathBuf },
    #[error("`{word}` in its command could be any program; give the program's file, or use a list of words")]
    Unclear { word: String },
}

/// Returns the file to run. Paths are relative to the project's folder, or to that of the user's own file.
pub fn program(def: &HookDef, at: &PathRoots) -> PathBuf {
    match &def.command {
        HookCommand::Shell { .. } => PathBuf::from("/bin/sh"),
        HookCommand::Program { program, .. } if !program.contains('/') => PathBuf::from(program),
        HookCommand::Program { program, .. } => {
            let base = match def.scope {
                HookScope::Project => at.workspace.as_path(),
                HookScope::User => def.file.parent().unwrap_or(Path::new("/")),
            };
            base.join(at.expand(program))
        }
    }
}

/// Returns the hash of a hook's content, 64 hexadecimal digits: equal for equal definitions and files.
pub fn content(def: &HookDef, at: &PathRoots) -> Result<String, ProgramError> {
    let mut hash = ContentHash::new(FORM);
    hash.part(def.file.as_os_str().as_encoded_bytes());
    hash.part(def.name.as_bytes());
    def.events.iter().for_each(|event| hash.part(event.word().as_bytes()));
    hash.part(b"tools");
    def.tools.iter().for_each(|tool| hash.part(tool.as_bytes()));
    match &def.command {
        HookCommand::Program { program, args } => {
            hash.part(b"program");
            hash.part(program.as_bytes());
            args.iter().for_each(|arg| hash.part(arg.as_bytes()));
        }
        HookCommand::Shell { line } => {
            hash.part(b"shell");
            hash.part(line.as_bytes());
        }
    }
    hash.part(b"timeout");
    hash.part(&def.timeout.as_secs().to_le_bytes());
    match &def.command {
        HookCommand::Program { program, args } => {
            let path = program.contains('/').then(|| self::program(def, at));
            hash.program(path.as_deref(), program, args, at)?;
        }
        HookCommand::Shell { line } => {
            hash.files(&possible_files(line, at).map_err(|word| ProgramError::Unclear { word })?)?;
        }
    }
    Ok(hash.finish())
}

/// Hashes the content of a definition part by part.
pub struct ContentHash(Sha256);

impl ContentHash {
    /// Begins with a text that names what is hashed, and in which way.
    #[must_use]
    pub fn new(form: &[u8]) -> Self {
        let mut hash = Sha256::new();
        hash.update(form);
        Self(hash)
    }

    pub fn part(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Hashes the files that a command names: the program, if it is the file `path`, and every other word that is a file.
    pub fn program(
        &mut self,
        path: Option<&Path>,
        program: &str,
        args: &[String],
        at: &PathRoots,
    ) -> Result<(), ProgramError> {
        if let Some(path) = path {
            is_program(path)?;
            self.file(path)?;
        }
        self.files(&named_by_args(program, args, at).map_err(|word| ProgramError::Unclear { word })?)
    }

    /// Hashes the files that a text names, as one word or between colons.
    pub fn named_in(&mut self, text: &str, at: &PathRoots) -> Result<(), ProgramError> {
        let words = std::iter::once(text).chain(text.split([':', '=', ',', ' ']));
        let mut paths: Vec<PathBuf> = words.map(|word| at.workspace.join(at.expand(word))).collect();
        paths.sort();
        paths.dedup();
        self.files(&paths)
    }

    fn files(&mut self, paths: &[PathBuf]) -> Result<(), ProgramError> {
        let files = paths.iter().filter(|path| path.is_file() && !is_of_the_system(path));
        files.into_iter().try_for_each(|path| self.file(path))
    }

    fn file(&mut self, path: &Path) -> Result<(), ProgramError> {
        self.part(path.as_os_str().as_encoded_bytes());
        self.part(&bytes_of(path)?);
        Ok(())
    }

    /// Returns 64 hexadecimal digits.
    #[must_use]
    pub fn finish(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Whether a program is part of the system: then it changes with the system, not with the hook.
fn is_of_the_system(path: &Path) -> bool {
    ["/bin", "/usr/bin", "/usr/local/bin"].iter().any(|folder| path.parent() == Some(Path::new(folder)))
}

fn is_program(path: &Path) -> Result<(), ProgramError> {
    let path = path.to_owned();
    match fs::metadata(&path) {
        Ok(metadata) if !metadata.is_file() => Err(ProgramError::NoProgram { path }),
        Ok(metadata) if metadata.permissions().mode() & 0o111 == 0 => {
            Err(ProgramError::NotExecutable { path })
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(ProgramError::NoProgram { path }),
        Err(error) => Err(ProgramError::Unreadable { path, why: error.to_string() }),
    }
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, ProgramError> {
    let unreadable =
        |error: io::Error| ProgramError::Unreadable { path: path.to_owned(), why: error.to_string() };
    let mut bytes = Vec::new();
    File::open(path).map_err(unreadable)?.take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LARGEST {
        Err(ProgramError::TooLarge { path: path.to_owned() })
    } else {
        Ok(bytes)
    }
}

/// Whether the content of a definition is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentState {
    Trusted {
        hash: String,
    },
    New {
        hash: String,
    },
    /// Another content of this name was trusted.
    Changed {
        hash: String,
    },
    Broken(ProgramError),
}

/// A list of definitions that the user trusts, by content hash.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedContents {
    #[serde(rename = "hooks")]
    contents: Vec<TrustedContent>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TrustedContent {
    file: PathBuf,
    name: String,
    hash: String,
}

impl TrustedContents {
    /// Reads the list; empty if there is none. On failure returns a message for the user.
    pub fn read(path: &Path) -> Result<Self, String> {
        let failed = |why: String| format!("{} cannot be read: {why}; move it away", path.display());
        let file = if_exists(File::open(path)).map_err(|error| failed(error.to_string()))?;
        let Some(file) = file else { return Ok(Self::default()) };
        let mut text = String::new();
        file.take(LARGEST_LIST).read_to_string(&mut text).map_err(|error| failed(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| failed(error.to_string()))
    }

    /// Writes the list, readable only by the owner.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        path.parent().map_or(Ok(()), create_private_dir)?;
        write_private(path, &serde_json::to_vec_pretty(self)?)
    }

    /// Returns the state of a definition with this content.
    pub fn state(&self, file: &Path, name: &str, content: Result<String, ProgramError>) -> ContentState {
        let hash = match content {
            Ok(hash) => hash,
            Err(broken) => return ContentState::Broken(broken),
        };
        let mut same = self.contents.iter().filter(|known| known.is(file, name)).peekable();
        if same.peek().is_none() {
            ContentState::New { hash }
        } else if same.any(|known| known.hash == hash) {
            ContentState::Trusted { hash }
        } else {
            ContentState::Changed { hash }
        }
    }

    /// Whether any content of this definition was trusted.
    pub fn knows(&self, file: &Path, name: &str) -> bool {
        self.contents.iter().any(|known| known.is(file, name))
    }

    pub fn add(&mut self, file: &Path, name: &str, hash: &str) {
        let content = TrustedContent { file: file.to_owned(), name: name.to_owned(), hash: hash.to_owned() };
        if !self.contents.contains(&content) {
            self.contents.push(content);
        }
    }

    /// Removes every content of this definition; returns whether there was one.
    pub fn remove(&mut self, file: &Path, name: &str) -> bool {
        let before = self.contents.len();
        self.contents.retain(|known| !known.is(file, name));
        self.contents.len() < before
    }
}

impl TrustedContent {
    fn is(&self, file: &Path, name: &str) -> bool {
        self.file == file && self.name == name
    }
}
