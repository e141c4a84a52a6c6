//! The prompt book of a session, read from files: the user's own texts, next to the settings, and those of a trusted project.
//! A file that cannot be used is reported once, and the built-in text is used in its place.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::knowledge::{self, Budget};
use super::trust::TrustedTexts;
use super::world::World;
use crate::agent::prompt::{
    ASPECTS, Aspect, DEFAULT_PERSONALITY, PERSONALITIES, PersonalityPart, PromptBook, Section, SectionSource,
    Steering, TemplateValues,
};
use crate::command::code;
use crate::config::{Contents, INSTRUCTIONS, PROJECT_KNOWLEDGE, Settings, read_bounded};
use crate::stdx::text::sanitize_line;

/// The most names of personalities or aspects that are read in a folder.
const MOST_NAMES: usize = 1_000;

/// The prompts of this process: the personality in use, and what was reported.
pub struct Prompts {
    /// The folder of the user's settings; `None` without a home folder.
    config: Option<PathBuf>,
    personality: Mutex<String>,
    reported: Mutex<BTreeSet<String>>,
    news: Mutex<Vec<String>>,
}

impl Prompts {
    pub fn new(world: &World, settings: &Settings) -> Self {
        let personality = Mutex::new(settings.personality.clone());
        Self { config: world.config_dir(), personality, reported: Mutex::default(), news: Mutex::default() }
    }

    /// Returns the personality in use: the one that is set, or the default if there is none of that name. Blocking.
    pub fn personality(&self) -> String {
        let set = self.personality.lock().clone();
        if self.names().contains(&set) { set } else { DEFAULT_PERSONALITY.to_owned() }
    }

    /// Sets the personality, from the next turn on.
    pub fn set_personality(&self, name: &str) {
        name.clone_into(&mut self.personality.lock());
    }

    /// Returns the names of all personalities, the built-in ones first. Blocking.
    pub fn names(&self) -> Vec<String> {
        let builtin = PERSONALITIES.iter().map(|one| one.name.to_owned());
        let own = self
            .own_names("prompts/personalities")
            .into_iter()
            .filter(|name| PERSONALITIES.iter().all(|one| one.name != name) && is_name(name));
        builtin.chain(own).collect()
    }

    /// Takes the news for the user; each is returned once.
    pub fn take_news(&self) -> Vec<String> {
        std::mem::take(&mut self.news.lock())
    }

    /// Reports which parts of a session's book changed, of those that a model gets.
    pub fn tell_changes(&self, before: &PromptBook, now: &PromptBook, steering: Option<&Steering>) {
        let names: Vec<String> = now.changes(before, steering).iter().map(|name| code(name)).collect();
        if !names.is_empty() {
            let names = names.join(", ");
            let text =
                format!("The prompt changed ({names}): its prefix is sent anew with the next request.");
            self.news.lock().push(text);
        }
    }

    /// Reads the book of a folder; `trusted` is what counts of the folder. Blocking.
    pub fn read(&self, folder: &Path, trusted: TrustedTexts) -> Arc<PromptBook> {
        let mut problems = Vec::new();
        let personality = self.personality();
        let set = self.personality.lock().clone();
        if personality != set {
            problems.push(format!(
                "There is no personality {}, so {personality} is used; there are {}.",
                code(&set),
                self.names().join(", ")
            ));
        }
        let values = TemplateValues { folder, personality: &personality };
        let aspects = ASPECTS.iter().map(|one| (one.tier, self.aspect(one, &values, &mut problems)));
        let aspects = aspects.collect();
        self.check_names(&mut problems);
        let (contents, unread) = trusted.unwrap_or_default();
        problems.extend(unread.into_iter().map(|problem| format!("{problem}, and it is not used.")));
        let book = PromptBook {
            aspects,
            personality: self.parts(&values, &mut problems),
            knowledge: self.knowledge(folder, &contents, &mut problems),
            instructions: instructions(folder, &contents, &mut problems),
        };
        let mut reported = self.reported.lock();
        let problems = problems.iter().map(|problem| sanitize_line(problem).into_owned());
        self.news.lock().extend(problems.filter(|problem| reported.insert(problem.clone())));
        Arc::new(book)
    }

    /// Returns an aspect as the user's file says, or else as it is built in.
    fn aspect(&self, aspect: &Aspect, values: &TemplateValues<'_>, problems: &mut Vec<String>) -> Section {
        let file = format!("prompts/aspects/{}.md", aspect.name);
        self.own(aspect.name, &file, values, problems).unwrap_or_else(|| values.aspect(aspect))
    }

    /// Returns the parts of the personality, each as the user's file says, or else as it is built in.
    fn parts(
        &self,
        values: &TemplateValues<'_>,
        problems: &mut Vec<String>,
    ) -> Vec<(PersonalityPart, Section)> {
        let mut part = |part: PersonalityPart| {
            let file = format!("prompts/personalities/{}/{}.md", values.personality, part.word());
            let own = self.own(part.word(), &file, values, problems);
            Some((part, own.or_else(|| values.part(part))?))
        };
        PersonalityPart::ALL.into_iter().filter_map(&mut part).collect()
    }

    /// Returns the section of one of the user's files, if there is one that can be used.
    fn own(
        &self,
        name: &str,
        file: &str,
        values: &TemplateValues<'_>,
        problems: &mut Vec<String>,
    ) -> Option<Section> {
        let path = self.config.as_ref()?.join(file);
        let shown = path.display().to_string();
        let text = match read_bounded(&path) {
            Ok(text) => text?,
            Err(error) => {
                problems.push(format!("{shown}: {error}. The built-in text is used, if there is one."));
                return None;
            }
        };
        match values.render(&shown, &text) {
            Ok(text) => Some(Section { name: name.to_owned(), text, source: SectionSource::User { path } }),
            Err(error) => {
                problems.push(format!("{error}. The built-in text is used, if there is one."));
                None
            }
        }
    }

    /// Reports files of aspects that do not exist.
    fn check_names(&self, problems: &mut Vec<String>) {
        for file in self.own_names("prompts/aspects") {
            let Some(name) = file.strip_suffix(".md") else { continue };
            if ASPECTS.iter().all(|aspect| aspect.name != name) {
                let known: Vec<&str> = ASPECTS.iter().map(|aspect| aspect.name).collect();
                problems.push(format!(
                    "prompts/aspects/{file} beside your settings has no effect: the aspects are {}.",
                    known.join(", ")
                ));
            }
        }
    }

    /// Returns the sorted names in one of the user's folders.
    fn own_names(&self, folder: &str) -> Vec<String> {
        let Some(config) = &self.config else { return Vec::new() };
        let Ok(entries) = std::fs::read_dir(config.join(folder)) else { return Vec::new() };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.take(MOST_NAMES).collect();
        names.sort_unstable();
        names
    }

    fn knowledge(&self, folder: &Path, contents: &Contents, problems: &mut Vec<String>) -> Vec<Section> {
        let mut budget = Budget::of("Knowledge files");
        let mut sections = Vec::new();
        if let Some(path) = self.config.as_ref().map(|config| config.join("knowledge/context.md")) {
            match read_bounded(&path) {
                Ok(None) => {}
                Ok(Some(text)) => {
                    let text = budget.fit(&path, &text, knowledge::USER, problems);
                    let source = SectionSource::User { path };
                    sections
                        .extend(text.map(|text| Section::knowledge("knowledge/context.md", &text, source)));
                }
                Err(error) => problems.push(format!("{}: {error}, and it is not used.", path.display())),
            }
        }
        for name in PROJECT_KNOWLEDGE {
            let Some(text) = contents.get(name) else { continue };
            let path = folder.join(name);
            let text = budget.fit(&path, text, knowledge::PROJECT, problems);
            sections
                .extend(text.map(|text| Section::knowledge(name, &text, SectionSource::Project { path })));
        }
        problems.extend(budget.warning());
        sections
    }
}

/// Returns the sections of a project's instructions, as far as they fit; a text that several files hold is taken once.
fn instructions(folder: &Path, contents: &Contents, problems: &mut Vec<String>) -> Vec<Section> {
    let mut budget = Budget::of("Instructions");
    let mut taken: Vec<&str> = Vec::new();
    let mut sections = Vec::new();
    for name in INSTRUCTIONS {
        let Some(text) = contents.get(name).map(|text| text.trim()).filter(|text| !text.is_empty()) else {
            continue;
        };
        if !taken.contains(&text) {
            taken.push(text);
            let path = folder.join(name);
            let text = budget.take(&path, text, knowledge::PROJECT, problems);
            let source = SectionSource::Project { path };
            sections.extend(text.map(|text| Section::instructions(name, &text, source)));
        }
    }
    problems.extend(budget.warning());
    sections
}

/// Whether a name can be that of a personality: it is also that of a folder.
fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    !name.is_empty() && name.chars().all(is_plain)
}
