//! `/tools`: lists the tools that the model may call, by category, and which of them ask for approval.

use super::{CommandEffect, CommandView, Commands, code};
use crate::tool::ToolSpec;

pub(super) fn decide(_args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let mut specs: Vec<&ToolSpec> = view.tools.iter().collect();
    specs.sort_by_key(|spec| spec.category);
    let groups = specs.chunk_by(|a, b| a.category == b.category).map(|group| {
        let head = group.first().map_or("", |spec| spec.category.word());
        format!("{head}:\n\n{}", group.iter().map(|spec| row(spec)).collect::<Vec<_>>().join("\n"))
    });
    let text = groups.collect::<Vec<_>>().join("\n\n");
    CommandEffect::plain("tools", text)
}

fn row(spec: &ToolSpec) -> String {
    format!("- {} ({} risk, {}): {}", code(spec.name.as_str()), spec.risk.word(), spec.asks(), spec.about())
}
