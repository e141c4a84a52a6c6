//! The audit's head, kept in a separate file in the same folder. It reveals that the last rows were cut off.
//!
//! The head only moves forward, and only to rows that are already synced to disk, so that a power cut never
//! leaves it ahead of the rows. The file itself is not synced: a stale head is harmless. Called by the writer
//! after commits.

use std::fs::{self, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::super::statements::Statements as _;
use super::super::{Store, StoreError};
use crate::stdx::fs::open_private;

/// The largest size of a file: a number of 20 digits, a space, a hash and a line end fit.
const MAX_BYTES: u64 = 128;

/// The number and hash of the last audit row; the hash identifies all rows up to it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct AuditHead {
    pub no: u64,
    /// 64 hexadecimal digits.
    pub hash: String,
}

impl AuditHead {
    /// Number of hash digits shown; enough to identify the row again.
    pub const SHOWN: usize = 12;

    /// Reads the columns `no` and `hash`.
    pub(super) fn of_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { no: row.get(0)?, hash: row.get(1)? })
    }

    /// Reads the last row of the audit.
    pub(super) fn last(connection: &Connection) -> Result<Option<Self>, StoreError> {
        Ok(connection.first("SELECT no, hash FROM audit ORDER BY no DESC LIMIT 1", [], Self::of_row)?)
    }

    /// Returns the beginning of the hash, as shown to the user.
    pub fn short(&self) -> &str {
        self.hash.get(..Self::SHOWN).unwrap_or(&self.hash)
    }
}

impl Store {
    /// Returns the last row of the audit, if there is one, and saves it in the file beside the database.
    pub async fn audit_head(&self) -> Result<Option<AuditHead>, StoreError> {
        self.write(move |writer| {
            let head = AuditHead::last(writer.connection())?;
            head.clone().map_or(Ok(()), |head| writer.seal_at(head))?;
            Ok(head)
        })
        .await
    }
}

/// The head file of a data folder.
pub fn file(data: &Path) -> PathBuf {
    data.join("audit.head")
}

/// The file that keeps the last pruned row. It is needed because a row that reports a pruning can be forged.
pub fn pruned_file(data: &Path) -> PathBuf {
    data.join("audit.pruned")
}

/// Reads the row saved in such a file; `None` if the file is missing, unreadable or too large.
pub fn read(file: &Path) -> Option<AuditHead> {
    let mut text = String::new();
    let bytes = fs::File::open(file).ok()?.take(MAX_BYTES + 1).read_to_string(&mut text).ok()?;
    if bytes as u64 > MAX_BYTES {
        return None;
    }
    let (no, hash) = text.trim_end().split_once(' ')?;
    let sound = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    Some(AuditHead { no: no.parse().ok().filter(|_| sound)?, hash: hash.to_owned() })
}

/// Saves a row in such a file of the data folder, unless a later one is already saved. Waits for other
/// processes that do the same.
pub fn keep(data: &Path, file: &Path, head: &AuditHead) -> io::Result<()> {
    let gate = open_private(&data.join("locks").join("head"))?;
    gate.lock()?;
    if read(file).is_some_and(|kept| kept.no >= head.no) {
        return Ok(());
    }
    let mut temporary = tempfile::Builder::new()
        .prefix(".co-")
        .suffix(".tmp")
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(data)?;
    temporary.write_all(format!("{} {}\n", head.no, head.hash).as_bytes())?;
    temporary.persist(file).map(drop).map_err(|failed| failed.error)
}
