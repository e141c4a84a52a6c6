//! `/yolo`: approves eligible calls automatically until it is turned off or the user leaves the session.

use super::{CommandEffect, CommandView, Commands, Notice};
use crate::approval::AutoApprove;
use crate::sandbox::{Backend, Confinement, Isolation};

const ON: &str = "Calls now run without asking: LOW, MEDIUM and HIGH. Never covered: what a rule denies or asks for, \
                  arguments with untrusted text (▲), calls that repeat themselves, and what only you can allow. It \
                  ends with this session and is not stored; `/yolo` again turns it off.";
const UNSANDBOXED: &str = "Commands run unsandboxed here: they can change and send anything you can, so they still ask. \
                           Type `/yolo yes` to let them run without asking too.";

/// Says what a sandbox with gaps leaves to ask.
fn partly(isolation: &Isolation) -> String {
    format!(
        "The sandbox ({}) does not prevent commands from writing to {}, so commands that write still ask. Type \
         `/yolo yes` to let them run without asking too.",
        isolation.backend.word(),
        isolation.not_held().join(" and ")
    )
}

pub(super) fn decide(args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let wanted = match (args, view.auto_approve) {
        ("yes", _) => AutoApprove::YoloUnsandboxed,
        ("on", _) | ("", AutoApprove::Asking) => AutoApprove::Yolo,
        ("off", _) | ("", AutoApprove::Yolo | AutoApprove::YoloUnsandboxed) => AutoApprove::Asking,
        _ => {
            let text = "Use `/yolo on`, `/yolo off`, or `/yolo` to toggle; `/yolo yes` for unsandboxed \
                        commands too. Nothing was changed.";
            return CommandEffect::warning("yolo", text);
        }
    };
    let say = match wanted {
        AutoApprove::Yolo if view.isolation.backend == Backend::None => {
            Notice::warning("yolo is on, except for commands", format!("{ON}\n\n{UNSANDBOXED}"))
        }
        AutoApprove::Yolo if !view.isolation.holds(Confinement::Workspace) => Notice::warning(
            "yolo is on, except for commands that write",
            format!("{ON}\n\n{}", partly(&view.isolation)),
        ),
        AutoApprove::Yolo => Notice::warning("yolo is on", ON),
        AutoApprove::YoloUnsandboxed => Notice::warning("yolo is on, for unsandboxed commands too", ON),
        AutoApprove::Asking => Notice::plain("yolo is off", "Calls ask again."),
    };
    CommandEffect::SetAutoApprove(wanted, say)
}
