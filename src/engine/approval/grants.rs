//! Permissions that the user granted for the rest of the session.
//!
//! Grants are a fold of the session's decided records: they are restored with the session and listed in
//! `/approvals`. A grant never covers a HIGH call, but a rule that the user wrote for the session may, as any
//! rule.

use std::path::{Path, PathBuf};

use serde_json::Value;
use url::Url;

use super::command_words::{CommandWords, Extent, command_words};
use super::rules::{Rule, RuleSet, RuleSource};
use super::{Approval, Decider, Remember, Request, RequestId};
use crate::bash;
use crate::message::ToolName;
use crate::tool::{SHELL, WEB_FETCH};

/// One permission that lasts for the session.
#[derive(Debug, Clone, PartialEq)]
pub enum Grant {
    /// Every call of this tool that is not HIGH.
    Tool(ToolName),
    /// Programs called with these words, in this folder.
    Words { words: CommandWords, folder: PathBuf },
    /// Calls of this tool to this scheme, host and port.
    Origin { tool: ToolName, origin: String },
    /// Exactly this command text in this folder, for commands whose effect does not follow from their words.
    Command { text: String, folder: PathBuf },
    /// A rule that the user wrote.
    Rule(Box<Rule>),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Grants {
    /// Each with the request whose approval gave it.
    grants: Vec<(RequestId, Grant)>,
}

impl Grants {
    /// Adds the grants of a decided request, if any.
    pub fn apply(&mut self, request: &Request, approval: &Approval, workspace: &Path) {
        let (instead, rule) = match approval {
            Approval::Approve { instead, remember: Remember::Session, rule, .. } => (instead, rule),
            Approval::Approve { remember: Remember::Once | Remember::Rule, .. }
            | Approval::Deny { .. }
            | Approval::Later => return,
        };
        let (tool, args) =
            instead.as_ref().map_or((&request.tool, &request.args), |(tool, args)| (tool, args));
        match rule {
            Some(text) => self.add_rules(&request.id, text),
            None if request.only_once().is_some() => {}
            None => {
                grants_for(tool, args, workspace).into_iter().for_each(|grant| self.add(&request.id, grant));
            }
        }
    }

    /// Adds rules of the session. An invalid text grants nothing. A rule with an expiry is ignored, because
    /// the fold of records has no clock.
    fn add_rules(&mut self, request: &RequestId, text: &str) {
        let rules = RuleSet::parse(text, &RuleSource::Session, None).unwrap_or_default();
        rules
            .into_iter()
            .filter(|rule| rule.expires.is_none())
            .for_each(|rule| self.add(request, Grant::Rule(Box::new(rule))));
    }

    fn add(&mut self, request: &RequestId, grant: Grant) {
        if !self.iter().any(|given| *given == grant) {
            self.grants.push((request.clone(), grant));
        }
    }

    /// Takes back what the approval of this request gave.
    pub fn revoke(&mut self, request: &RequestId) {
        self.grants.retain(|(given_by, _)| given_by != request);
    }

    /// Returns what each approval gave, oldest first, with the request by which it is revoked.
    pub fn by_request(&self) -> Vec<(RequestId, String)> {
        let mut given: Vec<(RequestId, String)> = Vec::new();
        for (request, grant) in &self.grants {
            match given.last_mut() {
                Some((last, text)) if last == request => text.push_str(&format!(", {grant}")),
                Some(_) | None => given.push((request.clone(), grant.to_string())),
            }
        }
        given
    }

    /// Returns the grant that covers this call, if any; for a command line, the grant of its first program.
    pub fn covering(&self, tool: &ToolName, args: &Value, workspace: &Path) -> Option<&Grant> {
        let given = |wanted: Grant| self.iter().find(|grant| **grant == wanted);
        if tool.as_str() != SHELL {
            return given(grant_beyond_shell(tool, args));
        }
        let script = args.get("command")?.as_str()?;
        given(Grant::Command { text: script.to_owned(), folder: workspace.to_owned() })
            .or_else(|| self.covering_all(script, workspace))
    }

    /// Returns a grant only if every program of the line is covered.
    fn covering_all(&self, script: &str, workspace: &Path) -> Option<&Grant> {
        command_words(script)?;
        let invocations = bash::invocations(script)?;
        let granted = |invocation: &bash::Invocation| {
            self.iter().find(|grant| match grant {
                Grant::Words { words, folder } => {
                    folder == workspace && words.cover(invocation, &invocations)
                }
                Grant::Tool(_) | Grant::Origin { .. } | Grant::Command { .. } | Grant::Rule(_) => false,
            })
        };
        let all: Option<Vec<&Grant>> = invocations.iter().map(granted).collect();
        all?.first().copied()
    }

    /// Describes what an approval for the session would cover; shown to the user before the decision.
    #[must_use]
    pub fn coverage(tool: &ToolName, args: &Value) -> String {
        if tool.as_str() != SHELL {
            return match grant_beyond_shell(tool, args) {
                Grant::Tool(name) => name.to_string(),
                other => other.to_string(),
            };
        }
        let grants = grants_for(tool, args, Path::new(""));
        let of_words = |grant: &Grant| match grant {
            Grant::Words { words, .. } => Some((words.extent, format!("`{words}`"))),
            Grant::Command { .. } | Grant::Origin { .. } | Grant::Tool(_) | Grant::Rule(_) => None,
        };
        let words: Vec<(Extent, String)> = grants.iter().filter_map(of_words).collect();
        if words.iter().all(|(extent, _)| *extent == Extent::Exact) {
            return "exactly this command".to_owned();
        }
        let words: Vec<String> = words.into_iter().map(|(_, words)| words).collect();
        format!("{} with harmless flags", words.join(", "))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Grant> {
        self.grants.iter().map(|(_, grant)| grant)
    }

    /// Returns the rules of the session, in the order in which they were added.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.iter().filter_map(|grant| match grant {
            Grant::Rule(rule) => Some(&**rule),
            Grant::Tool(_) | Grant::Origin { .. } | Grant::Words { .. } | Grant::Command { .. } => None,
        })
    }

    /// Counts a call that a rule of the session answered; removes the rule if it is used up.
    pub fn count(&mut self, by: &Decider) {
        let Decider::Rule { id } = by else { return };
        self.grants.retain_mut(|(_, grant)| match grant {
            Grant::Rule(rule) if rule.id == *id => rule.use_up(),
            Grant::Rule(_)
            | Grant::Tool(_)
            | Grant::Origin { .. }
            | Grant::Words { .. }
            | Grant::Command { .. } => true,
        });
    }
}

/// Returns what covers a call that runs no command: its tool; of one that fetches a web page only the scheme, host and port,
/// because any address may carry anything away.
fn grant_beyond_shell(tool: &ToolName, args: &Value) -> Grant {
    if tool.as_str() != WEB_FETCH {
        return Grant::Tool(tool.clone());
    }
    let url = args.get("url").and_then(Value::as_str).and_then(|url| Url::parse(url.trim()).ok());
    let origin = url.map(|url| url.origin().ascii_serialization()).unwrap_or_default();
    Grant::Origin { tool: tool.clone(), origin }
}

fn grants_for(tool: &ToolName, args: &Value, workspace: &Path) -> Vec<Grant> {
    if tool.as_str() != SHELL {
        return vec![grant_beyond_shell(tool, args)];
    }
    // A shell call without a command text grants nothing rather than everything.
    let Some(text) = args.get("command").and_then(Value::as_str) else { return Vec::new() };
    let folder = || workspace.to_owned();
    match command_words(text) {
        Some(all) => all.into_iter().map(|words| Grant::Words { words, folder: folder() }).collect(),
        None => vec![Grant::Command { text: text.to_owned(), folder: folder() }],
    }
}

impl std::fmt::Display for Grant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tool(name) => write!(f, "{name} (except HIGH)"),
            Self::Origin { tool, origin } => write!(f, "{tool} from {origin}"),
            Self::Words { words, folder } => write!(f, "shell `{words}` in {}", folder.display()),
            Self::Command { text, folder } => write!(f, "shell `{text}` in {}", folder.display()),
            Self::Rule(rule) => match &rule.reason {
                Some(reason) => write!(f, "{reason} ({rule})"),
                None => write!(f, "rule {} ({rule})", rule.id),
            },
        }
    }
}
