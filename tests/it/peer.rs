//! Servers of the tests' own making, on loopback: what each connection is sent is given byte by byte.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use co::message::Message;
use co::provider::http::{ApiKey, Endpoint, HttpProvider, KeyHeader, Network, Timeouts};
use co::provider::openai_chat::{OpenAiChat, Quirks};
use co::provider::{ModelRequest, Provider, ProviderError, StreamEvent, WireCodec};
use co::stdx::clock::ManualClock;
use futures::StreamExt;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_util::sync::CancellationToken;

/// A whole Chat Completions answer that says `Hi`.
pub const HI: &str = "data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// A listener that gives each connection, with its number from 0, to a function.
pub struct Peer {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl Peer {
    pub async fn start<F, Done>(serve: F) -> Self
    where
        F: Fn(usize, TcpStream) -> Done + Send + Sync + 'static,
        Done: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(counted.fetch_add(1, Ordering::SeqCst), stream));
            }
        });
        Self { address, connections, task }
    }

    /// One that answers every request of every connection with these bytes, and closes.
    pub async fn saying(answer: impl Into<Vec<u8>>) -> Self {
        let answer: Arc<[u8]> = answer.into().into();
        Self::start(move |_, mut stream| {
            let answer = Arc::clone(&answer);
            async move {
                if request(&mut stream).await.is_some() {
                    let _ = stream.write_all(&answer).await;
                    let _ = stream.shutdown().await;
                }
            }
        })
        .await
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A response with a length, so that the connection may be kept.
pub fn response(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// The answer `Hi`.
pub fn hi() -> Vec<u8> {
    response("200 OK", "content-type: text/event-stream\r\n", HI.as_bytes())
}

/// Reads one request whole and gives its head. `None` at the end of the connection.
pub async fn request(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
    while bytes.len() < head + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(text)
}

/// Whose certificates are believed where its file is named.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: tempfile::TempDir,
}

/// For how long a certificate holds.
#[derive(Clone, Copy)]
pub enum CertificateValidity {
    Now,
    /// It did until years ago.
    Once,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let encoded = base64::engine::general_purpose::STANDARD.encode(issuer.der());
        let lines: Vec<&str> =
            encoded.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
        let pem = format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"));
        std::fs::write(folder.path().join("ca.pem"), pem).unwrap();
        Self { issuer, folder }
    }

    pub fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A TLS server's side for a host, with these protocols.
    pub fn acceptor(&self, host: &str, holds: CertificateValidity, protocols: &[&str]) -> TlsAcceptor {
        let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        let years = match holds {
            CertificateValidity::Now => (2020, 2090),
            CertificateValidity::Once => (2019, 2020),
        };
        params.not_before = rcgen::date_time_ymd(years.0, 1, 1);
        params.not_after = rcgen::date_time_ymd(years.1, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
        let mut config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
            )
            .unwrap();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    }

    /// A TLS server that answers `Hi` to every request.
    pub async fn server(&self, host: &str, holds: CertificateValidity) -> Peer {
        let acceptor = self.acceptor(host, holds, &["http/1.1"]);
        Peer::start(move |_, stream| {
            let acceptor = acceptor.clone();
            async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                while request(&mut stream).await.is_some() {
                    if stream.write_all(&hi()).await.is_err() {
                        return;
                    }
                }
            }
        })
        .await
    }
}

/// A Chat Completions provider at an address.
pub fn chat(base_url: &str, network: Network) -> Box<dyn Provider> {
    patient(base_url, network, Duration::from_secs(60))
}

/// The same with a limit for silence.
pub fn patient(base_url: &str, network: Network, idle: Duration) -> Box<dyn Provider> {
    Box::new(provider(OpenAiChat::new(Quirks::OPENAI), base_url, network, idle))
}

/// Any codec at an address.
pub fn provider<W: WireCodec>(codec: W, base_url: &str, network: Network, idle: Duration) -> HttpProvider<W> {
    let endpoint = Endpoint {
        name: "peer".to_owned(),
        base_url: base_url.to_owned(),
        key: ApiKey::new("sk-secret-of-the-test"),
        key_header: KeyHeader::Bearer,
        headers: vec![("x-own".to_owned(), ApiKey::new("of the person").expect("a value"))],
        network,
        timeouts: Timeouts { connect: Duration::from_secs(10), idle },
    };
    let clock = Arc::new(ManualClock::at(jiff::Timestamp::UNIX_EPOCH));
    HttpProvider::new(codec, &endpoint, clock).unwrap()
}

/// The outcome of a request: its text, or how it failed.
pub async fn ask(provider: &dyn Provider) -> Result<String, ProviderError> {
    let request = ModelRequest::new("m", vec![Message::user("hi")]);
    let mut stream = provider.stream(request, CancellationToken::new());
    let mut text = String::new();
    let mut end = None;
    while let Some(item) = stream.next().await {
        assert!(end.is_none(), "nothing follows the end");
        match item {
            Ok(StreamEvent::PartDelta { delta, .. }) => text.push_str(&delta),
            Ok(StreamEvent::Finished { .. }) => end = Some(None),
            Ok(
                StreamEvent::Started { .. }
                | StreamEvent::PartStarted { .. }
                | StreamEvent::PartEnded { .. }
                | StreamEvent::Notice { .. }
                | StreamEvent::Usage { .. },
            ) => {}
            Err(error) => end = Some(Some(error)),
        }
    }
    match end.expect("a stream ends with an end") {
        None => Ok(text),
        Some(error) => Err(error),
    }
}
