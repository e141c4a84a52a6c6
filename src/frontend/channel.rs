//! `ChannelFrontend`: a turn's front end that sends events to an interactive front end over a queue.
//!
//! Updates go through one bounded queue, in order. If the receiver is slow, text deltas are merged with a delta at the
//! end of the queue, so that a slow terminal does not delay the model and memory stays bounded. The owner of an
//! interactive session has one end, its front end the other.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc};

use super::protocol::{ServerMessage, Update};
use crate::agent::port::{Closed, Event, Frontend, Op};
use crate::message::Usage;

/// Maximum number of queued updates; beyond this a sender waits.
const CAPACITY: usize = 256;

/// Size in bytes up to which deltas are merged into a queued one.
const DELTA_BYTES: usize = 32 * 1024;

/// The owner's end of the updates: cheap to clone; the clones share one order.
pub struct Updates {
    queue: Arc<Queue>,
}

struct Queue {
    state: Mutex<PendingUpdates>,
    /// Notified when something was queued or the number of senders changed.
    filled: Notify,
    /// Notified when there is room again or the receiver is closed.
    drained: Notify,
}

#[derive(Default)]
struct PendingUpdates {
    updates: VecDeque<Update>,
    /// The number of live owner's ends.
    owners: usize,
    frontend_gone: bool,
}

/// Creates both ends: the owner's and the front end's.
pub fn updates() -> (Updates, FrontendUpdates) {
    let state = Mutex::new(PendingUpdates { owners: 1, ..PendingUpdates::default() });
    let queue = Arc::new(Queue { state, filled: Notify::new(), drained: Notify::new() });
    (Updates { queue: Arc::clone(&queue) }, FrontendUpdates { queue })
}

/// The front end's end of the updates. Dropping it closes the link for the owner.
pub struct FrontendUpdates {
    queue: Arc<Queue>,
}

impl FrontendUpdates {
    /// Returns the next update, in order; `None` if none is queued and no owner's end is left. Cancel-safe.
    pub async fn recv(&mut self) -> Option<Update> {
        loop {
            if let Some(update) = self.try_recv() {
                return Some(update);
            }
            if self.queue.is_over() {
                return None;
            }
            self.queue.filled.notified().await;
        }
    }

    /// Returns the next update, if one is queued.
    pub fn try_recv(&mut self) -> Option<Update> {
        let update = self.queue.lock().updates.pop_front()?;
        self.queue.drained.notify_one();
        Some(update)
    }
}

impl std::fmt::Debug for FrontendUpdates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FrontendUpdates").finish_non_exhaustive()
    }
}

impl Drop for FrontendUpdates {
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl Queue {
    /// Whether the queue is empty, and no sender is left.
    fn is_over(&self) -> bool {
        let waiting = self.lock();
        waiting.updates.is_empty() && waiting.owners == 0
    }

    fn lock(&self) -> MutexGuard<'_, PendingUpdates> {
        self.state.lock()
    }

    fn close(&self) {
        self.lock().frontend_gone = true;
        self.drained.notify_waiters();
    }
}

impl Clone for Updates {
    fn clone(&self) -> Self {
        self.queue.lock().owners += 1;
        Self { queue: Arc::clone(&self.queue) }
    }
}

impl Drop for Updates {
    fn drop(&mut self) {
        self.queue.lock().owners -= 1;
        // The receiver checks whether this was the last one.
        self.queue.filled.notify_one();
    }
}

impl Updates {
    /// Queues an update, waiting for room. Cancel-safe: a dropped call queued nothing. Errs if the receiver is gone.
    pub async fn send(&self, update: Update) -> Result<(), Closed> {
        let mut update = update;
        loop {
            let drained = self.queue.drained.notified();
            tokio::pin!(drained);
            drained.as_mut().enable();
            match self.offer(update)? {
                None => {
                    self.queue.filled.notify_one();
                    return Ok(());
                }
                Some(refused) => update = refused,
            }
            drained.await;
        }
    }

    /// Queues a message.
    pub async fn notice(&self, notice: ServerMessage) -> Result<(), Closed> {
        self.send(Update::Message(notice)).await
    }

    /// Queues the update, or returns it if there is no room.
    fn offer(&self, update: Update) -> Result<Option<Update>, Closed> {
        let mut waiting = self.queue.lock();
        if waiting.frontend_gone {
            return Err(Closed);
        }
        let update = match waiting.updates.back_mut() {
            Some(last) => match merge(last, update) {
                Some(other) => other,
                None => return Ok(None),
            },
            None => update,
        };
        if waiting.updates.len() >= CAPACITY {
            return Ok(Some(update));
        }
        waiting.updates.push_back(update);
        Ok(None)
    }
}

/// Appends a delta to a queued one of its kind; returns what cannot be merged.
fn merge(last: &mut Update, next: Update) -> Option<Update> {
    match (last, next) {
        (Update::Event(last), Update::Event(next)) => last.join(next, DELTA_BYTES).map(Update::Event),
        (
            Update::Message(ServerMessage::ShellOutput { text: waiting }),
            Update::Message(ServerMessage::ShellOutput { text: more }),
        ) if waiting.len() < DELTA_BYTES => {
            waiting.push_str(&more);
            None
        }
        (_, next) => Some(next),
    }
}

/// One turn's front end: sends events to the interactive front end and receives its operations.
pub struct ChannelFrontend {
    updates: Updates,
    ops: AsyncMutex<mpsc::Receiver<Op>>,
    spent: Arc<Mutex<Usage>>,
}

impl ChannelFrontend {
    /// `ops` is this turn's own channel; the owner routes the front end's operations into it. The usage of the turn's
    /// requests is added to `spent`.
    pub fn new(updates: Updates, ops: mpsc::Receiver<Op>, spent: Arc<Mutex<Usage>>) -> Self {
        Self { updates, ops: AsyncMutex::new(ops), spent }
    }

    /// Returns the operations that the turn did not process before it ended.
    pub fn unhandled_ops(self) -> Vec<Op> {
        let mut ops = self.ops.into_inner();
        ops.close();
        std::iter::from_fn(|| ops.try_recv().ok()).collect()
    }
}

impl Frontend for ChannelFrontend {
    fn show(&self, event: Event) -> BoxFuture<'_, Result<(), Closed>> {
        if let Event::Usage { usage, .. } = &event {
            self.spent.lock().add(*usage);
        }
        Box::pin(self.updates.send(Update::Event(event)))
    }

    fn next_op(&self) -> BoxFuture<'_, Op> {
        Box::pin(async move {
            match self.ops.lock().await.recv().await {
                Some(op) => op,
                // The owner ends the turn by its cancel token, not by closing this channel.
                None => std::future::pending().await,
            }
        })
    }

    fn can_approve(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn delta(text: &str) -> Update {
        Update::Event(Event::TextDelta { text: text.to_owned() })
    }

    fn status(text: String) -> Update {
        Update::Event(Event::Status { text })
    }

    #[tokio::test]
    async fn deltas_join_while_the_face_is_slow_and_order_holds() {
        let (updates, mut seen) = updates();
        for update in [delta("a"), delta("b"), status("-".to_owned()), delta("c"), delta("d")] {
            assert_eq!(updates.send(update).await, Ok(()));
        }
        drop(updates);
        let mut all = Vec::new();
        while let Some(update) = seen.recv().await {
            all.push(update);
        }
        assert_eq!(all, [delta("ab"), status("-".to_owned()), delta("cd")]);
    }

    #[tokio::test]
    async fn a_full_queue_waits_and_a_gone_face_ends_the_wait() {
        let (updates, mut seen) = updates();
        for number in 0..CAPACITY {
            assert_eq!(updates.send(status(number.to_string())).await, Ok(()));
        }
        assert!(updates.send(delta("x")).now_or_never().is_none(), "full: what does not join waits");
        let (sent, first) = tokio::join!(updates.send(delta("x")), seen.recv());
        assert_eq!(
            (sent, first),
            (Ok(()), Some(status("0".to_owned()))),
            "room again once the front end reads"
        );
        drop(seen);
        assert_eq!(updates.send(delta("y")).await, Err(Closed));
    }

    #[tokio::test]
    async fn ops_arrive_and_nothing_is_invented_when_they_end() {
        let (updates, _seen) = updates();
        let (say, ops) = mpsc::channel(2);
        let front = ChannelFrontend::new(updates, ops, Arc::default());
        assert!(front.next_op().now_or_never().is_none());
        say.try_send(Op::Interrupt).unwrap();
        assert_eq!(front.next_op().await, Op::Interrupt);
        drop(say);
        assert!(front.next_op().now_or_never().is_none());
    }
}
