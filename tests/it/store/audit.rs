//! Entries of the audit, their writers, and queries over them.

use std::sync::Arc;
use std::time::Duration;

use co::approval::{Approval, Decider, Judgement, RequestId, Verdict};
use co::config::Mode;
use co::history::{Durability, Record};
use co::message::{CallId, ReturnStatus, ToolName};
use co::session::Session;
use co::stdx::clock::ManualClock;
use co::store::{AuditFilter, AuditKind, AuditNote, AuditRow, PastCall, PastOutcome, Store};
use co::tool::Risk;
use futures::FutureExt as _;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::store::common::{World, asked, asked_until, deny, finished, started, turn_with};

fn id(id: &str) -> RequestId {
    RequestId(id.to_owned())
}

fn judged(call: &str, verdict: Verdict, by: Decider) -> Record {
    let judgement = Judgement {
        tool: ToolName::new("read_file"),
        args: json!({ "path": call }),
        before: None,
        verdict,
        risk: Risk::Low,
        because: vec!["it only reads".to_owned()],
        by,
        taint: Vec::new(),
    };
    Record::Judged { call: CallId(call.to_owned()), judgement: Box::new(judgement) }
}

fn rule(id: &str) -> Decider {
    Decider::Rule { id: id.to_owned() }
}

/// A session with three calls, and another process.
async fn scene() -> (World, Store, Store, Session) {
    let world = World::new();
    let (here, there) = (world.store().await, world.store().await);
    let mut session = Session::create(&here, std::path::Path::new("/w")).await.unwrap();
    session.commit(&turn_with("please", &["a", "b", "c"]), Durability::Written).await.unwrap();
    (world, here, there, session)
}

/// `kind tool by what`, what being the field that says most.
fn in_short(row: &AuditRow) -> String {
    let by = row.decider.as_ref().map_or(Value::Null, |by| serde_json::to_value(by).unwrap());
    let by = by["by"].as_str().unwrap_or("-");
    let fields = ["answer", "verdict", "status", "because", "instead", "text", "rule", "folder", "name"];
    let what = fields
        .iter()
        .find_map(|name| row.details.get(name))
        .map_or(String::new(), |value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    let tool = row.tool.as_ref().map_or("-", |tool| tool.as_str());
    format!("{} {tool} {by} {what}", row.kind.word()).trim_end().to_owned()
}

async fn rows(store: &Store) -> Vec<AuditRow> {
    store.audit_rows(AuditFilter::default(), 1_000).await.unwrap()
}

/// One step that may leave rows.
enum Step {
    Commit(Record),
    Decide(Approval),
    Consume,
    Note(AuditNote),
}

use Step::{Commit, Consume, Decide, Note};

#[tokio::test]
async fn each_step_leaves_its_rows() {
    use ReturnStatus::{Denied, Failed, Interrupted, Ok};
    let ask = || Commit(asked("a", "1"));
    let finish = |status| Commit(finished("a", status));
    let note = |text: &str| text.to_owned();
    let yes = |answer: Approval| vec![ask(), Decide(answer), Consume];
    let to = |tool: &str, args: Value| Approval::to(ToolName::new(tool), args);
    let cases: Vec<(Vec<Step>, Vec<&str>)> = vec![
        (vec![ask()], vec!["asked write_file -"]),
        (yes(Approval::yes()), vec!["asked write_file -", "decided write_file cli approved"]),
        (yes(to("write_file", json!({}))), vec!["asked write_file -", "decided write_file cli edited"]),
        (yes(to("shell", json!(null))), vec!["asked write_file -", "decided shell cli replaced"]),
        (yes(deny("mine")), vec!["asked write_file -", "decided write_file cli denied"]),
        (
            vec![ask(), Decide(Approval::Later), Decide(Approval::Later), Consume, Decide(Approval::yes())],
            vec!["asked write_file -", "decided write_file cli later", "decided write_file cli approved"],
        ),
        (
            vec![ask(), Decide(to("shell", json!({}))), Consume, Commit(started("a")), finish(Ok)],
            vec![
                "asked write_file -",
                "decided shell cli replaced",
                "started shell -",
                "finished shell - ok",
            ],
        ),
        (
            vec![Commit(judged("a", Verdict::Allow, Decider::Risk)), finish(Failed)],
            vec!["judged read_file risk allow", "finished read_file - failed"],
        ),
        (
            vec![Commit(judged("a", Verdict::Deny, Decider::Mode { mode: Mode::Plan })), finish(Denied)],
            vec!["judged read_file mode deny", "finished read_file - denied"],
        ),
        (
            vec![ask(), finish(Interrupted)],
            vec![
                "asked write_file -",
                "withdrawn write_file - interrupted",
                "finished write_file - interrupted",
            ],
        ),
        (
            vec![ask(), Commit(asked("a", "2"))],
            vec!["asked write_file -", "superseded write_file - 2", "asked write_file -"],
        ),
        (
            vec![ask(), Commit(Record::Expired { request: id("1"), call: CallId("a".to_owned()) })],
            vec!["asked write_file -", "expired write_file expiry"],
        ),
        (vec![finish(Failed)], vec!["finished write_file - failed"]),
        (
            vec![
                Note(AuditNote::RuleSaved { rule: note("git-reads"), text: note("[[rule]]") }),
                Note(AuditNote::RuleRevoked { rule: note("git-reads") }),
                Note(AuditNote::FolderTrusted { folder: "/w".into() }),
                Note(AuditNote::HookTrusted { name: note("lint"), hash: note("9f") }),
                Note(AuditNote::FolderUntrusted { folder: "/w".into() }),
                Note(AuditNote::HookUntrusted { name: note("lint") }),
                Note(AuditNote::Stance { text: note("mode auto") }),
            ],
            vec![
                "rule_saved - - [[rule]]",
                "rule_revoked - - git-reads",
                "folder_trusted - - /w",
                "hook_trusted - - lint",
                "folder_untrusted - - /w",
                "hook_untrusted - - lint",
                "stance - - mode auto",
            ],
        ),
    ];
    for (number, (steps, expected)) in cases.into_iter().enumerate() {
        let (_world, _here, there, mut session) = scene().await;
        for step in steps {
            match step {
                Commit(record) => session.commit(&[record], Durability::Written).await.unwrap(),
                Decide(approval) => {
                    drop(there.decide(&id("1"), approval, Decider::Cli).await.unwrap());
                }
                Consume => drop(session.consume_decisions().await.unwrap()),
                Note(note) => there.note(note).await.unwrap(),
            }
        }
        let found = rows(&there).await;
        assert_eq!(found.iter().map(in_short).collect::<Vec<_>>(), expected, "case {number}");
        let numbers: Vec<u64> = found.iter().map(|row| row.no).collect();
        assert_eq!(numbers, (1..=found.len() as u64).collect::<Vec<_>>(), "case {number}");
        // Kept at a sync or at an exit; neither need have been.
        drop(there.audit_head().await.unwrap());
        let check = there.verify_audit(None).await.unwrap();
        assert_eq!((check.rows, check.finding), (found.len() as u64, None), "case {number}");
    }
}

/// A record that is refused leaves no row, and neither does a decision that came too late.
#[tokio::test]
async fn what_did_not_happen_leaves_nothing() {
    let (_world, _here, there, mut session) = scene().await;
    let refused = [
        judged("a", Verdict::Allow, rule("r")),
        finished("a", ReturnStatus::Ok),
        asked("b", "1"),
        asked("c", "1"),
    ];
    session.commit(&refused, Durability::Written).await.unwrap_err();
    assert_eq!(rows(&there).await, []);
    assert!(there.rule_uses().await.unwrap().is_empty());
    let id = session.id().clone();
    drop(session);
    let mut session = Session::open(&there, &id).await.unwrap();
    session.commit(&[asked("a", "1")], Durability::Written).await.unwrap();
    there.decide(&RequestId("1".to_owned()), Approval::yes(), Decider::Cli).await.unwrap();
    let before = rows(&there).await;
    there.decide(&RequestId("1".to_owned()), deny("late"), Decider::Tui).await.unwrap();
    there.decide(&RequestId("none".to_owned()), deny("late"), Decider::Tui).await.unwrap();
    assert_eq!(rows(&there).await, before);
}

/// One query returns who decided a call, with what arguments before and after, and its outcome.
#[tokio::test]
async fn one_query_tells_everything_about_a_call() {
    let (_world, _here, there, mut session) = scene().await;
    session.commit(&[asked("a", "1"), asked("b", "2")], Durability::Written).await.unwrap();
    let edited = Approval::Approve {
        instead: Some((ToolName::new("write_file"), json!({}))),
        remember: co::approval::Remember::Once,
        note: Some("an hour later".to_owned()),
        rule: None,
    };
    there.decide(&id("1"), edited, Decider::Tui).await.unwrap();
    there.decide(&id("2"), deny("no"), Decider::Cli).await.unwrap();
    session.consume_decisions().await.unwrap();
    session.commit(&[started("a")], Durability::Synced).await.unwrap();
    session.commit(&[finished("a", ReturnStatus::Ok)], Durability::Written).await.unwrap();
    for about in ["a", "1"] {
        let filter = AuditFilter { about: Some(about.to_owned()), ..AuditFilter::default() };
        let found = there.audit_rows(filter, 100).await.unwrap();
        let told: Vec<_> = found.iter().map(|row| (row.kind, &row.details)).collect();
        let asked = json!({
            "args": { "path": "a" }, "args_hash": found[0].details["args_hash"], "summary": "write a", "risk": "medium",
            "why": ["write_file changes something"], "undo": "none",
        });
        let decided = json!({
            "risk": "medium", "args": {}, "answer": "edited", "remember": "once", "note": "an hour later",
            "before": { "tool": "write_file", "args": { "path": "a" } },
        });
        let source = json!({ "from": "program" });
        let hash = co::stdx::fs::fingerprint(br#"[{"part":"text","text":"out"}]"#);
        let finished = json!({ "status": "ok", "result": hash, "source": source, "trust": "trusted" });
        let mut expected = vec![(AuditKind::Asked, &asked), (AuditKind::Decided, &decided)];
        let started = json!({});
        if about == "a" {
            expected.extend([(AuditKind::Started, &started), (AuditKind::Finished, &finished)]);
        }
        assert_eq!(told, expected, "{about}");
        assert_eq!(found[1].decider, Some(Decider::Tui));
    }
}

#[tokio::test]
async fn rows_are_found_by_tool_session_time_and_kind() {
    let world = World::new();
    let clock = Arc::new(ManualClock::at("2026-03-01T12:00:00Z".parse().unwrap()));
    let store = world.store_at(&clock).await;
    let mut sessions = Vec::new();
    for name in ["x", "y"] {
        let mut session = Session::create(&store, std::path::Path::new("/w")).await.unwrap();
        session.commit(&turn_with(name, &[name]), Durability::Written).await.unwrap();
        session
            .commit(&[asked(name, name), judged(name, Verdict::Allow, Decider::Risk)], Durability::Written)
            .await
            .unwrap();
        sessions.push(session.id().clone());
        clock.advance(Duration::from_secs(3_600));
    }
    let all = AuditFilter::default;
    let tool = |tool: &str| AuditFilter { tool: Some(tool.to_owned()), ..all() };
    let since = |text: &str| AuditFilter { since: Some(text.parse::<Timestamp>().unwrap()), ..all() };
    for (filter, limit, expected) in [
        (all(), 9, vec![1, 2, 3, 4]),
        (all(), 3, vec![2, 3, 4]),
        (tool("write_file"), 9, vec![1, 3]),
        (tool("*_file"), 9, vec![1, 2, 3, 4]),
        (tool("*_file"), 1, vec![4]),
        (tool("shell"), 9, vec![]),
        (tool("'"), 9, vec![]),
        (AuditFilter { session: Some(sessions[1].clone()), ..all() }, 9, vec![3, 4]),
        (AuditFilter { session: Some(sessions[1].clone()), ..tool("read_file") }, 9, vec![4]),
        (since("2026-03-01T12:00:00Z"), 9, vec![1, 2, 3, 4]),
        (since("2026-03-01T12:00:00.001Z"), 9, vec![3, 4]),
        (AuditFilter { kind: Some(AuditKind::Judged), ..all() }, 9, vec![2, 4]),
        (AuditFilter { about: Some("y".to_owned()), ..all() }, 9, vec![3, 4]),
    ] {
        let found = store.audit_rows(filter.clone(), limit).await.unwrap();
        assert_eq!(found.iter().map(|row| row.no).collect::<Vec<_>>(), expected, "{filter:?}");
    }
}

#[tokio::test]
async fn secrets_are_taken_out() {
    let (world, here, there, mut session) = scene().await;
    let secret = "sk-12345678";
    here.conceal(secret);
    there.conceal(secret);
    let args = json!({ "text": secret });
    let Record::Asked { call, mut request } = asked("a", "1") else { panic!("it asks") };
    request.args = args.clone();
    let mut judged = judged("b", Verdict::Deny, rule(secret));
    if let Record::Judged { judgement, .. } = &mut judged {
        judgement.args = args.clone();
        judgement.because = vec![secret.to_owned()];
    }
    session.commit(&[Record::Asked { call, request }, judged], Durability::Written).await.unwrap();
    there.decide(&id("1"), Approval::to(ToolName::new("shell"), args), Decider::Cli).await.unwrap();
    there.note(AuditNote::Stance { text: secret.to_owned() }).await.unwrap();
    let found = rows(&there).await;
    assert_eq!(found.len(), 4);
    assert!(found.iter().all(|row| row.details.to_string().contains(co::store::MARK)), "{found:?}");
    drop((here, there, session));
    let raw = rusqlite::Connection::open(world.path("data/co.db")).unwrap();
    let all: String = raw
        .query_row(
            "SELECT group_concat(details || coalesce(decider, '')) || (SELECT group_concat(rule) FROM rule_uses)
             FROM audit",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert!(!all.contains(secret), "{all}");
}

#[tokio::test]
async fn calls_of_the_past_are_told_as_they_ended() {
    let world = World::new();
    let clock = Arc::new(ManualClock::at("2026-03-01T12:00:00Z".parse().unwrap()));
    let store = world.store_at(&clock).await;
    let mut session = Session::create(&store, std::path::Path::new("/w")).await.unwrap();
    let calls =
        ["yes", "no", "edit", "hook", "grant", "late", "open", "later", "gone", "look", "never", "show"];
    session.commit(&turn_with("go", &calls), Durability::Written).await.unwrap();
    let over = "2026-03-01T12:30:00Z".parse().unwrap();
    let ask = |call: &str| if call == "late" { asked_until(call, call, over) } else { asked(call, call) };
    let asking: Vec<Record> = calls[..9].iter().map(|call| ask(call)).collect();
    session.commit(&asking, Durability::Written).await.unwrap();
    let edited = Approval::to(ToolName::new("shell"), json!({ "command": "ls" }));
    for (call, approval, by) in [
        ("yes", Approval::yes(), Decider::Tui),
        ("no", deny("no"), Decider::Cli),
        ("edit", edited, Decider::Script),
        ("hook", deny("no"), Decider::Hook),
        ("grant", Approval::yes(), Decider::Grant),
        ("later", Approval::Later, Decider::Tui),
    ] {
        store.decide(&id(call), approval, by).await.unwrap();
    }
    clock.set(over);
    store.expire_due().await.unwrap();
    let settled = [
        finished("gone", ReturnStatus::Interrupted),
        judged("look", Verdict::Allow, rule("reads")),
        judged("never", Verdict::Deny, rule("reads")),
        judged("show", Verdict::Preview, Decider::Mode { mode: Mode::DryRun }),
    ];
    session.commit(&settled, Durability::Written).await.unwrap();
    let path = |call: &str| json!({ "path": call });
    let expected = [
        ("read_file", path("never"), PastOutcome::Refused),
        ("read_file", path("look"), PastOutcome::Allowed),
        ("write_file", path("gone"), PastOutcome::Undecided),
        ("write_file", path("late"), PastOutcome::Undecided),
        ("write_file", path("grant"), PastOutcome::Allowed),
        ("write_file", path("hook"), PastOutcome::Refused),
        ("shell", json!({ "command": "ls" }), PastOutcome::Approved),
        ("write_file", path("no"), PastOutcome::Denied),
        ("write_file", path("yes"), PastOutcome::Approved),
    ];
    let told = |calls: Vec<PastCall>| -> Vec<(String, Value, PastOutcome)> {
        calls.into_iter().map(|call| (call.tool.to_string(), call.args, call.outcome)).collect()
    };
    let found = store.past_calls(100).await.unwrap();
    assert!(found.iter().all(|call| call.workspace == std::path::Path::new("/w")));
    assert_eq!((found[0].at, found[8].at), (over, "2026-03-01T12:00:00Z".parse().unwrap()));
    let expected: Vec<_> =
        expected.into_iter().map(|(tool, args, outcome)| (tool.to_owned(), args, outcome)).collect();
    assert_eq!(told(found), expected);
    assert_eq!(told(store.past_calls(2).await.unwrap()), expected[..2]);
    let uses = store.rule_uses().await.unwrap();
    assert_eq!(uses.into_iter().collect::<Vec<_>>(), [("reads".to_owned(), 2)]);
}

#[tokio::test]
async fn a_note_wakes_everybody() {
    let (_world, here, there, _session) = scene().await;
    let mut listener = here.change_listener();
    assert!(listener.changed().now_or_never().is_none());
    there.note(AuditNote::RuleRevoked { rule: "git-reads".to_owned() }).await.unwrap();
    tokio::time::timeout(Duration::from_secs(10), listener.changed()).await.expect("rules may have changed");
}

/// Two processes write at once: one chain, and a head that is its end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_writes_one_chain() {
    let world = World::new();
    let mut writers = Vec::new();
    for number in 0..4 {
        let store = world.store().await;
        writers.push(tokio::spawn(async move {
            for note in 0..25 {
                store.note(AuditNote::Stance { text: format!("{number} {note}") }).await.unwrap();
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let store = world.store().await;
    let head = store.audit_head().await.unwrap().unwrap();
    let check = store.verify_audit(Some(head.hash.clone())).await.unwrap();
    assert_eq!((check.rows, check.head.as_ref(), check.finding), (100, Some(&head), None));
    let kept = std::fs::read_to_string(world.path("data/audit.head")).unwrap();
    assert_eq!(kept, format!("100 {}\n", head.hash));
}
