//! Counts the connections that a client opens. A request that opened none used an existing connection, which
//! the server may have closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tower_layer::Layer;
use tower_service::Service;

/// The number of connections begun so far, shared with the client that opens them.
#[derive(Clone, Default)]
pub(super) struct ConnectionCounter(Arc<AtomicUsize>);

impl ConnectionCounter {
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl<S> Layer<S> for ConnectionCounter {
    type Service = CountingConnector<S>;

    fn layer(&self, inner: S) -> CountingConnector<S> {
        CountingConnector { inner, connects: self.clone() }
    }
}

/// A connector whose calls are counted.
#[derive(Clone)]
pub(super) struct CountingConnector<S> {
    inner: S,
    connects: ConnectionCounter,
}

impl<S: Service<R>, R> Service<R> for CountingConnector<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, to: R) -> S::Future {
        self.connects.0.fetch_add(1, Ordering::SeqCst);
        self.inner.call(to)
    }
}
