//! What was reported to the user once: the content of a folder, in a list of the data folder. Blocking.

use std::collections::BTreeMap;
use std::path::Path;

use crate::config::read_bounded;
use crate::stdx::fs::write_private;

/// Maximum number of folders stored as reported.
const MOST_TOLD: usize = 1_000;

/// Whether this content of a folder was not reported before; records it. A list that cannot be read counts as empty.
pub(super) fn is_new(list: &Path, folder: &Path, content: &str) -> bool {
    let text = read_bounded(list).ok().flatten().unwrap_or_default();
    let mut told: BTreeMap<String, String> = serde_json::from_str(&text).unwrap_or_default();
    let folder = folder.display().to_string();
    if told.get(&folder).is_some_and(|known| known == content) {
        return false;
    }
    if told.len() >= MOST_TOLD {
        told.clear();
    }
    told.insert(folder, content.to_owned());
    if let Ok(text) = serde_json::to_vec(&told)
        && let Err(error) = write_private(list, &text)
    {
        tracing::warn!("the folder notices could not be saved: {error}");
    }
    true
}
