//! Reads the body of a response in its own task.
//!
//! Servers send each event of a stream as a separate chunk. Where chunks arrive faster than they are
//! consumed, the task queues them, so that the stream's reader wakes once for many. Dropping a body closes
//! its connection.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// The limits on queued chunks and their bytes; reading continues when both have room.
const PIECES: usize = 8 * 1024;
const BYTES: usize = 1024 * 1024;

/// Chunks that arrive faster than this are collected for this long: a delay of 1 ms is not visible, and
/// waking the whole turn for each chunk costs more than processing it.
const LINGER: Duration = Duration::from_millis(1);

/// How many chunks are read after the end of the reply, so that the connection can be reused.
const LEFTOVERS: usize = 4;

/// How long to wait for them.
const LEFTOVERS_WAIT: Duration = Duration::from_secs(2);

/// A chunk, and the permit for its bytes in the queue.
type BodyChunk = (Result<Bytes, reqwest::Error>, Option<OwnedSemaphorePermit>);

pub(super) struct ResponseBody {
    pieces: mpsc::Receiver<BodyChunk>,
    /// The last chunks came at once: after a short chunk, more are waited for, so that they are handled together.
    at_once: bool,
    task: JoinHandle<()>,
}

impl ResponseBody {
    pub fn of(mut response: Response) -> Self {
        let (queue, pieces) = mpsc::channel(PIECES);
        let room = Arc::new(Semaphore::new(BYTES));
        let task = tokio::spawn(async move {
            while let Some(piece) = response.chunk().await.transpose() {
                let is_last = piece.is_err();
                let bytes = piece.as_ref().map_or(0, Bytes::len).min(BYTES);
                let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
                let taken = Arc::clone(&room).acquire_many_owned(bytes).await.ok();
                if queue.send((piece, taken)).await.is_err() || is_last {
                    return;
                }
            }
        });
        Self { pieces, at_once: false, task }
    }

    /// Waits for the next chunks and appends all that have arrived; returns 0 at the end. Cancel-safe.
    pub async fn read(&mut self, pieces: &mut Vec<BodyChunk>) -> usize {
        if self.at_once {
            tokio::time::sleep(LINGER).await;
        }
        let asked = Instant::now();
        let read = self.pieces.recv_many(pieces, PIECES).await;
        self.at_once = asked.elapsed() < LINGER;
        read
    }

    /// Reads the rest of the body after the end of a reply, so that the connection returns to the pool. If
    /// that takes too long, the connection is closed and the next request opens another.
    pub async fn finish(mut self) {
        let leftovers = async {
            for _ in 0..LEFTOVERS {
                if self.pieces.recv().await.is_none() {
                    return;
                }
            }
        };
        // The connection is finished in either case.
        let _ = tokio::time::timeout(LEFTOVERS_WAIT, leftovers).await;
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.task.abort();
    }
}
