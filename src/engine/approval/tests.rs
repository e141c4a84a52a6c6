//! The policy: its whole table in one text, its invariants for any call, and the grants of an approval.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::approval::rules::{RuleEffect, RuleSet, RuleSource, RulesHealth};
use crate::hook::HookVerdict;
use crate::message::Source;
use crate::sandbox::{Backend, Hold, Isolation};
use crate::stdx::text::width;
use crate::tool::{Access, Category, Effect, Origin, Question, SideEffect, ToolSpec};

/// One call and its circumstances; each row of a table changes what it is about.
#[derive(Debug, Clone)]
struct Case {
    policy: Policy,
    place: Workspace,
    grants: Grants,
    spec: ToolSpec,
    plan: CallPlan,
    args: Value,
    taint: Vec<Taint>,
    isolation: Isolation,
    hook: Option<HookVerdict>,
    repetition: Repetition,
    is_named: bool,
}

const FOLDER: &str = "/work/notes";

fn case(name: &str, category: Category, side_effect: SideEffect, access: Access, args: Value) -> Case {
    Case {
        policy: Policy::default(),
        place: Workspace { folder: PathBuf::from(FOLDER), ..Workspace::default() },
        grants: Grants::default(),
        spec: ToolSpec::sample(name, category, side_effect),
        plan: CallPlan::new(format!("use {name}"), Risk::Low, access),
        args,
        taint: Vec::new(),
        isolation: Isolation::NONE,
        hook: None,
        repetition: Repetition::No,
        is_named: false,
    }
}

fn read() -> Case {
    let access = Access::Paths { reads: vec!["/work/notes/a".into()], writes: Vec::new() };
    case("read_file", Category::Files, SideEffect::None { cache_for: None }, access, json!({ "path": "a" }))
}

fn write() -> Case {
    let access = Access::Paths { reads: Vec::new(), writes: vec!["/work/notes/a".into()] };
    case("write_file", Category::Files, SideEffect::Local, access, json!({ "path": "a" })).risk(Risk::Medium)
}

fn write_outside() -> Case {
    let access = Access::Paths { reads: Vec::new(), writes: vec!["/work/else".into()] };
    write().with(|case| (case.plan.access, case.args) = (access, json!({ "path": "../else" })))
}

fn send() -> Case {
    let send =
        case("send_email", Category::Files, SideEffect::External, Access::Nothing, json!({ "path": "a" }));
    send.risk(Risk::Medium).with(|case| case.spec.origin = Origin::Server("mail".to_owned()))
}

fn shell(command: &str) -> Case {
    let args = json!({ "command": command });
    case("shell", Category::Shell, SideEffect::Local, Access::Anything, args).risk(Risk::Medium)
}

/// A command that changes files of the workspace at most.
fn make() -> Case {
    shell("make all").with(|case| case.plan.effect = Effect::Confined)
}

/// A backend that does not hold everything.
fn landlock() -> Isolation {
    let not = Hold::NotHeld;
    Isolation { backend: Backend::Landlock, protected: not, metadata: not, ..Isolation::FULL }
}

fn looking_shell() -> Case {
    shell("git status").risk(Risk::Low).with(|case| {
        case.plan.effect = Effect::ReadOnly;
        case.spec.risk = Risk::Medium;
    })
}

fn ask_user() -> Case {
    let looks = SideEffect::None { cache_for: None };
    let ask = case("ask_user", Category::Search, looks, Access::Nothing, json!({ "path": "a" }));
    ask.with(|case| {
        case.plan.question = Some(Question { text: "Which?".to_owned(), options: Vec::new(), many: false });
    })
}

fn fetch() -> Case {
    let url = "https://a.example/x";
    let access = Access::Web { host: "a.example".to_owned(), url: Some(url.to_owned()), asks: false };
    let looks = SideEffect::None { cache_for: None };
    case(crate::tool::WEB_FETCH, Category::Web, looks, access, json!({ "path": "a", "url": url }))
}

/// Every kind of call, as the table names it.
fn calls() -> Vec<(&'static str, Case)> {
    vec![
        ("read a file", read()),
        ("read what is medium", read().risk(Risk::Medium)),
        ("edit a file here", write()),
        ("edit a file here, HIGH", write().risk(Risk::High)),
        ("edit a file elsewhere", write_outside()),
        ("send a mail", send()),
        ("send a mail, HIGH", send().risk(Risk::High)),
        ("run a command", make()),
        ("run a command, HIGH", make().risk(Risk::High)),
        ("run a command that uses the network", shell("curl a.example")),
        ("run a command that looks", looking_shell()),
        ("fetch a page that was named", fetch().with(|case| case.is_named = true)),
        ("fetch a page that nobody named", fetch()),
        ("ask the person", ask_user()),
    ]
}

type Change = fn(Case) -> Case;

/// The circumstances of a call, as the table names them.
const CIRCUMSTANCES: &[(&str, Change)] = &[
    ("nothing else", |case| case),
    ("allow rule on arguments", |case| case.rule(RuleEffect::Allow, On::These)),
    ("allow rule on other arguments", |case| case.rule(RuleEffect::Allow, On::Others)),
    ("allow rule that cannot tell", |case| case.rule(RuleEffect::Allow, On::Unknown)),
    ("allow rule on the tool alone", |case| case.rule(RuleEffect::Allow, On::Any)),
    ("ask rule", |case| case.rule(RuleEffect::Ask, On::These)),
    ("ask rule that cannot tell", |case| case.rule(RuleEffect::Ask, On::Unknown)),
    ("ask rule and allow rule", |case| {
        case.rule(RuleEffect::Allow, On::These).rule(RuleEffect::Ask, On::These)
    }),
    ("deny rule", |case| case.rule(RuleEffect::Deny, On::These)),
    ("deny rule on other arguments", |case| case.rule(RuleEffect::Deny, On::Others)),
    ("deny rule that cannot tell", |case| case.rule(RuleEffect::Deny, On::Unknown)),
    ("deny rule and all that allows", |case| {
        case.rule(RuleEffect::Allow, On::These).granted().hook(yes()).rule(RuleEffect::Deny, On::These)
    }),
    ("allowed for the session (a)", Case::granted),
    ("rule for the session", Case::session_rule),
    ("untrusted text", Case::untrusted),
    ("untrusted text and all that allows", |case| {
        case.rule(RuleEffect::Allow, On::These).granted().session_rule().hook(yes()).untrusted()
    }),
    ("hook allows", |case| case.hook(yes())),
    ("hook asks, rule allows", |case| case.hook(hook("ask")).rule(RuleEffect::Allow, On::These)),
    ("hook defers, rule allows", |case| case.hook(hook("defer")).rule(RuleEffect::Allow, On::These)),
    ("hook denies, rule allows", |case| case.hook(hook("deny")).rule(RuleEffect::Allow, On::These)),
    ("repeated call, rule allows", |case| {
        case.rule(RuleEffect::Allow, On::These).with(|case| case.repetition = Repetition::Times(3))
    }),
    ("rules broken, last good allows", |case| case.rule(RuleEffect::Allow, On::These).broken()),
    ("rules broken, last good denies", |case| case.rule(RuleEffect::Deny, On::These).broken()),
    ("in the home folder", Case::home),
    ("kept for a person", Case::kept),
    ("kept for a person and all that allows", |case| {
        case.rule(RuleEffect::Allow, On::These).granted().session_rule().hook(yes()).kept()
    }),
];

/// Which arguments a rule is about.
#[derive(Clone, Copy)]
enum On {
    These,
    Others,
    /// An argument that the call does not have.
    Unknown,
    Any,
}

impl Case {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn rule_text(&self, effect: RuleEffect, on: On) -> String {
        let (name, value) = match self.args.get("command") {
            Some(command) => ("command", command.to_string()),
            None => ("path", self.args["path"].to_string()),
        };
        let asks = match on {
            On::These => format!("args.{name} = {value}"),
            On::Others => format!("args.{name} = \"other\""),
            On::Unknown => "args.missing = \"x\"".to_owned(),
            On::Any => String::new(),
        };
        format!("[[rule]]\neffect = \"{}\"\ntool = \"{}\"\n{asks}\n", effect.word(), self.spec.name)
    }

    fn rule(self, effect: RuleEffect, on: On) -> Self {
        let text = self.rule_text(effect, on);
        let rules = RuleSet::parse(&text, &RuleSource::Session, None).unwrap();
        self.with(|case| Arc::make_mut(&mut case.policy.rules).rules.extend(rules))
    }

    fn broken(self) -> Self {
        let because = "line 1: this is not TOML".to_owned();
        self.with(|case| Arc::make_mut(&mut case.policy.rules).health = RulesHealth::Broken { because })
    }

    /// The user approved this same call for the session.
    fn granted(self) -> Self {
        self.with(|case| {
            let request = request(case.spec.name.as_str(), case.args.clone(), Risk::Low);
            case.grants.apply(&request, &session(None), Path::new(FOLDER));
        })
    }

    fn session_rule(self) -> Self {
        self.with(|case| {
            let rule = case.rule_text(RuleEffect::Allow, On::These);
            let request = request(case.spec.name.as_str(), case.args.clone(), Risk::High);
            case.grants.apply(&request, &ruled(&rule), Path::new(FOLDER));
        })
    }

    fn risk(self, risk: Risk) -> Self {
        self.with(|case| case.plan.risk = risk)
    }

    fn mode(self, mode: Mode) -> Self {
        self.with(|case| case.policy.mode = mode)
    }

    fn yolo(self) -> Self {
        self.with(|case| case.policy.auto_approve = AutoApprove::Yolo)
    }

    fn hook(self, verdict: HookVerdict) -> Self {
        self.with(|case| case.hook = Some(verdict))
    }

    fn untrusted(self) -> Self {
        self.with(|case| case.taint = vec![taint()])
    }

    fn kept(self) -> Self {
        self.with(|case| case.plan.needs_person = Some("it changes files of co itself".to_owned()))
    }

    fn isolated(self) -> Self {
        self.with(|case| case.isolation = Isolation::FULL)
    }

    fn home(self) -> Self {
        self.with(|case| case.place.kind = WorkspaceKind::HomeOrRoot)
    }

    fn facts(&self) -> CallFacts<'_> {
        CallFacts {
            is_named: self.is_named,
            spec: &self.spec,
            plan: &self.plan,
            args: &self.args,
            taint: &self.taint,
            isolation: self.isolation,
            place: &self.place,
            repetition: self.repetition,
            hook: self.hook.as_ref(),
        }
    }

    fn decide(&self) -> Decision {
        self.policy.decide(&self.grants, &self.facts())
    }
}

fn request(tool: &str, args: Value, risk: Risk) -> Request {
    let (id, call) = (RequestId("0123456789ab".to_owned()), CallId("s/1.1.0".to_owned()));
    Request { risk, ..Request::new(id, call, ToolName::new(tool), args, write().plan) }
}

fn session(instead: Option<(&str, Value)>) -> Approval {
    let instead = instead.map(|(tool, args)| (ToolName::new(tool), args));
    Approval::Approve { instead, remember: Remember::Session, note: None, rule: None }
}

fn ruled(rule: &str) -> Approval {
    Approval::Approve { instead: None, remember: Remember::Session, note: None, rule: Some(rule.to_owned()) }
}

fn taint() -> Taint {
    let source = Source::Command { command: "curl".to_owned() };
    Taint { arg: "/text".to_owned(), words: "words of somebody else".to_owned(), source, from: None }
}

fn yes() -> HookVerdict {
    HookVerdict::Allow { reason: "fine".to_owned() }
}

fn hook(verdict: &str) -> HookVerdict {
    match verdict {
        "ask" => HookVerdict::Ask { reason: "look".to_owned() },
        "defer" => HookVerdict::Defer { reason: "look".to_owned() },
        "deny" => HookVerdict::Deny { reason: "no".to_owned() },
        "rewrite" => HookVerdict::Rewrite { args: json!({}) },
        _ => HookVerdict::Pass,
    }
}

/// The columns of the table.
const COLUMNS: &[(&str, Change)] = &[
    ("ask", |case| case),
    ("auto", |case| case.mode(Mode::Auto)),
    ("plan", |case| case.mode(Mode::Plan)),
    ("dry-run", |case| case.mode(Mode::DryRun)),
    ("defer-all", |case| case.mode(Mode::DeferAll)),
    ("yolo", Case::yolo),
    ("yolo yes", |case| case.with(|case| case.policy.auto_approve = AutoApprove::YoloUnsandboxed)),
];

/// The verdict and who settled it.
fn cell(case: &Case) -> String {
    let Decision { verdict, by, .. } = case.decide();
    let verdict = match verdict {
        Verdict::Allow => "ALLOW",
        Verdict::Ask => "ask",
        Verdict::Later => "later",
        Verdict::Preview => "preview",
        Verdict::Deny => "deny",
    };
    let by = match by {
        Decider::Rule { .. } => "rule",
        Decider::Grant => "grant",
        Decider::Mode { .. } => "mode",
        Decider::Yolo => "yolo",
        Decider::Hook => "hook",
        Decider::Risk => "risk",
        Decider::Tui | Decider::Plain | Decider::Cli | Decider::Script | Decider::Expiry => "person",
    };
    format!("{verdict} {by}")
}

fn row(name: &str, case: &Case) -> String {
    let mut line = format!("  {name:42}{:8}", case.decide().risk.word());
    for (_, column) in COLUMNS {
        let cell = cell(&column(case.clone()));
        line.push_str(&cell);
        line.push_str(&" ".repeat(15_usize.saturating_sub(width(&cell))));
    }
    format!("{}\n", line.trim_end())
}

fn table() -> String {
    let mut out = include_str!("table_head.txt").to_owned();
    for (name, call) in calls() {
        let heads: String = COLUMNS.iter().map(|(name, _)| format!("{name:15}")).collect();
        out.push_str(&format!("\n{name:44}{:8}{}\n", "risk", heads.trim_end()));
        for (name, change) in CIRCUMSTANCES {
            let in_sandbox = |isolation| change(call.clone()).with(|case| case.isolation = isolation);
            let mut above = row(name, &in_sandbox(Isolation::NONE));
            out.push_str(&above);
            for (sandbox, isolation) in [("landlock", landlock()), ("bubblewrap", Isolation::FULL)] {
                let same = row(name, &in_sandbox(isolation));
                if same != above {
                    out.push_str(&row(&format!("{name}, {sandbox}"), &in_sandbox(isolation)));
                    above = same;
                }
            }
        }
    }
    out
}

/// The line before the file's second part, which `tests/it/turns/decisions.rs` writes and compares.
const SECOND: &str =
    "\nWhat comes of it: the call (a block), what is decided and where (a row), the mode (a column).\n";

/// `CO_UPDATE_POLICY=1` rewrites the file.
#[test]
fn the_table_of_the_policy_is_as_it_was_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evals/policy.txt");
    let table = table();
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let (read, second) = text.split_at(text.find(SECOND).unwrap_or(text.len()));
    if std::env::var_os("CO_UPDATE_POLICY").is_some() {
        std::fs::write(&path, format!("{table}{second}")).unwrap();
        return;
    }
    for (number, (now, then)) in table.lines().zip(read.lines()).enumerate() {
        assert_eq!(now, then, "line {}", number + 1);
    }
    assert_eq!(table.lines().count(), read.lines().count());
}

/// Any call in any circumstances: indices into the tables above, several of them at once.
fn any_case() -> impl Strategy<Value = Case> {
    let circumstances = proptest::collection::vec(0..CIRCUMSTANCES.len(), 0..5);
    (0..calls().len(), circumstances, 0..COLUMNS.len(), any::<bool>(), any::<bool>()).prop_map(
        |(call, circumstances, column, yolo, isolated)| {
            let case = calls().swap_remove(call).1;
            let case = circumstances.into_iter().fold(case, |case, at| CIRCUMSTANCES[at].1(case));
            let case = COLUMNS[column].1(case);
            let case = if yolo { case.yolo() } else { case };
            if isolated { case.isolated() } else { case }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_explained_is_what_is_decided(case in any_case()) {
        let steps = case.policy.explain(&case.grants, &case.facts());
        let (last, before) = steps.split_last().unwrap();
        prop_assert_eq!(&last.found, &StageOutcome::Decided(case.decide()));
        prop_assert!(before.iter().all(|step| matches!(step.found, StageOutcome::Passed(_))));
        let stages: Vec<Stage> = steps.iter().map(|step| step.stage).collect();
        prop_assert_eq!(&stages[..], &Stage::ALL[..stages.len()]);
        prop_assert!(!case.decide().because.is_empty());
        prop_assert!(case.decide().risk >= case.plan.risk);
    }

    #[test]
    fn a_deny_rule_wins_whatever_else(case in any_case(), on in 0..3_usize) {
        let case = case.rule(RuleEffect::Deny, [On::These, On::Unknown, On::Any][on]);
        prop_assert_eq!(case.decide().verdict, Verdict::Deny);
    }

    #[test]
    fn an_allow_rule_takes_no_deny_away(case in any_case(), first in any::<bool>()) {
        let before = case.decide().verdict;
        let with = case.rule(RuleEffect::Allow, On::These).with(|case| {
            if first {
                Arc::make_mut(&mut case.policy.rules).rules.rotate_right(1);
            }
        });
        let after = with.decide().verdict;
        prop_assert!(before != Verdict::Deny || after == Verdict::Deny);
        // It allows, or changes nothing.
        prop_assert!(after == before || after == Verdict::Allow);
    }

    #[test]
    fn arguments_that_match_a_deny_are_denied_however_they_came(case in any_case(), was in "[a-z]{1,8}") {
        let denying = case.rule_text(RuleEffect::Deny, On::These);
        let rules = RuleSet::parse(&denying, &RuleSource::Session, None).unwrap();
        let edited = case.args.clone();
        let with = case.with(|case| {
            Arc::make_mut(&mut case.policy.rules).rules.extend(rules);
            case.args = json!({ "path": was, "command": was });
        });
        let as_edited = with.with(|case| case.args = edited);
        prop_assert_eq!(as_edited.decide().verdict, Verdict::Deny);
    }

    #[test]
    fn untrusted_words_are_allowed_nothing(case in any_case()) {
        let decision = case.untrusted().decide();
        prop_assert!(decision.verdict != Verdict::Allow || decision.by == Decider::Risk);
    }

    #[test]
    fn what_is_kept_for_a_person_nothing_allows(case in any_case()) {
        let decision = case.kept().decide();
        prop_assert_ne!(decision.verdict, Verdict::Allow);
    }

    #[test]
    fn modes_that_look_never_let_anything_happen(case in any_case(), mode in 0..2_usize) {
        let case = case.mode([Mode::Plan, Mode::DryRun][mode]);
        let decision = case.decide();
        prop_assert!(decision.verdict != Verdict::Allow || case.facts().only_looks());
    }

    #[test]
    fn defer_all_and_broken_rules_allow_nothing(case in any_case()) {
        prop_assert!(case.clone().mode(Mode::DeferAll).decide().verdict != Verdict::Allow);
        prop_assert!(case.broken().decide().verdict != Verdict::Allow);
    }

    #[test]
    fn a_command_that_nothing_shuts_in_runs_by_words_of_the_person_only(case in any_case()) {
        let case = case.with(|case| case.isolation = Isolation::NONE);
        let decision = case.decide();
        let runs = case.spec.category == Category::Shell && decision.verdict == Verdict::Allow;
        let typed = case.policy.auto_approve == AutoApprove::YoloUnsandboxed;
        let by_words = matches!(decision.by, Decider::Rule { .. } | Decider::Grant | Decider::Hook) || typed;
        prop_assert!(!runs || by_words);
    }

    #[test]
    fn no_grant_covers_high(case in any_case()) {
        let decision = case.decide();
        prop_assert!(decision.risk < Risk::High || decision.by != Decider::Grant);
    }
}

#[test]
fn decisions_tell_why() {
    let rule = |effect, on| write().rule(effect, on);
    let reasoned = |effect: &str| {
        let text = format!(
            "[[rule]]\nid = \"r\"\neffect = \"{effect}\"\ntool = \"*\"\nreason = \"no\\u001bt now\"\nargs.x = 1"
        );
        write().with(|case| {
            Arc::make_mut(&mut case.policy.rules).rules =
                RuleSet::parse(&text, &RuleSource::Session, None).unwrap();
        })
    };
    for (case, because) in [
        (read(), "read_file only reads"),
        (write(), "write_file changes something"),
        (shell("ls"), "shell runs unsandboxed"),
        (shell("ls").isolated(), "shell reaches out of the sandbox"),
        (
            make().with(|case| case.isolation = landlock()),
            "shell can write to the settings and hooks of .git and permissions and times of files outside, which landlock does not prevent",
        ),
        (make().isolated().mode(Mode::Auto), "auto mode runs commands that the sandbox holds"),
        (read().risk(Risk::Medium), "read_file is medium risk"),
        (read().home(), "reads ask in the home folder and in /"),
        (ask_user(), "ask_user asks you something"),
        (write().mode(Mode::Plan), "plan mode only reads"),
        (write().mode(Mode::Auto), "auto mode edits files here without asking"),
        (write().mode(Mode::DryRun), "dry-run mode only previews"),
        (
            read().home().mode(Mode::DryRun),
            "reads ask in the home folder and in /; dry-run mode only previews",
        ),
        (write().mode(Mode::DeferAll), "defer-all mode asks about everything"),
        (write().yolo(), "yolo is on"),
        (write().hook(hook("deny")), "hook: no"),
        (write().hook(hook("rewrite")), "write_file changes something"),
        (write().untrusted(), "its arguments contain untrusted text"),
        (
            write().with(|case| case.repetition = Repetition::Times(3)),
            "the same call gave the same result 3 times",
        ),
        (write().broken(), "the rules cannot be read, so everything asks: line 1: this is not TOML"),
        (reasoned("deny"), "rule r denies write_file: no␛t now (undecided: x = 1)"),
        (reasoned("ask"), "rule r asks about write_file: no␛t now (undecided: x = 1)"),
        (reasoned("allow"), "write_file changes something"),
        (rule(RuleEffect::Allow, On::These), "rule write-file-75bc5570 allows write_file"),
        (write().granted(), "you allowed write_file (except HIGH) for this session"),
        (shell("git status").granted(), "you allowed shell `git status …` in /work/notes for this session"),
    ] {
        assert_eq!(case.decide().because.join("; "), because);
    }
}

#[test]
fn the_chain_names_what_came_close() {
    let case = write()
        .rule(RuleEffect::Deny, On::Others)
        .rule(RuleEffect::Allow, On::Unknown)
        .rule(RuleEffect::Allow, On::Any)
        .granted()
        .risk(Risk::High);
    let steps = case.policy.explain(&case.grants, &case.facts());
    let told: Vec<String> = steps
        .iter()
        .filter(|step| {
            matches!(step.stage, Stage::DenyRule | Stage::AskRule | Stage::AllowRule | Stage::Grant)
        })
        .map(|step| match &step.found {
            StageOutcome::Passed(why) => why.clone(),
            StageOutcome::Decided(decision) => panic!("{decision:?}"),
        })
        .collect();
    assert_eq!(
        told,
        [
            "write-file-4bf537a7: not so: path = \"other\"",
            "none applies to write_file",
            "write-file-9bd3e258: undecided: missing = \"x\"; \
             write-file-a178cc8b: it tests no argument, so it does not cover HIGH",
            "no grant covers HIGH",
        ]
    );
}

#[test]
fn the_risk_is_the_highest_of_plan_tool_and_taint() {
    use Risk::{High, Low, Medium};
    let low = || write().risk(Low);
    let cases = [
        (low(), Low),
        (low().risk(Medium), Medium),
        (low().with(|case| case.spec.risk = High), High),
        (low().with(|case| case.spec.risk = Medium).risk(Low), Medium),
        (low().untrusted(), Medium),
        (low().untrusted().risk(Medium), High),
        (low().untrusted().risk(High), High),
        (read().untrusted(), Low),
        // Known to be read-only, whatever its tool may do; without a sandbox only the base risk is lower.
        (looking_shell(), Low),
        (looking_shell().untrusted(), Medium),
        (looking_shell().untrusted().isolated(), Low),
        // A verdict above the risk does not hide it.
        (low().risk(High).rule(RuleEffect::Deny, On::Any), High),
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
    let text =
        |rest: &str| format!("[[rule]]\nid = \"mine\"\neffect = \"allow\"\ntool = \"write_file\"\n{rest}");
    let cases: Vec<(Request, Approval, &[&str])> = vec![
        (write(), Approval::yes(), &[]),
        (write(), Approval::Deny { reason: None }, &[]),
        (write(), Approval::Later, &[]),
        (write(), rule, &[]),
        (write(), session(None), &["write_file (except HIGH)"]),
        (high(), session(None), &[]),
        (shell("ls"), session(None), &["shell `ls` in /work/notes"]),
        (shell("git status"), session(None), &["shell `git status …` in /work/notes"]),
        (shell("rm old new"), session(None), &["shell `rm old new` in /work/notes"]),
        // A command whose words do not say what it does counts by its exact text.
        (shell("git log > x"), session(None), &["shell `git log > x` in /work/notes"]),
        (shell("python x"), session(None), &["shell `python x` in /work/notes"]),
        // A corrected call is granted as corrected.
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
        // A rule replaces the default grant.
        (write(), ruled(&text("args.path = \"a\"")), &["rule mine (allow write_file: path = \"a\")"]),
        (high(), ruled(&text("uses = 2")), &["rule mine (allow write_file; 2 times)"]),
        (write(), ruled("not TOML"), &[]),
        (write(), ruled(&text("expires = 2126-01-01")), &[]),
        (write(), ruled(&text("args.path = { inside = \"~/x\" }")), &[]),
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
fn a_typed_yes_lets_yolo_cover_unsandboxed_commands_and_nothing_else() {
    let all = |case: Case| case.with(|case| case.policy.auto_approve = AutoApprove::YoloUnsandboxed);
    let shell = || shell("make").with(|case| case.isolation = Isolation::NONE);
    assert_eq!(shell().yolo().decide().verdict, Verdict::Ask);
    assert_eq!(all(shell()).decide().verdict, Verdict::Allow);
    assert_eq!(all(shell().untrusted()).decide().verdict, Verdict::Ask);
    assert_eq!(all(shell().kept()).decide().verdict, Verdict::Ask);
    let repeated = shell().with(|case| case.repetition = Repetition::Times(3));
    assert_eq!(all(repeated).decide().verdict, Verdict::Ask);
    for (effect, expected) in [(RuleEffect::Deny, Verdict::Deny), (RuleEffect::Ask, Verdict::Ask)] {
        assert_eq!(all(shell().rule(effect, On::These)).decide().verdict, expected);
    }
}

#[test]
fn a_grant_covers_the_same_words_in_the_same_folder() {
    for (granted, asked, covered) in [
        ("git status", "git status", true),
        ("git status", "git status src", true),
        ("git status", "git push", false),
        ("git status", "git", false),
        ("git status", "git status > x", false),
        ("git status", "GIT_PAGER=x git status", false),
        ("ls", "ls", true),
        ("ls", "ls src", false),
        ("python x", "python x", true),
        ("python x", "python x y", false),
        ("git log > x", "git log > x", true),
        ("git log > x", "git log", false),
        ("git log --oneline", "git log -1 --output=x", false),
        ("git show HEAD", "git show HEAD --output=x", false),
        ("git fetch origin", "git fetch --upload-pack='touch x;false' ./.", false),
        ("git grep foo", "git grep -O'touch x;true' one", false),
        ("git branch new", "git branch -D main", false),
        ("git remote add o url", "git remote add x 'ext::sh -c ls'", false),
        ("git diff", "git diff --no-index /dev/null /home/me/.ssh/id_rsa", false),
        ("make test", "make test --eval='$(shell touch x)'", false),
        ("npm run build", "npm run build --script-shell=./x", false),
        ("go test", "go test -exec ./x", false),
        ("cargo test", "cargo test --config x", false),
        ("pip install name", "pip install ./evil", false),
        ("FOO=1 git status", "FOO=2 git status", false),
    ] {
        let mut grants = Grants::default();
        let request = request("shell", json!({ "command": granted }), Risk::Medium);
        grants.apply(&request, &session(None), Path::new(FOLDER));
        let args = json!({ "command": asked });
        let in_folder = |folder| grants.covering(&ToolName::new("shell"), &args, Path::new(folder)).is_some();
        assert_eq!(in_folder(FOLDER), covered, "{granted}: {asked}");
        assert!(!in_folder("/work"), "{granted}: {asked}");
        assert!(grants.covering(&ToolName::new("write_file"), &args, Path::new(FOLDER)).is_none());
    }
}

#[test]
fn rules_of_the_session_and_of_files_are_counted() {
    let text = "[[rule]]\nid = \"two\"\neffect = \"allow\"\ntool = \"write_file\"\nuses = 2\n";
    let mut in_session = write();
    in_session.grants.apply(&request("write_file", json!({}), Risk::Low), &ruled(text), Path::new(FOLDER));
    let mut in_file = write().with(|case| {
        Arc::make_mut(&mut case.policy.rules).rules =
            RuleSet::parse(text, &RuleSource::Session, None).unwrap();
    });
    for expected in [Verdict::Allow, Verdict::Allow, Verdict::Ask] {
        let decisions = [in_session.decide(), in_file.decide()];
        assert_eq!(decisions.each_ref().map(|one| one.verdict), [expected, expected]);
        in_session.grants.count(&decisions[0].by);
        in_file.policy.count(&decisions[1].by);
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
        (ruled("x"), r#"{"approval":"approve","remember":"session","rule":"x"}"#),
        (Approval::Deny { reason: None }, r#"{"approval":"deny"}"#),
        (Approval::Deny { reason: Some("no".to_owned()) }, r#"{"approval":"deny","reason":"no"}"#),
        (Approval::Later, r#"{"approval":"later"}"#),
    ];
    for (approval, json) in approvals {
        assert_eq!(serde_json::to_string(&approval).unwrap(), json);
        assert_eq!(serde_json::from_str::<Approval>(json).unwrap(), approval);
    }
}
