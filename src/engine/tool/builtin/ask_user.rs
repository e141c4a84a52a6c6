//! `ask_user`: a question to the user. It waits like any other request, and the answer is the return.
//!
//! The answer is an argument that the user fills in; nothing but a person decides the call.

use schemars::JsonSchema;
use serde::Deserialize;

use super::output::untrusted_output;
use super::place::ToolPath;
use super::typed::{RunContext, TypedTool};
use super::work::{misuse, plan_without_access};
use crate::message::Source;
use crate::stdx::text::one_line_summary;
use crate::tool::{CallPlan, Category, Question, Risk, SeenVersions, ToolError, ToolOutput};

/// The most options: each has a key.
const MOST: usize = 9;

/// The width of the summary, in terminal cells.
const SUMMARY_WIDTH: usize = 160;

/// The width of an answer in its row, in terminal cells.
const OUTCOME_WIDTH: usize = 30;

/// Precedes an answer in the return.
const ANSWERED: &str = "The user answered: ";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskUserArgs {
    /// One question, with what the user needs to know to answer it.
    question: String,
    /// Answers to choose from, at most 9; without them the user writes.
    #[serde(default)]
    options: Vec<String>,
    /// Whether several options may be chosen.
    #[serde(default)]
    many: bool,
    /// Left out by you: the user fills it in.
    answer: Option<String>,
}

/// Asks the user.
pub struct AskUser;

impl TypedTool for AskUser {
    const NAME: &'static str = "ask_user";
    const ABOUT: &'static str = "Asks the user a question and returns the answer: for a choice that only the \
         user can make. Do not ask for permission: calls that need it ask by themselves.";
    const CATEGORY: Category = Category::User;

    type Args = AskUserArgs;

    fn plan(&self, args: AskUserArgs, _: &ToolPath, _: &SeenVersions) -> Result<CallPlan, ToolError> {
        if args.question.trim().is_empty() {
            return Err(misuse("`question` is empty"));
        }
        if args.options.len() > MOST || args.options.iter().any(|option| option.trim().is_empty()) {
            return Err(misuse(format!("`options` are at most {MOST} texts, none of them empty")));
        }
        if args.many && args.options.is_empty() {
            return Err(misuse("`many` needs `options`"));
        }
        let options = match args.options.as_slice() {
            [] => String::new(),
            options => format!(" ({})", options.join(" / ")),
        };
        let summary = one_line_summary(&format!("asks: {}{options}", args.question), SUMMARY_WIDTH);
        let question = Some(Question { text: args.question, options: args.options, many: args.many });
        Ok(CallPlan { question, ..plan_without_access(summary, Risk::Low) })
    }

    async fn run(&self, args: AskUserArgs, _: RunContext) -> Result<ToolOutput, ToolError> {
        let answer = args.answer.as_deref().map(str::trim).filter(|answer| !answer.is_empty());
        let text = match answer {
            Some(answer) => format!("{ANSWERED}{answer}\n"),
            None => "The user gave no answer.\n".to_owned(),
        };
        Ok(untrusted_output(text, Source::Program))
    }

    fn outcome(text: &str) -> String {
        let answer = text.trim_end().strip_prefix(ANSWERED);
        answer.map_or_else(String::new, |answer| one_line_summary(answer, OUTCOME_WIDTH))
    }
}
