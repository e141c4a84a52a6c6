//! Globs and regular expressions, bounded in size; two are equal if their texts are equal.
//!
//! Pure. Compiled when a rule is parsed, so that an invalid pattern is never found while a call is decided.

use globset::{GlobBuilder, GlobMatcher};

use crate::stdx::paths::shallow;

/// Maximum characters of one pattern.
const LONGEST: usize = 1_000;
/// Maximum bytes of one compiled pattern.
const COMPILED: usize = 1 << 18;

/// A glob: `*` is any text, `/` included, `?` one character, `[ab]` one of these, `{a,b}` one of these texts.
#[derive(Debug, Clone)]
pub struct Glob {
    text: String,
    matcher: Matcher,
}

#[derive(Debug, Clone)]
enum Matcher {
    /// Most globs contain no special characters.
    Exactly(String),
    Glob(Box<GlobMatcher>),
}

impl Glob {
    /// Compiles a glob. On failure returns a message for the user.
    pub fn new(text: &str) -> Result<Self, String> {
        check_bounds(text)?;
        if !text.contains(is_special) {
            return Ok(Self { text: text.to_owned(), matcher: Matcher::Exactly(text.to_owned()) });
        }
        shallow(text)?;
        let glob = GlobBuilder::new(text).literal_separator(false).backslash_escape(true).build();
        let glob = glob.map_err(|error| format!("the glob is not valid: {}", error.kind()))?;
        Ok(Self { text: text.to_owned(), matcher: Matcher::Glob(Box::new(glob.compile_matcher())) })
    }

    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        match &self.matcher {
            Matcher::Exactly(wanted) => wanted == text,
            Matcher::Glob(glob) => glob.is_match(text),
        }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Glob {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// Escapes a text so that every character is literal.
#[must_use]
pub fn escape(text: &str) -> String {
    text.chars().flat_map(|c| is_special(c).then_some('\\').into_iter().chain([c])).collect()
}

fn is_special(c: char) -> bool {
    matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!')
}

/// A regular expression; matches anywhere in a text unless it contains `^` and `$`.
#[derive(Debug, Clone)]
pub struct Regex {
    anywhere: regex::Regex,
    /// The same expression, anchored to the whole text.
    whole: regex::Regex,
}

impl Regex {
    /// Compiles a regular expression. On failure returns a message for the user.
    pub fn new(text: &str) -> Result<Self, String> {
        check_bounds(text)?;
        let build = |text: &str| regex::RegexBuilder::new(text).size_limit(COMPILED).build();
        match build(text).and_then(|anywhere| Ok((anywhere, build(&format!("^(?:{text})$"))?))) {
            Ok((anywhere, whole)) => Ok(Self { anywhere, whole }),
            Err(regex::Error::CompiledTooBig(_)) => {
                Err("the regular expression is too large; use smaller repetitions".to_owned())
            }
            Err(error) => {
                // The library's message spans several lines; the last one says what is wrong.
                let message = error.to_string();
                let last =
                    message.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                Err(format!("the regular expression is not valid: {last}"))
            }
        }
    }

    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        self.anywhere.is_match(text)
    }

    /// Whether the whole text matches, not only a part of it.
    #[must_use]
    pub fn matches_whole(&self, text: &str) -> bool {
        self.whole.is_match(text) && !text.contains('\n')
    }

    /// Whether the expression is anchored at both ends.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.as_str().starts_with('^') && self.as_str().ends_with('$')
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        self.anywhere.as_str()
    }
}

impl PartialEq for Regex {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

fn check_bounds(text: &str) -> Result<(), String> {
    match text.chars().count() {
        0 => Err("it is empty; `*` matches everything".to_owned()),
        1..=LONGEST => Ok(()),
        long => Err(format!("it has {long} characters, the limit is {LONGEST}")),
    }
}
