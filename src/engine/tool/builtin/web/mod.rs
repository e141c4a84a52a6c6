//! The web, as tools reach it: addresses that may be asked, requests that go to the public internet only, and texts made
//! of what comes back.
//!
//! `address` decides what may be asked at all; `client` connects, to addresses that its resolver found public, and follows
//! redirects one by one with the same checks; `page` makes text of a body; `engine` knows services that search. Nothing
//! here asks the user: whether a request is made is decided by the policy, from [`Access::Web`](crate::tool::Access::Web).

mod address;
mod client;
mod engine;
mod page;
mod resolver;
mod shape;

pub use self::address::{Domains, domain, parse};
pub use self::client::{FetchedBody, WebClient};
pub use self::engine::{Engine, SearchResult};
pub use self::page::{PageText, page, raw};
pub use self::resolver::{AnyHost, ClientResolver, HostResolver, PublicHosts};

use crate::message::Source;

/// The source of text from this address.
pub fn source(url: &url::Url) -> Source {
    Source::Web { url: url.to_string() }
}
