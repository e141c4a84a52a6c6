//! Results of tools without side effects, kept for a short time: the same question is not asked twice within seconds.
//!
//! A result is found again only for the same tool, the same arguments (whatever the order of their fields), the same folder
//! and the same basis of the plan; one that depends on files only as long as nothing that this program runs has changed any.
//! Whether a call may run is decided before, each time. Shared by all sessions of a process; never stored.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant as StdInstant};

use globset::Glob;
use moka::Expiry;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use serde_json::Value;
use tokio::time::Instant;

use super::{Category, Resource, SideEffect, ToolOutput, ToolSpec, Version};
use crate::message::{ReturnPart, ToolName};
use crate::stdx::json_texts::sorted;

/// The size of all results, in bytes.
const LARGEST: u64 = 32 * 1024 * 1024;

/// The kept results. Clones share them.
#[derive(Clone)]
pub struct ResultCache(Arc<CacheState>);

struct CacheState {
    /// Made for the first result: making it costs more than a short turn should.
    kept: OnceLock<Cache<Key, Arc<CacheEntry>>>,
    /// Counts what may have changed files.
    changes: AtomicU64,
    /// How many calls and commands that may change files are under way.
    writers: AtomicUsize,
    /// Whether commands in the background, which may change files too, run now.
    tasks_run: Option<Box<dyn Fn() -> bool + Send + Sync>>,
}

/// The question that a result answers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    tool: ToolName,
    /// JSON with sorted fields.
    args: String,
    folder: PathBuf,
    /// Where the rest of a long result is: it belongs to one session.
    spill: PathBuf,
    basis: Vec<(Resource, Version)>,
    /// The number of changes of files before the question; `None` for results that depend on none.
    changes: Option<u64>,
}

struct CacheEntry {
    output: ToolOutput,
    since: Instant,
    lasts: Duration,
    bytes: u32,
}

/// A kept result, as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedResult {
    pub tool: String,
    /// JSON with sorted fields.
    pub args: String,
    pub age: Duration,
    /// For how much longer it is used.
    pub left: Duration,
    pub bytes: u32,
}

struct PerEntryExpiry;

impl Expiry<Key, Arc<CacheEntry>> for PerEntryExpiry {
    fn expire_after_create(&self, _: &Key, kept: &Arc<CacheEntry>, _: StdInstant) -> Option<Duration> {
        Some(kept.lasts)
    }
}

impl Default for ResultCache {
    fn default() -> Self {
        Self::with(None)
    }
}

/// Something that may change files is under way, until this is dropped.
pub struct ChangingFiles(ResultCache);

impl Drop for ChangingFiles {
    fn drop(&mut self) {
        self.0.on_file_change();
        self.0.0.writers.fetch_sub(1, Ordering::AcqRel);
    }
}

impl ResultCache {
    /// Creates a cache that asks whether commands run in the background.
    #[must_use]
    pub fn with_tasks(tasks_run: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self::with(Some(Box::new(tasks_run)))
    }

    fn with(tasks_run: Option<Box<dyn Fn() -> bool + Send + Sync>>) -> Self {
        let (changes, writers) = (AtomicU64::new(0), AtomicUsize::new(0));
        Self(Arc::new(CacheState { kept: OnceLock::new(), changes, writers, tasks_run }))
    }

    /// Returns the question of a call, and for how long its result may be used; `None` if it is not to be kept.
    #[must_use]
    pub fn question(
        &self,
        spec: &ToolSpec,
        args: &Value,
        (folder, spill): (PathBuf, PathBuf),
        basis: Vec<(Resource, Version)>,
    ) -> Option<(Key, Duration)> {
        let SideEffect::None { cache_for: Some(lasts) } = spec.side_effect else { return None };
        let depends = spec.category != Category::Web;
        if depends && (basis.is_empty() || self.is_changing()) {
            return None;
        }
        let changes = depends.then(|| self.0.changes.load(Ordering::Acquire));
        let key =
            Key { tool: spec.name.clone(), args: sorted(args).to_string(), folder, spill, basis, changes };
        Some((key, lasts))
    }

    /// Returns the result for this question and its age.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<(ToolOutput, Duration)> {
        let kept = self.0.kept.get()?.get(key)?;
        let age = kept.since.elapsed();
        (age < kept.lasts).then(|| (kept.output.clone(), age))
    }

    /// Keeps a result. One that began before a change of files is never found again: its question is of before.
    pub fn put(&self, (key, lasts): (Key, Duration), output: &ToolOutput) {
        let bytes = output.content.iter().map(|part| match part {
            ReturnPart::Text { text } => text.len(),
            ReturnPart::Image { data, .. } => data.len(),
        });
        let bytes = u32::try_from(bytes.sum::<usize>()).unwrap_or(u32::MAX);
        let kept = CacheEntry { output: output.clone(), since: Instant::now(), lasts, bytes };
        let make = || {
            let weight = |_: &Key, kept: &Arc<CacheEntry>| kept.bytes;
            let made = Cache::builder().eviction_policy(EvictionPolicy::lru()).max_capacity(LARGEST);
            made.weigher(weight).expire_after(PerEntryExpiry).build()
        };
        self.0.kept.get_or_init(make).insert(key, Arc::new(kept));
    }

    /// Whether something that may change files is under way.
    fn is_changing(&self) -> bool {
        self.0.writers.load(Ordering::Acquire) > 0 || self.0.tasks_run.as_ref().is_some_and(|run| run())
    }

    /// Notes that a call or a command that may change files begins; it ends when the returned value is dropped.
    #[must_use]
    pub fn changing_files(&self) -> ChangingFiles {
        self.0.writers.fetch_add(1, Ordering::AcqRel);
        self.on_file_change();
        ChangingFiles(self.clone())
    }

    /// Notes that files were changed.
    pub fn on_file_change(&self) {
        self.0.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns what would be found now, by tool and arguments.
    #[must_use]
    pub fn list(&self) -> Vec<CachedResult> {
        let now = self.0.changes.load(Ordering::Acquire);
        let is_current = |key: &Key| key.changes.is_none_or(|changes| changes == now);
        let mut found: Vec<CachedResult> = Vec::new();
        for (key, kept) in self.0.kept.get().into_iter().flatten() {
            let age = kept.since.elapsed();
            if is_current(&key) && age < kept.lasts {
                let Key { tool, args, .. } = &*key;
                let (left, bytes) = (kept.lasts - age, kept.bytes);
                found.push(CachedResult { tool: tool.0.clone(), args: args.clone(), age, left, bytes });
            }
        }
        found.sort_by(|a, b| (&a.tool, &a.args).cmp(&(&b.tool, &b.args)));
        found
    }

    /// Drops the results whose `tool:arguments` match a glob, or all of them; returns how many. Errs if it is no glob.
    pub fn clear(&self, pattern: Option<&str>) -> Result<usize, String> {
        let matcher = pattern.map(|pattern| Glob::new(pattern).map(|glob| glob.compile_matcher()));
        let matcher = matcher.transpose().map_err(|error| error.kind().to_string())?;
        let mut dropped = 0;
        let Some(all) = self.0.kept.get() else { return Ok(0) };
        for (key, _) in all {
            let name = format!("{}:{}", key.tool, key.args);
            let is_meant = |matcher: &globset::GlobMatcher| {
                matcher.is_match(&name) || matcher.is_match(key.tool.as_str())
            };
            if matcher.as_ref().is_none_or(is_meant) {
                all.invalidate(&*key);
                dropped += 1;
            }
        }
        Ok(dropped)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::{Source, Trust};

    fn spec(name: &str, category: Category, seconds: Option<u64>) -> ToolSpec {
        let cache_for = seconds.map(Duration::from_secs);
        ToolSpec::sample(name, category, SideEffect::None { cache_for })
    }

    fn places() -> (PathBuf, PathBuf) {
        ("/w".into(), "/spill".into())
    }

    fn head() -> Vec<(Resource, Version)> {
        vec![(Resource("/w/.git/HEAD".into()), Version("1".into()))]
    }

    fn output(text: &str) -> ToolOutput {
        ToolOutput {
            content: vec![ReturnPart::Text { text: text.to_owned() }],
            source: Source::Web { url: "https://a.b/".to_owned() },
            trust: Trust::Untrusted,
            seen: Vec::new(),
            state: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_result_is_found_for_its_own_question_only() {
        let cache = ResultCache::default();
        let (git, web) =
            (spec("git_log", Category::Git, Some(60)), spec("web_fetch", Category::Web, Some(60)));
        let basis = |version: &str| vec![(Resource("/w/.git/HEAD".into()), Version(version.into()))];
        let ask = |spec: &ToolSpec, args: Value, folder: &str, version: &str| {
            cache.question(spec, &args, (folder.into(), "/spill".into()), basis(version)).unwrap()
        };
        let asked = ask(&git, json!({"a": 1, "b": {"d": 1, "c": [2]}}), "/w", "1");
        cache.put(asked, &output("log"));
        let finds = |spec: &ToolSpec, args: Value, folder: &str, version: &str| {
            cache.get(&ask(spec, args, folder, version).0).map(|(output, _)| output)
        };
        let same = json!({"b": {"c": [2], "d": 1}, "a": 1});
        // The source and the trust of a result come back with it.
        assert_eq!(finds(&git, same.clone(), "/w", "1"), Some(output("log")));
        assert_eq!(finds(&git, json!({"a": 2}), "/w", "1"), None);
        assert_eq!(finds(&git, same.clone(), "/other", "1"), None);
        assert_eq!(finds(&git, same.clone(), "/w", "2"), None);
        assert_eq!(finds(&web, same.clone(), "/w", "1"), None);
        // A change of files ends what depends on files, and nothing else.
        cache.put(ask(&web, json!({}), "/w", "1"), &output("page"));
        let before = ask(&git, json!({}), "/w", "1");
        cache.on_file_change();
        cache.put(before, &output("too late"));
        assert_eq!((finds(&git, same, "/w", "1"), finds(&git, json!({}), "/w", "1")), (None, None));
        assert_eq!(finds(&web, json!({}), "/w", "1"), Some(output("page")));
        assert_eq!(cache.list().len(), 1);
        // So does time.
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!((finds(&web, json!({}), "/w", "1"), cache.list()), (None, Vec::new()));
    }

    #[test]
    fn only_what_says_so_is_kept() {
        let cache = ResultCache::default();
        let question = |spec: &ToolSpec| cache.question(spec, &json!({}), places(), head());
        assert!(question(&spec("read_file", Category::Files, None)).is_none());
        // Without a basis a change cannot be detected; while something changes files, no result stays valid.
        let git = spec("git_log", Category::Git, Some(60));
        assert!(cache.question(&git, &json!({}), places(), Vec::new()).is_none());
        let changing = cache.changing_files();
        assert!(question(&git).is_none() && question(&spec("web_fetch", Category::Web, Some(60))).is_some());
        drop(changing);
        assert!(question(&git).is_some());
        for side_effect in [SideEffect::Local, SideEffect::External] {
            assert!(question(&ToolSpec { side_effect, ..spec("shell", Category::Shell, None) }).is_none());
        }
    }

    #[tokio::test]
    async fn results_are_dropped_by_pattern() {
        for (pattern, expected, left) in [
            (None, Ok(3), 0),
            (Some("git_*"), Ok(2), 1),
            (Some("web_fetch:*docs.rs*"), Ok(1), 2),
            (Some("web_fetch:*other*"), Ok(0), 3),
            (Some("git_log"), Ok(1), 2),
            (Some("["), Err("unclosed character class; missing ']'".to_owned()), 3),
        ] {
            let cache = ResultCache::default();
            for (name, category, args) in [
                ("git_log", Category::Git, json!({"count": 5})),
                ("git_status", Category::Git, json!({})),
                ("web_fetch", Category::Web, json!({"url": "https://docs.rs/x"})),
            ] {
                let asked = cache.question(&spec(name, category, Some(60)), &args, places(), head());
                cache.put(asked.unwrap(), &output("x"));
            }
            assert_eq!(cache.clear(pattern), expected, "{pattern:?}");
            assert_eq!(cache.list().len(), left, "{pattern:?}");
        }
    }
}
