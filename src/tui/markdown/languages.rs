//! The languages that can be highlighted: their names in fences, and the set that is loaded.
//!
//! The set of supported languages is known without loading anything. The definitions and their expressions
//! take megabytes and milliseconds, so [`Languages::load`] loads them on a thread of the shell, one
//! language at a time, when an answer on the screen contains code in it. Called by the Markdown renderer and,
//! for loading, by the shell.

use std::ffi::OsStr;
use std::ops::BitOr;
use std::path::Path;
use std::sync::LazyLock;

use syntect::parsing::{ParseState, ScopeStack, SyntaxSet};

/// All definitions, unpacked at first use by the loader.
static DEFINITIONS: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

/// The longest name of a language in a fence, in characters; a longer one is ignored.
const LONGEST_NAME: usize = 24;

/// A language, given by its row in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Language(u8);

/// A set of languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Languages(u128);

impl Language {
    /// Returns the language with this name in a fence.
    pub fn by_name(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        let row = TABLE.iter().position(|(_, names)| names.split(' ').any(|known| known == name))?;
        u8::try_from(row).ok().map(Self)
    }

    /// Returns the language of a file, by its extension.
    pub fn of_file(path: &str) -> Option<Self> {
        Path::new(path).extension().and_then(OsStr::to_str).and_then(Self::by_name)
    }

    /// Returns the parser state at the beginning of a text in this language.
    pub(super) fn start(self) -> Option<(ParseState, ScopeStack)> {
        let (name, _) = TABLE.get(usize::from(self.0))?;
        let syntax = DEFINITIONS.find_syntax_by_name(name)?;
        Some((ParseState::new(syntax), ScopeStack::new()))
    }
}

impl Languages {
    pub const NONE: Self = Self(0);

    pub fn of(language: Language) -> Self {
        Self(1 << language.0)
    }

    pub fn has(self, language: Language) -> bool {
        self.0 & Self::of(language).0 != 0
    }

    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the languages that the fences of a text name.
    pub fn named_in(source: &str) -> Self {
        source.lines().filter_map(named_by_line).fold(Self::NONE, |all, one| all | Self::of(one))
    }

    /// Returns each of these languages, in the order of the table.
    pub(super) fn each(self) -> impl Iterator<Item = Language> {
        let rows = (0..TABLE.len()).filter_map(|row| u8::try_from(row).ok().map(Language));
        rows.filter(move |language| self.has(*language))
    }
}

impl BitOr for Languages {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

pub(super) fn definitions() -> &'static SyntaxSet {
    &DEFINITIONS
}

/// Returns the word of a fence's info string that names the content: `rust` in `rust,ignore`, `python` in
/// `{.python .numbered}`.
pub(super) fn word(info: &str) -> &str {
    let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ':' | ';' | '{' | '}' | '(' | '=');
    let info = info.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '{' | '.'));
    let word = info.split(ends).next().unwrap_or("");
    let word = word.strip_prefix("language-").or_else(|| word.strip_prefix("lang-")).unwrap_or(word);
    if word.chars().count() > LONGEST_NAME { "" } else { word }
}

/// Returns the language that a line names if it opens a fence, in any list or quote.
pub(super) fn named_by_line(line: &str) -> Option<Language> {
    if !line.contains("```") && !line.contains("~~~") {
        return None;
    }
    let outer = |c: char| matches!(c, ' ' | '\t' | '>' | '-' | '*' | '+' | '.' | ')') || c.is_ascii_digit();
    let fence = line.trim_start_matches(outer);
    let info = fence.trim_start_matches(['`', '~']);
    if fence.len() - info.len() < 3 {
        return None;
    }
    Language::by_name(word(info))
}

/// The name of each definition, and the names of its language in fences.
const TABLE: &[(&str, &str)] = &[
    ("AWK", "awk"),
    ("Apache Conf", "apache apacheconf htaccess"),
    ("Batch File", "bat batch cmd"),
    ("Bourne Again Shell (bash)", "sh bash shell zsh ash ksh shellscript console shell-session terminal"),
    ("C", "c"),
    ("C#", "cs c# csharp"),
    ("C++", "cpp c++ cc cxx hpp hxx h++ h arduino"),
    ("CMake", "cmake"),
    ("CSS", "css"),
    ("Cabal", "cabal"),
    ("Clojure", "clj clojure cljs cljc edn"),
    ("CoffeeScript", "coffee coffeescript"),
    ("Crystal", "cr crystal"),
    ("D", "d dlang"),
    ("Dart", "dart"),
    ("Diff", "diff patch"),
    ("Dockerfile", "dockerfile docker containerfile"),
    ("DotENV", "env dotenv .env"),
    ("Elixir", "ex exs elixir"),
    ("Elm", "elm"),
    ("Erlang", "erl erlang"),
    ("F#", "fs f# fsharp fsx"),
    ("Fish", "fish"),
    ("Fortran (Modern)", "fortran f90 f95"),
    ("GDScript (Godot Engine)", "gd gdscript"),
    ("GLSL", "glsl frag vert"),
    ("Git Config", "gitconfig"),
    ("Git Ignore", "gitignore"),
    ("Go", "go golang"),
    ("Gomod", "gomod go.mod"),
    ("GraphQL", "graphql gql"),
    ("Graphviz (DOT)", "dot graphviz gv"),
    ("Groovy", "groovy gradle jenkinsfile"),
    ("HTML", "html htm xhtml"),
    ("HTTP Request and Response", "http https"),
    ("Haskell", "hs haskell"),
    ("INI", "ini cfg conf editorconfig systemd desktop"),
    ("JQ", "jq"),
    ("JSON", "json jsonc json5 jsonl ndjson"),
    ("Java", "java"),
    ("Java Properties", "properties"),
    ("JavaScript", "js javascript mjs cjs node"),
    ("Jinja2", "jinja jinja2 j2"),
    ("Julia", "jl julia"),
    ("Kotlin", "kt kts kotlin"),
    ("LLVM", "llvm ll"),
    ("LaTeX", "tex latex"),
    ("Lean 4", "lean lean4"),
    ("Less", "less"),
    ("Lisp", "lisp cl elisp emacs-lisp scheme scm"),
    ("Lua", "lua luau"),
    ("MATLAB", "matlab octave"),
    ("Makefile", "make makefile mk mak"),
    ("Markdown", "md markdown mdx"),
    ("Nim", "nim"),
    ("Ninja", "ninja"),
    ("Nix", "nix"),
    ("OCaml", "ml ocaml mli"),
    ("Objective-C", "objc objective-c objectivec m"),
    ("Odin", "odin"),
    ("PHP Source", "php"),
    ("Pascal", "pas pascal delphi"),
    ("Perl", "pl perl"),
    ("Protocol Buffer", "proto protobuf"),
    ("Puppet", "pp puppet"),
    ("PureScript", "purs purescript"),
    ("Python", "py python python3 py3 ipython pyi"),
    ("QML", "qml"),
    ("R", "r rscript"),
    ("Racket", "rkt racket"),
    ("Rego", "rego"),
    ("Requirements.txt", "requirements pip"),
    ("Ruby", "rb ruby"),
    ("Rust", "rs rust"),
    ("SCSS", "scss"),
    ("SQL", "sql mysql postgres postgresql psql sqlite plsql"),
    ("SSH Config", "ssh_config sshconfig"),
    ("Sass", "sass"),
    ("Scala", "scala sbt"),
    ("Solidity", "sol solidity"),
    ("Stylus", "styl stylus"),
    ("Svelte", "svelte"),
    ("Swift", "swift"),
    ("SystemVerilog", "sv systemverilog"),
    ("TOML", "toml"),
    ("Tcl", "tcl"),
    ("Terraform", "tf terraform hcl tfvars"),
    ("TypeScript", "ts typescript mts cts"),
    ("TypeScriptReact", "tsx jsx"),
    ("Typst", "typst typ"),
    ("VHDL", "vhdl vhd"),
    ("Verilog", "verilog v"),
    ("VimL", "vim viml vimscript"),
    ("Vue Component", "vue"),
    ("WGSL", "wgsl"),
    ("XML", "xml svg xsd xslt plist rss"),
    ("YAML", "yaml yml"),
    ("Zig", "zig zon"),
    ("jsonnet", "jsonnet libsonnet"),
    ("nginx", "nginx nginxconf"),
    ("reStructuredText", "rst restructuredtext"),
    ("x86_64 Assembly", "asm nasm assembly x86asm"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_its_definition_and_its_own_names() {
        assert!(TABLE.len() <= 128, "a set has room for 128");
        let mut seen = std::collections::BTreeSet::new();
        for (row, (name, names)) in TABLE.iter().enumerate() {
            assert!(Language(row as u8).start().is_some(), "{name}");
            for alias in names.split(' ') {
                assert!(seen.insert(alias), "{alias} twice");
                assert_eq!(Language::by_name(alias), Some(Language(row as u8)));
            }
        }
    }

    #[test]
    fn fences_name_their_language_in_many_ways() {
        let cases: &[(&str, Option<&str>)] = &[
            ("```rust", Some("rs")),
            ("```rust,ignore", Some("rs")),
            ("~~~ Python", Some("py")),
            ("```{.python .numberLines}", Some("py")),
            ("```{r}", Some("r")),
            ("``` js {1,3}", Some("js")),
            ("```language-ts", Some("ts")),
            ("```ts:app.ts", Some("ts")),
            ("   - ```yml", Some("yaml")),
            ("> 1. ````C++", Some("cpp")),
            ("```", None),
            ("```text", None),
            ("``rust", None),
            ("see ```rust", None),
            ("```klingon", None),
        ];
        for (line, expected) in cases {
            assert_eq!(named_by_line(line), expected.and_then(Language::by_name), "{line:?}");
        }
        let both = Languages::named_in("```rs\nx\n```\n- ```sh\n");
        assert!(Language::by_name("rs").is_some_and(|rust| both.has(rust)));
        assert!(Language::by_name("bash").is_some_and(|bash| both.has(bash)));
    }

    #[test]
    fn languages_are_ready_one_after_another() {
        let json = Language::by_name("json").expect("is in the table");
        let toml = Language::by_name("toml").expect("is in the table");
        let both = Languages::of(json) | Languages::of(toml);
        let loaded: Vec<Languages> = both.load().collect();
        assert_eq!(loaded, [Languages::of(json), Languages::of(toml)]);
        assert!(loaded.into_iter().fold(both, Languages::without).is_empty());
    }
}
