//! The stored data of a server's tools: their definitions as listed last, so that rules can be explained and
//! requests be changed while the server is not connected, and the definitions with which the user let them run.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use rmcp::model;
use serde::{Deserialize, Serialize};

use super::names;
use crate::stdx::fs::{fingerprint, lock_private, write_private};

/// The file of one server.
#[derive(Clone)]
pub struct KnownToolsFile(PathBuf);

#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KnownTools {
    /// By the server's own names.
    pub tools: BTreeMap<String, KnownTool>,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownTool {
    pub tool: model::Tool,
    /// That of the last run. `None`: it never ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Definition>,
}

/// A tool as its server described it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    pub description: String,
    /// A hash of its parameters and hints.
    pub rest: String,
}

impl Definition {
    pub fn of(tool: &model::Tool) -> Self {
        let rest = serde_json::to_vec(&(&tool.input_schema, &tool.annotations)).unwrap_or_default();
        Self { description: names::description(about(tool)), rest: fingerprint(&rest) }
    }

    /// Says how the definition changed since `before`; `None` if it is the same.
    pub fn change_since(&self, before: &Self) -> Option<String> {
        if self.description != before.description {
            let (was, is) = from_difference(&before.description, &self.description);
            return Some(format!("the server changed its description, from \"{was}\" to \"{is}\""));
        }
        (self.rest != before.rest).then(|| "the server changed its parameters or hints".to_owned())
    }
}

/// Returns the text with which a tool describes itself.
pub fn about(tool: &model::Tool) -> &str {
    tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default()
}

/// Returns two different texts as lines for people, from a little before the first difference on.
fn from_difference(one: &str, other: &str) -> (String, String) {
    const BEFORE: usize = 20;
    let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let from = same.saturating_sub(BEFORE);
    let cut = |text: &str| {
        let rest: String = text.chars().skip(from).collect();
        names::line(&if from == 0 { rest } else { format!("…{rest}") })
    };
    (cut(one), cut(other))
}

impl KnownToolsFile {
    pub fn new(folder: &Path, server: &str) -> Self {
        Self(folder.join(format!("{server}.tools.json")))
    }

    /// Reads the file; nothing if there is none, or none that can be read. Blocking.
    pub fn read(&self) -> KnownTools {
        let bytes = std::fs::read(&self.0).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Changes what the file holds, alone among all processes; returns it. `known` counts where there is no file. Blocking.
    pub fn change(
        &self,
        known: KnownTools,
        change: impl FnOnce(&mut KnownTools),
    ) -> (KnownTools, io::Result<()>) {
        let lock = lock_private(&self.0.with_extension("lock"));
        let before = if self.0.is_file() { self.read() } else { known };
        let mut kept = before.clone();
        change(&mut kept);
        let written = match lock {
            Ok(_) if kept == before && self.0.is_file() => Ok(()),
            Ok(_) => serde_json::to_vec(&kept)
                .map_err(io::Error::other)
                .and_then(|bytes| write_private(&self.0, &bytes)),
            Err(error) => Err(error),
        };
        (kept, written)
    }
}

impl KnownTools {
    /// Takes a new list of tools. A tool that is gone keeps its accepted definition: it may be back.
    pub fn take(&mut self, listed: &[model::Tool]) {
        for tool in listed {
            let accepted = self.tools.get(tool.name.as_ref()).and_then(|known| known.accepted.clone());
            self.tools.insert(tool.name.to_string(), KnownTool { tool: tool.clone(), accepted });
        }
        self.tools.retain(|name, known| {
            known.accepted.is_some() || listed.iter().any(|tool| tool.name == name.as_str())
        });
    }
}
