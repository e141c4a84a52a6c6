//! What is kept of a server's tools between processes: their definitions as listed last, so that rules can be explained and
//! requests be changed while the server is not connected, and the definitions with which the user let them run.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use rmcp::model;
use serde::{Deserialize, Serialize};

use super::names;
use crate::stdx::fs::{create_private_dir, fingerprint, write_private};

/// The file of one server.
#[derive(Clone)]
pub struct KeptFile(PathBuf);

#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// By the server's own names.
    pub tools: BTreeMap<String, KeptTool>,
}

#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptTool {
    pub tool: model::Tool,
    /// That of the last run. `None`: it never ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Definition>,
}

/// What a tool was said to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    pub description: String,
    /// A hash of its parameters and hints.
    pub rest: String,
}

impl Definition {
    pub fn of(tool: &model::Tool) -> Self {
        let rest = serde_json::to_vec(&(&tool.input_schema, &tool.annotations)).unwrap_or_default();
        let description = tool.description.as_deref().unwrap_or_default();
        Self { description: names::description(description), rest: fingerprint(&rest) }
    }

    /// Says how the definition changed since `before`; `None` if it is the same.
    pub fn change_since(&self, before: &Self) -> Option<String> {
        if self.description != before.description {
            let [was, is] = [before, self].map(|one| names::line(&one.description));
            return Some(format!("the server changed its description, from \"{was}\" to \"{is}\""));
        }
        (self.rest != before.rest).then(|| "the server changed its parameters or hints".to_owned())
    }
}

impl KeptFile {
    pub fn new(folder: &Path, server: &str) -> Self {
        Self(folder.join(format!("{server}.tools.json")))
    }

    /// Reads the file; nothing if there is none, or none that can be read. Blocking.
    pub fn read(&self) -> Kept {
        let bytes = std::fs::read(&self.0).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// Blocking.
    pub fn write(&self, kept: &Kept) -> io::Result<()> {
        self.0.parent().map_or(Ok(()), create_private_dir)?;
        write_private(&self.0, &serde_json::to_vec(kept).map_err(io::Error::other)?)
    }
}

impl Kept {
    /// Takes a new list of tools; whether anything changed. A tool that is gone keeps its accepted definition: it may be back.
    pub fn take(&mut self, listed: &[model::Tool]) -> bool {
        let before = self.clone();
        for tool in listed {
            let accepted = self.tools.get(tool.name.as_ref()).and_then(|known| known.accepted.clone());
            self.tools.insert(tool.name.to_string(), KeptTool { tool: tool.clone(), accepted });
        }
        self.tools.retain(|name, known| {
            known.accepted.is_some() || listed.iter().any(|tool| tool.name == name.as_str())
        });
        *self != before
    }
}
