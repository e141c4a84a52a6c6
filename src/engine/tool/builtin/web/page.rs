//! Makes text of a body: the readable part of a web page as Markdown, other text as it is. Blocking: a long page takes
//! some hundred milliseconds.

use std::time::Duration;

use dom_smoothie::{Config, ParsePolicy, Readability, TextMode};
use encoding_rs::{Encoding, UTF_8};
use url::Url;

use super::super::work::terminal;
use super::address::address_line;
use super::client::FetchedBody;
use super::shape::{is_convertible, plain};
use crate::stdx::text::sanitize_line;
use crate::tool::ToolError;

/// The stack of a conversion in bytes, which goes down a page by recursion, and how long it may take.
const STACK: usize = 64 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(10);

/// Where a page may say in itself how it is encoded, in bytes.
const HEAD: usize = 1024;

/// Less text than this is not the readable part of a page, in bytes.
const SHORTEST: usize = 200;

/// The text of what was fetched.
#[derive(Debug, PartialEq, Eq)]
pub struct PageText {
    /// One line; empty if it has none.
    pub title: String,
    pub text: String,
}

/// Returns the readable text of a body. Errs if it is no text.
pub fn page(fetched: &FetchedBody) -> Result<PageText, ToolError> {
    let text = decode(fetched)?;
    if !is_html(&fetched.content_type, &text) {
        return Ok(PageText { title: String::new(), text });
    }
    Ok(readable(&text, &fetched.url).unwrap_or_else(|| PageText { title: String::new(), text: plain(&text) }))
}

/// Returns a text body as it came. Errs if it is no text.
pub fn raw(fetched: &FetchedBody) -> Result<PageText, ToolError> {
    Ok(PageText { title: String::new(), text: decode(fetched)? })
}

/// Decodes a body as its header, its first bytes, or the page itself say; else as UTF-8.
fn decode(fetched: &FetchedBody) -> Result<String, ToolError> {
    let FetchedBody { body, content_type, url, .. } = fetched;
    let head = body.get(..HEAD).unwrap_or(body);
    let in_header = charset(content_type);
    let in_page = || charset(&String::from_utf8_lossy(head).to_ascii_lowercase());
    let encoding = Encoding::for_bom(body).map(|(encoding, _)| encoding).or(in_header).or_else(in_page);
    let encoding = encoding.unwrap_or(UTF_8);
    let is_wide = encoding != UTF_8 && !encoding.is_ascii_compatible();
    if !is_wide && body.contains(&0) {
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        let kind =
            if kind.is_empty() { "no type given".to_owned() } else { sanitize_line(kind).into_owned() };
        return Err(terminal(format!(
            "{} is not text ({kind}, {} bytes); its content is not shown",
            address_line(url),
            body.len()
        )));
    }
    Ok(encoding.decode(body).0.into_owned())
}

/// Returns the encoding that a text in lower case names as its `charset`.
fn charset(text: &str) -> Option<&'static Encoding> {
    let (_, rest) = text.split_once("charset")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.')));
    Encoding::for_label(rest.get(..end.unwrap_or(rest.len()))?.as_bytes())
}

/// Whether a body is a web page: by its type, or by its beginning if the type says nothing.
fn is_html(content_type: &str, text: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    match kind {
        "text/html" | "application/xhtml+xml" => true,
        "" | "application/octet-stream" => {
            let start: String = text.trim_start().chars().take(15).collect::<String>().to_ascii_lowercase();
            start.starts_with("<!doctype html") || start.starts_with("<html")
        }
        _ => false,
    }
}

/// Returns the part of a page that is for readers, as Markdown with whole links; else all of it, without its menus. `None` if
/// it has no such part, or if converting it could do harm or takes too long.
fn readable(html: &str, url: &Url) -> Option<PageText> {
    if !is_convertible(html) {
        return None;
    }
    let (html, url) = (html.to_owned(), url.to_string());
    let (send, converted) = std::sync::mpsc::sync_channel(1);
    let convert = move || {
        // The receiver may be gone.
        let _ = send.send(markdown(&html, &url));
    };
    let thread = std::thread::Builder::new().name("web page".to_owned()).stack_size(STACK);
    thread.spawn(convert).ok()?;
    converted.recv_timeout(PATIENCE).ok()?
}

fn markdown(html: &str, url: &str) -> Option<PageText> {
    let parsed = |policy| {
        let config = Config { text_mode: TextMode::Markdown, ..Config::default() };
        let mut page = Readability::new(html, Some(url), Some(config)).ok()?;
        let article = page.parse_with_policy(policy).ok()?;
        let title = sanitize_line(article.title.trim()).into_owned();
        let text = article.text_content.trim().to_owned();
        (!text.is_empty()).then_some(PageText { title, text })
    };
    let is_article = |page: &PageText| page.text.len() >= SHORTEST;
    parsed(ParsePolicy::Strict).filter(is_article).or_else(|| parsed(ParsePolicy::Raw))
}
