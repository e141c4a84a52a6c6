//! Spans and events of everything on the way, ours and the libraries', at their most talkative: no key is in them.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use co::provider::http::Network;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::peer::{Authority, CertificateValidity, Peer, ask, chat, response};

/// Records every span that it is given.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<String>>);

impl Listener {
    fn note(&self, what: &Metadata<'_>, tell: impl FnOnce(&mut Fields)) {
        let mut fields = Fields(format!("{} {}:", what.target(), what.name()));
        tell(&mut fields);
        self.0.lock().unwrap().push_str(&(fields.0 + "\n"));
    }
}

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Subscriber for Listener {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.note(span.metadata(), |fields| span.record(fields));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        let mut fields = Fields("recorded:".to_owned());
        values.record(&mut fields);
        self.0.lock().unwrap().push_str(&(fields.0 + "\n"));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.note(event.metadata(), |fields| event.record(fields));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn no_key_is_in_spans_and_events() {
    let listener = Listener::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tracing::subscriber::with_default(listener.clone(), || {
        runtime.block_on(async {
            let authority = Authority::new();
            let server = authority.server("localhost", CertificateValidity::Now).await;
            let network = Network { proxy: None, ca_file: Some(authority.file()) };
            let url = format!("https://localhost:{}/v1?key=sk-secret-in-the-query", server.port());
            // Threads without a listener register spans meanwhile, which then count as of no interest.
            tracing::callsite::rebuild_interest_cache();
            assert_eq!(ask(chat(&url, network).as_ref()).await, Ok("Hi".to_owned()));

            let echo =
                response("401 No", "x-request-id: sk-secret-of-the-test\r\n", b"no sk-secret-of-the-test");
            let refuses = Peer::saying(echo).await;
            let url = format!("http://{}/v1?key=sk-secret-in-the-query", refuses.address);
            tracing::callsite::rebuild_interest_cache();
            assert!(ask(chat(&url, Network::default()).as_ref()).await.is_err());

            let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            let network =
                Network { proxy: Some(format!("http://name:sk-secret-proxy@{free}")), ca_file: None };
            tracing::callsite::rebuild_interest_cache();
            assert!(ask(chat("https://api.test/v1", network).as_ref()).await.is_err());
        });
    });
    let told = listener.0.lock().unwrap().clone();
    assert!(told.contains("class=Auth"), "{told}");
    let leaks: Vec<&str> = told.lines().filter(|line| line.contains("sk-secret")).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
}
