//! The audit from the command line: who decided a call in which process, its outcome, and the findings after
//! manipulation.

use rusqlite::Connection;

use crate::co::{Co, Service, Wire};

const WRITES: &str = "reply\n  call list_dir {}\n  call write_file {\"path\":\"a.txt\",\"content\":\"one\\n\"} | id=w1\nreply\n  text Done.";

/// A workspace in which a write was approved in another process and has run; its request.
fn approved() -> (Co, Service, String) {
    let service = Service::new(WRITES);
    let co = Co::new().with(&service, Wire::Anthropic).env("TZ", "UTC0");
    co.run(&["audit"]).check(0, "The audit is still empty.\n", "");
    co.run(&["audit", "verify"]).check(0, "The audit is empty.\n", "");
    assert_eq!(co.run(&["-p", "write a.txt"]).code, Some(4));
    let request = co.waiting().remove(0);
    assert_eq!(co.run(&["approvals", "yes", &request]).code, Some(0));
    assert_eq!(co.run(&["resume"]).code, Some(0));
    (co, service, request)
}

#[test]
fn the_head_is_printed_at_the_end_of_a_conversation_only_if_that_is_set() {
    let service = Service::new("reply\n  call list_dir {}\nreply\n  text One.\nreply\n  text Two.");
    let co = Co::new().with(&service, Wire::Chat);
    let without = co.piped("hi\n", &["--plain"]);
    assert!(without.out.contains("session \"hi\" saved") && !without.out.contains("audit"), "{without:?}");
    let with = co.env("CO_AUDIT_HEAD", "true").piped("hi\n", &["--plain"]);
    assert!(with.out.contains("\n    audit: ") && with.out.contains(" rows, head [REQUEST]\n"), "{with:?}");
}

/// Its times taken out, and runs of spaces made one.
fn words(text: &str) -> Vec<String> {
    let is_time = |word: &&str| word.len() < 8 || !word.bytes().all(|byte| b"0123456789:-".contains(&byte));
    text.lines().map(|line| line.split_whitespace().filter(is_time).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn the_audit_tells_who_decided_what_and_what_came_of_it() {
    let (co, _service, request) = approved();
    let rows = co.run(&["audit", "--tool", "write_*", "--json"]).json();
    let rows = rows.as_array().unwrap();
    let told: Vec<String> =
        rows.iter().map(|row| format!("{} {}", row["kind"].as_str().unwrap(), row["by"]["by"])).collect();
    assert_eq!(told, ["asked null", "decided \"cli\"", "started null", "finished null"]);
    let list = co.run(&["audit", "--tool", "write_file", "--since", "1d"]);
    let list = words(&list.out);
    let firsts = |line: &str, count: usize| line.split(' ').take(count).collect::<Vec<_>>().join(" ");
    assert_eq!(list[0], "NO WHEN TOOL WHAT WHO REQUEST SESSION");
    assert_eq!(list.len(), 5);
    let number = |at: usize| rows[at]["no"].as_u64().unwrap();
    assert_eq!(firsts(&list[1], 4), format!("{} write_file asked (medium)", number(0)));
    assert_eq!(
        list[2],
        format!("{} write_file approved you (co approvals) [REQUEST] write a.txt", number(1))
    );
    assert_eq!(firsts(&list[4], 4), format!("{} write_file ended: done", number(3)));
    let row = number(3).to_string();
    for id in [request.as_str(), request.split_at(6).0, &row] {
        let shown = co.run(&["audit", "show", id]);
        let lines = words(&shown.out);
        for expected in [
            format!("{} write_file approved, you (co approvals)", number(1)),
            "args {\"path\":\"a.txt\",\"content\":\"one\\n\"}".to_owned(),
            format!("{} write_file ended: done", number(3)),
        ] {
            assert!(lines.contains(&expected), "{expected}: {lines:#?}");
        }
    }
    co.run(&["audit", "--tool", "shell"]).check(0, "No matching audit rows.\n", "");
}

#[test]
fn verify_says_what_is_wrong_and_prune_leaves_it_whole() {
    let (co, _service, _) = approved();
    let check = co.run(&["audit", "verify", "--json"]).json();
    let (rows, head) = (check["rows"].as_u64().unwrap(), check["head"]["hash"].as_str().unwrap().to_owned());
    let whole = format!("The audit is intact: {rows} rows, head [REQUEST].\n");
    for seen in [&[][..], &[head.split_at(8).0], &[&head]] {
        co.run(&[&["audit", "verify"], seen].concat()).check(0, &whole, "");
    }
    co.run(&["audit", "prune", "--before", "90d"]).check(
        0,
        "The audit has no rows before that; nothing was removed.\n",
        "",
    );
    co.run(&["audit", "prune", "--before", "2999-01-01"]).check(
        0,
        &format!(
            "Rows 1 to {} were removed; a row records it, and the rest can still be verified.\n",
            rows - 1
        ),
        "",
    );
    let whole = format!("The audit is intact: 2 rows, after {} pruned rows, head [REQUEST].\n", rows - 1);
    co.run(&["audit", "verify"]).check(0, &whole, "");
    let raw = Connection::open(co.data().join("co.db")).unwrap();
    raw.execute_batch(
        "DROP TRIGGER audit_never_changes; UPDATE audit SET details = '{}' WHERE kind = 'finished'",
    )
    .unwrap();
    co.run(&["audit", "verify"]).check(
        1,
        "",
        &format!(
            "co: error: audit verification failed: row {rows} was changed: its content does not match its hash\n    0 rows before that are intact\n    back up the data folder before you continue\n"
        ),
    );
}

#[test]
fn what_cannot_be_told_is_said() {
    let (co, _service, _) = approved();
    let head = "a head is at least 8 hexadecimal digits, as `co audit verify` prints them";
    let days = "write it as 2026-01-31, or as 7d for the last seven days, today included";
    for (args, code, error, hint) in [
        (
            &["audit", "show", "nothing"][..],
            1,
            "the audit has no row for `nothing`",
            "`co audit` lists the rows",
        ),
        (&["audit", "verify", "9f31"], 2, "`9f31` is not an audit head", head),
        (&["audit", "verify", "xxxxxxxxxx"], 2, "`xxxxxxxxxx` is not an audit head", head),
        (&["audit", "--since", "soon"], 2, "`--since soon` is neither a date nor a number of days", days),
        (
            &["audit", "prune", "--before", "soon"],
            2,
            "`--before soon` is neither a date nor a number of days",
            days,
        ),
    ] {
        co.run(args).check(code, "", &format!("co: error: {error}\n    {hint}\n"));
    }
    assert_eq!(co.run(&["audit", "prune"]).code, Some(2));
    assert_eq!(co.run(&["audit", "verify", "00000000"]).code, Some(1), "nobody saw that head");
}

/// A call whose arguments were wrong was never decided: the audit names its tool and arguments all the same.
#[test]
fn a_call_that_failed_in_planning_is_named() {
    let service = Service::new("reply\n  call write_file {\"file\":\"a.txt\"} | id=w1\nreply\n  text I see.");
    let co = Co::new().with(&service, Wire::Anthropic);
    assert_eq!(co.run(&["-p", "write a.txt"]).code, Some(0));
    let rows = co.run(&["audit", "--tool", "write_file", "--json"]).json();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 1, "{rows:#?}");
    assert_eq!(rows[0]["kind"], "finished");
    assert_eq!(rows[0]["details"]["args"], serde_json::json!({ "file": "a.txt" }), "{rows:#?}");
}
