//! The prompt book: the texts of the system prompt by name, each with its source, in the order in which they are sent.
//! A later text precedes an earlier one where they disagree. Pure; the files are read by `workspace`.

use std::fmt;
use std::path::{Path, PathBuf};

use super::steering::{Steering, Tier};
use super::template::{TemplateError, render};
use crate::stdx::names::names;

/// A built-in aspect: how the model behaves in one respect.
pub struct Aspect {
    pub name: &'static str,
    /// A template; it knows the values of [`TemplateValues`].
    pub text: &'static str,
    /// The lowest tier that has it.
    pub tier: Tier,
}

const fn aspect(name: &'static str, tier: Tier, text: &'static str) -> Aspect {
    Aspect { name, text, tier }
}

/// The aspects, in their order.
pub const ASPECTS: [Aspect; 7] = [
    aspect("identity", Tier::Minimal, include_str!("../../../../prompts/aspects/identity.md")),
    aspect("inquiry", Tier::Reduced, include_str!("../../../../prompts/aspects/inquiry.md")),
    aspect("multi_turn", Tier::Minimal, include_str!("../../../../prompts/aspects/multi_turn.md")),
    aspect("response_style", Tier::Reduced, include_str!("../../../../prompts/aspects/response_style.md")),
    aspect("approval", Tier::Reduced, include_str!("../../../../prompts/aspects/approval.md")),
    aspect("fact_verify", Tier::Full, include_str!("../../../../prompts/aspects/fact_verify.md")),
    aspect("tool_output", Tier::Full, include_str!("../../../../prompts/aspects/tool_output.md")),
];

/// One of the two parts of a personality.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PersonalityPart {
    Character,
    Style,
}

names! { PersonalityPart, all { Character = "character", Style = "style", } }

impl PersonalityPart {
    /// The lowest tier that has it.
    fn tier(self) -> Tier {
        match self {
            Self::Character => Tier::Full,
            Self::Style => Tier::Reduced,
        }
    }
}

/// A built-in personality; its texts are templates as those of aspects.
pub struct Personality {
    pub name: &'static str,
    character: Option<&'static str>,
    style: &'static str,
}

const fn personality(
    name: &'static str,
    character: Option<&'static str>,
    style: &'static str,
) -> Personality {
    Personality { name, character, style }
}

/// The personality if none is set.
pub const DEFAULT_PERSONALITY: &str = "finch";

/// The built-in personalities.
pub const PERSONALITIES: [Personality; 5] = [
    personality(
        DEFAULT_PERSONALITY,
        Some(include_str!("../../../../prompts/personalities/finch/character.md")),
        include_str!("../../../../prompts/personalities/finch/style.md"),
    ),
    personality(
        "jeff",
        Some(include_str!("../../../../prompts/personalities/jeff/character.md")),
        include_str!("../../../../prompts/personalities/jeff/style.md"),
    ),
    personality("friendly", None, include_str!("../../../../prompts/personalities/friendly/style.md")),
    personality("terse", None, include_str!("../../../../prompts/personalities/terse/style.md")),
    personality("inquisitive", None, include_str!("../../../../prompts/personalities/inquisitive/style.md")),
];

impl Personality {
    /// Returns the built-in text of a part of a personality, if there is one.
    pub fn builtin(name: &str, part: PersonalityPart) -> Option<&'static str> {
        let found = PERSONALITIES.iter().find(|one| one.name == name)?;
        match part {
            PersonalityPart::Character => found.character,
            PersonalityPart::Style => Some(found.style),
        }
    }
}

/// Where a text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SectionSource {
    /// A file of this program's `prompts`.
    Builtin {
        file: String,
    },
    User {
        path: PathBuf,
    },
    Project {
        path: PathBuf,
    },
}

impl fmt::Display for SectionSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin { file } => write!(f, "built-in {file}"),
            Self::User { path } | Self::Project { path } => write!(f, "{}", path.display()),
        }
    }
}

/// A named text of the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub name: String,
    /// As it is sent.
    pub text: String,
    pub source: SectionSource,
}

/// The values that templates know: the folder of the session and the name of the personality.
pub struct TemplateValues<'a> {
    pub folder: &'a Path,
    pub personality: &'a str,
}

impl TemplateValues<'_> {
    /// Fills in a template.
    pub fn render(&self, file: &str, template: &str) -> Result<String, TemplateError> {
        let folder = self.folder.display().to_string();
        render(file, template, &[("folder", &folder), ("personality", self.personality)])
    }

    /// Fills in a built-in template.
    pub fn builtin(&self, name: String, file: &str, template: &str) -> Section {
        // A test fills in all of them; a folder with an endless name leaves the text as it is written.
        let text = self.render(file, template).unwrap_or_else(|_| template.trim().to_owned());
        Section { name, text, source: SectionSource::Builtin { file: file.to_owned() } }
    }

    /// Returns the built-in text of an aspect.
    pub fn aspect(&self, aspect: &Aspect) -> Section {
        let file = format!("prompts/aspects/{}.md", aspect.name);
        self.builtin(aspect.name.to_owned(), &file, aspect.text)
    }

    /// Returns the built-in text of a part of the personality, if there is one.
    pub fn part(&self, part: PersonalityPart) -> Option<Section> {
        let text = Personality::builtin(self.personality, part)?;
        let file = format!("prompts/personalities/{}/{}.md", self.personality, part.word());
        Some(self.builtin(part.word().to_owned(), &file, text))
    }
}

const KNOWLEDGE: &str = include_str!("../../../../prompts/knowledge.md");
const PROJECT_KNOWLEDGE: &str = include_str!("../../../../prompts/project_knowledge.md");
const INSTRUCTIONS: &str = include_str!("../../../../prompts/instructions.md");

impl Section {
    /// Builds the section of a text with facts; the text is a value, never a template.
    pub fn knowledge(name: &str, text: &str, source: SectionSource) -> Self {
        let head = match source {
            SectionSource::Builtin { .. } | SectionSource::User { .. } => KNOWLEDGE,
            SectionSource::Project { .. } => PROJECT_KNOWLEDGE,
        };
        Self::with_head(head, name, text, source)
    }

    /// Builds the section of a project's instructions, as [`Section::knowledge`].
    pub fn instructions(name: &str, text: &str, source: SectionSource) -> Self {
        Self::with_head(INSTRUCTIONS, name, text, source)
    }

    fn with_head(head: &str, name: &str, text: &str, source: SectionSource) -> Self {
        let text = format!("{}\n\n{}", head.trim().replace("{source}", name), text.trim());
        Self { name: name.to_owned(), text, source }
    }
}

/// The texts of one session, filled in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PromptBook {
    pub aspects: Vec<(Tier, Section)>,
    pub personality: Vec<(PersonalityPart, Section)>,
    /// The user's knowledge, then the project's.
    pub knowledge: Vec<Section>,
    pub instructions: Vec<Section>,
}

impl PromptBook {
    /// Returns the book without any file of the user or of a project.
    #[must_use]
    pub fn builtin(folder: &Path, personality: &str) -> Self {
        let values = TemplateValues { folder, personality };
        let parts = PersonalityPart::ALL.into_iter().filter_map(|part| Some((part, values.part(part)?)));
        Self {
            aspects: ASPECTS.iter().map(|aspect| (aspect.tier, values.aspect(aspect))).collect(),
            personality: parts.collect(),
            ..Self::default()
        }
    }

    /// Returns the sections for a model, in the order in which they are sent.
    #[must_use]
    pub fn sections(&self, steering: Option<&Steering>) -> Vec<Section> {
        let tier = steering.map(|one| one.tier).unwrap_or_default();
        let steered = steering.and_then(|one| {
            let file = format!("prompts/steering for {}", one.name());
            let source = SectionSource::Builtin { file };
            Some(Section { name: "steering".to_owned(), text: one.text()?, source })
        });
        let aspects = self.aspects.iter().filter(|(lowest, _)| *lowest <= tier).map(|(_, one)| one);
        let personality = self.personality.iter().filter(|(part, _)| part.tier() <= tier).map(|(_, one)| one);
        let rest = personality.chain(&self.knowledge).chain(&self.instructions);
        aspects.cloned().chain(steered).chain(rest.cloned()).collect()
    }

    /// Whether any part of a personality is sent to a model.
    #[must_use]
    pub fn has_personality(steering: Option<&Steering>) -> bool {
        let tier = steering.map(|one| one.tier).unwrap_or_default();
        PersonalityPart::ALL.iter().any(|part| part.tier() <= tier)
    }

    /// Returns the names of the sections for a model that differ from those of another book.
    #[must_use]
    pub fn changes(&self, before: &Self, steering: Option<&Steering>) -> Vec<String> {
        let (now, then) = (self.sections(steering), before.sections(steering));
        let gone = then.iter().filter(|one| now.iter().all(|other| other.name != one.name));
        let new = now.iter().filter(|one| !then.contains(one));
        new.chain(gone).map(|one| one.name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::context::text_tokens;

    fn names(steering: Option<&Steering>, personality: &str) -> Vec<String> {
        let book = PromptBook {
            knowledge: vec![Section::knowledge(
                "context.md",
                "{{ no }} template",
                SectionSource::User { path: "/c/context.md".into() },
            )],
            ..PromptBook::builtin(Path::new("/w"), personality)
        };
        let sections = book.sections(steering);
        assert!(sections.last().unwrap().text.ends_with("\n\n{{ no }} template"), "{sections:#?}");
        sections.into_iter().map(|one| one.name).collect()
    }

    #[test]
    fn a_tier_has_its_aspects_and_parts_in_order() {
        let full =
            ["identity", "inquiry", "multi_turn", "response_style", "approval", "fact_verify", "tool_output"];
        let reduced = ["identity", "inquiry", "multi_turn", "response_style", "approval"];
        for (model, personality, aspects, rest) in [
            ("none", "finch", &full[..], &["character", "style", "context.md"][..]),
            ("none", "terse", &full, &["style", "context.md"]),
            ("qwen3:8b", "jeff", &full, &["character", "style", "context.md"]),
            ("llama3.1", "finch", &reduced, &["steering", "style", "context.md"]),
            ("glm-4.7-flash", "finch", &["identity", "multi_turn"], &["steering", "context.md"]),
        ] {
            let expected: Vec<String> = aspects.iter().chain(rest).map(|name| (*name).to_owned()).collect();
            assert_eq!(names(Steering::of("ollama", model), personality), expected, "{model} {personality}");
        }
    }

    #[test]
    fn every_built_in_text_is_a_template_that_can_be_filled_in() {
        for personality in &PERSONALITIES {
            let values = TemplateValues { folder: Path::new("/w {{ x }}"), personality: personality.name };
            let parts = PersonalityPart::ALL.into_iter();
            let texts = parts.filter_map(|part| Personality::builtin(personality.name, part));
            for text in texts.chain(ASPECTS.iter().map(|aspect| aspect.text)) {
                assert!(values.render("x.md", text).is_ok(), "{text}");
            }
        }
        let book = PromptBook::builtin(Path::new("/w {{ x }}"), DEFAULT_PERSONALITY);
        let identity = &book.sections(None)[0];
        assert!(identity.text.contains("You work in the folder /w {{ x }}."), "{}", identity.text);
        assert!(text_tokens(&identity.text) > 50);
    }

    #[test]
    fn what_changed_is_named() {
        let before = PromptBook::builtin(Path::new("/w"), "finch");
        let after = PromptBook::builtin(Path::new("/w"), "terse");
        assert_eq!(before.changes(&before, None), Vec::<String>::new());
        for (model, changed) in [
            ("qwen3:8b", &["style", "character"][..]),
            ("llama3.1", &["style"]),
            // Its tier has no personality.
            ("glm-4.7-flash", &[]),
        ] {
            let steering = Steering::of("ollama", model);
            assert_eq!(after.changes(&before, steering), changed, "{model}");
            assert_eq!(PromptBook::has_personality(steering), !changed.is_empty(), "{model}");
        }
    }
}
