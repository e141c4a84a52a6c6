//! Highlights code: maps the scopes of the syntax definitions to theme roles.
//!
//! Works line by line and keeps the parser state between lines, so a line costs the same at any position.
//! Overlong lines and lines after too many others stay plain. Never changes a character. Called by the
//! layout.

use std::sync::LazyLock;

use syntect::parsing::{ParseState, Scope, ScopeStack};

use super::languages::{Language, Languages, definitions};
use crate::tui::theme::Role;

/// The longest line that is highlighted, in bytes.
const LONGEST_LINE: usize = 1_000;

/// The number of lines of a block that are highlighted.
const MOST_LINES: usize = 5_000;

/// Covers common constructs of most languages, so that their expressions are compiled while loading, not
/// while drawing.
const SAMPLE: &str = "/* c */ // c\n# c\n-- c\nfn f(a: u8) -> T { return \"s\\n\" + 'c' + 12.5; }\n\
    class A(B): pass\nimport b\nlet x = [1, true];\n$y = a.b(c) && d\n<a b=\"c\">t</a>\n{\"k\": null}\nk: v\n[t]\nk = 1\n";

impl Languages {
    /// Loads these languages and yields each when it is ready. Slow: milliseconds to a second each; never
    /// iterate this while drawing a screen.
    pub fn load(self) -> impl Iterator<Item = Self> {
        self.each().map(|language| {
            let ready = Self::of(language);
            let mut warm = Highlighter::new(Some(language), ready);
            SAMPLE.lines().for_each(|line| drop(warm.line(line)));
            ready
        })
    }
}

/// Highlights the lines of one block, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Highlighter(Option<HighlightState>);

#[derive(Debug, Clone, PartialEq)]
struct HighlightState {
    parse: ParseState,
    scopes: ScopeStack,
    lines: usize,
}

impl Highlighter {
    /// Creates a highlighter for a block in `language`; it is plain if there is no language or it is not in
    /// `ready`.
    pub fn new(language: Option<Language>, ready: Languages) -> Self {
        let start = language.filter(|language| ready.has(*language)).and_then(Language::start);
        Self(start.map(|(parse, scopes)| HighlightState { parse, scopes, lines: 0 }))
    }

    pub fn plain() -> Self {
        Self(None)
    }

    /// Returns the roles of a line without its line end, each with the byte offset at which it ends. Text
    /// after the last one is plain code.
    pub fn line(&mut self, line: &str) -> Vec<(usize, Role)> {
        let Some(state) = &mut self.0 else { return Vec::new() };
        state.lines += 1;
        if state.lines > MOST_LINES {
            self.0 = None;
            return Vec::new();
        }
        if line.len() > LONGEST_LINE {
            return Vec::new();
        }
        #[cfg(test)]
        super::count::highlighted(line.len());
        let roles = state.line(line);
        if roles.is_none() {
            self.0 = None;
        }
        roles.unwrap_or_default()
    }
}

impl HighlightState {
    /// Returns `None` if the syntax definitions contradict themselves.
    fn line(&mut self, line: &str) -> Option<Vec<(usize, Role)>> {
        let ops = self.parse.parse_line(&format!("{line}\n"), definitions()).ok()?;
        let mut roles: Vec<(usize, Role)> = Vec::new();
        let mut from = 0;
        for (at, op) in &ops {
            let at = (*at).min(line.len());
            if at > from {
                append(&mut roles, at, role_of(self.scopes.as_slice()));
                from = at;
            }
            self.scopes.apply(op).ok()?;
        }
        if from < line.len() {
            append(&mut roles, line.len(), role_of(self.scopes.as_slice()));
        }
        Some(roles)
    }
}

fn append(roles: &mut Vec<(usize, Role)>, end: usize, role: Role) {
    match roles.last_mut() {
        Some(last) if last.1 == role => last.0 = end,
        Some(_) | None => roles.push((end, role)),
    }
}

/// Returns the role of the innermost known scope.
fn role_of(scopes: &[Scope]) -> Role {
    let known = |scope: &Scope| SCOPES.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope));
    let role = scopes.iter().rev().find_map(known).map_or(Role::CodeText, |(_, role)| *role);
    let is_key = |scope: &Scope| KEY.is_prefix_of(*scope);
    // The syntax definitions class field names as strings.
    if role == Role::CodeString && scopes.iter().any(is_key) { Role::CodeType } else { role }
}

static KEY: LazyLock<Scope> = LazyLock::new(|| scope("meta.mapping.key"));

/// Scope prefixes, narrower ones first.
static SCOPES: LazyLock<Vec<(Scope, Role)>> =
    LazyLock::new(|| ROLES.iter().map(|(prefix, role)| (scope(prefix), *role)).collect());

fn scope(name: &str) -> Scope {
    Scope::new(name).expect("the scopes of the table have at most eight parts")
}

const ROLES: &[(&str, Role)] = &[
    ("comment", Role::CodeComment),
    ("meta.interpolation", Role::CodeText),
    ("string", Role::CodeString),
    ("constant", Role::CodeNumber),
    ("keyword.operator.word", Role::CodeKeyword),
    ("keyword.operator.logical.python", Role::CodeKeyword),
    ("keyword.operator", Role::CodeText),
    ("keyword", Role::CodeKeyword),
    ("storage", Role::CodeKeyword),
    ("variable.language", Role::CodeKeyword),
    ("variable.function", Role::CodeFunction),
    ("entity.name.function", Role::CodeFunction),
    ("entity.name.macro", Role::CodeFunction),
    ("support.function", Role::CodeFunction),
    ("support.macro", Role::CodeFunction),
    ("entity.other.attribute-name", Role::CodeFunction),
    ("support.type.property-name", Role::CodeFunction),
    ("support.constant", Role::CodeNumber),
    ("support.type", Role::CodeType),
    ("support.class", Role::CodeType),
    ("entity.name.section", Role::Heading),
    ("entity.name", Role::CodeType),
    ("entity.other.inherited-class", Role::CodeType),
    ("markup.heading", Role::Heading),
    ("markup.inserted", Role::Added),
    ("markup.deleted", Role::Removed),
    ("meta.diff.header", Role::CodeComment),
    ("meta.diff.range", Role::CodeComment),
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn highlighter(name: &str) -> Highlighter {
        let language = Language::by_name(name).expect("is in the table");
        Highlighter::new(Some(language), Languages::of(language))
    }

    fn roles(name: &str, line: &str) -> Vec<(String, Role)> {
        let mut from = 0;
        let mut out = Vec::new();
        for (end, role) in highlighter(name).line(line) {
            out.push((line.get(from..end).expect("ends are boundaries").to_owned(), role));
            from = end;
        }
        out
    }

    #[test]
    fn scopes_become_roles() {
        let cases: &[(&str, &str, &str, Role)] = &[
            ("rust", "fn main() {}", "fn", Role::CodeKeyword),
            ("rust", "fn main() {}", "main", Role::CodeFunction),
            ("rust", "let x = 12; // why", "12", Role::CodeNumber),
            ("rust", "let x = 12; // why", "// why", Role::CodeComment),
            ("rust", "struct Page;", "Page", Role::CodeType),
            ("json", "{\"a\": \"b\"}", "\"a\"", Role::CodeType),
            ("json", "{\"a\": \"b\"}", "\"b\"", Role::CodeString),
            ("yaml", "a: 1", "a", Role::CodeType),
            ("sh", "echo \"x\" # y", "# y", Role::CodeComment),
            ("diff", "+new", "+new", Role::Added),
            ("diff", "-old", "-old", Role::Removed),
        ];
        for (language, line, piece, role) in cases {
            let found = roles(language, line);
            assert!(found.contains(&((*piece).to_owned(), *role)), "{language} {line:?}: {found:?}");
        }
    }

    #[test]
    fn what_is_open_goes_on_in_the_next_line() {
        let mut lines = highlighter("rust");
        lines.line("/* begins");
        assert_eq!(lines.line("ends */"), [(7, Role::CodeComment)]);
    }

    #[test]
    fn too_much_stays_plain() {
        let mut lines = highlighter("json");
        assert!(lines.line(&"1".repeat(LONGEST_LINE + 1)).is_empty());
        assert!(!lines.line("1").is_empty(), "a long line does not end it");
        for _ in 2..MOST_LINES {
            lines.line("");
        }
        assert!(lines.line("1").is_empty());
        assert_eq!(lines, Highlighter::plain());
        assert!(
            Highlighter::new(Language::by_name("json"), Languages::NONE).line("1").is_empty(),
            "not ready"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn any_text_is_taken(lines in proptest::collection::vec("\\PC{0,12}|[{}()<>\"'`#/*=a-z0-9 \\\\]{0,16}", 1..5)) {
            for name in ["rust", "json", "yaml", "diff", "toml"] {
                let mut highlighter = highlighter(name);
                for line in &lines {
                    let mut last = 0;
                    for (end, _) in highlighter.line(line) {
                        prop_assert!(end > last && line.is_char_boundary(end), "{name} {line:?}");
                        last = end;
                    }
                    prop_assert!(last <= line.len());
                }
            }
        }
    }
}
