//! A database thread: a thread that owns one connection and runs its jobs in order.
//!
//! The store has two database threads: one writes, one reads, so that a reader never waits for a writer and no async
//! thread waits for the disk. A database thread ends when its last handle is dropped, after the jobs already queued.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::StoreError;
use crate::stdx::pending::PendingWork;

/// Number of jobs that can be queued before senders wait.
const CAPACITY: usize = 64;

/// Errs where the connection could not be opened.
type Job<C> = Box<dyn FnOnce(Result<&mut C, StoreError>) + Send>;

/// The state that a database thread owns.
pub(super) trait Context {
    /// Called when the queue is empty.
    fn idle(&mut self) {}
}

/// The sending side of a database thread.
pub(super) struct DbThread<C> {
    jobs: mpsc::Sender<Job<C>>,
    data: PathBuf,
}

impl<C: Context + 'static> DbThread<C> {
    /// Starts the thread and waits until `open` has run on it; its error is returned here.
    pub(super) async fn start<O>(name: &str, data: &Path, open: O) -> Result<Self, StoreError>
    where
        O: FnOnce() -> Result<C, StoreError> + Send + 'static,
    {
        let thread = Self::start_soon(name, data, open)?;
        thread.run(|_| Ok(())).await?;
        Ok(thread)
    }

    /// Starts the thread. `open` runs on it meanwhile; its error is that of all work.
    pub(super) fn start_soon<O>(name: &str, data: &Path, open: O) -> Result<Self, StoreError>
    where
        O: FnOnce() -> Result<C, StoreError> + Send + 'static,
    {
        let (jobs, inbox) = mpsc::channel(CAPACITY);
        // Counted before it runs: the program may end at once.
        let running = RUNNING.begin();
        let run = move || {
            let _running = running;
            serve(open(), inbox);
        };
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(run)
            .map_err(|error| StoreError::file(data, &error))?;
        Ok(Self { jobs, data: data.to_owned() })
    }

    /// Runs `work` on the thread, after all work sent before it. Once sent it runs even if this future is
    /// dropped; then its result is lost.
    pub(super) async fn run<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnOnce(&mut C) -> Result<T, StoreError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job: Job<C> = Box::new(move |context| drop(reply.send(context.and_then(work))));
        self.jobs.send(job).await.map_err(|_closed| StoreError::Stopped)?;
        let result = answer.await.unwrap_or(Err(StoreError::Stopped));
        result.map_err(|error| error.located(&self.data))
    }
}

/// The database threads of this process.
static RUNNING: PendingWork = PendingWork::new();

/// Waits, at most `patience`, until every database of this process is closed. Call it after dropping the last
/// handle.
pub fn wait_closed(patience: Duration) {
    // After a timeout, the database is checked at the next opening.
    RUNNING.wait(patience);
}

fn serve<C: Context>(mut opened: Result<C, StoreError>, mut inbox: mpsc::Receiver<Job<C>>) {
    while let Some(job) = inbox.blocking_recv() {
        job(opened.as_mut().map_err(|error| error.clone()));
        if let Ok(context) = &mut opened
            && inbox.is_empty()
        {
            context.idle();
        }
    }
}
