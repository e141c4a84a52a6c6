//! Memories through their interface: real files, a real index.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use parking_lot::Mutex;

use super::*;
use crate::config::{DecayConsent, DecayStrategy};
use crate::message::Authorship;
use crate::stdx::clock::ManualClock;

impl StoredMemory {
    /// Makes one that no file has.
    pub(super) fn test(id: MemoryId, memory: Memory) -> Self {
        let folder = Folder::of_user(Path::new("/k"));
        let path = PathBuf::from("/k/x.md");
        Self {
            id,
            memory,
            path,
            version: String::new(),
            used: None,
            uses: 0,
            folder,
            name: "x.md".to_owned(),
        }
    }
}

/// Trusts a project or not, and records what it learns of its files.
#[derive(Default)]
struct Projects {
    is_trusted: bool,
    noted: Mutex<Vec<(String, bool)>>,
}

impl ProjectTrust for Projects {
    fn is_trusted(&self, _: &Path) -> bool {
        self.is_trusted
    }

    fn note_write(&self, _: &Path, file: &str, text: Option<&str>) -> std::io::Result<()> {
        self.noted.lock().push((file.to_owned(), text.is_some()));
        Ok(())
    }
}

/// A user with a folder of knowledge, and a project.
struct Bench {
    dir: tempfile::TempDir,
    memories: Memories,
    clock: Arc<ManualClock>,
    projects: Arc<Projects>,
}

impl Bench {
    fn new(change: impl FnOnce(&mut MemorySettings, &mut Projects)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("project")).unwrap();
        let mut settings = MemorySettings {
            max_count: 200,
            dedup_window_days: 7,
            dedup_threshold: 85,
            decay_percentage: 0.2,
            ..MemorySettings::default()
        };
        let mut projects = Projects { is_trusted: true, ..Projects::default() };
        change(&mut settings, &mut projects);
        let clock = Arc::new(ManualClock::at("2026-11-25T08:00:00Z".parse().unwrap()));
        let projects = Arc::new(projects);
        let memories = Self::open(dir.path(), settings, &clock, &projects);
        Self { dir, memories, clock, projects }
    }

    fn open(
        dir: &Path,
        settings: MemorySettings,
        clock: &Arc<ManualClock>,
        projects: &Arc<Projects>,
    ) -> Memories {
        let (clock, projects) =
            (Arc::clone(clock) as Arc<dyn Clock>, Some(Arc::clone(projects) as Arc<dyn ProjectTrust>));
        let knowledge = Some(dir.join("knowledge"));
        Memories::new(MemoryOptions { knowledge, data: dir.join("data"), settings, clock, projects })
    }

    fn project(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    fn folder(&self) -> PathBuf {
        self.dir.path().join("knowledge/memories")
    }

    fn new_memory(text: &str, scope: MemoryScope) -> NewMemory {
        let authorship = Authorship::Said;
        NewMemory { text: text.to_owned(), tags: Vec::new(), scope, authorship, session: None, call: None }
    }

    fn save(&self, text: &str) -> SaveOutcome {
        self.memories.save(&self.project(), Self::new_memory(text, MemoryScope::User)).unwrap()
    }

    fn ids(&self, found: &[RecallHit]) -> String {
        found.iter().map(|one| one.found.id.to_string()).collect::<Vec<_>>().join(" ")
    }

    fn search(&self, words: &str) -> String {
        self.ids(&self.memories.search(&self.project(), words, 10).unwrap())
    }

    fn recall(&self, prompt: &str) -> String {
        self.ids(&self.memories.recall(&self.project(), prompt, 10).unwrap())
    }

    fn find(&self, id: &str) -> Result<StoredMemory, MemoryError> {
        self.memories.find(&self.project(), id.parse().unwrap())
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.folder()).unwrap();
        fs::write(self.folder().join(name), text).unwrap();
    }

    fn all(&self) -> Vec<String> {
        let listing = self.memories.list(&self.project(), 1_000).unwrap();
        listing.memories.iter().map(|one| format!("{} {}", one.id, one.memory.text)).collect()
    }
}

#[test]
fn what_is_saved_is_found_by_words_in_any_order_and_by_their_beginnings() {
    let bench = Bench::new(|_, _| {});
    assert!(bench.all().is_empty() && !bench.dir.path().join("data").exists(), "looking creates nothing");
    for text in
        ["Tests are run with pytest in Python", "The coffee is decaf", "Deploys go to Frankfurt on Tuesday"]
    {
        bench.save(text);
    }
    for (words, found) in [
        ("python tests", "1"),
        ("testing", "1"),
        ("pyt", "1"),
        ("frank deploy", "3"),
        ("Kaffee", ""),
        ("the is", ""),
        ("coffee python", "2 1"),
        ("\"decaf\" OR *", "2"),
        ("NEAR(", ""),
    ] {
        let got = bench.search(words);
        let sorted = |ids: &str| ids.split(' ').map(str::to_owned).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(sorted(&got), sorted(found), "{words}: {got}");
    }
    // A prompt is not a search: words need not all be found, beginnings do not count.
    assert_eq!(bench.recall("how do I run the tests?"), "1");
    assert_eq!(bench.recall("pyt"), "");
    assert_eq!(bench.recall("hello there"), "");
    let found = bench.memories.recall(&bench.project(), "run the python tests", 5).unwrap();
    assert_eq!(found[0].words, ["run", "python", "tests"]);
}

#[test]
fn files_may_be_edited_added_and_deleted_by_hand() {
    let bench = Bench::new(|_, _| {});
    bench.save("The server is called apollo");
    let name = fs::read_dir(bench.folder()).unwrap().flatten();
    let name =
        name.map(|one| one.file_name().into_string().unwrap()).find(|name| name.ends_with(".md")).unwrap();
    assert_eq!(name, "001-the-server-is-called-apollo.md");
    let text = fs::read_to_string(bench.folder().join(&name)).unwrap();
    bench.write(&name, &text.replace("apollo", "hermes"));
    assert_eq!((bench.search("apollo"), bench.search("hermes")), (String::new(), "1".to_owned()));
    bench.write("044-note.md", "zebra without front matter");
    assert_eq!(bench.search("zebra"), "44");
    fs::remove_file(bench.folder().join("044-note.md")).unwrap();
    assert_eq!(bench.search("zebra"), "");
    // 44 was seen only; a number that co gave or deleted is not given again.
    let forgotten = bench.find("1").unwrap();
    bench.memories.forget(&bench.project(), &forgotten).unwrap();
    assert_eq!(bench.search("hermes"), "");
    assert_eq!(bench.save("Something new").stored.id.number, 2);
}

#[test]
fn broken_files_are_told_of_and_left_as_they_are() {
    let bench = Bench::new(|_, _| {});
    bench.save("A sound one");
    let files = [
        ("010-open.md", "---\nid: 10\nnever closed".as_bytes().to_vec(), "does not end"),
        ("011-yaml.md", b"---\nid: [\n---\nx".to_vec(), "cannot be read"),
        ("012-latin.md", b"---\nid: 12\n---\ncaf\xe9".to_vec(), "not UTF-8"),
        ("013-large.md", vec![b'x'; 10 * 1024 * 1024], "larger than 64 KiB"),
        ("no-number.md", b"words".to_vec(), "has no id"),
    ];
    for (name, bytes, _) in &files {
        fs::write(bench.folder().join(name), bytes).unwrap();
    }
    let outside = bench.dir.path().join("outside.md");
    fs::write(&outside, "---\nid: 14\n---\nsecret zebra").unwrap();
    symlink(&outside, bench.folder().join("014-link.md")).unwrap();
    let listing = bench.memories.list(&bench.project(), 10).unwrap();
    assert_eq!((listing.total, listing.memories.len()), (1, 1));
    for (name, problem) in
        files.iter().map(|(name, _, problem)| (*name, *problem)).chain([("014-link.md", "is a link")])
    {
        let noted = listing.problems.iter().find(|noted| noted.contains(name)).unwrap();
        assert!(noted.contains(problem), "{noted}");
    }
    assert_eq!(bench.search("zebra"), "");
    for (name, bytes, _) in files {
        assert_eq!(fs::read(bench.folder().join(name)).unwrap(), bytes);
    }
    assert_eq!(bench.save("Another").stored.id.number, 15, "their numbers are taken");
}

#[test]
fn an_id_of_two_files_is_refused() {
    let bench = Bench::new(|_, _| {});
    bench.write("003-a.md", "---\nid: 3\n---\nfirst zebra");
    bench.write("003-b.md", "---\nid: 3\n---\nsecond zebra");
    let error = bench.find("3").unwrap_err();
    assert!(matches!(&error, MemoryError::Twice { names, .. } if names.len() == 2), "{error}");
    assert!(
        bench.memories.list(&bench.project(), 10).unwrap().problems[0].contains("the id 3 is in 2 files")
    );
    assert_eq!(bench.search("zebra").split(' ').count(), 2, "both are found");
    assert!(matches!(bench.find("4"), Err(MemoryError::None { .. })));
}

#[test]
fn what_says_the_same_replaces_within_the_window_and_opposites_do_not() {
    let bench = Bench::new(|_, _| {});
    let first = bench.save("User prefers tabs over spaces in Python code");
    let again = bench.save("The user prefers tabs over spaces in Python code");
    assert_eq!((again.stored.id, again.stored.memory.updated.is_some()), (first.stored.id, true));
    assert!(again.replaced.is_some_and(|(old, alike)| old.starts_with("User prefers") && alike >= 85));
    let opposite = bench.save("The user prefers spaces over tabs in Python code");
    assert_eq!((opposite.stored.id.number, opposite.replaced), (2, None));
    bench.clock.advance(Duration::from_secs(8 * 86_400));
    let later = bench.save("The user prefers tabs over spaces in Python code");
    assert_eq!((later.stored.id.number, later.replaced), (3, None), "the window is over");
    assert_eq!(bench.all().len(), 3);
    // An expired memory says nothing about the present.
    let expires = Some(Some(bench.clock.now() - jiff::SignedDuration::from_secs(1)));
    let change = MemoryChange { expires, ..MemoryChange::default() };
    bench.memories.update(&bench.project(), &later.stored, change).unwrap();
    let anew = bench.save("The user prefers tabs over spaces in Python code");
    assert_eq!((anew.stored.id.number, anew.replaced), (4, None));
}

#[test]
fn a_project_gets_no_more_memories_than_can_be_trusted() {
    let bench = Bench::new(|_, projects| projects.is_trusted = true);
    let folder = bench.project().join(".co/knowledge/memories");
    fs::create_dir_all(&folder).unwrap();
    let file = |number: usize, text: &str| {
        fs::write(folder.join(format!("{number:04}-x.md")), format!("---\nid: {number}\n---\n{text}"))
            .unwrap();
    };
    (1..=1_000).for_each(|number| file(number, "x"));
    let save = |text: &str| {
        bench.memories.save(&bench.project(), Bench::new_memory(text, MemoryScope::Project)).map(drop)
    };
    let files =
        || fs::read_dir(&folder).unwrap().filter(|one| one.as_ref().unwrap().path().ends_with(".md")).count();
    let before = files();
    let refused = save("One more").unwrap_err().to_string();
    assert!(refused.starts_with("a project has at most 1000 memories; forget some"), "{refused}");
    (1..=990).for_each(|number| fs::remove_file(folder.join(format!("{number:04}-x.md"))).unwrap());
    (0..10).for_each(|number| file(991 + number, &"y".repeat(430_000)));
    let refused = save("One more").unwrap_err().to_string();
    assert!(refused.starts_with("the memories of a project have at most 4 MiB in all"), "{refused}");
    assert!(bench.projects.noted.lock().is_empty() && before >= files(), "nothing was written");
    fs::remove_file(folder.join("1000-x.md")).unwrap();
    save("One more").unwrap();
}

#[test]
fn a_change_is_refused_if_the_file_changed_meanwhile() {
    let bench = Bench::new(|_, _| {});
    let old = bench.save("First").stored;
    let by_hand = fs::read_to_string(&old.path).unwrap().replace("First", "By hand");
    fs::write(&old.path, &by_hand).unwrap();
    let change = MemoryChange { text: Some("Mine".to_owned()), ..MemoryChange::default() };
    let refused = bench.memories.update(&bench.project(), &old, change.clone()).unwrap_err();
    assert!(refused.to_string().contains("changed or deleted meanwhile"), "{refused}");
    assert!(bench.memories.forget(&bench.project(), &old).is_err());
    assert_eq!(fs::read_to_string(&old.path).unwrap(), by_hand);
    let now = bench.find("1").unwrap();
    let changed = bench.memories.update(&bench.project(), &now, change).unwrap();
    assert_eq!((changed.memory.text.as_str(), changed.memory.created), ("Mine", old.memory.created));
    let broken = bench.memories.rewrite(&bench.project(), &changed, b"---\nid: 1\nx").unwrap_err();
    assert!(broken.to_string().contains("does not end"), "{broken}");
    let rewritten =
        bench.memories.rewrite(&bench.project(), &changed, b"---\nid: 9\ntags: [x]\n---\nBy editor").unwrap();
    assert_eq!((rewritten.id.number, rewritten.memory.tags), (1, vec!["x".to_owned()]));
}

#[test]
fn a_project_counts_only_if_it_is_trusted_and_its_trust_follows_what_co_writes() {
    let bench = Bench::new(|_, projects| projects.is_trusted = false);
    let seed = bench.project().join(".co-cli/knowledge/memories");
    fs::create_dir_all(&seed).unwrap();
    fs::write(
        seed.join("004-zebra.md"),
        "---\nid: 4\ncreated: '2026-01-01T00:00:00'\n---\nzebra of the project",
    )
    .unwrap();
    let new = Bench::new_memory("Built with make", MemoryScope::Project);
    assert!(matches!(bench.memories.save(&bench.project(), new.clone()), Err(MemoryError::Untrusted)));
    assert_eq!(bench.search("zebra"), "");
    assert!(!bench.project().join(".co").exists());

    let projects = Arc::new(Projects { is_trusted: true, ..Projects::default() });
    let memories = Bench::open(bench.dir.path(), bench.memories.settings().clone(), &bench.clock, &projects);
    let bench = Bench { memories, projects, ..bench };
    assert_eq!(bench.search("zebra"), "p4");
    let saved = bench.memories.save(&bench.project(), new).unwrap().stored;
    assert_eq!(saved.id.to_string(), "p5", "numbers are of both folders");
    assert!(saved.path.starts_with(bench.project().join(".co/knowledge/memories")));
    bench.save("Zebra of mine");
    assert_eq!(bench.find("1").unwrap().id.scope, MemoryScope::User);
    // The seed's `/forget 4`.
    let old = bench.find("4").unwrap();
    bench.memories.forget(&bench.project(), &old).unwrap();
    let noted = bench.projects.noted.lock().clone();
    let expected = [
        (".co/knowledge/memories/005-built-with-make.md", true),
        (".co-cli/knowledge/memories/004-zebra.md", false),
    ];
    assert_eq!(noted, expected.map(|(file, is_there)| (file.to_owned(), is_there)));
}

#[test]
fn a_damaged_or_deleted_index_is_made_again() {
    let bench = Bench::new(|_, _| {});
    bench.save("About zebras");
    let file = bench.dir.path().join("data").join(FILE);
    fs::remove_file(&file).unwrap();
    assert_eq!(bench.search("zebras"), "1");
    for bytes in [
        &b"this is no database, and longer than a header of one would be, by far and away, is it not?"[..],
        b"",
    ] {
        let other =
            Bench::open(bench.dir.path(), bench.memories.settings().clone(), &bench.clock, &bench.projects);
        for end in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(bench.dir.path().join("data").join(format!("{FILE}{end}")));
        }
        fs::write(&file, bytes).unwrap();
        assert_eq!(bench.ids(&other.search(&bench.project(), "zebras", 5).unwrap()), "1");
    }
    // A folder in which no file can be made.
    let data = bench.dir.path().join("elsewhere");
    fs::write(&data, "a file").unwrap();
    let options = MemoryOptions { data, ..bench.memories.0.options.clone() };
    assert_eq!(bench.ids(&Memories::new(options).search(&bench.project(), "zebras", 5).unwrap()), "1");
}

#[test]
fn too_many_are_proposed_to_go_or_go_and_nothing_is_lost() {
    let few = |settings: &mut MemorySettings| {
        settings.max_count = 10;
        settings.decay_percentage = 0.3;
    };
    let names = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen", "ibis", "jay"];
    let fill = |bench: &Bench| {
        for name in names {
            assert_eq!(bench.save(&format!("{name} {name} {name}")).decay, None);
            bench.clock.advance(Duration::from_secs(60));
        }
    };
    let bench = Bench::new(|settings, _| few(settings));
    fill(&bench);
    let protect = MemoryChange { is_protected: Some(true), ..MemoryChange::default() };
    bench.memories.update(&bench.project(), &bench.find("1").unwrap(), protect).unwrap();
    let (consent, decayed) = bench.save("one too many").decay.unwrap();
    assert_eq!((consent, decayed.gone, bench.all().len()), (DecayConsent::Propose, 3, 11));
    let review = bench.memories.review(&bench.project()).unwrap();
    assert_eq!(review.going.iter().map(|one| one.id.number).collect::<Vec<_>>(), [2, 3, 4]);
    let decayed = bench.memories.decay(&bench.project()).unwrap();
    assert_eq!((decayed.gone, decayed.written, bench.all().len()), (3, 1, 9));
    let summary = bench.find("12").unwrap().memory;
    assert_eq!(summary.text, "- bee bee bee\n- cat cat cat\n- dog dog dog");
    assert!(summary.tags.contains(&CONSOLIDATED.to_owned()));
    assert_eq!((bench.search("cat"), bench.search("ant")), ("12".to_owned(), "1".to_owned()));
    assert_eq!(bench.memories.decay(&bench.project()).unwrap(), DecayResult::default());

    let bench = Bench::new(|settings, _| {
        few(settings);
        settings.decay = DecayConsent::Allow;
        settings.decay_strategy = DecayStrategy::Cut;
    });
    fill(&bench);
    let (consent, decayed) = bench.save("one too many").decay.unwrap();
    assert_eq!((consent, decayed.gone, bench.all().len()), (DecayConsent::Allow, 3, 8));
}

#[test]
fn a_doubtful_id_deletes_nothing() {
    // Two files share an id, the older of them protected: decay leaves both.
    let bench = Bench::new(|settings, _| settings.max_count = 10);
    let file =
        |day: usize, more: &str| format!("---\nid: 5\ncreated: 2026-01-{day:02}\n{more}---\nshared {day}\n");
    bench.write("a.md", &file(1, "decay_protected: true\n"));
    bench.write("b.md", &file(2, ""));
    for name in ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen", "ibis"] {
        bench.save(&format!("{name} {name} {name}"));
        bench.clock.advance(Duration::from_secs(60));
    }
    bench.memories.decay(&bench.project()).unwrap();
    let shared = |all: Vec<String>| all.iter().filter(|one| one.contains("shared")).count();
    assert!(
        bench.folder().join("a.md").exists() && bench.folder().join("b.md").exists(),
        "{:?}",
        bench.all()
    );
    assert!(shared(bench.all()) >= 2);

    // A number that the user's memories had is not the project's once it is deleted.
    let bench = Bench::new(|_, _| {});
    bench.save("mine");
    let project = Bench::new_memory("of the project", MemoryScope::Project);
    bench.memories.save(&bench.project(), project).unwrap();
    bench.memories.forget(&bench.project(), &bench.find("1").unwrap()).unwrap();
    assert!(matches!(bench.find("1"), Err(MemoryError::None { .. })));
    assert_eq!(bench.find("p1").unwrap().memory.text, "of the project");
}

#[test]
fn use_and_expiry_count_and_no_file_changes_by_use() {
    let bench = Bench::new(|_, _| {});
    let stored = bench.save("zebra alpha").stored;
    bench.save("zebra beta");
    assert_eq!(bench.find("1").unwrap().uses, 0);
    bench.search("alpha");
    let used = bench.find("1").unwrap();
    assert_eq!((used.uses, used.used, used.version), (1, Some(bench.memories.now()), stored.version));
    let expires = Some(Some("2026-11-26T00:00:00Z".parse().unwrap()));
    let change = MemoryChange { expires, ..MemoryChange::default() };
    bench.memories.update(&bench.project(), &bench.find("2").unwrap(), change).unwrap();
    assert_eq!(bench.search("zebra").split(' ').count(), 2);
    bench.clock.advance(Duration::from_secs(86_400));
    assert_eq!(bench.search("zebra"), "1");
    assert_eq!(bench.memories.review(&bench.project()).unwrap().expired.len(), 1);
}

#[test]
fn a_large_folder_is_scanned_apart_and_found() {
    let bench = Bench::new(|_, _| {});
    fs::create_dir_all(bench.folder()).unwrap();
    for number in 1..=2_100 {
        let text = format!("---\nid: {number}\ncreated: 2026-01-01\n---\ncommon words and word{number}\n");
        fs::write(bench.folder().join(format!("{number:03}.md")), text).unwrap();
    }
    assert_eq!(bench.search("word2077"), "", "a turn does not wait for it");
    bench.memories.scan(&bench.project());
    assert_eq!(bench.search("word2077"), "2077");
    assert_eq!(bench.search("common word2077"), "2077 2100 2099 2098 2097 2096 2095 2094 2093 2092");
    // A file that co writes is found at once, one that others write after the next scan; a deleted one is never returned.
    assert_eq!(bench.save("apart zebra").stored.id.number, 2_101);
    assert_eq!(bench.search("zebra"), "2101");
    fs::remove_file(bench.folder().join("2077.md")).unwrap();
    bench.write("2078.md", "---\nid: 2078\n---\nchanged giraffe");
    assert_eq!((bench.search("word2077"), bench.search("giraffe")), (String::new(), String::new()));
    bench.memories.scan(&bench.project());
    assert_eq!(bench.search("giraffe"), "2078");
}
