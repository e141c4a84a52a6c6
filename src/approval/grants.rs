//! What a person allowed for the rest of the session.
//!
//! Grants are a fold of the session's decided records: they come back with the session and are listed
//! in `/approvals`. They never cover a HIGH call.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Approval, Remember, Request};
use crate::message::ToolName;
use crate::tool::Risk;

/// One standing permission of a session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grant {
    /// Every call of this tool that is not HIGH.
    Tool(ToolName),
    /// Exactly this command text in this folder.
    Command { text: String, folder: PathBuf },
}

/// The tool whose grants are per command text.
const SHELL: &str = "shell";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    grants: BTreeSet<Grant>,
}

impl Grants {
    /// Adds what a decided request grants, if anything. HIGH requests never grant.
    pub fn apply(&mut self, request: &Request, approval: &Approval, workspace: &Path) {
        let (tool, args) = match approval {
            Approval::Approve { instead: Some((tool, args)), remember: Remember::Session, .. } => {
                (tool, args)
            }
            Approval::Approve { instead: None, remember: Remember::Session, .. } => {
                (&request.tool, &request.args)
            }
            Approval::Approve { remember: Remember::Once | Remember::Rule, .. }
            | Approval::Deny { .. }
            | Approval::Later => return,
        };
        if request.risk == Risk::High {
            return;
        }
        if let Some(grant) = grant_for(tool, args, workspace) {
            self.grants.insert(grant);
        }
    }

    /// The grant that covers this call, if one does.
    pub fn covering(&self, tool: &ToolName, args: &Value, workspace: &Path) -> Option<&Grant> {
        let wanted = grant_for(tool, args, workspace)?;
        self.grants.get(&wanted)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Grant> {
        self.grants.iter()
    }
}

fn grant_for(tool: &ToolName, args: &Value, workspace: &Path) -> Option<Grant> {
    if tool.as_str() != SHELL {
        return Some(Grant::Tool(tool.clone()));
    }
    let text = args.get("command")?.as_str()?.to_owned();
    Some(Grant::Command { text, folder: workspace.to_owned() })
}

impl std::fmt::Display for Grant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tool(name) => write!(f, "{name} (except HIGH)"),
            Self::Command { text, folder } => write!(f, "shell `{text}` in {}", folder.display()),
        }
    }
}
