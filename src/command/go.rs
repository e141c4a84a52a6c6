//! `/go`: leaves plan mode and lets the model carry its plan out.

use super::view::TURN_RUNS;
use super::{CommandEffect, CommandView, Commands};
use crate::config::Mode;

pub(super) fn decide(args: &str, _commands: &Commands, view: &CommandView) -> CommandEffect {
    let refused = |text: &str| CommandEffect::warning("go", text);
    if view.turn_runs {
        return refused(&format!("{TURN_RUNS} Wait for its end, then `/go`."));
    }
    if view.mode != Mode::Plan {
        return refused("The mode is not `plan`, so there is no plan to carry out. Nothing was changed.");
    }
    match args {
        "" | "ask" => CommandEffect::CarryOut(Mode::Ask),
        "auto" => CommandEffect::CarryOut(Mode::Auto),
        _ => refused(
            "`/go ask` carries the plan out in mode ask, `/go auto` in mode auto. Nothing was changed.",
        ),
    }
}
