//! The contents of folders that were reported to the user, in lists of the data folder. Blocking.

use std::collections::BTreeMap;
use std::path::Path;

use crate::config::read_bounded;
use crate::stdx::fs::write_private;

/// Maximum number of folders stored as reported.
const MOST_FOLDERS: usize = 1_000;

/// Whether this content of a folder was not reported before; records it. A list that cannot be read counts as empty.
pub(super) fn is_new(list: &Path, folder: &Path, content: &str) -> bool {
    let text = read_bounded(list).ok().flatten().unwrap_or_default();
    let mut reported: BTreeMap<String, String> = serde_json::from_str(&text).unwrap_or_default();
    let folder = folder.display().to_string();
    if reported.get(&folder).is_some_and(|known| known == content) {
        return false;
    }
    if reported.len() >= MOST_FOLDERS {
        reported.clear();
    }
    reported.insert(folder, content.to_owned());
    if let Ok(text) = serde_json::to_vec(&reported)
        && let Err(error) = write_private(list, &text)
    {
        tracing::warn!("the folder notices could not be saved: {error}");
    }
    true
}
