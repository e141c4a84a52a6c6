//! `search_text`: finds lines that match a regular expression, in path order, with their numbers.
//!
//! `grep` does the search.

use std::path::Path;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

use super::grep::{outcome, search};
use super::place::ToolPath;
use super::typed::{RunContext, TypedTool};
use super::walk::glob;
use super::work::{misuse, read_plan};
use crate::stdx::text::one_line_summary;
use crate::tool::{CallPlan, Category, SeenVersions, ToolError, ToolOutput};

/// The maximum length of a pattern, in bytes: preparing a longer one takes longer than searching with it.
const MAX_PATTERN: usize = 4 * 1024;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchTextArgs {
    /// Regular expression in Rust's syntax, met within one line.
    pattern: String,
    /// File or folder to search, relative to the workspace; the whole workspace when absent.
    path: Option<String>,
    /// Glob that file paths must meet, such as `*.rs`.
    glob: Option<String>,
    /// Whether letter case counts; smart means: only if the pattern holds a capital. Default: sensitive.
    case: Option<Case>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Case {
    #[default]
    Sensitive,
    Insensitive,
    Smart,
}

impl SearchTextArgs {
    fn check(&self) -> Result<(), ToolError> {
        if self.pattern.len() > MAX_PATTERN {
            return Err(misuse(format!(
                "the pattern has more than {MAX_PATTERN} bytes; search for a part of it"
            )));
        }
        self.matcher().map(drop)
    }

    fn matcher(&self) -> Result<RegexMatcher, ToolError> {
        let mut builder = RegexMatcherBuilder::new();
        builder.line_terminator(Some(b'\n'));
        match self.case.unwrap_or_default() {
            Case::Sensitive => {}
            Case::Insensitive => {
                builder.case_insensitive(true);
            }
            Case::Smart => {
                builder.case_smart(true);
            }
        }
        builder.build(&self.pattern).map_err(|error| {
            misuse(format!(
                "the pattern is not a valid regular expression; a literal ( [ . * needs a \\ before it: {error}"
            ))
        })
    }
}

/// Searches the text of the workspace.
pub struct SearchText;

impl TypedTool for SearchText {
    const NAME: &'static str = "search_text";
    const ABOUT: &'static str = "Searches file contents by a regular expression and returns `path:line: text` \
         for each matching line. Files hidden by .gitignore and binary files are not searched.";
    const CATEGORY: Category = Category::Search;

    type Args = SearchTextArgs;

    fn plan(&self, args: SearchTextArgs, place: &ToolPath, _: &SeenVersions) -> Result<CallPlan, ToolError> {
        args.check()?;
        args.glob.as_deref().map(glob).transpose()?;
        let path = place.readable_or_all(args.path.as_deref())?;
        let pattern = one_line_summary(&args.pattern, 60);
        let summary = format!("search for {pattern} in {}", place.display(&path));
        Ok(read_plan(place, summary, path))
    }

    async fn run(&self, args: SearchTextArgs, cx: RunContext) -> Result<ToolOutput, ToolError> {
        cx.read(move |cx| {
            let root = cx.place.readable_or_all(args.path.as_deref())?;
            let (matcher, filter) = (args.matcher()?, args.glob.as_deref().map(glob).transpose()?);
            let pick =
                |path: &Path| filter.as_ref().is_none_or(|filter| filter.is_match(path)).then_some(&matcher);
            Ok(cx.output_from(&root, search(&cx.place, &root, &pick, &cx.cancel)?))
        })
        .await
    }

    fn outcome(text: &str) -> String {
        outcome(text, ("match", "matches"))
    }
}
