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
mod span;
mod spelling;
#[cfg(test)]
mod tests;
mod texts;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::addresses::{Shape, addresses};
use self::encoded::{decode_words, runs_decoded};
use self::grams::{FoundIn, Grams, Span};
use self::span::{ArgumentText, counts, cut, pieces};
use self::texts::{KnownText, Side, texts};
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
        texts(&self.messages, &self.tools).iter().any(|known| match (known.side, &known.origin) {
            (Side::Person, _) => named::by_person(known.text, url),
            (Side::Outside, Source::Web { .. }) => named::in_text(known.text, url),
            (Side::Outside | Side::Files, _) => false,
        })
    }

    /// Returns long spans of `args` that come from untrusted sources and not from the user; each once, in the
    /// order of the arguments, at most 32.
    #[must_use]
    pub fn taints(&self, args: &Value, reach: Reach) -> Vec<Taint> {
        let mut args = pieces(args);
        let read = |piece: &ArgumentText<'_>| -> Vec<(String, String)> {
            decode_words(piece.text).into_iter().map(|text| (piece.pointer.clone(), text)).collect()
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
        let mut texts = texts(&self.messages, &self.tools);
        let read = |(at, known): (usize, &KnownText<'_>)| -> Vec<(usize, String)> {
            decode_words(known.text).into_iter().map(|text| (at, text)).collect()
        };
        let hidden: Vec<(usize, String)> = texts.iter().enumerate().flat_map(read).collect();
        let read: Vec<KnownText<'_>> = hidden
            .iter()
            .map(|(at, text)| KnownText { text, origin: texts[*at].origin.clone(), ..texts[*at] })
            .collect();
        texts.extend(read);
        // Trusted texts come first and files last, because the first text of a span is the one reported.
        for pass in [SearchPass::Trusted, SearchPass::Outside, SearchPass::Files] {
            for (number, known) in
                texts.iter().enumerate().filter(|(_, known)| SearchPass::of(known, reach) == pass)
            {
                let found =
                    if pass == SearchPass::Trusted { FoundIn::Trusted } else { FoundIn::Text(number) };
                grams.search(known.text, found);
                wanted.search(known, found);
            }
        }
        let spans = long(&grams, &args, &texts);
        let spans = with_addresses(spans, &wanted);
        let mut taints = to_taints(spans, &args, &texts);
        // The text that a decoder will run is not visible here; it may come from any of these texts.
        if let Some(known) = texts.iter().rfind(|known| known.side != Side::Person) {
            taints.extend(decoders.iter().map(|decoder| Taint {
                arg: COMMAND.to_owned(),
                words: format!("{decoder} (it runs what it decodes)"),
                source: known.origin.clone(),
                from: known.from.cloned(),
            }));
        }
        taints
    }
}

/// The order in which texts are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SearchPass {
    Trusted,
    Outside,
    Files,
}

impl SearchPass {
    fn of(known: &KnownText<'_>, reach: Reach) -> Self {
        match (known.side, reach) {
            (Side::Person, _) | (Side::Files, Reach::Workspace) => Self::Trusted,
            (Side::Files, Reach::Beyond) => Self::Files,
            (Side::Outside, _) => Self::Outside,
        }
    }
}

/// The stretches that are long enough to count.
fn long(grams: &Grams, args: &[span::ArgumentText<'_>], texts: &[KnownText<'_>]) -> Vec<Span> {
    let mut spans = grams.stretches();
    spans.retain(|span| {
        let words = args[span.arg].text.get(span.start..span.end).unwrap_or_default();
        counts(words, texts[span.text].side)
    });
    spans
}

/// The addresses in the arguments, by their normalized form.
struct ArgumentAddresses {
    places: HashMap<String, TaintState>,
}

/// The places of an address in the arguments, and the text that contains it.
struct TaintState {
    found: FoundIn,
    /// Index of the argument, start and end byte.
    at: Vec<(usize, usize, usize)>,
}

impl ArgumentAddresses {
    fn of<'a>(args: impl IntoIterator<Item = &'a str>) -> Self {
        let mut places: HashMap<String, TaintState> = HashMap::new();
        for (arg, text) in args.into_iter().enumerate() {
            addresses(text, |one| {
                let new = || TaintState { found: FoundIn::Nowhere, at: Vec::new() };
                places.entry(one.form).or_insert_with(new).at.push((arg, one.start, one.end));
            });
        }
        Self { places }
    }

    fn search(&mut self, known: &KnownText<'_>, by: FoundIn) {
        if self.places.is_empty() {
            return;
        }
        addresses(known.text, |one| {
            let a_path = one.shape == Shape::InPath && known.side == Side::Files;
            if let Some(place) = self.places.get_mut(&one.form)
                && place.found == FoundIn::Nowhere
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
        if let FoundIn::Text(text) = place.found {
            more.extend(place.at.iter().map(|&(arg, start, end)| Span { arg, start, end, text }));
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

fn to_taints(spans: Vec<Span>, args: &[span::ArgumentText<'_>], texts: &[KnownText<'_>]) -> Vec<Taint> {
    let mut taints: Vec<Taint> = Vec::new();
    for span in spans {
        let piece = &args[span.arg];
        let known = &texts[span.text];
        let taint = Taint {
            arg: piece.pointer.clone(),
            words: cut(piece.text.get(span.start..span.end).unwrap_or_default()),
            source: known.origin.clone(),
            from: known.from.cloned(),
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
