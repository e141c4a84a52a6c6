//! Migration of databases of earlier versions with requests in every state.

use std::path::Path;

use rusqlite::{Connection, params};

use super::{APPLICATION_ID, MIGRATIONS, database};
use crate::approval::{Approval, Decider, Request, RequestId};
use crate::history::{Record, SessionId};
use crate::message::{CallId, ToolName};
use crate::store::{DecideOutcome, RequestFilter, RequestState, Store, StoreOptions};
use crate::tool::{Access, CallPlan, Risk};

/// A request as stored, with a secret redacted after hashing.
fn request(id: &str) -> Request {
    let plan = CallPlan::new("write a".to_owned(), Risk::Medium, Access::Nothing);
    let args = serde_json::json!({ "path": "a", "text": "[redacted]" });
    let (call, tool) = (CallId(format!("c-{id}")), ToolName::new("write_file"));
    Request::new(RequestId(id.to_owned()), call, tool, args, plan)
}

/// The earlier states, the states after migration, and the outcome of deciding such a request.
const STATES: [(&str, RequestState, &str); 8] = [
    ("waiting", RequestState::Waiting, "recorded"),
    ("later", RequestState::Later, "recorded"),
    ("approved", RequestState::Approved, "already"),
    ("denied", RequestState::Denied, "already"),
    ("consumed", RequestState::Consumed, "already"),
    ("withdrawn", RequestState::Withdrawn, "not open"),
    ("replaced", RequestState::Superseded, "not open"),
    ("expired", RequestState::Expired, "not open"),
];

fn at_version(data: &Path, version: usize) {
    std::fs::create_dir_all(data).unwrap();
    let old = Connection::open(database(data)).unwrap();
    for migration in &MIGRATIONS[..version] {
        old.execute_batch(migration).unwrap();
    }
    old.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
    old.pragma_update(None, "user_version", i64::try_from(version).unwrap()).unwrap();
    old.execute("INSERT INTO sessions (id, workspace, created, updated) VALUES ('s', '/w', 1, 1)", [])
        .unwrap();
    let opened = serde_json::to_string(&Record::Opened { workspace: "/w".into() }).unwrap();
    old.execute("INSERT INTO records VALUES ('s', 1, 1, 'opened', ?1)", [opened]).unwrap();
    for (seq, (state, _, _)) in (1_i64..).zip(STATES) {
        let decision = match state {
            "approved" | "consumed" => Some(Approval::yes()),
            "denied" => Some(Approval::Deny { reason: None }),
            "later" => Some(Approval::Later),
            _ => None,
        };
        let by = decision.as_ref().map(|_| serde_json::to_string(&Decider::Tui).unwrap());
        let decision = decision.map(|decision| serde_json::to_string(&decision).unwrap());
        old.execute(
            "INSERT INTO approvals (id, session, call, turn, tool, args_hash, summary, risk, request, state,
                 detached, later_noted, decision, decided_by, created, decided_at, seq)
             VALUES (?1, 's', 'c-' || ?1, 1, 'write_file', 'of the secret', 'write a', 'medium', ?2, ?1, 0,
                 ?1 = 'later', ?3, ?4, ?5, NULL, ?5)",
            params![state, serde_json::to_string(&request(state)).unwrap(), decision, by, seq],
        )
        .unwrap();
    }
    old.execute("UPDATE store_seq SET seq = ?1", [i64::try_from(STATES.len()).unwrap()]).unwrap();
}

#[tokio::test]
async fn requests_in_every_state_come_along() {
    // The third format renamed one of the states.
    for version in 1..3 {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        at_version(&data, version);
        let store = Store::open(StoreOptions::new(&data, dir.path().join("run"))).await.unwrap();
        let rows = store.requests(RequestFilter::All, 100).await.unwrap();
        assert_eq!(rows.len(), STATES.len());
        for (row, (before, now, _)) in rows.iter().rev().zip(STATES) {
            assert_eq!((row.id().0.as_str(), row.state), (before, now));
            assert_eq!(row.request, request(before));
        }
        assert_eq!(store.undecided_rows(10).await.unwrap().len(), 2);
        assert_eq!(store.audit_rows(Default::default(), 10).await.unwrap(), [], "nothing is made up");
        // Earlier decisions are consumed: their hash is that of the stored text. Earlier expiries are
        // recorded.
        let yes = |id: &str, approval| Record::Decided {
            request: RequestId(id.to_owned()),
            call: CallId(format!("c-{id}")),
            approval,
            by: Decider::Tui,
        };
        let expired = Record::Expired {
            request: RequestId("expired".to_owned()),
            call: CallId("c-expired".to_owned()),
        };
        let taken = store.consume(&SessionId("s".to_owned()), 1).await.unwrap();
        assert_eq!(
            taken,
            [yes("approved", Approval::yes()), yes("denied", Approval::Deny { reason: None }), expired]
        );
        for (id, _, expected) in STATES {
            let outcome = store
                .decide(&RequestId(id.to_owned()), Approval::Deny { reason: None }, Decider::Cli)
                .await
                .unwrap();
            let word = match outcome {
                DecideOutcome::Recorded => "recorded",
                DecideOutcome::AlreadyDecided { .. } => "already",
                DecideOutcome::NotOpen { .. } => "not open",
                DecideOutcome::Unknown => "unknown",
            };
            assert_eq!(word, expected, "{id}");
        }
        assert_eq!(store.verify_audit(None).await.unwrap().finding, None);
    }
}
