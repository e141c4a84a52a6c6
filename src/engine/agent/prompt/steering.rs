//! Models that need additional instructions or other settings: a table by provider and the beginning of the model's
//! name. The user's own settings precede it.

/// How much of the prompt a model can follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Tier {
    /// Tier 1: who it is and how a conversation goes; no personality.
    Minimal,
    /// Tier 2: also questions, answers and approvals; of a personality the style.
    Reduced,
    /// Tier 3: everything.
    #[default]
    Full,
}

/// An unwanted tendency of a model, against which it gets an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tendency {
    Verbose,
    Overeager,
    Lazy,
    Hesitant,
}

impl Tendency {
    /// The instruction against it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Verbose => include_str!("../../../../prompts/steering/verbose.md"),
            Self::Overeager => include_str!("../../../../prompts/steering/overeager.md"),
            Self::Lazy => include_str!("../../../../prompts/steering/lazy.md"),
            Self::Hesitant => include_str!("../../../../prompts/steering/hesitant.md"),
        }
    }
}

/// The properties of a family of models at a provider.
#[derive(Debug, Clone, PartialEq)]
pub struct Steering {
    provider: &'static str,
    /// The beginning of the model's name, in lower case.
    model: &'static str,
    pub tendencies: &'static [Tendency],
    pub tier: Tier,
    pub temperature: Option<f32>,
    pub top_p: Option<f32>,
    /// Tokens of a reply.
    pub max_output: Option<u32>,
}

/// The first row that fits counts.
const TABLE: &[Steering] = &[
    Steering {
        provider: "ollama",
        model: "glm-4.7-flash",
        tendencies: &[Tendency::Overeager],
        tier: Tier::Minimal,
        temperature: Some(0.7),
        top_p: Some(1.0),
        max_output: Some(16_384),
    },
    Steering {
        provider: "ollama",
        model: "llama3.1",
        tendencies: &[Tendency::Hesitant],
        tier: Tier::Reduced,
        temperature: None,
        top_p: None,
        max_output: None,
    },
    Steering {
        provider: "ollama",
        model: "qwen3",
        tendencies: &[],
        tier: Tier::Full,
        temperature: Some(0.6),
        top_p: Some(0.95),
        max_output: Some(32_768),
    },
];

impl Steering {
    /// Returns the row of a model at a provider; a folder before its name does not count.
    #[must_use]
    pub fn of(provider: &str, model: &str) -> Option<&'static Self> {
        let name = model.rsplit('/').next().unwrap_or(model).to_lowercase();
        TABLE.iter().find(|row| row.provider == provider && name.starts_with(row.model))
    }

    /// Returns `provider:model` of the row.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}:{}", self.provider, self.model)
    }

    /// Returns the instructions against its tendencies; `None` if it has none.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let texts: Vec<&str> = self.tendencies.iter().map(|tendency| tendency.text().trim()).collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_found_by_provider_and_beginning() {
        for (provider, model, expected) in [
            ("ollama", "llama3.1:8b-instruct", Some(("ollama:llama3.1", Tier::Reduced))),
            ("ollama", "library/Qwen3:30b-a3b-thinking-2507-q8_0", Some(("ollama:qwen3", Tier::Full))),
            ("ollama", "glm-4.7-flash:q4_k_m", Some(("ollama:glm-4.7-flash", Tier::Minimal))),
            ("ollama", "llama3.2", None),
            ("openrouter", "qwen3", None),
            ("ollama", "my-qwen3", None),
        ] {
            let found = Steering::of(provider, model);
            assert_eq!(
                found.map(|row| (row.name(), row.tier)),
                expected.map(|(name, tier)| (name.to_owned(), tier)),
                "{model}"
            );
        }
        // Only tendencies bring instructions.
        assert_eq!(Steering::of("ollama", "qwen3").unwrap().text(), None);
        let text = Steering::of("ollama", "llama3.1").unwrap().text().unwrap();
        assert!(text.starts_with("Call tools when they help"), "{text}");
    }
}
