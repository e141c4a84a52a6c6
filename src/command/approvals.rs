//! `/approvals`: lists pending requests and what was allowed; takes back what was allowed for the session.

use super::{CommandEffect, CommandView, Commands, Notice, by_number, code};
use crate::approval::Request;
use crate::stdx::text::count;

pub(super) fn decide(args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    match args.split_whitespace().collect::<Vec<_>>().as_slice() {
        [] => list(view),
        ["revoke", number] => revoke(number, view),
        _ => CommandEffect::warning("approvals", format!("Use `/approvals` or {REVOKE}.")),
    }
}

const REVOKE: &str = "`/approvals revoke NUMBER`";

fn revoke(number: &str, view: &CommandView) -> CommandEffect {
    let warn = |text: String| CommandEffect::warning("approvals", text);
    if let Some(refused) = view.owner_refusal("approvals", "revoke what this session was allowed") {
        return refused;
    }
    match by_number(&view.grants, number) {
        Some((request, grant)) => {
            let text = format!("{} is no longer allowed.", code(grant));
            CommandEffect::Revoke(request.clone(), Notice::plain("approvals", text))
        }
        None if view.rules.iter().any(|rule| rule.id == number) => warn(format!(
            "That is a rule in a file: {} removes it.",
            code(&format!("co rules revoke {number}"))
        )),
        None if view.grants.is_empty() => warn("Nothing is allowed for the whole session.".to_owned()),
        None => warn(format!("There is no {}; `/approvals` shows the numbers.", code(number))),
    }
}

fn list(view: &CommandView) -> CommandEffect {
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
        for (number, (_, grant)) in (1..).zip(&view.grants) {
            text.push_str(&format!("{number}. {}\n", code(grant)));
        }
        text.push_str(&format!("\n{REVOKE} revokes one.\n"));
    }
    if !view.rules.is_empty() {
        text.push_str("\nAllowed by rules in files; `co rules revoke ID` removes one:\n\n");
        for rule in &view.rules {
            text.push_str(&format!("- {} {}\n", code(&rule.id), code(&rule.text)));
        }
    }
    CommandEffect::plain("approvals", text)
}

fn row(request: &Request) -> String {
    let id = code(&request.id.0);
    let tool = code(request.tool.as_str());
    format!("- {id} {} {tool}: {}\n", request.risk.word(), code(&request.plan.summary))
}
