//! Why a connection cannot be prepared.

use std::error::Error;
use std::io;
use std::path::PathBuf;

/// Why no provider can be created from the configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    #[error("the base URL `{url}` is not a web address: {reason}")]
    BaseUrl { url: String, reason: String },
    #[error("the key contains invalid characters; was all of it copied, without line breaks?")]
    Key,
    #[error("the header `{name}` cannot be sent: a name is letters, digits and -, a value one line of text")]
    Header { name: String },
    #[error("the setting `proxy` cannot be used: {reason}")]
    Proxy { reason: String },
    #[error("`ca_file` {path:?} {reason}")]
    CaFile { path: PathBuf, reason: String },
    #[error("the HTTP client could not be started: {reason}")]
    Client { reason: String },
}

/// Returns an error and the chain of its causes; I/O errors keep theirs inside.
pub(super) fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(within) => Some(within),
            None => error.source(),
        }
    })
}

/// Returns the innermost cause of an error: the outer ones only report that something failed.
pub(super) fn deepest(error: &(dyn Error + 'static)) -> String {
    causes(error).last().unwrap_or(error).to_string()
}
