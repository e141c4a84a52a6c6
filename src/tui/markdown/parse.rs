//! Parses Markdown into a tree of blocks with styled spans, bounded in depth.
//!
//! The tree is independent of the width. Containers nested deeper than [`DEEPEST`] are flattened, so no input
//! makes the layout recurse without bound. Called by the full renderer and, a few blocks at a time, by the
//! streaming one.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};

use super::languages::word;
use crate::stdx::text::{sanitize_line, truncate};
use crate::tui::line::{Span, TextStyle};
use crate::tui::link::{Link, bare_addresses};
use crate::tui::theme::Role;

/// The greatest nesting depth of quotes, lists and footnotes.
const DEEPEST: usize = 12;

/// The longest address shown beside its link, in cells; the rest is cut off.
const LONGEST_ADDRESS: usize = 200;

#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    Paragraph(Vec<Span>),
    Code(Code),
    Html {
        text: String,
    },
    Quote(Vec<Child>),
    List(List),
    /// A footnote definition.
    Footnote {
        label: String,
        blocks: Vec<Child>,
    },
    Table(Table),
    Rule,
}

/// A block in its container.
#[derive(Debug, Clone, PartialEq)]
pub struct Child {
    pub gap: Gap,
    pub block: Block,
}

/// The gap before a block that is not the first of its container.
///
/// In lists it follows the source, and no later item changes it, so drawn lines never move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gap {
    None,
    BlankLine,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Code {
    /// The language word of the fence; may be empty.
    pub word: String,
    /// Whole lines, each with its line end.
    pub text: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// The number of the first item; `None` for bullets.
    pub first: Option<u64>,
    pub items: Vec<Item>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub gap: Gap,
    pub task: Option<Task>,
    pub blocks: Vec<Child>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    Open,
    Done,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    pub alignments: Vec<Alignment>,
    pub head: Vec<Vec<Span>>,
    pub rows: Vec<Vec<Vec<Span>>>,
}

/// The result of parsing a piece of source.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedBlocks {
    pub blocks: Vec<Child>,
    /// Whether links or footnotes are defined; a text rendered in pieces must then be rendered once more as a
    /// whole.
    pub defines_references: bool,
}

fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM
        | Options::ENABLE_FOOTNOTES
}

pub fn blocks(source: &str) -> ParsedBlocks {
    #[cfg(test)]
    super::count::parsed(source.len());
    let parser = Parser::new_ext(source, options());
    let defines_links = parser.reference_definitions().iter().next().is_some();
    let mut builder = Builder { source, ..Builder::default() };
    for (event, range) in parser.into_offset_iter() {
        builder.take(event, range.start);
    }
    builder.flush();
    ParsedBlocks { blocks: builder.root, defines_references: defines_links || builder.defines_footnotes }
}

/// The offsets at which the top-level blocks of a piece of source begin.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outline {
    /// Byte offsets, which may exclude an indent.
    pub blocks: Vec<usize>,
    /// If the last block is a list: the number of its first item, and the offsets of its items.
    pub last_list: Option<(Option<u64>, Vec<usize>)>,
}

pub fn outline(source: &str) -> Outline {
    #[cfg(test)]
    super::count::parsed(source.len());
    let mut depth = 0_usize;
    let mut found = Outline::default();
    for (event, range) in Parser::new_ext(source, options()).into_offset_iter() {
        if depth == 0 && !matches!(event, Event::End(_)) {
            found.blocks.push(range.start);
            found.last_list = match &event {
                Event::Start(Tag::List(first)) => Some((*first, Vec::new())),
                _ => None,
            };
        }
        match event {
            Event::Start(tag) => {
                if let (1, Tag::Item, Some((_, items))) = (depth, tag, &mut found.last_list) {
                    items.push(range.start);
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    found
}

/// Returns the language word of the fence that this line opens.
pub fn fence_word(line: &str) -> String {
    match Parser::new_ext(line, options()).next() {
        Some(Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info)))) => word(&info).to_owned(),
        Some(_) | None => String::new(),
    }
}

/// Returns the gap before the line that contains `at`.
pub fn gap_before(source: &str, at: usize) -> Gap {
    let before = source.split_at(at).0;
    let Some((lines, _)) = before.rsplit_once('\n') else { return Gap::None };
    let last = lines.rsplit_once('\n').map_or(lines, |(_, last)| last);
    if last.trim_matches([' ', '\t', '>']).is_empty() { Gap::BlankLine } else { Gap::None }
}

/// An open container.
#[derive(Debug)]
enum Open {
    Quote(Vec<Child>),
    List(List),
    Item(Item),
    Footnote { label: String, blocks: Vec<Child> },
}

/// The block that currently receives text.
#[derive(Debug, Default, PartialEq)]
enum Leaf {
    #[default]
    Inline,
    Code(Code),
    Html(String),
}

/// An open link.
struct OpenLink {
    address: String,
    link: Option<Link>,
    /// The index of its first span.
    first: usize,
}

#[derive(Default)]
struct Builder<'a> {
    source: &'a str,
    /// The offset of the current event.
    at: usize,
    root: Vec<Child>,
    stack: Vec<Open>,
    /// The number of containers that are open but flattened.
    flattened: usize,
    /// The gaps before the open containers.
    opened: Vec<Gap>,
    leaf: Leaf,
    /// The gap before the block that began last.
    gap: Option<Gap>,
    spans: Vec<Span>,
    styles: Vec<TextStyle>,
    links: Vec<OpenLink>,
    table: Option<Table>,
    defines_footnotes: bool,
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, at: usize) {
        self.at = at;
        match event {
            Event::Start(tag) => self.start(tag, at),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) => self.text(&text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.add_as(Role::Code, &text);
            }
            Event::InlineHtml(text) => self.add_as(Role::Dim, &text),
            Event::FootnoteReference(label) => self.add_as(Role::Link, &format!("[{label}]")),
            Event::SoftBreak => self.add(Span::styled(" ", self.style())),
            Event::HardBreak => self.add(Span::line_break()),
            Event::Rule => {
                self.begin(at);
                self.push(Block::Rule);
            }
            Event::TaskListMarker(done) => self.task(if done { Task::Done } else { Task::Open }),
        }
    }

    fn start(&mut self, tag: Tag<'_>, at: usize) {
        match tag {
            Tag::Paragraph => self.begin(at),
            Tag::Heading { level, .. } => {
                self.begin(at);
                let underline = level == HeadingLevel::H1;
                self.styles.push(TextStyle { underline, ..TextStyle::of(Role::Heading).bold() });
            }
            Tag::CodeBlock(kind) => {
                self.begin(at);
                let word = match &kind {
                    CodeBlockKind::Fenced(info) => word(info).to_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.leaf = Leaf::Code(Code { word, text: String::new() });
            }
            Tag::HtmlBlock => {
                self.begin(at);
                self.leaf = Leaf::Html(String::new());
            }
            Tag::BlockQuote(_) => self.open(Open::Quote(Vec::new()), at),
            Tag::List(first) => self.open(Open::List(List { first, items: Vec::new() }), at),
            Tag::Item => self.open(Open::Item(Item { gap: Gap::None, task: None, blocks: Vec::new() }), at),
            Tag::FootnoteDefinition(label) => {
                self.defines_footnotes = true;
                self.open(Open::Footnote { label: label.into_string(), blocks: Vec::new() }, at);
            }
            Tag::Table(alignments) => {
                self.begin(at);
                self.table = Some(Table { alignments, head: Vec::new(), rows: Vec::new() });
            }
            Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.styles.push(TextStyle { italic: true, ..self.style() }),
            Tag::Strong => self.styles.push(TextStyle { bold: true, ..self.style() }),
            Tag::Strikethrough => self.styles.push(TextStyle { strike: true, ..self.style() }),
            Tag::Link { link_type: LinkType::Email, dest_url, .. } => self.link(format!("mailto:{dest_url}")),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => self.link(dest_url.into_string()),
            // Not enabled, or marks without text of their own.
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.flush(),
            TagEnd::Heading(_) => {
                self.styles.pop();
                let spans = self.take_spans();
                self.push(Block::Paragraph(spans));
            }
            TagEnd::CodeBlock | TagEnd::HtmlBlock => match std::mem::take(&mut self.leaf) {
                Leaf::Code(code) => self.push(Block::Code(code)),
                Leaf::Html(text) => self.push(Block::Html { text }),
                Leaf::Inline => {}
            },
            TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item | TagEnd::FootnoteDefinition => {
                self.close();
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.push(Block::Table(table));
                }
            }
            TagEnd::TableCell => self.end_table_cell(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                self.end_link();
            }
            _ => {}
        }
    }

    fn style(&self) -> TextStyle {
        self.styles.last().copied().unwrap_or_default()
    }

    /// Appends to the inline text; adjacent spans with the same style merge, but never across the start of a
    /// link.
    fn add(&mut self, span: Span) {
        // The text of a tight item has no event of its own. The gap is looked up once a block, never once a
        // table cell.
        if self.spans.is_empty() && self.gap.is_none() && self.table.is_none() {
            self.gap = Some(gap_before(self.source, self.at));
        }
        let link = self.links.last().and_then(|open| open.link.clone());
        let span = if span.is_break() { span } else { span.leading_to(link) };
        let first = self.links.last().map_or(0, |open| open.first);
        let left = match self.spans.get_mut(first..).and_then(<[Span]>::last_mut) {
            Some(last) => last.absorb(span),
            None => Some(span),
        };
        self.spans.extend(left);
    }

    fn add_as(&mut self, role: Role, text: &str) {
        self.add(Span::styled(text, TextStyle { role, ..self.style() }));
    }

    fn text(&mut self, text: &str) {
        match &mut self.leaf {
            Leaf::Code(Code { text: block, .. }) | Leaf::Html(block) => block.push_str(text),
            Leaf::Inline => self.add(Span::styled(text, self.style())),
        }
    }

    /// Begins a block at this offset of the source.
    fn begin(&mut self, at: usize) {
        self.flush();
        self.gap = Some(gap_before(self.source, at));
    }

    /// Ends the text of a tight item or a paragraph.
    fn flush(&mut self) {
        if !self.spans.is_empty() {
            let spans = self.take_spans();
            self.push(Block::Paragraph(spans));
        }
    }

    /// Takes the inline text and turns bare addresses in it into links.
    fn take_spans(&mut self) -> Vec<Span> {
        std::mem::take(&mut self.spans).into_iter().flat_map(with_bare_links).collect()
    }

    fn push(&mut self, block: Block) {
        let gap = self.gap.take().unwrap_or(Gap::None);
        for open in self.stack.iter_mut().rev() {
            match open {
                Open::Item(Item { blocks, .. }) => return blocks.push(Child { gap, block }),
                Open::Quote(blocks) | Open::Footnote { blocks, .. } => {
                    return blocks.push(Child { gap: Gap::BlankLine, block });
                }
                Open::List(_) => {}
            }
        }
        self.root.push(Child { gap: Gap::BlankLine, block });
    }

    fn open(&mut self, mut open: Open, at: usize) {
        self.flush();
        if self.flattened > 0 || self.stack.len() >= DEEPEST * 2 {
            self.flattened += 1;
            return;
        }
        let gap = gap_before(self.source, at);
        if let Open::Item(item) = &mut open {
            item.gap = gap;
        }
        self.opened.push(gap);
        self.stack.push(open);
        self.gap = None;
    }

    fn close(&mut self) {
        self.flush();
        if self.flattened > 0 {
            self.flattened -= 1;
            return;
        }
        let Some(open) = self.stack.pop() else { return };
        self.gap = self.opened.pop();
        match open {
            Open::Quote(blocks) => self.push(Block::Quote(blocks)),
            Open::Footnote { label, blocks } => self.push(Block::Footnote { label, blocks }),
            Open::List(list) => self.push(Block::List(list)),
            Open::Item(item) => match self.stack.last_mut() {
                Some(Open::List(list)) => list.items.push(item),
                Some(Open::Quote(_) | Open::Item(_) | Open::Footnote { .. }) | None => {
                    for child in item.blocks {
                        self.gap = Some(child.gap);
                        self.push(child.block);
                    }
                }
            },
        }
        self.gap = None;
    }

    fn task(&mut self, task: Task) {
        if let Some(Open::Item(item)) = self.stack.last_mut() {
            item.task = Some(task);
        }
    }

    fn end_table_cell(&mut self) {
        let spans = self.take_spans();
        let Some(table) = &mut self.table else { return };
        match table.rows.last_mut() {
            Some(row) => row.push(spans),
            None => table.head.push(spans),
        }
    }

    fn link(&mut self, address: String) {
        let link = Link::to(&address);
        self.links.push(OpenLink { address, link, first: self.spans.len() });
        self.styles.push(TextStyle { role: Role::Link, ..self.style() });
    }

    /// Shows the address beside the text unless the text is the address, so that a user sees what a link
    /// opens.
    fn end_link(&mut self) {
        let Some(OpenLink { address, link, first }) = self.links.pop() else { return };
        let style = TextStyle { role: Role::Dim, ..self.style() };
        let shown: String = self.spans.iter().skip(first).map(Span::text).collect();
        let bare = address.strip_prefix("mailto:").unwrap_or(&address);
        if bare.is_empty() || shown == bare || shown == address {
            return;
        }
        let address = truncate(&sanitize_line(&address), LONGEST_ADDRESS);
        let space = if shown.is_empty() { "" } else { " " };
        self.spans.push(Span::styled(format!("{space}({address})"), style).leading_to(link));
    }
}

/// Splits a span at the addresses it contains and makes them links.
fn with_bare_links(span: Span) -> Vec<Span> {
    let plain = span.link().is_none() && span.style.role != Role::Code && span.style.role != Role::Dim;
    if !plain || !span.text().contains("://") {
        return vec![span];
    }
    let style = TextStyle { role: Role::Link, ..span.style };
    let cuts: Vec<(usize, TextStyle)> = bare_addresses(span.text())
        .into_iter()
        .flat_map(|found| [(found.start, span.style), (found.end, style)])
        .collect();
    let links = |piece: Span| {
        let link = if piece.style == style { Link::to(piece.text()) } else { None };
        piece.leading_to(link)
    };
    span.in_pieces(&cuts).into_iter().map(links).collect()
}
