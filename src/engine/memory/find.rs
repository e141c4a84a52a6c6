//! Finding memories: by words, by id, and all of them.

use std::path::Path;

use super::decay::{self, DecayPlan};
use super::folder::{Folder, MemoryScope};
use super::index::Prefixes;
use super::{Memories, MemoryError, MemoryId, StoredMemory, recall};
use crate::stdx::text::one_line_summary;

/// The most problems that are reported at once.
const PROBLEMS: usize = 20;

/// Days after which a memory that was not used is proposed for a review.
const UNUSED_DAYS: i64 = 180;

/// Memories without use that are shown.
const UNUSED: usize = 20;

/// A memory that was found, with the words for which it was.
#[derive(Debug, Clone, PartialEq)]
pub struct RecallHit {
    pub found: StoredMemory,
    pub words: Vec<String>,
}

/// Memories, and what is wrong with files.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MemoryListing {
    /// Those that were written last, by id.
    pub memories: Vec<StoredMemory>,
    /// How many there are.
    pub total: usize,
    /// Sentences about files that do not count.
    pub problems: Vec<String>,
}

/// The memories that the user may want to review.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Review {
    /// The memories that would go because there are too many.
    pub decay: Vec<(MemoryScope, DecayPlan)>,
    pub going: Vec<StoredMemory>,
    pub expired: Vec<StoredMemory>,
    /// Not used or written for long.
    pub unused: Vec<StoredMemory>,
    pub problems: Vec<String>,
}

impl Memories {
    /// Returns the memories that have words of a query, the best first, at most `limit`. They count as used.
    pub fn search(&self, project: &Path, query: &str, limit: usize) -> Result<Vec<RecallHit>, MemoryError> {
        let found = self.ranked_hits(project, query, (Prefixes::Count, limit))?;
        self.note_use(&found);
        Ok(found)
    }

    /// Returns the memories that apply to a prompt, the best first, at most `limit`; the caller says which it used.
    pub fn recall(&self, project: &Path, prompt: &str, limit: usize) -> Result<Vec<RecallHit>, MemoryError> {
        self.ranked_hits(project, prompt, (Prefixes::DoNot, limit))
    }

    /// Notes that memories were used. What cannot be noted is left out: it only ranks.
    pub fn note_use(&self, found: &[RecallHit]) {
        let used: Vec<(&Folder, u64)> =
            found.iter().map(|one| (&one.found.folder, one.found.id.number)).collect();
        if !used.is_empty()
            && let Err(error) = self.0.index.note_use(&used, self.now())
        {
            tracing::warn!("the use of memories was not noted: {error}");
        }
    }

    fn ranked_hits(
        &self,
        project: &Path,
        query: &str,
        (prefixes, limit): (Prefixes, usize),
    ) -> Result<Vec<RecallHit>, MemoryError> {
        let words = recall::words(query);
        let (folders, _) = self.ready_folders(project);
        if words.is_empty() || folders.is_empty() {
            return Ok(Vec::new());
        }
        let ranked = self.0.index.search(&folders, &words, (prefixes, self.now()))?;
        let mut found = Vec::new();
        for one in ranked {
            if found.len() == limit {
                break;
            }
            let Some(folder) = folders.iter().find(|folder| folder.path().as_os_str() == one.folder.as_str())
            else {
                continue;
            };
            // The index may be behind the file.
            let Ok(Some(stored)) = self.read_memory(folder, &one.name) else { continue };
            if !stored.memory.is_expired(self.now()) {
                let has = one.words.iter().filter_map(|at| words.get(*at).cloned());
                found.push(RecallHit { found: stored, words: has.collect() });
            }
        }
        Ok(found)
    }

    /// Reads a file; takes it into the index as it is. `None` if it is gone or no memory.
    pub(super) fn read_memory(
        &self,
        folder: &Folder,
        name: &str,
    ) -> Result<Option<StoredMemory>, MemoryError> {
        let Some(file) = folder.read(name)? else { return Ok(None) };
        let Ok(memory) = file.memory else { return Ok(None) };
        let usage = self.0.index.usage(folder, memory.number)?;
        Ok(Some(StoredMemory {
            id: MemoryId { scope: folder.scope, number: memory.number },
            memory,
            path: folder.path().join(name),
            version: file.version,
            used: usage.used,
            uses: usage.uses,
            folder: folder.clone(),
            name: name.to_owned(),
        }))
    }

    /// Returns the folders that count, with an index that is up to date for those that are small, and what is wrong.
    pub(super) fn ready_folders(&self, project: &Path) -> (Vec<Folder>, Vec<String>) {
        let (mut ready, mut problems) = (Vec::new(), Vec::new());
        for folder in self.folders(project) {
            match self.0.index.look(&folder) {
                Ok(_) => ready.push(folder),
                Err(error) => problems.push(error.to_string()),
            }
        }
        (ready, problems)
    }

    /// Brings the index up to date with all files, however many. May take long; another connection may search meanwhile.
    pub fn scan(&self, project: &Path) {
        for folder in self.folders(project) {
            let scanned = match self.0.index.look(&folder) {
                Ok(true) => Ok(()),
                Ok(false) => self.0.index.scan(&folder),
                Err(error) => Err(error),
            };
            if let Err(error) = scanned {
                tracing::warn!("memories were not indexed: {error}");
            }
        }
    }

    /// Returns the memory of an id. A bare number that only the project ever had is the project's.
    pub fn find(&self, project: &Path, id: MemoryId) -> Result<StoredMemory, MemoryError> {
        let (folders, _) = self.ready_folders(project);
        let scopes = match id.scope {
            MemoryScope::User if is_the_users(&folders, id.number) => &[MemoryScope::User][..],
            MemoryScope::User => &[MemoryScope::User, MemoryScope::Project],
            MemoryScope::Project => &[MemoryScope::Project],
        };
        for scope in scopes {
            let mut found = Vec::new();
            for folder in folders.iter().filter(|folder| folder.scope == *scope) {
                for name in self.0.index.file_names(folder, id.number)? {
                    // The index may be behind.
                    found.extend(self.read_memory(folder, &name)?.filter(|one| one.id.number == id.number));
                }
            }
            match found.len() {
                0 => {}
                1 => return found.pop().ok_or(MemoryError::None { id }),
                _ => {
                    let names = found.iter().map(|one| one.path.display().to_string()).collect();
                    return Err(MemoryError::Twice { id, names });
                }
            }
        }
        Err(MemoryError::None { id })
    }

    /// Returns the memories that were written last, at most `limit` of each folder.
    pub fn list(&self, project: &Path, limit: usize) -> Result<MemoryListing, MemoryError> {
        let (folders, problems) = self.ready_folders(project);
        let mut listing = MemoryListing { problems, ..MemoryListing::default() };
        for folder in &folders {
            listing.total += self.0.index.count(folder)?;
            for name in self.0.index.latest(folder, limit)? {
                listing.memories.extend(self.read_memory(folder, &name)?);
            }
            listing.problems.extend(self.0.index.problems(folder, PROBLEMS)?);
        }
        listing.memories.sort_by_key(|one| one.id);
        Ok(listing)
    }

    /// Returns what would go, and what was not used for long.
    pub fn review(&self, project: &Path) -> Result<Review, MemoryError> {
        let now = self.now();
        let MemoryListing { memories, problems, .. } = self.list(project, usize::MAX)?;
        let mut review = Review { problems, ..Review::default() };
        for scope in [MemoryScope::User, MemoryScope::Project] {
            let own: Vec<StoredMemory> =
                memories.iter().filter(|one| one.id.scope == scope).cloned().collect();
            if let Some(plan) = self.decay_plan(&own) {
                review.going.extend(own.into_iter().filter(|one| plan.going.contains(&one.id)));
                review.decay.push((scope, plan));
            }
        }
        for one in memories {
            let days = now.duration_since(one.last_touched()).as_hours() / 24;
            if one.memory.is_expired(now) {
                review.expired.push(one);
            } else if days >= UNUSED_DAYS && !one.memory.is_protected && review.unused.len() < UNUSED {
                review.unused.push(one);
            }
        }
        Ok(review)
    }

    /// Plans the decay of the memories of one scope; `None` if there are not too many.
    pub(super) fn decay_plan(&self, all: &[StoredMemory]) -> Option<DecayPlan> {
        let settings = self.settings();
        if all.len() <= settings.max_count {
            return None;
        }
        let plan =
            decay::plan(all, settings.decay_percentage, (settings.decay_strategy, settings.recall_tokens));
        (!plan.going.is_empty()).then_some(plan)
    }
}

impl RecallHit {
    /// Returns its beginning, on one line of at most `width` cells.
    #[must_use]
    pub fn about(&self, width: usize) -> String {
        one_line_summary(&self.found.memory.text, width)
    }
}

/// Whether the user's own memories ever had this number: what is deleted is not found again elsewhere.
fn is_the_users(folders: &[Folder], number: u64) -> bool {
    folders.iter().any(|folder| folder.scope == MemoryScope::User && folder.has_given(number))
}
