//! Finds the addresses of a host, and refuses those that may not be reached.
//!
//! A connection is made to an address that was checked, not to a name that may resolve to another one a moment later:
//! the HTTP library is given the resolver itself. Tests give one of their own; the program has no switch for it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::stdx::public_address::why_not_public;

/// Why others are not.
pub const ONLY_PUBLIC: &str = "only public hosts are reached";

/// Finds the addresses of a host; literal addresses are hosts too.
pub trait HostResolver: Send + Sync + 'static {
    /// Returns at least one address, or why the host may not or cannot be reached. Cancel-safe.
    fn addresses(&self, host: String) -> BoxFuture<'static, Result<Vec<IpAddr>, String>>;
}

/// Hosts of which every address is on the public internet.
pub struct PublicHosts;

/// Any host: for services that the user's own settings name.
pub struct AnyHost;

impl HostResolver for PublicHosts {
    fn addresses(&self, host: String) -> BoxFuture<'static, Result<Vec<IpAddr>, String>> {
        Box::pin(async move {
            let found = by_system(&host).await?;
            match found.iter().find_map(|address| why_not_public(*address).map(|what| (*address, what))) {
                Some((address, what)) => {
                    Err(format!("{host} resolves to {address}, which is {what}; {ONLY_PUBLIC}"))
                }
                None => Ok(found),
            }
        })
    }
}

impl HostResolver for AnyHost {
    fn addresses(&self, host: String) -> BoxFuture<'static, Result<Vec<IpAddr>, String>> {
        Box::pin(async move { by_system(&host).await })
    }
}

async fn by_system(host: &str) -> Result<Vec<IpAddr>, String> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse() {
        return Ok(vec![address]);
    }
    let found = tokio::net::lookup_host((bare, 0)).await;
    let found: Vec<IpAddr> = found
        .map_err(|error| format!("the host {host} was not found ({error})"))?
        .map(|address| address.ip())
        .collect();
    if found.is_empty() { Err(format!("the host {host} has no address")) } else { Ok(found) }
}

/// Gives the HTTP library the addresses that a resolver allows.
pub struct ClientResolver(pub Arc<dyn HostResolver>);

impl Resolve for ClientResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self.0.addresses(name.as_str().to_owned());
        Box::pin(async move {
            let found = found.await?;
            let addresses = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}
