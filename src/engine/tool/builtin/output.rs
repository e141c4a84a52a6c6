//! The output of a tool for the model: text within a limit, the rest in a spill file that can be read back.
//!
//! Omissions are always reported: the text says how much is missing, where the whole output is and how to
//! read it. Only the owner can access spill files and their folder. [`cap`] is for text in memory;
//! [`Capture`] takes a stream of bytes of any length in bounded memory and bounded disk space.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tokio::io::AsyncWriteExt as _;

use crate::message::{CallId, ReturnPart, Source, Trust};
use crate::stdx::fs::{create_private_dir, open_private};
use crate::stdx::text::head_tail;
use crate::tool::{Resource, ToolOutput, Version};

/// The maximum number of bytes of one call's output to keep on disk.
const MAX_SPILL: u64 = 16 * 1024 * 1024;

/// Creates an output of text that is not the user's own.
pub fn untrusted_output(text: String, source: Source) -> ToolOutput {
    ToolOutput {
        content: vec![ReturnPart::Text { text }],
        source,
        trust: Trust::Untrusted,
        seen: Vec::new(),
        state: None,
    }
}

impl ToolOutput {
    /// Adds a resource and its version as the model now knows it.
    #[must_use]
    pub fn seeing(mut self, resource: Resource, version: Version) -> Self {
        self.seen.push((resource, version));
        self
    }
}

/// Counts the lines of an output for people, also those left out of it; remarks in brackets do not count.
pub fn counted_lines(text: &str) -> usize {
    let is_remark = |line: &str| line.starts_with('[') && line.ends_with(']');
    text.lines().map(|line| left_out(line).unwrap_or(usize::from(!is_remark(line)))).sum()
}

/// Returns the number of lines that a remark of [`cap`] or [`Capture`] replaces.
pub fn left_out(line: &str) -> Option<usize> {
    let (lines, rest) = line.strip_prefix('[')?.split_once(" lines (")?;
    if rest.contains(" bytes) left out here; ") { lines.parse().ok() } else { None }
}

/// Says an amount: "no files", "1 file", "12 files".
pub fn amount(count: usize, one: &str, many: &str) -> String {
    match count {
        0 => format!("no {many}"),
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    }
}

/// The spill file of a call, for output that is too long.
#[derive(Debug, Clone)]
pub struct Spill {
    folder: PathBuf,
    call: CallId,
}

impl Spill {
    pub fn new(folder: &Path, call: &CallId) -> Self {
        Self { folder: folder.to_path_buf(), call: call.clone() }
    }

    fn path(&self) -> PathBuf {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
        let name: String = self.call.0.chars().map(plain).collect();
        self.folder.join(format!("{}.txt", name.trim_start_matches('.')))
    }

    fn create(&self) -> io::Result<std::fs::File> {
        create_private_dir(&self.folder)?;
        let file = open_private(&self.path())?;
        file.set_len(0)?;
        Ok(file)
    }
}

/// Shortens `text` to about `limit` bytes; if it is longer, spills all of it. Blocking.
pub fn cap(text: String, limit: usize, spill: &Spill) -> String {
    let cut = head_tail(&text, limit);
    if cut.dropped_bytes == 0 {
        return text;
    }
    let kept = spill.create().and_then(|mut file| file.write_all(text.as_bytes()));
    let place = match kept {
        Ok(()) => SpillLocation::Whole(spill.path()),
        Err(error) => SpillLocation::Lost(error.to_string()),
    };
    join(cut.head, cut.dropped_lines, cut.dropped_bytes, &place, cut.tail)
}

/// Where the bytes between head and tail are.
#[derive(Debug)]
enum SpillLocation {
    Whole(PathBuf),
    /// Only the first [`MAX_SPILL`] bytes of the output.
    Beginning(PathBuf),
    Lost(String),
}

fn join(head: &str, lines: usize, bytes: usize, place: &SpillLocation, tail: &str) -> String {
    let rest = match place {
        SpillLocation::Whole(path) => format!("all of it is in {}; read it with read_file", path.display()),
        SpillLocation::Beginning(path) => {
            format!("its first {MAX_SPILL} bytes are in {}; read them with read_file", path.display())
        }
        SpillLocation::Lost(error) => format!("it could not be kept: {error}"),
    };
    let newline = if head.ends_with('\n') || head.is_empty() { "" } else { "\n" };
    format!("{head}{newline}[{lines} lines ({bytes} bytes) left out here; {rest}]\n{tail}")
}

/// Collects output as it arrives: its beginning, its end, and all of it on disk once it exceeds the limit.
pub struct Capture {
    limit: usize,
    /// The first `limit` bytes.
    head: Vec<u8>,
    /// The last half of `limit` bytes.
    tail: VecDeque<u8>,
    total: u64,
    newlines: u64,
    spill: Spill,
    file: SpillFile,
}

enum SpillFile {
    NotNeeded,
    Open { file: tokio::fs::File, written: u64 },
    Full,
    Failed(String),
}

impl Capture {
    pub fn new(limit: usize, spill: Spill) -> Self {
        let (head, tail) = (Vec::new(), VecDeque::new());
        Self { limit, head, tail, total: 0, newlines: 0, spill, file: SpillFile::NotNeeded }
    }

    /// Takes the next bytes. A disk error is recorded and reported at the end, never returned here.
    pub async fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.newlines += count_newlines(bytes.iter());
        let fits = bytes.len().min(self.limit - self.head.len());
        let was_whole = self.total - bytes.len() as u64 <= self.limit as u64;
        if self.total > self.limit as u64 {
            if was_whole && matches!(self.file, SpillFile::NotNeeded) {
                self.open().await;
            }
            self.write(bytes).await;
        }
        self.head.extend(bytes.iter().take(fits));
        self.tail.extend(bytes);
        let excess = self.tail.len().saturating_sub(self.limit / 2);
        self.tail.drain(..excess);
    }

    /// Opens the spill file and writes the earlier output to it.
    async fn open(&mut self) {
        let spill = self.spill.clone();
        let created = tokio::task::spawn_blocking(move || spill.create()).await;
        self.file = match created {
            Ok(Ok(file)) => SpillFile::Open { file: tokio::fs::File::from_std(file), written: 0 },
            Ok(Err(error)) => SpillFile::Failed(error.to_string()),
            Err(error) => SpillFile::Failed(error.to_string()),
        };
        let before = std::mem::take(&mut self.head);
        self.write(&before).await;
        self.head = before;
    }

    async fn write(&mut self, bytes: &[u8]) {
        let SpillFile::Open { file, written } = &mut self.file else { return };
        let room = usize::try_from(MAX_SPILL - *written).unwrap_or(usize::MAX);
        let (fitting, rest) = bytes.split_at(bytes.len().min(room));
        *written += fitting.len() as u64;
        let result = match file.write_all(fitting).await {
            Ok(()) if rest.is_empty() => return,
            Ok(()) => file.flush().await.map(|()| SpillFile::Full),
            Err(error) => Err(error),
        };
        self.file = result.unwrap_or_else(|error| SpillFile::Failed(error.to_string()));
    }

    /// Returns the text for the model. Invalid UTF-8 is replaced.
    pub async fn finish(mut self) -> String {
        if self.total <= self.limit as u64 {
            return String::from_utf8_lossy(&self.head).into_owned();
        }
        let place = match &mut self.file {
            SpillFile::Open { file, .. } => match file.flush().await {
                Ok(()) => SpillLocation::Whole(self.spill.path()),
                Err(error) => SpillLocation::Lost(error.to_string()),
            },
            SpillFile::Full => SpillLocation::Beginning(self.spill.path()),
            SpillFile::NotNeeded => SpillLocation::Lost("no file was opened".to_owned()),
            SpillFile::Failed(error) => SpillLocation::Lost(error.clone()),
        };
        let half = self.limit / 2;
        self.head.truncate(half);
        let tail: Vec<u8> = self.tail.into();
        let kept_lines = count_newlines(self.head.iter()) + count_newlines(tail.iter());
        let lines = usize::try_from(self.newlines - kept_lines).unwrap_or(usize::MAX);
        let bytes = usize::try_from(self.total).unwrap_or(usize::MAX) - self.head.len() - tail.len();
        // A replacement character takes three bytes, so binary output must be cut again.
        let head = String::from_utf8_lossy(without_torn_end(&self.head)).into_owned();
        let tail = String::from_utf8_lossy(without_torn_start(&tail)).into_owned();
        let head = head.split_at(head.floor_char_boundary(half)).0;
        let tail = tail.split_at(tail.ceil_char_boundary(tail.len().saturating_sub(half))).1;
        join(head, lines, bytes, &place, tail)
    }
}

fn count_newlines<'a>(bytes: impl Iterator<Item = &'a u8>) -> u64 {
    bytes.filter(|byte| **byte == b'\n').count() as u64
}

/// Returns the bytes without an incomplete character at the end.
pub fn without_torn_end(bytes: &[u8]) -> &[u8] {
    let last = bytes.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
    let is_torn = str::from_utf8(last).is_err_and(|error| error.error_len().is_none());
    if is_torn { &bytes[..bytes.len() - last.len()] } else { bytes }
}

/// Adds bytes to those of an incomplete character; returns the complete characters, and leaves the rest.
pub fn whole_characters(torn: &mut Vec<u8>, bytes: &[u8]) -> String {
    torn.extend_from_slice(bytes);
    let rest = torn.split_off(without_torn_end(torn).len());
    String::from_utf8_lossy(&std::mem::replace(torn, rest)).into_owned()
}

fn without_torn_start(bytes: &[u8]) -> &[u8] {
    let torn = bytes.iter().take(3).take_while(|byte| **byte & 0b1100_0000 == 0b1000_0000).count();
    &bytes[torn..]
}
