//! Rules of a session are folded from its records, with what is left of those that may answer so many calls only.

use co::history::{History, Record};
use serde_json::{Value, json};

const RULE: &str = "[[rule]]\nid = \"two\"\neffect = \"allow\"\ntool = \"t\"\nuses = 2\n";

fn records(judged_by: &[&str]) -> Vec<Record> {
    let call = json!({"id": "s/1.1.0", "wire_id": "w", "name": "t", "args": {}});
    let plan = json!({
        "summary": "use t", "preview": {"kind": "none"}, "risk": "medium", "access": {"kind": "nothing"}, "basis": [],
        "undo": "none",
    });
    let request = json!({
        "id": "0123456789ab", "call": "s/1.1.0", "tool": "t", "args": {}, "plan": plan, "risk": "medium", "why": [],
    });
    let said = json!({
        "role": "assistant", "model": "m", "stop": {"kind": "tool_use"},
        "parts": [{"kind": {"part": "tool_call", "id": "s/1.1.0", "wire_id": "w", "name": "t", "args": {}}}],
    });
    let approval = json!({"approval": "approve", "remember": "session", "rule": RULE});
    let mut records = vec![
        json!({"record": "opened", "workspace": "/w"}),
        json!({"record": "turn_started", "turn": 1, "limits": {"requests": null, "tokens": null}}),
        json!({"record": "said", "message": said}),
        json!({"record": "asked", "call": call, "request": request}),
        json!({
            "record": "decided", "request": "0123456789ab", "call": "s/1.1.0", "approval": approval,
            "by": {"by": "tui"},
        }),
    ];
    records.extend(judged_by.iter().map(|id| {
        json!({
            "record": "judged", "call": "s/1.1.1",
            "judgement": {
                "tool": "t", "args": {}, "verdict": "allow", "risk": "medium", "because": [],
                "by": {"by": "rule", "id": id},
            },
        })
    }));
    records.iter().map(read).collect()
}

fn read(value: &Value) -> Record {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"))
}

#[test]
fn a_session_counts_how_often_its_rules_answered() {
    for (judged_by, left) in [
        (&[][..], &["rule two (allow t; 2 times)"][..]),
        (&["two"], &["rule two (allow t; once)"]),
        (&["two", "other"], &["rule two (allow t; once)"]),
        (&["two", "two"], &[]),
        (&["two", "two", "two"], &[]),
    ] {
        let history = History::of(&records(judged_by));
        let grants: Vec<String> = history.grants().iter().map(ToString::to_string).collect();
        assert_eq!(grants, left, "{judged_by:?}");
    }
}
