//! `/yolo`: approve by itself what may be approved by itself, for as long as this program runs.

use super::{Command, CommandEffect, CommandView, Commands, Say};
use crate::approval::Standing;

pub(super) const COMMAND: Command = Command {
    name: "yolo",
    usage: "",
    about: "approve what is neither a command nor HIGH nor denied by itself, until you type it again or leave",
    decide,
};

fn decide(_args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    match view.standing {
        Standing::Asking => {
            let text = "Calls now run without asking. Never covered while commands run unsandboxed: \
                        `shell` and what is HIGH; and never what a rule denies. It ends with this program and is not stored; `/yolo` again turns it off.";
            CommandEffect::Stand(Standing::Yolo, Say::warning("yolo is on", text))
        }
        Standing::Yolo => {
            CommandEffect::Stand(Standing::Asking, Say::plain("yolo is off", "Calls ask again."))
        }
    }
}
