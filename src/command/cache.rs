//! `/cache`: lists results of tools that are used again, and drops them.

use super::{CommandEffect, CommandView, Commands, code};
use crate::stdx::moment::duration;
use crate::stdx::text::{one_line_summary, size};

/// The width of arguments in the list, in terminal cells.
const ARGS: usize = 60;

pub(super) fn decide(args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let words: Vec<&str> = args.split_whitespace().collect();
    match words.as_slice() {
        [] => CommandEffect::plain("cache", list(view)),
        ["clear"] => CommandEffect::ClearCache(None),
        ["clear", pattern] => CommandEffect::ClearCache(Some((*pattern).to_owned())),
        _ => CommandEffect::warning(
            "cache",
            "`/cache` lists results, `/cache clear` drops all, `/cache clear 'git_*'` those of some tools.",
        ),
    }
}

fn list(view: &CommandView) -> String {
    if view.cache.is_empty() {
        return "No result is kept. Those of `git` and the web are, for 5 to 60 seconds.".to_owned();
    }
    let lines = view.cache.iter().map(|one| {
        let args = one_line_summary(&one.args, ARGS);
        let (age, left, size) = (duration(one.age), duration(one.left), size(one.bytes));
        format!("- {} {}: {age} old, used for {left} more, {size}", one.tool, code(&args))
    });
    lines.collect::<Vec<_>>().join("\n")
}
