//! The loop guard: counts how often the same call gave the same result in a turn. Pure.
//!
//! Part of the turn machine: the policy and the turn act on the counts. Called by the turn's calls.

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::links::without_links;
use crate::approval::Repetition;
use crate::history::History;
use crate::message::{CallId, Message, ReturnPart, ReturnStatus, ToolName, ToolReturn};
use crate::stdx::json_texts::{map_texts, sorted};

/// From this many equal results on, the model is notified.
const NUDGE: u32 = 3;
/// From this many on, the next such call needs the user's approval.
const ASK: u32 = 5;
/// At this many, the turn ends.
const STOP: u32 = 10;

/// Prefix of the notice to the model; the notice is not part of a result.
const TOLD: &str = "[co: this call has given the same result ";

/// Tells the model with its next prompt why the turn was ended.
pub const STOPPED: &str = "The last turn was ended because the same call gave the same result again and again. \
     Do not repeat it; try another way, or ask the user.";

/// The calls of a turn and their latest results.
#[derive(Debug, Clone, Default)]
pub struct RepeatDetector {
    calls: BTreeMap<[u8; 32], RepeatCount>,
}

#[derive(Debug, Clone, Default)]
struct RepeatCount {
    result: [u8; 32],
    times: u32,
    /// [`RepeatCount::times`] when the user last approved the call.
    allowed: u32,
}

impl RepeatDetector {
    /// Recounts the running turn from its records, for a turn that is resumed.
    pub fn of(history: &History) -> Self {
        let mut repeats = Self::default();
        let Some(turn) = history.running_turn() else { return repeats };
        let mut calls: BTreeMap<&CallId, (&ToolName, Value)> = BTreeMap::new();
        let said = history.entries().iter().filter(|(no, _)| *no > turn.since);
        for (_, message) in said {
            match message.as_ref() {
                Message::Assistant(reply) => {
                    let made = reply.calls().map(|call| (&call.id, (&call.name, without_links(&call.args))));
                    calls.extend(made);
                }
                Message::ToolReturns { returns } => {
                    for returned in returns {
                        if let Some((tool, args)) = calls.get(&returned.call) {
                            repeats.count(tool, args, returned);
                        }
                    }
                }
                Message::User { .. } => {}
            }
        }
        repeats
    }

    /// Counts one result; returns the notice to append to it for the model, if any.
    pub fn count(&mut self, tool: &ToolName, args: &Value, returned: &ToolReturn) -> Option<ReturnPart> {
        match returned.status {
            ReturnStatus::Ok | ReturnStatus::Failed | ReturnStatus::Denied | ReturnStatus::Undecided => {}
            // These say nothing about the call itself.
            ReturnStatus::Interrupted | ReturnStatus::Unknown => return None,
        }
        let result = digest(&result_text(returned));
        let lap = self.calls.entry(key(tool, args)).or_default();
        if lap.result != result {
            *lap = RepeatCount { result, ..RepeatCount::default() };
        }
        lap.times += 1;
        (lap.times >= NUDGE).then(|| {
            let text = format!("{TOLD}{} times. Do something else, or say what is in the way.]", lap.times);
            ReturnPart::Text { text }
        })
    }

    /// Notes that the user approved this call; counting towards the next question starts again.
    pub fn on_approval(&mut self, tool: &ToolName, args: &Value) {
        if let Some(lap) = self.calls.get_mut(&key(tool, args)) {
            lap.allowed = lap.times;
        }
    }

    /// Whether such a call needs the user's approval because it repeats itself.
    pub fn of_call(&self, tool: &ToolName, args: &Value) -> Repetition {
        match self.calls.get(&key(tool, args)) {
            Some(lap) if lap.times - lap.allowed >= ASK => Repetition::Times(lap.times),
            Some(_) | None => Repetition::No,
        }
    }

    /// Whether a call has repeated so often that the turn must end.
    pub fn is_over(&self) -> bool {
        self.calls.values().any(|lap| lap.times >= STOP)
    }
}

fn key(tool: &ToolName, args: &Value) -> [u8; 32] {
    // The same for arguments that differ only in the order of keys or in white space.
    let mut args = sorted(args);
    map_texts(&mut args, &|_, text| text.split_whitespace().collect::<Vec<_>>().join(" ").into());
    digest(&format!("{tool}\n{args}"))
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// Returns a result as it is compared: without the notice added for the model.
fn result_text(returned: &ToolReturn) -> String {
    let mut text = format!("{:?}", returned.status);
    for part in &returned.content {
        match part {
            ReturnPart::Text { text: words } if words.starts_with(TOLD) => {}
            ReturnPart::Text { text: words } => {
                text.push('\n');
                text.push_str(words);
            }
            ReturnPart::Image { data, .. } => {
                text.push('\0');
                text.push_str(data);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn returned(status: ReturnStatus, text: &str) -> ToolReturn {
        ToolReturn::program(CallId("c".to_owned()), status, text)
    }

    #[test]
    fn what_counts_as_the_same_call() {
        for (a, b, same) in [
            (json!({"a": 1, "b": [1, 2]}), json!({"b": [1, 2], "a": 1}), true),
            (json!({"a": {"x": 1, "y": 2}}), json!({"a": {"y": 2, "x": 1}}), true),
            (json!({"command": "ls -la"}), json!({"command": " ls   -la\n"}), true),
            (json!({"command": "ls -la"}), json!({"command": "ls -l a"}), false),
            (json!({"a": "1"}), json!({"a": 1}), false),
            (json!({"a": [1, 2]}), json!({"a": [2, 1]}), false),
            (json!({"a": "x\",\"b\":\"y"}), json!({"a": "x", "b": "y"}), false),
            (json!({}), json!({"a": null}), false),
        ] {
            let tool = ToolName::new("t");
            assert_eq!(key(&tool, &a) == key(&tool, &b), same, "{a} {b}");
            assert_ne!(key(&tool, &a), key(&ToolName::new("u"), &a));
        }
    }

    /// Each row: the results of one call in order (`!` = the user approved before the next); then whether the
    /// last was reported to the model, whether the next asks, and whether the turn ends.
    #[test]
    fn nudged_asked_stopped() {
        use ReturnStatus::{Failed, Interrupted, Ok};
        for (results, nudged, asks, over) in [
            ("aa", false, false, false),
            ("aaa", true, false, false),
            ("aaaa", true, false, false),
            ("aaaaa", true, true, false),
            ("aaaaab", false, false, false),
            ("aabaa", false, false, false),
            ("aaFaa", false, false, false),
            ("aaIa", true, false, false),
            ("aaaaa!", true, false, false),
            ("aaaaa!aaaa", true, false, false),
            ("aaaaaaaaa", true, true, false),
            ("aaaaaaaaaa", true, true, true),
            ("aaaaa!aaaaa", true, true, true),
            ("FFFFF", true, true, false),
        ] {
            let (tool, args) = (ToolName::new("t"), json!({"a": 1}));
            let mut repeats = RepeatDetector::default();
            let mut note = None;
            for one in results.chars() {
                match one {
                    '!' => repeats.on_approval(&tool, &args),
                    'F' => note = repeats.count(&tool, &args, &returned(Failed, "no")),
                    'I' => note = repeats.count(&tool, &args, &returned(Interrupted, "cut")),
                    _ => note = repeats.count(&tool, &args, &returned(Ok, &one.to_string())),
                }
            }
            let asked = repeats.of_call(&tool, &args) != Repetition::No;
            assert_eq!((note.is_some(), asked, repeats.is_over()), (nudged, asks, over), "{results}");
            assert_eq!(repeats.of_call(&tool, &json!({"a": 2})), Repetition::No, "{results}");
        }
    }

    #[test]
    fn what_was_told_is_no_part_of_a_result() {
        let (tool, args) = (ToolName::new("t"), json!({}));
        let mut repeats = RepeatDetector::default();
        let mut result = returned(ReturnStatus::Ok, "a");
        for times in 1..=4 {
            let note = repeats.count(&tool, &args, &result);
            assert_eq!(note.is_some(), times >= NUDGE, "{times}");
            result.content.extend(note);
        }
    }
}
