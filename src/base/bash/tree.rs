//! The grammar's reading of a script: its simple commands as word positions, and constructs beyond them.
//!
//! Node kinds are an allow-list: a script with any other kind, or with a syntax error, is not understood.

use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, Parser, Tree};

/// The maximum depth of a tree.
const MAX_DEPTH: usize = 96;

/// The maximum number of progress reports by the parser; a script of the maximum length needs a tenth of it.
const MAX_STEPS: usize = 2_000;

/// The positions of the words of one simple command.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct WordPositions {
    pub assigns: Vec<Range<usize>>,
    pub words: Vec<Range<usize>>,
    /// Targets of redirections.
    pub targets: Vec<Range<usize>>,
    /// Whether it is `[ … ]`, which the grammar reads as an expression: only its ends are compared.
    pub test: bool,
}

/// The grammar's result.
#[derive(Debug, Default)]
pub struct Grammar {
    pub commands: Vec<WordPositions>,
    /// The first construct that is understood and goes beyond plain commands, described in words.
    pub beyond: Option<&'static str>,
}

/// The meaning of a node kind.
enum Kind {
    /// It is part of plain commands.
    Plain,
    /// It is understood, and has this effect.
    More(&'static str),
}

const VARIABLE: &str = "a variable's value is only known when it runs";
const SUBSTITUTION: &str = "what a command prints, put into another command, is only known when it runs";
const SETS: &str = "it sets variables for what follows";
const GROUP: &str = "`if`, loops and `{ … }` are more than plain commands";

const KINDS: &[(&str, Kind)] = &[
    ("program", Kind::Plain),
    ("comment", Kind::Plain),
    ("list", Kind::Plain),
    ("pipeline", Kind::Plain),
    ("subshell", Kind::Plain),
    ("negated_command", Kind::Plain),
    ("command", Kind::Plain),
    ("command_name", Kind::Plain),
    ("redirected_statement", Kind::Plain),
    ("file_redirect", Kind::Plain),
    ("file_descriptor", Kind::Plain),
    ("variable_assignment", Kind::Plain),
    ("variable_name", Kind::Plain),
    ("word", Kind::Plain),
    ("number", Kind::Plain),
    ("raw_string", Kind::Plain),
    ("string", Kind::Plain),
    ("string_content", Kind::Plain),
    ("concatenation", Kind::Plain),
    ("test_command", Kind::Plain),
    ("variable_assignments", Kind::More(SETS)),
    ("declaration_command", Kind::More(SETS)),
    ("unset_command", Kind::More(SETS)),
    ("simple_expansion", Kind::More(VARIABLE)),
    ("special_variable_name", Kind::More(VARIABLE)),
    ("expansion", Kind::More(VARIABLE)),
    ("command_substitution", Kind::More(SUBSTITUTION)),
    ("process_substitution", Kind::More(SUBSTITUTION)),
    ("compound_statement", Kind::More(GROUP)),
    ("if_statement", Kind::More(GROUP)),
    ("elif_clause", Kind::More(GROUP)),
    ("else_clause", Kind::More(GROUP)),
    ("while_statement", Kind::More(GROUP)),
    ("for_statement", Kind::More(GROUP)),
    ("do_group", Kind::More(GROUP)),
];

/// Tokens that are understood in any position.
const TOKENS: &[&str] = &[
    "&&", "||", "|", ";", "(", ")", "!", "\"", "[", "]", "<", ">", ">>", ">|", ">&", "<&", "=", "$", "$(",
    "<(", ">(", "`", "${", "{", "}", "if", "then", "else", "elif", "fi", "while", "until", "for", "in", "do",
    "done", "export", "declare", "typeset", "readonly", "local", "unset", "unsetenv", "\n",
];

/// Kinds and tokens within `[ … ]`.
const TEST: &[&str] = &[
    "unary_expression",
    "binary_expression",
    "parenthesized_expression",
    "test_operator",
    "extglob_pattern",
    "regex",
    "!",
    "=",
    "==",
    "!=",
    "<",
    ">",
];

/// Reads a script; errs with the reason if it is not understood.
pub fn read(script: &str) -> Result<Grammar, &'static str> {
    const BROKEN: &str = "it is not a command line that the grammar knows";
    let tree = parse(script).ok_or("it takes too long to read")?;
    let root = tree.root_node();
    if root.has_error() {
        return Err(BROKEN);
    }
    let mut reader = Reader { script, found: Grammar::default() };
    reader.walk(root, 0)?;
    Ok(reader.found)
}

fn parse(script: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let mut steps = 0;
    let mut progress = |_: &tree_sitter::ParseState| {
        steps += 1;
        if steps > MAX_STEPS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut text = |at: usize, _| script.as_bytes().get(at..).unwrap_or_default();
    parser.parse_with_options(&mut text, None, Some(options))
}

struct Reader<'a> {
    script: &'a str,
    found: Grammar,
}

impl Reader<'_> {
    fn walk(&mut self, node: Node<'_>, depth: usize) -> Result<(), &'static str> {
        if depth > MAX_DEPTH {
            return Err("it is nested too deeply");
        }
        self.admit(node)?;
        match node.kind() {
            "command" | "declaration_command" | "unset_command" => self.command(node, depth),
            "test_command" => self.test(node, depth),
            "redirected_statement" => self.read_redirected(node, depth),
            "variable_assignment" | "variable_assignments" => self.assignments(node, depth),
            _ => self.inside(node, depth),
        }
    }

    fn inside(&mut self, node: Node<'_>, depth: usize) -> Result<(), &'static str> {
        let mut cursor = node.walk();
        node.children(&mut cursor).try_for_each(|child| self.walk(child, depth + 1))
    }

    /// Errs for a kind or a token that is not understood; records the first one beyond plain commands.
    fn admit(&mut self, node: Node<'_>) -> Result<(), &'static str> {
        if node.is_missing() || node.is_error() {
            return Err("it is not a command line that the grammar knows");
        }
        let kind = node.kind();
        let known = KINDS.iter().find(|(name, _)| *name == kind && node.is_named());
        match known {
            Some((_, Kind::Plain)) => Ok(()),
            Some((_, Kind::More(what))) => {
                self.found.beyond.get_or_insert(*what);
                Ok(())
            }
            None if kind == "&" => {
                self.found.beyond.get_or_insert("it starts something in the background");
                Ok(())
            }
            None if !node.is_named() && TOKENS.contains(&kind) => Ok(()),
            None => Err("it uses more shell syntax than plain commands"),
        }
    }

    fn place(&self, node: Node<'_>) -> Range<usize> {
        let range = node.byte_range();
        // Some tokens include the blanks before them.
        let text = self.script.get(range.clone()).unwrap_or_default();
        range.end - text.trim_start().len()..range.end
    }

    fn command(&mut self, node: Node<'_>, depth: usize) -> Result<(), &'static str> {
        let mut places = WordPositions::default();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            self.admit(child)?;
            match child.kind() {
                "comment" => continue,
                "file_redirect" => self.redirect(child, &mut places, depth)?,
                "variable_assignment" if node.kind() == "command" => {
                    self.inside(child, depth + 1)?;
                    places.assigns.push(self.place(child));
                }
                // A program followed by a subshell is the start of a function definition.
                "subshell" => return Err("it uses more shell syntax than plain commands"),
                _ => {
                    self.inside(child, depth + 1)?;
                    places.words.push(self.place(child));
                }
            }
        }
        self.found.commands.push(places);
        Ok(())
    }

    /// Reads assignments without a command, which affect all later commands.
    fn assignments(&mut self, node: Node<'_>, depth: usize) -> Result<(), &'static str> {
        self.found.beyond.get_or_insert(SETS);
        let mut places = WordPositions::default();
        if node.kind() == "variable_assignment" {
            self.inside(node, depth)?;
            places.assigns.push(self.place(node));
        } else {
            let mut cursor = node.walk();
            for child in node.children(&mut cursor) {
                self.admit(child)?;
                self.inside(child, depth + 1)?;
                places.assigns.push(self.place(child));
            }
        }
        self.found.commands.push(places);
        Ok(())
    }

    fn test(&mut self, node: Node<'_>, depth: usize) -> Result<(), &'static str> {
        self.expression(node, depth)?;
        self.found.commands.push(WordPositions {
            words: vec![self.place(node)],
            test: true,
            ..WordPositions::default()
        });
        Ok(())
    }

    fn expression(&mut self, node: Node<'_>, depth: usize) -> Result<(), &'static str> {
        if depth > MAX_DEPTH {
            return Err("it is nested too deeply");
        }
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            if TEST.contains(&child.kind()) && !child.is_missing() {
                self.expression(child, depth + 1)?;
            } else {
                self.walk(child, depth + 1)?;
            }
        }
        Ok(())
    }

    fn read_redirected(&mut self, node: Node<'_>, depth: usize) -> Result<(), &'static str> {
        let body = node.child_by_field_name("body");
        if let Some(body) = body {
            self.walk(body, depth + 1)?;
        }
        let of_command = body.is_some_and(ends_with_command);
        let mut places =
            if of_command { self.found.commands.pop().unwrap_or_default() } else { WordPositions::default() };
        let mut cursor = node.walk();
        for child in node.children(&mut cursor).filter(|child| Some(*child) != body) {
            self.admit(child)?;
            match child.kind() {
                "file_redirect" => self.redirect(child, &mut places, depth)?,
                "comment" => {}
                _ => return Err("it uses more shell syntax than plain commands"),
            }
        }
        self.found.commands.push(places);
        Ok(())
    }

    /// Reads a redirection. The grammar takes every word after `>` as a target; to a shell only the first is.
    fn redirect(
        &mut self,
        node: Node<'_>,
        places: &mut WordPositions,
        depth: usize,
    ) -> Result<(), &'static str> {
        self.inside(node, depth + 1)?;
        let mut cursor = node.walk();
        let mut targets = node.children_by_field_name("destination", &mut cursor);
        places.targets.extend(targets.next().map(|target| self.place(target)));
        for word in targets {
            places.words.push(self.place(word));
        }
        Ok(())
    }
}

/// Whether a redirection after this statement belongs to a simple command.
fn ends_with_command(node: Node<'_>) -> bool {
    match node.kind() {
        "command" | "declaration_command" | "unset_command" | "test_command" | "variable_assignment" => true,
        "negated_command" | "list" | "pipeline" => {
            let last = node.named_child_count().checked_sub(1);
            last.and_then(|at| node.named_child(at.try_into().ok()?)).is_some_and(ends_with_command)
        }
        _ => false,
    }
}
