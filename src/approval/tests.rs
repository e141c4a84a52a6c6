//! The policy as a table, and what a yes grants.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::approval::rules::{Rule, RuleEffect};
use crate::hook::HookVerdict;
use crate::message::Source;
use crate::sandbox::Isolation;
use crate::tool::{Access, Category, Preview, Question, SideEffect, ToolSpec, Undo};

/// One call and everything around it; each row of the table changes what it is about.
struct Case {
    policy: Policy,
    place: Place,
    grants: Grants,
    spec: ToolSpec,
    plan: CallPlan,
    args: Value,
    taint: Vec<Taint>,
    isolation: Isolation,
    hook: Option<HookVerdict>,
}

const FOLDER: &str = "/work/notes";

fn case(name: &str, category: Category, side_effect: SideEffect, access: Access) -> Case {
    Case {
        policy: Policy { ..Policy::default() },
        place: Place { folder: PathBuf::from(FOLDER), ..Place::default() },
        grants: Grants::default(),
        spec: ToolSpec {
            name: ToolName::new(name),
            description: String::new(),
            parameters: json!({}),
            category,
            risk: Risk::Low,
            side_effect,
            origin: crate::tool::Origin::Builtin,
            output_limit: 1,
            timeout: Duration::from_secs(1),
        },
        plan: CallPlan {
            summary: format!("use {name}"),
            preview: Preview::None,
            risk: Risk::Low,
            access,
            basis: Vec::new(),
            undo: Undo::None,
            effect: crate::tool::Effect::OfTool,
            question: None,
        },
        args: json!({}),
        taint: Vec::new(),
        isolation: Isolation::None,
        hook: None,
    }
}

fn read() -> Case {
    let access = Access::Paths { reads: vec!["/work/notes/a".into()], writes: Vec::new() };
    case("read_file", Category::Files, SideEffect::None { cache_for: None }, access)
}

fn write() -> Case {
    let access = Access::Paths { reads: Vec::new(), writes: vec!["/work/notes/a".into()] };
    case("write_file", Category::Files, SideEffect::Local, access)
}

fn shell() -> Case {
    let shell = case("shell", Category::Shell, SideEffect::Local, Access::Anything);
    Case { args: json!({ "command": "ls" }), ..shell }
}

fn ask_user() -> Case {
    let mut ask = case("ask_user", Category::Search, SideEffect::None { cache_for: None }, Access::Nothing);
    ask.plan.question = Some(Question { text: "Which?".to_owned(), options: Vec::new() });
    ask
}

impl Case {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn rule(self, effect: RuleEffect) -> Self {
        self.with(|case| {
            let rules = &mut std::sync::Arc::make_mut(&mut case.policy.rules).rules;
            let id = format!("r{}", rules.len() + 1);
            rules.push(Rule::about(&id, &case.spec.name, effect));
        })
    }

    /// The person said yes for the session to this very call.
    fn granted(self) -> Self {
        self.with(|case| {
            let request = request(case.spec.name.as_str(), case.args.clone(), Risk::Low);
            case.grants.apply(&request, &session(None), Path::new(FOLDER));
        })
    }

    fn yolo(self) -> Self {
        self.with(|case| case.policy.standing = Standing::Yolo)
    }

    fn plan_mode(self) -> Self {
        self.with(|case| case.policy.mode = Mode::Plan)
    }

    fn risk(self, risk: Risk) -> Self {
        self.with(|case| case.plan.risk = risk)
    }

    fn hook(self, verdict: HookVerdict) -> Self {
        self.with(|case| case.hook = Some(verdict))
    }

    fn untrusted(self) -> Self {
        self.with(|case| case.taint = vec![taint()])
    }

    fn isolated(self) -> Self {
        self.with(|case| case.isolation = Isolation::Isolated)
    }

    fn home(self) -> Self {
        self.with(|case| case.place.kind = WorkspaceKind::HomeOrRoot)
    }

    fn decide(&self) -> Decision {
        self.policy.decide(
            &self.grants,
            &CallFacts {
                spec: &self.spec,
                plan: &self.plan,
                args: &self.args,
                taint: &self.taint,
                isolation: self.isolation,
                place: &self.place,
                circling: Circling::No,
                hook: self.hook.as_ref(),
            },
        )
    }
}

fn request(tool: &str, args: Value, risk: Risk) -> Request {
    Request {
        id: RequestId("0123456789ab".to_owned()),
        call: CallId("s/1.1.0".to_owned()),
        tool: ToolName::new(tool),
        args,
        plan: write().plan,
        risk,
        why: Vec::new(),
        after: Vec::new(),
        depends: Vec::new(),
        taint: Vec::new(),
        expires: None,
        again: None,
    }
}

fn session(instead: Option<(&str, Value)>) -> Approval {
    let instead = instead.map(|(tool, args)| (ToolName::new(tool), args));
    Approval::Approve { instead, remember: Remember::Session, note: None, rule: None }
}

fn taint() -> Taint {
    let source = Source::Command { command: "curl".to_owned() };
    Taint { arg: "/text".to_owned(), words: "words of somebody else".to_owned(), source, from: None }
}

fn hook(verdict: &str) -> HookVerdict {
    match verdict {
        "ask" => HookVerdict::Ask { reason: "look".to_owned() },
        "deny" => HookVerdict::Deny { reason: "no".to_owned() },
        "rewrite" => HookVerdict::Rewrite { args: json!({}) },
        _ => HookVerdict::Pass,
    }
}

#[test]
fn the_policy_decides_by_the_first_reason_that_applies() {
    use RuleEffect::{Allow as AllowRule, Ask as AskRule, Deny as DenyRule};
    use Verdict::{Allow, Ask, Deny};
    let cases = [
        // Risk: reads run, the rest asks.
        (read(), Allow, "read_file only looks"),
        (write(), Ask, "write_file changes something"),
        (shell(), Ask, "shell runs unsandboxed"),
        (shell().isolated(), Ask, "shell changes something"),
        (read().risk(Risk::Medium), Ask, "read_file is medium risk"),
        (read().risk(Risk::High), Ask, "read_file is HIGH risk"),
        (read().home(), Ask, "reads ask in the home folder and in /"),
        (ask_user(), Ask, "ask_user asks you something"),
        // A deny rule beats everything.
        (read().rule(DenyRule), Deny, "rule r1 denies read_file"),
        (write().rule(AllowRule).rule(DenyRule), Deny, "rule r2 denies write_file"),
        (write().granted().rule(DenyRule), Deny, "rule r1 denies write_file"),
        (write().yolo().rule(DenyRule), Deny, "rule r1 denies write_file"),
        (write().hook(hook("ask")).rule(DenyRule), Deny, "rule r1 denies write_file"),
        (write().plan_mode().rule(DenyRule), Deny, "rule r1 denies write_file"),
        (ask_user().rule(DenyRule), Deny, "rule r1 denies ask_user"),
        // Plan mode beats all below it, and lets reads go on.
        (write().plan_mode(), Deny, "plan mode only looks"),
        (shell().plan_mode().granted(), Deny, "plan mode only looks"),
        (write().plan_mode().yolo(), Deny, "plan mode only looks"),
        (write().plan_mode().rule(AllowRule), Deny, "plan mode only looks"),
        (write().plan_mode().hook(hook("ask")), Deny, "plan mode only looks"),
        (read().plan_mode(), Allow, "read_file only looks"),
        // Hooks beat rules below a deny, grants and yolo; passing ones say nothing.
        (read().hook(hook("deny")), Deny, "hook: no"),
        (read().hook(hook("ask")), Ask, "hook: look"),
        (write().hook(hook("deny")).yolo().granted().rule(AllowRule), Deny, "hook: no"),
        (write().hook(hook("ask")).yolo().granted().rule(AllowRule), Ask, "hook: look"),
        (write().hook(hook("ask")).rule(AskRule), Ask, "hook: look"),
        (read().hook(hook("pass")), Allow, "read_file only looks"),
        (write().hook(hook("rewrite")), Ask, "write_file changes something"),
        // Ask rules.
        (read().rule(AskRule), Ask, "rule r1 asks for read_file"),
        (write().rule(AllowRule).rule(AskRule), Ask, "rule r2 asks for write_file"),
        (write().granted().rule(AskRule), Ask, "rule r1 asks for write_file"),
        (write().yolo().rule(AskRule), Ask, "rule r1 asks for write_file"),
        (write().untrusted().rule(AskRule), Ask, "rule r1 asks for write_file"),
        // A question is the person's alone.
        (ask_user().rule(AllowRule), Ask, "ask_user asks you something"),
        (ask_user().granted(), Ask, "ask_user asks you something"),
        (ask_user().yolo(), Ask, "ask_user asks you something"),
        // Untrusted words satisfy no allow rule, grant or yolo; a read stays a read.
        (write().untrusted(), Ask, "its arguments carry untrusted words"),
        (write().untrusted().rule(AllowRule), Ask, "its arguments carry untrusted words"),
        (write().untrusted().granted(), Ask, "its arguments carry untrusted words"),
        (write().untrusted().yolo(), Ask, "its arguments carry untrusted words"),
        (read().untrusted(), Allow, "read_file only looks"),
        // Allow rules.
        (write().rule(AllowRule), Allow, "rule r1 allows write_file"),
        (shell().rule(AllowRule), Allow, "rule r1 allows shell"),
        (read().home().rule(AllowRule), Allow, "rule r1 allows read_file"),
        (write().granted().rule(AllowRule), Allow, "rule r1 allows write_file"),
        // Grants: never HIGH.
        (write().granted(), Allow, "you allowed write_file (except HIGH) for this session"),
        (
            write().granted().risk(Risk::Medium),
            Allow,
            "you allowed write_file (except HIGH) for this session",
        ),
        (write().granted().risk(Risk::High), Ask, "write_file changes something"),
        (write().granted().with(|case| case.spec.risk = Risk::High), Ask, "write_file changes something"),
        (read().home().granted(), Allow, "you allowed read_file (except HIGH) for this session"),
        (shell().granted(), Allow, "you allowed shell `ls` in /work/notes for this session"),
        (shell().granted().risk(Risk::High), Ask, "shell runs unsandboxed"),
        (
            shell().granted().with(|case| case.args = json!({ "command": "ls -a" })),
            Ask,
            "shell runs unsandboxed",
        ),
        (shell().granted().with(|case| case.place.folder = "/work".into()), Ask, "shell runs unsandboxed"),
        (
            write().granted().with(|case| case.spec.name = ToolName::new("edit_file")),
            Ask,
            "edit_file changes something",
        ),
        // Yolo: everything but what runs unsandboxed, whatever its plan says.
        (write().yolo(), Allow, "yolo is on"),
        (write().yolo().risk(Risk::High), Allow, "yolo is on"),
        (write().yolo().risk(Risk::High).isolated(), Allow, "yolo is on"),
        (read().yolo().home(), Allow, "yolo is on"),
        (shell().yolo(), Ask, "shell runs unsandboxed"),
        (shell().yolo().with(|case| case.plan.access = Access::Nothing), Ask, "shell runs unsandboxed"),
        (write().yolo().with(|case| case.plan.access = Access::Anything), Ask, "write_file runs unsandboxed"),
        (shell().yolo().granted(), Allow, "you allowed shell `ls` in /work/notes for this session"),
        (shell().yolo().isolated(), Allow, "yolo is on"),
    ];
    for (number, (case, verdict, because)) in cases.iter().enumerate() {
        let decision = case.decide();
        assert_eq!(
            (decision.verdict, decision.because),
            (*verdict, vec![(*because).to_owned()]),
            "case {number}"
        );
    }
}

#[test]
fn the_risk_is_the_highest_of_plan_tool_and_taint() {
    use Risk::{High, Low, Medium};
    let cases = [
        (write(), Low),
        (write().risk(Medium), Medium),
        (write().with(|case| case.spec.risk = High), High),
        (write().with(|case| case.spec.risk = Medium).risk(Low), Medium),
        (write().untrusted(), Medium),
        (write().untrusted().risk(Medium), High),
        (write().untrusted().risk(High), High),
        (read().untrusted(), Low),
        // A verdict above the risk does not hide it.
        (write().risk(High).rule(RuleEffect::Deny), High),
    ];
    for (number, (case, risk)) in cases.iter().enumerate() {
        assert_eq!(case.decide().risk, *risk, "case {number}");
    }
}

#[test]
fn only_a_yes_for_the_session_grants() {
    let write = || request("write_file", json!({ "path": "a" }), Risk::Medium);
    let shell = |command: &str| request("shell", json!({ "command": command }), Risk::Medium);
    let high = || request("write_file", json!({}), Risk::High);
    let rule = Approval::Approve { instead: None, remember: Remember::Rule, note: None, rule: None };
    let cases: Vec<(Request, Approval, &[&str])> = vec![
        (write(), Approval::yes(), &[]),
        (write(), Approval::Deny { reason: None }, &[]),
        (write(), Approval::Later, &[]),
        (write(), rule, &[]),
        (write(), session(None), &["write_file (except HIGH)"]),
        (high(), session(None), &[]),
        (shell("ls"), session(None), &["shell `ls` in /work/notes"]),
        // What was corrected is what was allowed.
        (
            shell("rm a"),
            session(Some(("shell", json!({ "command": "ls a" })))),
            &["shell `ls a` in /work/notes"],
        ),
        (write(), session(Some(("edit_file", json!({})))), &["edit_file (except HIGH)"]),
        (high(), session(Some(("edit_file", json!({})))), &[]),
        // A shell call without a command text grants nothing rather than everything.
        (request("shell", json!({ "command": 7 }), Risk::Low), session(None), &[]),
        (request("shell", json!("ls"), Risk::Low), session(None), &[]),
    ];
    for (number, (request, approval, expected)) in cases.into_iter().enumerate() {
        let mut grants = Grants::default();
        grants.apply(&request, &approval, Path::new(FOLDER));
        grants.apply(&request, &approval, Path::new(FOLDER));
        let shown: Vec<String> = grants.iter().map(ToString::to_string).collect();
        assert_eq!(shown, expected, "case {number}");
    }
}

#[test]
fn stored_words_read_back() {
    let approvals = [
        (Approval::yes(), r#"{"approval":"approve","remember":"once"}"#),
        (
            session(Some(("shell", json!({ "command": "ls" })))),
            r#"{"approval":"approve","instead":["shell",{"command":"ls"}],"remember":"session"}"#,
        ),
        (Approval::Deny { reason: None }, r#"{"approval":"deny"}"#),
        (Approval::Deny { reason: Some("no".to_owned()) }, r#"{"approval":"deny","reason":"no"}"#),
        (Approval::Later, r#"{"approval":"later"}"#),
    ];
    for (approval, json) in approvals {
        assert_eq!(serde_json::to_string(&approval).unwrap(), json);
        assert_eq!(serde_json::from_str::<Approval>(json).unwrap(), approval);
    }
}
