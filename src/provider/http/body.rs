//! The body of a response, read in a task of its own.
//!
//! Servers send each event of a stream as a piece of its own. Where a reply comes faster than it is taken, the task
//! collects pieces, so that the reader of the stream wakes once for many. Dropping a body closes its connection.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// Pieces that may wait, and their bytes; the connection is read on when there is room for both.
const PIECES: usize = 8 * 1024;
const BYTES: usize = 1024 * 1024;

/// Where pieces come faster than this they are collected for as long: nobody sees a word a millisecond sooner, and waking
/// the whole turn for each costs more than the piece.
const LINGER: Duration = Duration::from_millis(1);

/// Pieces that are read after the end, so that the connection can be used again.
const LEFTOVERS: usize = 4;

/// How long those are waited for.
const LEFTOVERS_WAIT: Duration = Duration::from_secs(2);

/// A piece, and the room that it takes.
type BodyChunk = (Result<Bytes, reqwest::Error>, Option<OwnedSemaphorePermit>);

/// How the last pieces came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChunkPace {
    Awaited,
    /// They were there, or nearly.
    AtOnce,
}

pub(super) struct ResponseBody {
    pieces: mpsc::Receiver<BodyChunk>,
    pace: ChunkPace,
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
        Self { pieces, pace: ChunkPace::Awaited, task }
    }

    /// Waits for the next pieces and gives all that have come; 0 at the end. Cancel-safe.
    pub async fn read(&mut self, pieces: &mut Vec<BodyChunk>) -> usize {
        if self.pace == ChunkPace::AtOnce {
            tokio::time::sleep(LINGER).await;
        }
        let asked = Instant::now();
        let read = self.pieces.recv_many(pieces, PIECES).await;
        self.pace = if asked.elapsed() < LINGER { ChunkPace::AtOnce } else { ChunkPace::Awaited };
        read
    }

    /// Reads what comes after the end of a reply, so that the connection returns to the pool. What takes longer is
    /// closed, and the next request opens another connection.
    pub async fn finish(mut self) {
        let leftovers = async {
            for _ in 0..LEFTOVERS {
                if self.pieces.recv().await.is_none() {
                    return;
                }
            }
        };
        // Either way the connection is done with.
        let _ = tokio::time::timeout(LEFTOVERS_WAIT, leftovers).await;
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.task.abort();
    }
}
