//! `/approvals`: lists pending requests and what was allowed for the session.

use super::words::count;
use super::{Command, CommandEffect, CommandView, Commands, Needs, Say, code};
use crate::approval::Request;

pub(super) fn command() -> Command {
    Command::new("approvals", "", "list waiting requests and session approvals", Needs::Approvals, decide)
}

fn decide(_args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let mut text = if view.waiting.is_empty() {
        "No requests are waiting in this session.\n".to_owned()
    } else {
        let rows: String = view.waiting.iter().map(row).collect();
        format!(
            "{rows}\nDecide here (Tab or Alt+A; in plain mode `/decide`), or with `co approvals` in any terminal.\n"
        )
    };
    if view.waiting_elsewhere > 0 {
        let others = count(view.waiting_elsewhere, "request");
        text.push_str(&format!("\n{others} in other sessions: `co approvals` lists them.\n"));
    }
    if view.grants.is_empty() {
        text.push_str("\nNothing is allowed for the whole session.\n");
    } else {
        text.push_str("\nAllowed for this session:\n\n");
        for grant in &view.grants {
            text.push_str(&format!("- {}\n", code(grant)));
        }
    }
    CommandEffect::Say(Say::plain("approvals", text))
}

fn row(request: &Request) -> String {
    let id = code(&request.id.0);
    let tool = code(request.tool.as_str());
    format!("- {id} {} {tool}: {}\n", request.risk.word(), code(&request.plan.summary))
}
