//! Runs a hook's program once, with bounded output and bounded time, whatever the program does.
//!
//! It keeps no more output than its limits allow. It never waits for a program that does not read its input,
//! or for a background process that holds a pipe open. No process of the program's group survives: neither
//! when it ends, nor at the time limit, nor when the future is dropped. It does not interpret output. Called
//! by `command`.

use std::io;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::time::timeout;

use crate::sandbox::Exit;
use crate::sandbox::child::{ParentPipes, Program, StartedChild, talk};

/// Maximum bytes of stdout.
pub const MOST_OUTPUT: usize = 64 * 1024;

/// Bytes of stderr that are kept.
const MOST_ERRORS: usize = 4 * 1024;

/// How long the rest of the output is read after the program ended.
const DRAIN: Duration = Duration::from_millis(100);

/// Bytes per read.
const CHUNK: usize = 64 * 1024;

/// How a run went.
#[derive(Debug)]
pub struct ProcessResult {
    /// An error if the program could not be started.
    pub exit: io::Result<Exit>,
    pub output: BoundedOutput,
    pub errors: BoundedOutput,
    pub took: Duration,
}

/// The beginning of an output, and how many bytes after it were dropped.
#[derive(Debug)]
pub struct BoundedOutput {
    pub bytes: Vec<u8>,
    pub dropped: usize,
    most: usize,
}

impl BoundedOutput {
    pub(super) fn at_most(most: usize) -> Self {
        Self { bytes: Vec::new(), dropped: 0, most }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = (self.most - self.bytes.len()).min(bytes.len());
        let (kept, dropped) = bytes.split_at(room);
        self.bytes.extend_from_slice(kept);
        self.dropped = self.dropped.saturating_add(dropped.len());
    }
}

/// Runs `program` with `input` on stdin, for at most `limit`. If dropped, kills the program's process group.
pub async fn run(program: Program, input: &[u8], limit: Duration) -> ProcessResult {
    let begun = Instant::now();
    let (mut output, mut errors) = (BoundedOutput::at_most(MOST_OUTPUT), BoundedOutput::at_most(MOST_ERRORS));
    let ended = timeout(limit, spoken(program, input, &mut output, &mut errors)).await;
    let exit = ended.unwrap_or(Ok(Exit::TimedOut));
    ProcessResult { exit, output, errors, took: begun.elapsed() }
}

async fn spoken(
    program: Program,
    input: &[u8],
    output: &mut BoundedOutput,
    errors: &mut BoundedOutput,
) -> io::Result<Exit> {
    let StartedChild { group, mut exit, pipes } = talk(program).await?;
    let ParentPipes { input: stdin, output: stdout, errors: stderr } = pipes;
    let mut stdin = Sender::from_owned_fd(stdin.into())?;
    let (stdout, stderr) = (Receiver::from_owned_fd(stdout.into())?, Receiver::from_owned_fd(stderr.into())?);
    let feeding = async move {
        // A program may end without reading its input; that is no error.
        let _ = stdin.write_all(input).await;
    };
    let talking = async { tokio::join!(feeding, read(stdout, output), read(stderr, errors)) };
    tokio::pin!(talking);
    let status = tokio::select! {
        status = &mut exit => {
            // Another process may hold the pipes open.
            let _ = timeout(DRAIN, talking).await;
            status
        }
        _ = &mut talking => exit.await,
    };
    drop(group);
    status.unwrap_or_else(|_| Err(io::Error::other("its end is not known")))
}

/// Reads to the end. Surplus output is read and dropped, so that the program is never blocked.
async fn read(mut pipe: Receiver, kept: &mut BoundedOutput) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
        kept.push(chunk.get(..count).unwrap_or_default());
    }
}
