//! Changes of memories: saving, joining what says the same, editing, forgetting, decay.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde_json::Map;

use super::decay::DecayPlan;
use super::entry::Memory;
use super::folder::{Folder, MemoryScope};
use super::similar::similarity;
use super::{Memories, MemoryError, MemoryId, StoredMemory, check};
use crate::config::{DecayConsent, DecayStrategy, no_room_for_memory};
use crate::message::Authorship;
use crate::stdx::text::count;

/// Memories of the window that a new one is compared with, the latest.
const COMPARED: usize = 100;

/// A memory to be saved.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMemory {
    pub text: String,
    pub tags: Vec<String>,
    pub scope: MemoryScope,
    pub authorship: Authorship,
    pub session: Option<String>,
    pub call: Option<String>,
}

/// The result of saving a memory.
#[derive(Debug, Clone, PartialEq)]
pub struct SaveOutcome {
    pub stored: StoredMemory,
    /// The text that it replaced, and how alike they were.
    pub replaced: Option<(String, u8)>,
    /// The memories that were or would be removed because there were too many.
    pub decay: Option<(DecayConsent, DecayResult)>,
}

/// How many memories went, and by how many they were replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DecayResult {
    pub gone: usize,
    pub written: usize,
    /// Files that were changed meanwhile and stayed.
    pub kept: usize,
}

/// The fields to be changed; `None` leaves one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MemoryChange {
    pub text: Option<String>,
    /// The author of the text.
    pub authorship: Authorship,
    pub tags: Option<Vec<String>>,
    pub is_protected: Option<bool>,
    /// The inner `None`: it applies for ever.
    pub expires: Option<Option<Timestamp>>,
}

impl Memories {
    /// Returns the memory that a text would replace, and how alike they are: the most alike of those of the window.
    pub fn similar(
        &self,
        project: &Path,
        scope: MemoryScope,
        text: &str,
    ) -> Result<Option<(StoredMemory, u8)>, MemoryError> {
        let settings = self.settings();
        let from = self.now() - SignedDuration::from_hours(24 * i64::from(settings.dedup_window_days));
        let (folders, _) = self.ready_folders(project);
        let mut best: Option<(StoredMemory, u8)> = None;
        for folder in folders.iter().filter(|folder| folder.scope == scope) {
            for name in self.0.index.latest(folder, COMPARED)? {
                let Some(stored) = self.read_memory(folder, &name)? else { continue };
                // An expired memory says nothing about the present.
                if stored.memory.created < from || stored.memory.is_expired(self.now()) {
                    continue;
                }
                let alike = similarity(&stored.memory.text, text);
                if alike >= settings.dedup_threshold.max(1)
                    && best.as_ref().is_none_or(|(_, most)| alike > *most)
                {
                    best = Some((stored, alike));
                }
            }
        }
        Ok(best)
    }

    /// Returns a memory as it would be kept, or why it would not.
    pub fn check_new(&self, mut new: NewMemory, project: &Path) -> Result<NewMemory, MemoryError> {
        new.text = check::text(&new.text)?;
        new.tags = check::tags(&new.tags)?;
        self.folder_for(project, new.scope)?;
        Ok(new)
    }

    fn folder_for(&self, project: &Path, scope: MemoryScope) -> Result<Folder, MemoryError> {
        match scope {
            MemoryScope::User => self.user_folder().ok_or(MemoryError::NoFolder),
            MemoryScope::Project if self.is_trusted(project) => {
                let [folder, _] = Folder::of_project(project);
                Ok(folder)
            }
            MemoryScope::Project => Err(MemoryError::Untrusted),
        }
    }

    /// Errs if a project would have too many memories, or too much in them, with a file of so many bytes: a new one, or in place
    /// of one of `old` bytes.
    pub fn check_room(
        &self,
        project: &Path,
        scope: MemoryScope,
        (old, bytes): (Option<usize>, usize),
    ) -> Result<(), MemoryError> {
        let more = bytes.saturating_sub(old.unwrap_or_default());
        match scope {
            MemoryScope::Project if old.is_none() || more > 0 => {
                no_room_for_memory(project, old.is_none(), more)
                    .map_or(Ok(()), |why| Err(MemoryError::Full { why }))
            }
            MemoryScope::Project | MemoryScope::User => Ok(()),
        }
    }

    /// Saves a memory, or replaces the one that says the same.
    pub fn save(&self, project: &Path, new: NewMemory) -> Result<SaveOutcome, MemoryError> {
        let new = self.check_new(new, project)?;
        let (stored, replaced) = match self.similar(project, new.scope, &new.text)? {
            Some((old, alike)) => {
                let text = old.memory.text.clone();
                (self.replace_by(project, old, new)?, Some((text, alike)))
            }
            None => (self.create(project, new, None)?, None),
        };
        let decay = self.after_save(project, stored.id.scope)?;
        Ok(SaveOutcome { stored, replaced, decay })
    }

    fn create(
        &self,
        project: &Path,
        new: NewMemory,
        expires: Option<Timestamp>,
    ) -> Result<StoredMemory, MemoryError> {
        let folder = self.folder_for(project, new.scope)?;
        let mut memory = Memory {
            number: 0,
            text: new.text,
            tags: Vec::new(),
            category: None,
            created: self.now(),
            updated: None,
            expires,
            authorship: new.authorship,
            session: new.session,
            call: new.call,
            is_protected: false,
            other: Map::new(),
        };
        memory.set_tags(new.tags);
        self.check_room(project, new.scope, (None, memory.file_text().len()))?;
        let mut known = 0;
        // Files of both folders of a project share their numbers.
        for folder in self.folders(project).iter().filter(|one| one.scope == new.scope) {
            known = known.max(self.0.index.highest(folder)?);
        }
        let (name, memory) = folder.create(memory, known)?;
        self.wrote(project, &folder, &name, &memory)
    }

    fn replace_by(
        &self,
        project: &Path,
        mut old: StoredMemory,
        new: NewMemory,
    ) -> Result<StoredMemory, MemoryError> {
        old.memory.session = new.session.clone().or(old.memory.session);
        old.memory.call = new.call.clone().or(old.memory.call);
        let memory = self.with_change(&old.memory, replacement(&old.memory, new));
        self.replace(project, &old, &memory)
    }

    /// Changes a memory that is still of the version that was looked at.
    pub fn update(
        &self,
        project: &Path,
        old: &StoredMemory,
        change: MemoryChange,
    ) -> Result<StoredMemory, MemoryError> {
        let memory = self.with_change(&old.memory, self.checked_change(change)?);
        self.replace(project, old, &memory)
    }

    /// Replaces the file of a memory that is still of the version that was looked at by what a person wrote.
    pub fn rewrite(
        &self,
        project: &Path,
        old: &StoredMemory,
        bytes: &[u8],
    ) -> Result<StoredMemory, MemoryError> {
        let read = Memory::read(bytes, &old.name, old.memory.created);
        let mut memory = read.map_err(|problem| MemoryError::Broken { problem })?;
        if memory.text != old.memory.text {
            memory.text = check::text(&memory.text)?;
            memory.authorship = Authorship::Said;
        }
        // Another number would be that of another memory.
        memory.number = old.memory.number;
        memory.updated = Some(self.now());
        self.replace(project, old, &memory)
    }

    /// Returns a change as it would be made, or why it would not.
    pub fn checked_change(&self, change: MemoryChange) -> Result<MemoryChange, MemoryError> {
        let text = change.text.map(|text| check::text(&text)).transpose()?;
        let tags = change.tags.map(|tags| check::tags(&tags)).transpose()?;
        Ok(MemoryChange { text, tags, ..change })
    }

    /// Returns a memory as it would be after a change.
    #[must_use]
    pub fn with_change(&self, old: &Memory, change: MemoryChange) -> Memory {
        let mut memory = old.clone();
        if let Some(text) = change.text {
            memory.authorship = match (change.authorship, memory.authorship) {
                (Authorship::Said, _) => Authorship::Said,
                (Authorship::External, _) | (_, Authorship::External) => Authorship::External,
                (Authorship::Inferred, _) => Authorship::Inferred,
            };
            memory.text = text;
        }
        if let Some(tags) = change.tags {
            memory.set_tags(tags);
        }
        memory.is_protected = change.is_protected.unwrap_or(memory.is_protected);
        memory.expires = change.expires.unwrap_or(memory.expires);
        memory.updated = Some(self.now());
        memory
    }

    fn replace(
        &self,
        project: &Path,
        old: &StoredMemory,
        memory: &Memory,
    ) -> Result<StoredMemory, MemoryError> {
        let sizes = (Some(old.memory.file_text().len()), memory.file_text().len());
        self.check_room(project, old.id.scope, sizes)?;
        old.folder.replace(&old.name, &old.version, memory)?;
        self.wrote(project, &old.folder, &old.name, memory)
    }

    /// Takes a file that was just written into the index, and into what a project is trusted with.
    fn wrote(
        &self,
        project: &Path,
        folder: &Folder,
        name: &str,
        memory: &Memory,
    ) -> Result<StoredMemory, MemoryError> {
        self.tell_project(project, folder, name, Some(&memory.file_text()))?;
        self.0.index.take_file(folder, name, folder.read(name)?)?;
        let id = MemoryId { scope: folder.scope, number: memory.number };
        self.read_memory(folder, name)?.ok_or(MemoryError::None { id })
    }

    fn tell_project(
        &self,
        project: &Path,
        folder: &Folder,
        name: &str,
        text: Option<&str>,
    ) -> Result<(), MemoryError> {
        match &self.0.options.projects {
            Some(projects) if folder.scope == MemoryScope::Project => projects
                .note_write(project, &folder.relative(name), text)
                .map_err(|why| MemoryError::Io { path: folder.path(), why }),
            Some(_) | None => Ok(()),
        }
    }

    /// Deletes a memory that is still of the version that was looked at.
    pub fn forget(&self, project: &Path, old: &StoredMemory) -> Result<(), MemoryError> {
        old.folder.delete(&old.name, &old.version)?;
        self.tell_project(project, &old.folder, &old.name, None)?;
        self.0.index.take_file(&old.folder, &old.name, None)?;
        self.0.index.forget_use(&old.folder, old.id.number)
    }

    /// Looks whether there are too many after a save; they decay at once if the settings allow it.
    fn after_save(
        &self,
        project: &Path,
        scope: MemoryScope,
    ) -> Result<Option<(DecayConsent, DecayResult)>, MemoryError> {
        let (folders, _) = self.ready_folders(project);
        let mut count = 0;
        for folder in folders.iter().filter(|folder| folder.scope == scope) {
            count += self.0.index.count(folder)?;
        }
        if count <= self.settings().max_count {
            return Ok(None);
        }
        let all = self.of_scope(project, scope)?;
        let Some(plan) = self.decay_plan(&all) else { return Ok(None) };
        Ok(Some(match self.settings().decay {
            DecayConsent::Propose => {
                let decayed = DecayResult { gone: plan.going.len(), written: plan.summaries.len(), kept: 0 };
                (DecayConsent::Propose, decayed)
            }
            DecayConsent::Allow => (DecayConsent::Allow, self.let_go(project, scope, &all, plan)?),
        }))
    }

    fn of_scope(&self, project: &Path, scope: MemoryScope) -> Result<Vec<StoredMemory>, MemoryError> {
        let all = self.list(project, usize::MAX)?.memories;
        Ok(all.into_iter().filter(|one| one.id.scope == scope).collect())
    }

    /// Carries out the decay that a review proposes.
    pub fn decay(&self, project: &Path) -> Result<DecayResult, MemoryError> {
        let mut all_decayed = DecayResult::default();
        for scope in [MemoryScope::User, MemoryScope::Project] {
            let all = self.of_scope(project, scope)?;
            if let Some(plan) = self.decay_plan(&all) {
                let DecayResult { gone, written, kept } = self.let_go(project, scope, &all, plan)?;
                all_decayed.gone += gone;
                all_decayed.written += written;
                all_decayed.kept += kept;
            }
        }
        Ok(all_decayed)
    }

    /// Writes what replaces the memories of a plan, and only then deletes them; a file that was changed since stays.
    fn let_go(
        &self,
        project: &Path,
        scope: MemoryScope,
        all: &[StoredMemory],
        plan: DecayPlan,
    ) -> Result<DecayResult, MemoryError> {
        let mut decayed = DecayResult { written: plan.summaries.len(), ..DecayResult::default() };
        for summary in plan.summaries {
            let (text, tags, authorship) = (summary.text, summary.tags, summary.authorship);
            let new = NewMemory { text, tags, scope, authorship, session: None, call: None };
            self.create(project, new, summary.expires)?;
        }
        let by_id: BTreeMap<MemoryId, &StoredMemory> = all.iter().map(|one| (one.id, one)).collect();
        // An id that two files have does not say which of them is meant.
        let is_one = |id: &&MemoryId| all.iter().filter(|one| one.id == **id).count() == 1;
        decayed.kept += plan.going.len() - plan.going.iter().filter(is_one).count();
        for old in plan.going.iter().filter(is_one).filter_map(|id| by_id.get(id)) {
            match self.forget(project, old) {
                Ok(()) => decayed.gone += 1,
                Err(MemoryError::Changed { .. }) => decayed.kept += 1,
                Err(error) => return Err(error),
            }
        }
        Ok(decayed)
    }
}

/// Returns the change by which a new memory replaces one that says the same: its text, and the tags of both.
#[must_use]
pub fn replacement(old: &Memory, new: NewMemory) -> MemoryChange {
    let mut tags = old.tags.clone();
    for tag in new.tags {
        if !tags.contains(&tag) && tags.len() < check::MOST_TAGS {
            tags.push(tag);
        }
    }
    let (text, authorship) = (Some(new.text), new.authorship);
    MemoryChange { text, authorship, tags: Some(tags), ..MemoryChange::default() }
}

impl DecayResult {
    /// Says what went, or with `Propose` what would.
    #[must_use]
    pub fn sentence(&self, consent: DecayConsent, strategy: DecayStrategy) -> String {
        let gone = count(self.gone, "old memory");
        let (would, into) = match (consent, strategy) {
            (DecayConsent::Propose, DecayStrategy::Cut) => ("would be deleted", String::new()),
            (DecayConsent::Propose, DecayStrategy::Summarize) => {
                ("would be joined", format!(" into {}", self.written))
            }
            (DecayConsent::Allow, DecayStrategy::Cut) => ("deleted", String::new()),
            (DecayConsent::Allow, DecayStrategy::Summarize) => ("joined", format!(" into {}", self.written)),
        };
        let kept = if self.kept > 0 {
            format!("; {} changed meanwhile and stayed", self.kept)
        } else {
            String::new()
        };
        format!("{gone} {would}{into}{kept}")
    }
}
