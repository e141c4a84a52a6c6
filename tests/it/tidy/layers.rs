//! Who may import whom: one table, read from top to bottom.
//!
//! A row imports itself and the rows above it. Within a layer that is "only modules to its left".

use std::collections::BTreeSet;

use super::{Offence, Tree};
use kit::source::{self, Source};

/// Layer and modules; modules of one row belong together. The longest match decides; a name that ends
/// with `/` means the modules below it.
const LAYERS: &[(&str, &[&str])] = &[
    ("L0", &["stdx"]),
    ("L1", &["bash"]),
    ("L1", &["message"]),
    ("L1", &["config"]),
    ("L2", &["sandbox"]),
    ("L2", &["tool"]),
    ("L2", &["hook"]),
    ("L2", &["approval"]),
    ("L2", &["provider", "provider/error", "provider/profile", "provider/tool_list"]),
    ("L2", &["history"]),
    ("L3", &["store"]),
    ("L3", &["session"]),
    ("L3", &["telemetry"]),
    ("L3", &["undo"]),
    ("L3", &["memory"]),
    ("L4", &["agent/context"]),
    ("L4", &["agent/caps"]),
    ("L4", &["agent/statuses"]),
    ("L4", &["agent/port"]),
    ("L4", &["agent/assemble"]),
    ("L4", &["agent/budget"]),
    ("L4", &["agent/links"]),
    ("L4", &["agent/loop_guard"]),
    ("L4", &["agent/effect"]),
    ("L4", &["agent/calls"]),
    ("L4", &["agent/turn"]),
    ("L4", &["agent/prompt", "agent/driver"]),
    ("L4", &["agent"]),
    // Modules that codecs share.
    ("L5", &["provider/retry_words", "provider/json_fields"]),
    (
        "L5",
        &[
            "provider/classify",
            "provider/retry_headers",
            "provider/wire_text",
            "provider/message_list",
            "provider/reply",
            "provider/decoder",
        ],
    ),
    (
        "L5",
        &[
            "provider/anthropic",
            "provider/gemini",
            "provider/ollama",
            "provider/openai_chat",
            "provider/openai_responses",
        ],
    ),
    ("L5", &["provider/"]),
    ("L5", &["sandbox/"]),
    ("L5", &["hook/"]),
    ("L5", &["tool/builtin"]),
    ("L5", &["tool/mcp"]),
    ("L6", &["command"]),
    ("L6", &["frontend"]),
    ("L6", &["tui"]),
    ("L7", &["accounts"]),
    ("L7", &["workspace"]),
    ("L8", &["app"]),
    ("L8", &["runtime"]),
    ("L8", &["eval"]),
    ("L8", &["cli"]),
];

/// Imports that the order of layers would allow: from, to, why not.
const NEVER: &[(&[&str], &[&str], &str)] = &[
    (
        &[
            "agent/turn",
            "agent/calls",
            "agent/loop_guard",
            "agent/effect",
            "agent/links",
            "agent/assemble",
            "agent/budget",
            "agent/caps",
            "agent/statuses",
            "agent/context",
        ],
        &["store", "session", "telemetry"],
        "the pure part of the agent knows no store",
    ),
    (
        &["provider/", "sandbox/", "hook/", "tool/builtin", "tool/mcp"],
        &["agent", "session", "command", "frontend", "tui"],
        "an implementation knows neither agent nor session nor a front end",
    ),
];

/// The row of a module; `None` for one that the table does not know.
fn row(module: &str) -> Option<usize> {
    let rows = LAYERS.iter().enumerate();
    let matches = rows.flat_map(|(at, (_, names))| names.iter().map(move |name| (at, name)));
    matches.filter(|(_, name)| is_below(module, name)).max_by_key(|(_, name)| name.len()).map(|(at, _)| at)
}

/// Whether a module is this one or lies in it.
pub fn is_below(module: &str, name: &str) -> bool {
    match (name.strip_suffix('/'), module.strip_prefix(name)) {
        (Some(_), Some(rest)) => !rest.is_empty(),
        (None, Some(rest)) => rest.is_empty() || rest.starts_with('/'),
        (Some(_) | None, None) => false,
    }
}

/// Every import of a module that is lower in the table than its importer, and every module that the
/// table does not know.
pub fn imports(tree: &Tree) -> Vec<Offence> {
    let modules: BTreeSet<&str> = tree.shipped().map(|source| source.module.as_str()).collect();
    let mut found = Vec::new();
    for source in tree.shipped().filter(|source| !source.module.is_empty()) {
        let Some(own) = row(&source.module) else {
            found.push(
                source.offence(1, "its module is not in the table of layers (tests/it/tidy/layers.rs)"),
            );
            continue;
        };
        for named in source::names(&source.code) {
            let Some(target) = target(source, &named.segments, &modules) else { continue };
            if let Some(why) = forbidden(&source.module, own, &target) {
                let path = named.segments.join("::");
                found.push(source.offence(named.line, &format!("`{path}`: {why}")));
            }
        }
    }
    found
}

fn forbidden(module: &str, own: usize, target: &str) -> Option<String> {
    let never = NEVER.iter().find(|(from, to, _)| {
        from.iter().any(|name| is_below(module, name)) && to.iter().any(|name| is_below(target, name))
    });
    if let Some((_, _, why)) = never {
        return Some((*why).to_owned());
    }
    let theirs = row(target)?;
    let ((own_layer, own_names), (their_layer, their_names)) = (LAYERS[own], LAYERS[theirs]);
    (theirs > own)
        .then(|| format!("{} ({own_layer}) must not import {} ({their_layer})", own_names[0], their_names[0]))
}

/// The module that a path names: the longest part of it that is one. `None` outside of the crate.
fn target(source: &Source, segments: &[String], modules: &BTreeSet<&str>) -> Option<String> {
    let path = source::place(source, segments)?;
    // `pub(super)` and `pub(in crate::agent)` say who may look; they import nothing.
    if is_below(&source.module, &path) {
        return None;
    }
    let parts: Vec<&str> = path.split('/').collect();
    (1..=parts.len()).rev().map(|end| parts[..end].join("/")).find(|path| modules.contains(path.as_str()))
}
