//! The policy in effect, kept up to date with its files: rules, hooks, trusted folders.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

use super::World;
use super::hooks::HookFiles;
use super::project_memories::TrustedProjects;
use super::reported::is_new;
use super::rules::{RuleBook, counting};
use super::trust::{GatedContents, REPORTED, TrustError, has_belongings, trustable, write_trust};
use crate::agent::driver::AgentEnv;
use crate::approval::rules::{RuleSet, RulesHealth};
use crate::approval::{AutoApprove, Policy};
use crate::config::{Contents, FolderTrust, Mode, Settings};
use crate::hook::Hook;
use crate::hook::command::UnavailableHook;
use crate::hook::notices::HookNotices;
use crate::store::{AuditNote, Store};

/// The longest wait for the expiry of the next rule before it is looked up again.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

/// The policy of this process's session, and its files.
pub struct Permissions {
    world: World,
    store: Store,
    data_dir: PathBuf,
    policy: watch::Sender<Policy>,
    pub rules: Arc<RuleBook>,
    order: ReadOrder,
    hooks: HookFiles,
    /// Messages of hooks for the user, until a front end takes them.
    hook_messages: Mutex<Option<mpsc::Receiver<String>>>,
    /// Those of the settings, and those trusted since.
    pub trusted: TrustedProjects,
}

/// The order of reads of the files, so that a slow one does not undo a later one. Not a lock: a read may be suspended
/// while the same task begins another.
#[derive(Default)]
pub(super) struct ReadOrder {
    begun: AtomicU64,
    counts: AtomicU64,
}

impl ReadOrder {
    fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Whether no later read has completed; if so, this one becomes the newest.
    fn is_newest(&self, read: u64) -> bool {
        self.counts.fetch_max(read, Ordering::SeqCst) <= read
    }
}

impl Permissions {
    pub fn new(
        world: &World,
        settings: &Settings,
        store: &Store,
        (child_env, trusted): (&[(String, String)], TrustedProjects),
    ) -> Self {
        let (notices, messages) = HookNotices::new();
        Self {
            world: world.clone(),
            store: store.clone(),
            data_dir: settings.data_dir.clone(),
            policy: watch::Sender::new(Policy { mode: settings.mode, ..Policy::default() }),
            rules: Arc::new(RuleBook::new(world, settings)),
            order: ReadOrder::default(),
            hooks: HookFiles::new(world, settings, child_env.to_vec(), Arc::new(notices)),
            hook_messages: Mutex::new(Some(messages)),
            trusted,
        }
    }

    /// Returns the channel of hook messages for the user, to the first caller.
    pub fn hook_messages(&self) -> Option<mpsc::Receiver<String>> {
        self.hook_messages.lock().take()
    }

    /// Sets whether calls run without asking, from the next decision on.
    pub fn set_auto_approve(&self, auto_approve: AutoApprove) {
        self.policy.send_modify(|policy| policy.auto_approve = auto_approve);
    }

    /// Sets the mode, from the next decision on.
    pub fn set_mode(&self, mode: Mode) {
        self.policy.send_modify(|policy| policy.mode = mode);
    }

    pub fn policy(&self) -> Policy {
        self.policy.borrow().clone()
    }

    /// Returns the policy as it changes.
    pub fn watch(&self) -> watch::Receiver<Policy> {
        self.policy.subscribe()
    }

    /// Returns the hooks that run in a folder, as its files are now.
    pub async fn hooks_of(&self, folder: &Path) -> Vec<Arc<dyn Hook>> {
        let (files, trusted, folder) = (self.hooks.clone(), self.trusted.clone(), folder.to_owned());
        let load = move || files.load(&folder, trusted.trust_of(&folder));
        let loaded = tokio::task::spawn_blocking(load).await;
        loaded.unwrap_or_else(|_| {
            vec![Arc::new(UnavailableHook::file("hooks cannot be read; this is a bug in co"))]
        })
    }

    /// Updates the trust and the hooks of a session's folder.
    pub async fn refresh(&self, env: &mut AgentEnv) {
        env.place.trust = self.trusted.trust_of(&env.place.folder);
        env.hooks = self.hooks_of(&env.place.folder).await;
    }

    /// Reads the files of rules again; changes apply from the next decision on.
    pub async fn refresh_rules(&self, folder: &Path) {
        self.read_again(folder, &self.policy, &self.order).await;
    }

    async fn read_again(&self, folder: &Path, policy: &watch::Sender<Policy>, order: &ReadOrder) {
        let read = order.begin();
        let set = self.rules_in(folder).await;
        policy.send_if_modified(|policy| {
            let changed = order.is_newest(read) && *policy.rules != set;
            if changed {
                policy.rules = Arc::new(set);
            }
            changed
        });
    }

    /// Returns the rules in effect now in a folder. If they cannot be read, everything asks.
    pub async fn rules_in(&self, folder: &Path) -> RuleSet {
        let (book, trusted, place) = (Arc::clone(&self.rules), self.trusted.clone(), folder.to_owned());
        let read = move || book.read(&place, trusted.trust_of(&place));
        match tokio::task::spawn_blocking(read).await {
            Ok(set) => counting(set, &self.store, self.world.clock.now()).await,
            Err(error) => RuleSet {
                health: RulesHealth::Broken { because: error.to_string() },
                ..RuleSet::clone(&self.policy.borrow().rules)
            },
        }
    }

    /// Keeps the rules up to date while a turn runs: other processes may save one, and one may expire. Never resolves;
    /// cancel-safe.
    pub async fn keep_rules(&self, folder: &Path) -> Infallible {
        self.keep(folder, &self.policy, &self.order).await
    }

    /// The same for a session with a separate policy.
    pub async fn keep_rules_of(&self, folder: &Path, policy: &watch::Sender<Policy>) -> Infallible {
        self.keep(folder, policy, &ReadOrder::default()).await
    }

    async fn keep(&self, folder: &Path, policy: &watch::Sender<Policy>, order: &ReadOrder) -> Infallible {
        let mut listener = self.store.change_listener();
        loop {
            let next = policy.borrow().rules.next_expiry();
            let wait = next.map_or(LONGEST_WAIT, |end| {
                let left = Duration::try_from(end.duration_since(self.world.clock.now())).unwrap_or_default();
                left.clamp(Duration::from_secs(1), LONGEST_WAIT)
            });
            tokio::select! {
                () = listener.changed() => {}
                () = tokio::time::sleep(wait) => {}
            }
            self.read_again(folder, policy, order).await;
        }
    }

    /// Returns a note if the project has rules that are not in effect.
    pub fn untrusted_rules(&self, folder: &Path) -> Option<String> {
        RuleBook::ignored_note(folder, self.trusted.trust_of(folder))
    }

    /// Trusts a folder with the contents shown to the user, permanently; returns the file in which that is stored.
    pub async fn trust_folder(&self, folder: &Path, shown: Contents) -> Result<PathBuf, TrustError> {
        let (world, folder) = (self.world.clone(), folder.to_owned());
        let task = tokio::task::spawn_blocking(move || {
            let folder = trustable(&folder, &world)?;
            let file = write_trust(&world, &folder, Some(shown))?;
            Ok::<_, TrustError>((folder, file))
        });
        let (folder, file) =
            task.await.map_err(|error| TrustError::Broken { detail: error.to_string() })??;
        self.trusted.add(folder.clone());
        self.store.note(AuditNote::FolderTrusted { folder }).await?;
        Ok(file)
    }

    /// Returns a notice about the contents of an untrusted folder that are not in effect, once for each content.
    pub async fn untrusted_notice(&self, folder: &Path) -> Option<String> {
        if self.trusted.trust_of(folder) == FolderTrust::Trusted || !has_belongings(folder) {
            return None;
        }
        let (world, folder) = (self.world.clone(), folder.to_owned());
        let list = self.data_dir.join(REPORTED);
        let notice = tokio::task::spawn_blocking(move || {
            let found = GatedContents::of(&folder, &world);
            let news = !found.is_empty() && is_new(&list, &folder, &found.fingerprint());
            let words = found.description();
            news.then(|| {
                format!(
                    "This folder has its own {words}, ignored because you do not trust it. \
                     `/trust` shows them, `/trust yes` or `co trust` enables them. This notice is not repeated until they change."
                )
            })
        });
        notice.await.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_read_does_not_undo_a_later_one() {
        let order = ReadOrder::default();
        let (slow, quick) = (order.begin(), order.begin());
        assert!(order.is_newest(quick));
        assert!(!order.is_newest(slow));
        assert!(order.is_newest(order.begin()));
    }
}
