//! Provenance: finds long spans of text that a call's arguments share with untrusted sources.
//!
//! Pure. Called by the turn machine, which passes it every message of the conversation.
//!
//! A span counts as shared text if it is too long for a coincidence (24 characters and 3 words), if it is one
//! word that is not written twice by chance (32 characters), or if it is an address, a URL or a host (8
//! characters), because one of those is enough to send data to a third party. Text that the user also wrote
//! counts as the user's. Text from workspace files may go back into the workspace, and paths of workspace
//! files may go anywhere: otherwise almost every legitimate call would be marked, and users would ignore the
//! marks. Words in base64 or hexadecimal digits are decoded on both sides.

mod addresses;
mod authorship;
mod encoded;
mod grams;
mod named;
mod sources;
mod span;
mod spelling;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::addresses::{Shape, addresses};
use self::encoded::{decoded, runs_decoded};
use self::grams::{Grams, SeedSource};
use self::sources::{Side, TextSource, sources};
use self::span::{ArgumentText, counts, cut, pieces};
use crate::message::{CallId, Message, Source, ToolName};
use crate::tool::{Category, ToolSpec};

/// The JSON pointer of the command line in the arguments of tools that run one.
const COMMAND: &str = "/command";

/// Maximum number of spans reported per call; more are not read, and one is enough to ask.
const MOST: usize = 32;

/// Text in an argument that came from an untrusted source. Stored with requests: fields may only be added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taint {
    /// JSON pointer of the argument, e.g. `/to`.
    pub arg: String,
    /// The text as written in the argument; long texts are cut.
    pub words: String,
    pub source: Source,
    /// The call whose return contained the text, if it came from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<CallId>,
}

/// How far the effect of a call reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Only workspace files: text that came from there may go there.
    Workspace,
    Beyond,
}

/// The messages of a conversation, from which the sources are determined. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Provenance {
    messages: Vec<Arc<Message>>,
    tools: Arc<BTreeMap<ToolName, ToolSpec>>,
}

impl Provenance {
    /// Creates that of an empty conversation.
    pub fn new(tools: Arc<BTreeMap<ToolName, ToolSpec>>) -> Self {
        Self { messages: Vec::new(), tools }
    }

    /// Sets the known tools: what a tool that is not among them returned is from outside.
    pub fn offer(&mut self, tools: Arc<BTreeMap<ToolName, ToolSpec>>) {
        self.tools = tools;
    }

    fn category(&self, tool: &ToolName) -> Option<Category> {
        self.tools.get(tool).map(|spec| spec.category)
    }

    /// Adds a message of the conversation, in order.
    pub fn add(&mut self, message: Arc<Message>) {
        self.messages.push(message);
    }

    /// Whether the user wrote this whole web address, or a search or a page of the web returned it.
    #[must_use]
    pub fn names(&self, url: &str) -> bool {
        sources(&self.messages, &self.tools).iter().any(|source| match (source.side, &source.origin) {
            (Side::Person, _) => named::by_person(source.text, url),
            (Side::Outside, Source::Web { .. }) => named::in_text(source.text, url),
            (Side::Outside | Side::Files, _) => false,
        })
    }

    /// Returns long spans of `args` that come from untrusted sources and not from the user; each once, in the
    /// order of the arguments, at most 32.
    #[must_use]
    pub fn taints(&self, args: &Value, reach: Reach) -> Vec<Taint> {
        let mut args = pieces(args);
        let read = |piece: &ArgumentText<'_>| -> Vec<(String, String)> {
            decoded(piece.text).into_iter().map(|text| (piece.pointer.clone(), text)).collect()
        };
        let hidden: Vec<(String, String)> = args.iter().flat_map(read).collect();
        let scripts = args.iter().filter(|piece| piece.pointer == COMMAND);
        let decoders: Vec<&str> = scripts.filter_map(|piece| runs_decoded(piece.text)).collect();
        args.extend(hidden.iter().map(|(pointer, text)| ArgumentText { pointer: pointer.clone(), text }));
        let mut grams = Grams::of(args.iter().map(|piece| piece.text));
        let mut wanted = ArgumentAddresses::of(args.iter().map(|piece| piece.text));
        if grams.is_empty() && wanted.places.is_empty() && decoders.is_empty() {
            return Vec::new();
        }
        let mut sources = sources(&self.messages, &self.tools);
        let read = |(at, source): (usize, &TextSource<'_>)| -> Vec<(usize, String)> {
            decoded(source.text).into_iter().map(|text| (at, text)).collect()
        };
        let hidden: Vec<(usize, String)> = sources.iter().enumerate().flat_map(read).collect();
        let read: Vec<TextSource<'_>> = hidden
            .iter()
            .map(|(at, text)| TextSource { text, origin: sources[*at].origin.clone(), ..sources[*at] })
            .collect();
        sources.extend(read);
        // Trusted sources come first and files last, because the first source of a span is the one reported.
        for pass in [SearchPass::Trusted, SearchPass::Outside, SearchPass::Files] {
            for (number, source) in
                sources.iter().enumerate().filter(|(_, source)| SearchPass::of(source, reach) == pass)
            {
                let found =
                    if pass == SearchPass::Trusted { SeedSource::Trusted } else { SeedSource::By(number) };
                grams.search(source.text, found);
                wanted.search(source, found);
            }
        }
        let spans = long(&grams, &args, &sources);
        let spans = with_addresses(spans, &wanted);
        let mut taints = to_taints(spans, &args, &sources);
        // The text that a decoder will run is not visible here; it may come from any of these sources.
        if let Some(source) = sources.iter().rfind(|source| source.side != Side::Person) {
            taints.extend(decoders.iter().map(|decoder| Taint {
                arg: COMMAND.to_owned(),
                words: format!("{decoder} (it runs what it decodes)"),
                source: source.origin.clone(),
                from: source.from.cloned(),
            }));
        }
        taints
    }
}

/// The order in which sources are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SearchPass {
    Trusted,
    Outside,
    Files,
}

impl SearchPass {
    fn of(source: &TextSource<'_>, reach: Reach) -> Self {
        match (source.side, reach) {
            (Side::Person, _) | (Side::Files, Reach::Workspace) => Self::Trusted,
            (Side::Files, Reach::Beyond) => Self::Files,
            (Side::Outside, _) => Self::Outside,
        }
    }
}

/// A byte range of one argument, and its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    arg: usize,
    start: usize,
    end: usize,
    source: usize,
}

/// The stretches that are long enough to count.
fn long(grams: &Grams, args: &[span::ArgumentText<'_>], sources: &[TextSource<'_>]) -> Vec<Span> {
    let stretches = grams.stretches().into_iter();
    let spans =
        stretches.map(|one| Span { arg: one.arg, start: one.start, end: one.end, source: one.source });
    let counted = spans.filter(|span| {
        let words = args[span.arg].text.get(span.start..span.end).unwrap_or_default();
        counts(words, sources[span.source].side)
    });
    counted.collect()
}

/// The addresses in the arguments, by their normalized form.
struct ArgumentAddresses {
    places: HashMap<String, TaintState>,
}

/// The places of an address in the arguments, and its source.
struct TaintState {
    found: SeedSource,
    /// Index of the argument, start and end byte.
    at: Vec<(usize, usize, usize)>,
}

impl ArgumentAddresses {
    fn of<'a>(args: impl IntoIterator<Item = &'a str>) -> Self {
        let mut places: HashMap<String, TaintState> = HashMap::new();
        for (arg, text) in args.into_iter().enumerate() {
            addresses(text, |one| {
                let new = || TaintState { found: SeedSource::Nowhere, at: Vec::new() };
                places.entry(one.form).or_insert_with(new).at.push((arg, one.start, one.end));
            });
        }
        Self { places }
    }

    fn search(&mut self, source: &TextSource<'_>, by: SeedSource) {
        if self.places.is_empty() {
            return;
        }
        addresses(source.text, |one| {
            let a_path = one.shape == Shape::InPath && source.side == Side::Files;
            if let Some(place) = self.places.get_mut(&one.form)
                && place.found == SeedSource::Nowhere
                && !a_path
            {
                place.found = by;
            }
        });
    }
}

/// Adds the addresses that are in none of the spans.
fn with_addresses(mut spans: Vec<Span>, wanted: &ArgumentAddresses) -> Vec<Span> {
    let mut more = Vec::new();
    for place in wanted.places.values() {
        if let SeedSource::By(source) = place.found {
            more.extend(place.at.iter().map(|&(arg, start, end)| Span { arg, start, end, source }));
        }
    }
    spans.extend(more);
    // Of spans with the same start the longest comes first, so that a URL's host is not reported again.
    spans.sort_by_key(|span| (span.arg, span.start, std::cmp::Reverse(span.end)));
    let mut kept: Vec<Span> = Vec::new();
    for span in spans {
        if kept.last().is_none_or(|last| last.arg != span.arg || span.end > last.end) {
            kept.push(span);
        }
    }
    kept
}

fn to_taints(spans: Vec<Span>, args: &[span::ArgumentText<'_>], sources: &[TextSource<'_>]) -> Vec<Taint> {
    let mut taints: Vec<Taint> = Vec::new();
    for span in spans {
        let piece = &args[span.arg];
        let source = &sources[span.source];
        let taint = Taint {
            arg: piece.pointer.clone(),
            words: cut(piece.text.get(span.start..span.end).unwrap_or_default()),
            source: source.origin.clone(),
            from: source.from.cloned(),
        };
        if !taints.contains(&taint) {
            taints.push(taint);
        }
        if taints.len() == MOST {
            break;
        }
    }
    taints
}
