//! From Markdown to a tree of blocks with styled spans, bounded in depth.
//!
//! The tree knows no width. Containers nested deeper than [`DEEPEST`] are flattened, so that no input makes the
//! layout recurse without bound. Called by the whole renderer and, a few blocks at a time, by the streaming one.

use std::ops::Range;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::stdx::text::truncate;
use crate::tui::line::{Ink, Span};
use crate::tui::theme::Role;

/// How many quotes and lists may stand in each other.
const DEEPEST: usize = 12;

/// Cells of an address that are shown beside its link; the rest says nothing to a reader.
const LONGEST_ADDRESS: usize = 200;

#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    Paragraph(Vec<Span>),
    Heading {
        level: u8,
        spans: Vec<Span>,
    },
    /// Whole lines, each with its line end.
    Code {
        text: String,
    },
    Html {
        text: String,
    },
    Quote(Vec<Block>),
    List(List),
    Table(Table),
    Rule,
}

#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// The number of the first item; `None` for bullets.
    pub first: Option<u64>,
    pub spacing: Spacing,
    pub items: Vec<Item>,
}

/// Whether blank lines stand between the items of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    Tight,
    Loose,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub task: Option<Task>,
    pub blocks: Vec<Block>,
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

/// What a piece of source holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    pub blocks: Vec<Block>,
    /// Link definitions: a text rendered piece by piece must be rendered once more as a whole.
    pub defines_references: bool,
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS | Options::ENABLE_GFM
}

pub fn blocks(source: &str) -> Parsed {
    let parser = Parser::new_ext(source, options());
    let defines_references = parser.reference_definitions().iter().next().is_some();
    let mut builder = Builder::default();
    for event in parser {
        builder.take(event);
    }
    builder.flush();
    Parsed { blocks: builder.root, defines_references }
}

/// The byte ranges of the top-level blocks of `source`, in order.
pub fn top_level(source: &str) -> Vec<Range<usize>> {
    let mut depth = 0_usize;
    let mut found = Vec::new();
    for (event, range) in Parser::new_ext(source, options()).into_offset_iter() {
        match event {
            Event::Start(_) => {
                if depth == 0 {
                    found.push(range);
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ if depth == 0 => found.push(range),
            _ => {}
        }
    }
    found
}

/// A container that is open.
#[derive(Debug)]
enum Open {
    Quote(Vec<Block>),
    List(List),
    Item(Item),
}

/// The block that takes text at the moment.
#[derive(Debug, Default, PartialEq)]
enum Leaf {
    #[default]
    Inline,
    Code(String),
    Html(String),
}

#[derive(Default)]
struct Builder {
    root: Vec<Block>,
    stack: Vec<Open>,
    /// Containers that are open but flattened.
    flattened: usize,
    leaf: Leaf,
    spans: Vec<Span>,
    inks: Vec<Ink>,
    /// Address and first span of the open links.
    links: Vec<(String, usize)>,
    table: Option<Table>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                let ink = Ink { role: Role::Code, ..self.ink() };
                self.spans.push(Span::inked(text, ink));
            }
            Event::Html(text) => self.text(&text),
            Event::InlineHtml(text) => {
                let ink = Ink { role: Role::Dim, ..self.ink() };
                self.spans.push(Span::inked(text, ink));
            }
            Event::FootnoteReference(label) => self.text(&format!("[{label}]")),
            Event::SoftBreak => self.spans.push(Span::inked(" ", self.ink())),
            Event::HardBreak => self.spans.push(Span::line_break()),
            Event::Rule => {
                self.flush();
                self.push(Block::Rule);
            }
            Event::TaskListMarker(done) => self.task(if done { Task::Done } else { Task::Open }),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => {
                self.flush();
                self.loosen();
            }
            Tag::Heading { level, .. } => {
                self.flush();
                let underline = level == HeadingLevel::H1;
                self.inks.push(Ink { underline, ..Ink::of(Role::Heading).bold() });
            }
            Tag::CodeBlock(CodeBlockKind::Indented | CodeBlockKind::Fenced(_)) => {
                self.flush();
                self.leaf = Leaf::Code(String::new());
            }
            Tag::HtmlBlock => {
                self.flush();
                self.leaf = Leaf::Html(String::new());
            }
            Tag::BlockQuote(_) => self.open(Open::Quote(Vec::new())),
            Tag::List(first) => {
                self.open(Open::List(List { first, spacing: Spacing::Tight, items: Vec::new() }));
            }
            Tag::Item => self.open(Open::Item(Item { task: None, blocks: Vec::new() })),
            Tag::Table(alignments) => {
                self.flush();
                self.table = Some(Table { alignments, head: Vec::new(), rows: Vec::new() });
            }
            Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.inks.push(Ink { italic: true, ..self.ink() }),
            Tag::Strong => self.inks.push(Ink { bold: true, ..self.ink() }),
            Tag::Strikethrough => self.inks.push(Ink { strike: true, ..self.ink() }),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.into_string(), self.spans.len()));
                self.inks.push(Ink { role: Role::Link, ..self.ink() });
            }
            // Not enabled, or marks that carry no text of their own.
            Tag::TableHead
            | Tag::TableCell
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.flush(),
            TagEnd::Heading(level) => {
                self.inks.pop();
                let spans = std::mem::take(&mut self.spans);
                self.push(Block::Heading { level: level as u8, spans });
            }
            TagEnd::CodeBlock | TagEnd::HtmlBlock => match std::mem::take(&mut self.leaf) {
                Leaf::Code(text) => self.push(Block::Code { text }),
                Leaf::Html(text) => self.push(Block::Html { text }),
                Leaf::Inline => {}
            },
            TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item => self.close(),
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.push(Block::Table(table));
                }
            }
            TagEnd::TableCell => self.end_table_cell(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.inks.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.inks.pop();
                self.end_link();
            }
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn ink(&self) -> Ink {
        self.inks.last().copied().unwrap_or_default()
    }

    fn text(&mut self, text: &str) {
        match &mut self.leaf {
            Leaf::Code(code) | Leaf::Html(code) => code.push_str(text),
            Leaf::Inline => {
                let ink = self.inks.last().copied().unwrap_or_default();
                self.spans.push(Span::inked(text, ink));
            }
        }
    }

    /// Ends the text of a tight item or a paragraph.
    fn flush(&mut self) {
        if !self.spans.is_empty() {
            let spans = std::mem::take(&mut self.spans);
            self.push(Block::Paragraph(spans));
        }
    }

    fn push(&mut self, block: Block) {
        for open in self.stack.iter_mut().rev() {
            match open {
                Open::Quote(blocks) | Open::Item(Item { blocks, .. }) => return blocks.push(block),
                Open::List(_) => {}
            }
        }
        self.root.push(block);
    }

    fn open(&mut self, open: Open) {
        self.flush();
        if self.flattened > 0 || self.stack.len() >= DEEPEST * 2 {
            self.flattened += 1;
        } else {
            self.stack.push(open);
        }
    }

    fn close(&mut self) {
        self.flush();
        if self.flattened > 0 {
            self.flattened -= 1;
            return;
        }
        match self.stack.pop() {
            Some(Open::Quote(blocks)) => self.push(Block::Quote(blocks)),
            Some(Open::List(list)) => self.push(Block::List(list)),
            Some(Open::Item(item)) => match self.stack.last_mut() {
                Some(Open::List(list)) => list.items.push(item),
                Some(Open::Quote(_) | Open::Item(_)) | None => {
                    item.blocks.into_iter().for_each(|block| self.push(block));
                }
            },
            None => {}
        }
    }

    /// A paragraph directly in an item means that its list is loose.
    fn loosen(&mut self) {
        if self.flattened > 0 {
            return;
        }
        if let [.., Open::List(list), Open::Item(_)] = self.stack.as_mut_slice() {
            list.spacing = Spacing::Loose;
        }
    }

    fn task(&mut self, task: Task) {
        if let Some(Open::Item(item)) = self.stack.last_mut() {
            item.task = Some(task);
        }
    }

    fn end_table_cell(&mut self) {
        let spans = std::mem::take(&mut self.spans);
        let Some(table) = &mut self.table else { return };
        match table.rows.last_mut() {
            Some(row) => row.push(spans),
            None => table.head.push(spans),
        }
    }

    fn end_link(&mut self) {
        let Some((address, first)) = self.links.pop() else { return };
        let ink = Ink { role: Role::Dim, ..self.ink() };
        let shown: String = self.spans.iter().skip(first).map(Span::text).collect();
        let bare = address.strip_prefix("mailto:").unwrap_or(&address);
        if bare.is_empty() || shown == bare || shown == address {
            return;
        }
        let address = truncate(&crate::stdx::text::sanitize_line(&address), LONGEST_ADDRESS);
        self.spans.push(Span::inked(if shown.is_empty() { "" } else { " " }, ink));
        self.spans.push(Span::inked(format!("({address})"), ink));
    }
}
