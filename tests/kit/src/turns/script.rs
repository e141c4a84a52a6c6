//! The text form of a turn script: settings and steps, `---`, the expected transcript.

use crate::replay::{Reply, parse_replies};
use co_engine::agent::caps::CapAnswer;
use co_engine::approval::rules::RuleEffect;
use co_engine::approval::{Approval, Remember};
use co_engine::config::Mode;
use co_engine::hook::HookVerdict;
use co_engine::message::ToolName;

/// One script, parsed.
pub struct Script {
    pub replies: Vec<Reply>,
    pub steps: Vec<Step>,
    pub answers: Vec<(String, Approval)>,
    pub triggers: Vec<(String, Action)>,
    pub cap_answers: Vec<CapAnswer>,
    pub settings: Vec<(String, String)>,
    pub hooks: Vec<(String, HookVerdict)>,
    pub expected: String,
}

#[derive(Debug, Clone)]
pub enum Step {
    Prompt(String),
    Resume,
    LateCalls,
    Compact(Option<String>),
    Uncompact,
    /// Drop the session as a kill would and open it again.
    Reopen,
    Action(Action),
    /// Start a turn with each queued prompt.
    Queue,
}

#[derive(Debug, Clone)]
pub enum Action {
    Interrupt,
    Close,
    Defer,
    Retry,
    Yolo,
    Mode(Mode),
    /// Save a rule about a tool.
    Rule(RuleEffect, String),
    /// Advance the clock by this many milliseconds.
    Advance(u64),
    /// Another process expires what is due.
    Expire,
    Steer(String),
    /// Decided by another process: a second connection to the store.
    Elsewhere(String, Approval),
    /// Another process uses this many tokens.
    Spends(u64),
    Release(String),
    Change(String, String),
    /// The program loses a tool.
    Remove(String),
    /// The program gets a tool back.
    Add(String),
}

pub fn parse(text: &str) -> Script {
    let (head, expected) = text.split_once("\n---\n").unwrap_or((text, ""));
    let mut script = Script {
        replies: Vec::new(),
        steps: Vec::new(),
        answers: Vec::new(),
        triggers: Vec::new(),
        cap_answers: Vec::new(),
        settings: Vec::new(),
        hooks: Vec::new(),
        expected: expected.to_owned(),
    };
    let mut replies = String::new();
    let mut in_reply = false;
    for line in head.lines() {
        in_reply = line == "reply" || (in_reply && (line.starts_with(' ') || line.is_empty()));
        if in_reply {
            replies.push_str(line);
            replies.push('\n');
        } else if !line.trim().is_empty() && !line.starts_with('#') {
            directive(line, &mut script);
        }
    }
    script.replies = parse_replies(&replies).unwrap_or_else(|error| panic!("{error}"));
    script
}

fn directive(line: &str, script: &mut Script) {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "prompt" => script.steps.push(Step::Prompt(rest.to_owned())),
        "resume" => script.steps.push(Step::Resume),
        "late-calls" => script.steps.push(Step::LateCalls),
        "compact" => script.steps.push(Step::Compact((!rest.is_empty()).then(|| rest.to_owned()))),
        "uncompact" => script.steps.push(Step::Uncompact),
        "reopen" => script.steps.push(Step::Reopen),
        "queue" => script.steps.push(Step::Queue),
        "then" => script.steps.push(Step::Action(action(rest))),
        "at-cap" => script.cap_answers.push(match rest {
            "go-on" => CapAnswer::GoOn,
            "raise" => CapAnswer::Raise,
            "stop" => CapAnswer::Stop,
            _ => panic!("unknown answer at a cap: {line}"),
        }),
        "answer" => {
            let (tool, decision) = rest.split_once(' ').expect("answer TOOL DECISION");
            script.answers.push((tool.to_owned(), approval(decision)));
        }
        "when" => {
            let (event, what) = rest.split_once(" => ").expect("when EVENT => ACTION");
            script.triggers.push((event.to_owned(), action(what)));
        }
        "hook" => {
            let (tool, verdict) = rest.split_once(' ').expect("hook TOOL VERDICT");
            script.hooks.push((tool.to_owned(), hook(verdict)));
        }
        "fallback" | "summarizer" | "limit" | "cap" | "price" | "window" | "model-window" | "max-output"
        | "tokens" | "retries" | "overload-wait" | "tool-retries" | "yolo" | "mode" | "rule" | "absent"
        | "home" | "close-late" | "file" | "expiry" | "still-clock" | "audit" | "situation" | "tools"
        | "trim-output" | "max-messages" => {
            script.settings.push((word.to_owned(), rest.to_owned()));
        }
        _ => panic!("unknown line in a turn script: {line}"),
    }
}

fn action(text: &str) -> Action {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    match word {
        "interrupt" => Action::Interrupt,
        "close" => Action::Close,
        "defer" => Action::Defer,
        "retry" => Action::Retry,
        "yolo" => Action::Yolo,
        "mode" => Action::Mode(Mode::named(rest).expect("a mode")),
        "rule" => {
            let (effect, tool) = rule(rest);
            Action::Rule(effect, tool)
        }
        "advance" => Action::Advance(rest.parse().expect("advance MILLISECONDS")),
        "expire" => Action::Expire,
        "steer" => Action::Steer(rest.to_owned()),
        "spends" => Action::Spends(rest.parse().expect("spends TOKENS")),
        "release" => Action::Release(rest.to_owned()),
        "remove" => Action::Remove(rest.to_owned()),
        "add" => Action::Add(rest.to_owned()),
        "elsewhere" => {
            let (tool, decision) = rest.split_once(' ').expect("elsewhere TOOL DECISION");
            Action::Elsewhere(tool.to_owned(), approval(decision))
        }
        "change" => {
            let (path, text) = rest.split_once(' ').expect("change PATH TEXT");
            Action::Change(path.to_owned(), text.to_owned())
        }
        _ => panic!("unknown action: {text}"),
    }
}

/// Reads `allow TOOL`, `ask TOOL`, `deny TOOL`.
pub fn rule(text: &str) -> (RuleEffect, String) {
    let (word, tool) = text.split_once(' ').expect("rule EFFECT TOOL");
    let effect = match word {
        "allow" => RuleEffect::Allow,
        "ask" => RuleEffect::Ask,
        "deny" => RuleEffect::Deny,
        _ => panic!("unknown effect of a rule: {text}"),
    };
    (effect, tool.to_owned())
}

fn approval(text: &str) -> Approval {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    match word {
        "yes" => {
            let note = (!rest.is_empty()).then(|| rest.to_owned());
            Approval::Approve { instead: None, remember: Remember::Once, note, rule: None }
        }
        "no" => Approval::Deny { reason: (!rest.is_empty()).then(|| rest.to_owned()) },
        "later" => Approval::Later,
        "session" => Approval::for_session(),
        "edit" => {
            let (tool, args) = rest.split_once(' ').expect("edit TOOL JSON");
            let args = serde_json::from_str(args).expect("edit TOOL JSON");
            Approval::to(ToolName::new(tool), args)
        }
        _ => panic!("unknown decision: {text}"),
    }
}

fn hook(text: &str) -> HookVerdict {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    match word {
        "pass" => HookVerdict::Pass,
        "ask" => HookVerdict::Ask { reason: rest.to_owned() },
        "allow" => HookVerdict::Allow { reason: rest.to_owned() },
        "defer" => HookVerdict::Defer { reason: rest.to_owned() },
        "note" => HookVerdict::Note { text: rest.to_owned() },
        "deny" => HookVerdict::Deny { reason: rest.to_owned() },
        "rewrite" => HookVerdict::Rewrite { args: serde_json::from_str(rest).expect("rewrite JSON") },
        _ => panic!("unknown verdict: {text}"),
    }
}
