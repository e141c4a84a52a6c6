//! Keys of model services beside those in the settings: the file that `co auth` keeps, and commands that print one.
//!
//! A key that is learned here is told to the store at once, so that it is never written. Nothing here prints, and no
//! error names a key. Called by [`super::services`] and by `co auth`.

mod command;
mod file;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::command::KeyCommand;
pub use self::command::KeyCommandError;
pub use self::file::{KeyFile, KeyFileError, Put};
use crate::config::{Key, Secret, Settings};

/// What hears of keys.
type Listener = Box<dyn Fn(&Secret) + Send + Sync>;

/// The keys of this process.
pub struct Keys {
    file: KeyFile,
    state: Mutex<State>,
}

struct State {
    stored: Result<BTreeMap<String, Secret>, KeyFileError>,
    /// By their text: the same command runs once, whoever names it.
    commands: BTreeMap<String, Arc<KeyCommand>>,
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
        let state = State { stored, commands: BTreeMap::new(), known, listener: None };
        Self { file, state: Mutex::new(state) }
    }

    /// Where keys are kept.
    pub fn file(&self) -> &KeyFile {
        &self.file
    }

    /// The stored key of a service. Errs where the file may not be used.
    pub fn stored(&self, name: &str) -> Result<Option<Secret>, KeyFileError> {
        self.lock().stored.as_ref().map(|keys| keys.get(name).cloned()).map_err(Clone::clone)
    }

    /// Keeps a key for a service, in the file and here. Blocking.
    pub fn keep(&self, name: &str, key: &Secret) -> Result<Put, KeyFileError> {
        self.learn(key);
        let put = self.file.put(name, key)?;
        self.lock().stored = self.file.read();
        Ok(put)
    }

    /// Everything that must never be written: those known so far at once, the others as they are learned.
    pub fn listen(&self, listener: impl Fn(&Secret) + Send + Sync + 'static) {
        let mut state = self.lock();
        state.known.iter().for_each(&listener);
        state.listener = Some(Box::new(listener));
    }

    /// The key itself. A command is run the first time; its key is good for as long as this process.
    pub async fn expose(&self, key: &Key) -> Result<Secret, KeyCommandError> {
        let script = match key {
            Key::Literal(secret) => return Ok(secret.clone()),
            Key::Missing { variable } => {
                return Err(KeyCommandError::Missing { variable: variable.clone() });
            }
            Key::Command(script) => script,
        };
        let command = {
            let mut state = self.lock();
            Arc::clone(state.commands.entry(script.clone()).or_insert_with(|| KeyCommand::new(script)))
        };
        let secret = command.key().await?;
        self.learn(&secret);
        Ok(secret)
    }

    /// Notes a key that must never be written.
    pub fn learn(&self, key: &Secret) {
        let mut state = self.lock();
        if !state.known.contains(key) {
            state.known.push(key.clone());
            if let Some(listener) = &state.listener {
                listener(key);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The keys that the settings hold as texts.
fn literals(settings: &Settings) -> Vec<Secret> {
    let own = settings.providers.values();
    let keys = own.flat_map(|one| one.api_key.iter().chain(one.headers.values()));
    settings.endpoint.api_key.iter().chain(keys).filter_map(Key::secret).cloned().collect()
}
