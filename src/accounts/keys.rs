//! Keys of model services besides those in the settings: from `co auth`'s file, or printed by commands.
//!
//! A new key is passed to the store's listener immediately, so that it is never written. This module prints
//! nothing, and no error contains a key. Called by `accounts` and by `co auth`.

mod command;
mod file;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::OnceCell;

pub use self::command::KeyCommandError;
pub use self::file::{KeyFile, KeyFileError};
use crate::config::{Key, Secret, Settings};

/// Receives keys.
type Listener = Box<dyn Fn(&Secret) + Send + Sync>;

/// The keys of this process.
pub struct Keys {
    file: KeyFile,
    state: Mutex<KeysState>,
}

struct KeysState {
    stored: Result<BTreeMap<String, Secret>, KeyFileError>,
    /// The keys of commands, by their text: a command runs once, regardless of how often it is configured.
    commands: BTreeMap<String, Arc<OnceCell<Secret>>>,
    known: Vec<Secret>,
    listener: Option<Listener>,
}

impl Keys {
    /// Reads the key file of these settings, if there is one.
    #[must_use]
    pub fn of(settings: &Settings) -> Self {
        let file = KeyFile::of(&settings.data_dir);
        let stored = if settings.data_dir == Path::new("") { Ok(BTreeMap::new()) } else { file.read() };
        let mut known = literals(settings);
        known.extend(stored.iter().flat_map(|keys| keys.values().cloned()));
        let state = KeysState { stored, commands: BTreeMap::new(), known, listener: None };
        Self { file, state: Mutex::new(state) }
    }

    /// Returns the file of keys.
    pub fn file(&self) -> &KeyFile {
        &self.file
    }

    /// Returns the stored key of a service. Errs if the file must not be used.
    pub fn stored_key(&self, name: &str) -> Result<Option<Secret>, KeyFileError> {
        self.state.lock().stored.as_ref().map(|keys| keys.get(name).cloned()).map_err(Clone::clone)
    }

    /// Keeps a key for a service, in the file and in memory; returns whether it replaced one. Blocking.
    pub fn keep(&self, name: &str, key: &Secret) -> Result<bool, KeyFileError> {
        self.learn(key);
        let put = self.file.put(name, key)?;
        self.state.lock().stored = self.file.read();
        Ok(put)
    }

    /// Passes every secret that must never be written to `listener`: now, or when it is learned.
    pub fn listen(&self, listener: impl Fn(&Secret) + Send + Sync + 'static) {
        let mut state = self.state.lock();
        state.known.iter().for_each(&listener);
        state.listener = Some(Box::new(listener));
    }

    /// Returns the key itself. A command runs once; its key is kept for the life of this process. After a failure the next
    /// call tries again. Cancel-safe: dropping it ends the command and all its processes.
    pub async fn expose(&self, key: &Key) -> Result<Secret, KeyCommandError> {
        let script = match key {
            Key::Literal(secret) => return Ok(secret.clone()),
            Key::Missing { variable } => {
                return Err(KeyCommandError::Missing { variable: variable.clone() });
            }
            Key::Command(script) => script,
        };
        let known = Arc::clone(self.state.lock().commands.entry(script.clone()).or_default());
        let secret = known.get_or_try_init(|| command::run(script, command::PATIENCE)).await?.clone();
        self.learn(&secret);
        Ok(secret)
    }

    /// Records a key that must never be written.
    pub fn learn(&self, key: &Secret) {
        let mut state = self.state.lock();
        if !state.known.contains(key) {
            state.known.push(key.clone());
            if let Some(listener) = &state.listener {
                listener(key);
            }
        }
    }
}

/// Returns the keys that the settings contain as text.
fn literals(settings: &Settings) -> Vec<Secret> {
    let own = settings.providers.values();
    let keys = own.flat_map(|one| one.api_key.iter().chain(one.headers.values()));
    settings.endpoint.api_key.iter().chain(keys).filter_map(Key::secret).cloned().collect()
}
