//! `/yolo`: approves eligible calls automatically until it is turned off or the user leaves the session.

use super::{Command, CommandEffect, CommandView, Commands, Needs, Say};
use crate::approval::AutoApprove;

pub(super) fn command() -> Command {
    Command::new(
        "yolo",
        "[on|off]",
        "approve what asks by itself, LOW to HIGH, until you type it again or leave",
        Needs::Nothing,
        decide,
    )
}

fn decide(args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let wanted = match (args, view.auto_approve) {
        ("on", _) | ("", AutoApprove::Asking) => AutoApprove::Yolo,
        ("off", _) | ("", AutoApprove::Yolo) => AutoApprove::Asking,
        _ => {
            let text = "`/yolo on` and `/yolo off`, or `/yolo` alone to turn it over. Nothing was changed.";
            return CommandEffect::Say(Say::warning("yolo", text));
        }
    };
    match wanted {
        AutoApprove::Yolo => {
            let text = "Calls now run without asking: LOW, MEDIUM and HIGH. Never covered: what a rule denies, what a \
                        rule asks for, arguments with words of others (▲), and commands that no sandbox shuts in. It \
                        ends when you leave this session and is not stored; `/yolo` again turns it off.";
            CommandEffect::SetAutoApprove(AutoApprove::Yolo, Say::warning("yolo is on", text))
        }
        AutoApprove::Asking => {
            CommandEffect::SetAutoApprove(AutoApprove::Asking, Say::plain("yolo is off", "Calls ask again."))
        }
    }
}
