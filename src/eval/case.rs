//! Golden cases: one JSON object a line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::stdx::names::names;

/// The built-in cases.
pub const BUILT_IN: &str = include_str!("../../evals/tool_calling.jsonl");

/// The ability that a case measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dim {
    /// The right tool.
    ToolSelection,
    /// The right arguments.
    ArgExtraction,
    /// No tool where none is needed.
    Refusal,
    /// Words to the user after a call that failed.
    ErrorRecovery,
    /// The right next step after a denial, an edit or a deferral.
    Approval,
    /// No instruction of a tool's output is followed.
    Injection,
}

names! {
    Dim, all {
        ToolSelection = "tool_selection",
        ArgExtraction = "arg_extraction",
        Refusal = "refusal",
        ErrorRecovery = "error_recovery",
        Approval = "approval",
        Injection = "injection",
    }
}

impl Dim {
    /// Whether tools run, in a workspace that is thrown away. In the other cases every call waits, and none runs.
    #[must_use]
    pub fn runs_tools(self) -> bool {
        matches!(self, Self::ErrorRecovery | Self::Approval | Self::Injection)
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// How arguments are compared with the expected ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgMatch {
    Exact,
    /// Further arguments may be there.
    #[default]
    Subset,
}

/// The answer of the user to the first request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserAnswer {
    /// No, with this reason.
    Deny(String),
    /// Yes, with these arguments.
    Edit(Value),
    /// Not now; then this prompt follows.
    Later(String),
}

/// A call that must come next, or none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedCall {
    /// `None`: the model answers in words.
    pub tool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Value>,
}

/// A call that must never come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForbiddenCall {
    pub tool: String,
    /// Only calls whose arguments contain these words, whatever their case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub id: String,
    pub dim: Dim,
    pub prompt: String,
    /// The tool of the first call; `None`: no call, or, where tools run, any.
    #[serde(default)]
    pub expect_tool: Option<String>,
    #[serde(default)]
    pub expect_args: Option<Value>,
    #[serde(default)]
    pub arg_match: Option<ArgMatch>,
    /// Tools that must be offered; without them the case is skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Files of the workspace, by path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<UserAnswer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<ExpectedCall>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forbid: Vec<ForbiddenCall>,
}

impl Case {
    /// Returns what is missing for its dimension.
    fn fault(&self) -> Option<String> {
        let needs = |what: &str| Some(format!("`{}` needs {what}", self.dim));
        if self.id.trim().is_empty() || self.prompt.trim().is_empty() {
            return Some("`id` and `prompt` must not be empty".to_owned());
        }
        if let Some(path) = self.files.keys().find(|path| path.starts_with('/') || path.contains("..")) {
            return Some(format!("{path:?} is not a path inside of the workspace"));
        }
        match self.dim {
            Dim::ToolSelection | Dim::ErrorRecovery if self.expect_tool.is_none() => needs("`expect_tool`"),
            Dim::ArgExtraction if self.expect_tool.is_none() || self.expect_args.is_none() => {
                needs("`expect_tool` and `expect_args`")
            }
            Dim::Refusal if self.expect_tool.is_some() => needs("`expect_tool` to be null"),
            Dim::Approval if self.expect_tool.is_none() || self.answer.is_none() || self.then.is_none() => {
                needs("`expect_tool`, `answer` and `then`")
            }
            Dim::Injection if self.forbid.is_empty() => needs("`forbid`"),
            _ => None,
        }
    }

    /// Returns the tools that are needed and not among these.
    pub fn missing<'a>(&'a self, offered: &BTreeSet<&str>) -> Vec<&'a str> {
        let named = self.needs.iter().map(String::as_str);
        named.filter(|name| !offered.contains(name)).collect()
    }
}

/// The cases of a file, and what is wrong with its lines.
#[derive(Debug, Default, PartialEq)]
pub struct Cases {
    pub cases: Vec<Case>,
    /// By line, from 1.
    pub faults: Vec<(usize, String)>,
}

/// Reads a file of cases. Empty lines count for nothing; a line with a mistake is left out and named.
#[must_use]
pub fn parse(text: &str) -> Cases {
    let mut found = Cases::default();
    let mut ids: BTreeMap<String, usize> = BTreeMap::new();
    for (line, text) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line + 1;
        if text.trim().is_empty() {
            continue;
        }
        let fault = match serde_json::from_str::<Case>(text) {
            Err(error) => Some(error.to_string().replace(" at line 1 column", ", column")),
            Ok(case) => match (case.fault(), ids.get(&case.id)) {
                (Some(fault), _) => Some(fault),
                (None, Some(earlier)) => Some(format!("the id {:?} is that of line {earlier}", case.id)),
                (None, None) => {
                    ids.insert(case.id.clone(), line);
                    found.cases.push(case);
                    None
                }
            },
        };
        found.faults.extend(fault.map(|fault| (line, fault)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_mistakes_are_named_and_the_rest_is_read() {
        let good = r#"{"id": "a", "dim": "tool_selection", "prompt": "p", "expect_tool": "t", "expect_args": null, "arg_match": null}"#;
        let cases = [
            (good.to_owned(), None),
            ("{".to_owned(), Some("EOF")),
            (good.to_owned(), Some("the id \"a\" is that of line 1")),
            (String::new(), None),
            (r#"{"id": "b", "dim": "taste", "prompt": "p"}"#.to_owned(), Some("unknown variant `taste`")),
            (
                r#"{"id": "c", "dim": "refusal", "prompt": "p", "expect": 1}"#.to_owned(),
                Some("unknown field `expect`"),
            ),
            (
                r#"{"id": "d", "dim": "refusal", "prompt": "p", "expect_tool": "t"}"#.to_owned(),
                Some("to be null"),
            ),
            (
                r#"{"id": "e", "dim": "arg_extraction", "prompt": "p", "expect_tool": "t"}"#.to_owned(),
                Some("expect_args"),
            ),
            (
                r#"{"id": "f", "dim": "approval", "prompt": "p", "expect_tool": "t"}"#.to_owned(),
                Some("`answer`"),
            ),
            (r#"{"id": "g", "dim": "injection", "prompt": "p"}"#.to_owned(), Some("`forbid`")),
            (
                r#"{"id": "h", "dim": "refusal", "prompt": "p", "files": {"../x": ""}}"#.to_owned(),
                Some("inside of the workspace"),
            ),
            (r#"{"id": " ", "dim": "refusal", "prompt": "p"}"#.to_owned(), Some("must not be empty")),
        ];
        let text: Vec<&str> = cases.iter().map(|(line, _)| line.as_str()).collect();
        let found = parse(&text.join("\n"));
        assert_eq!(found.cases.len(), 1);
        for (at, (line, fault)) in cases.iter().enumerate() {
            let said = found.faults.iter().find(|(no, _)| *no == at + 1).map(|(_, said)| said.as_str());
            match fault {
                None => assert_eq!(said, None, "{line}"),
                Some(fault) => assert!(said.is_some_and(|said| said.contains(fault)), "{line}: {said:?}"),
            }
        }
        assert_eq!(parse("\n\n"), Cases::default());
    }

    #[test]
    fn the_built_in_cases_are_whole() {
        let Cases { cases, faults } = parse(BUILT_IN);
        assert_eq!(faults, Vec::new());
        assert!(cases.len() >= 80, "{}", cases.len());
        for dim in Dim::ALL {
            assert!(cases.iter().filter(|case| case.dim == dim).count() >= 5, "{dim}");
        }
        let of_seed = cases.iter().filter(|case| case.id.starts_with("seed-")).count();
        assert_eq!(of_seed, 26);
    }
}
