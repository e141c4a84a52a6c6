//! Questions to the user and the list of steps.

use super::*;
use crate::tool::Question;

#[tokio::test]
async fn a_question_is_answered_by_its_argument() {
    let mut bench = Bench::new(&[]);
    let asked = json!({"question": "Which one?", "options": ["red", "green"]});
    let plan = bench.plan("ask_user", &asked).await.unwrap();
    let question = plan.question.unwrap();
    assert_eq!((plan.summary.as_str(), plan.access), ("asks: Which one? (red / green)", Access::Nothing));
    for (typed, answer) in [
        ("2", Some("green")),
        (" 1 ", Some("red")),
        ("3", Some("3")),
        ("1, 2", Some("1, 2")),
        ("blue, rather", Some("blue, rather")),
        ("", None),
        (" ", None),
    ] {
        let args = question.answering(&asked, typed);
        assert_eq!(args.as_ref().map(|args| args["answer"].as_str().unwrap()), answer, "{typed:?}");
        assert_eq!(args.as_ref().is_some_and(Question::is_answered), answer.is_some());
    }
    let many = Question { many: true, ..question.clone() };
    assert_eq!(many.answering(&asked, "2,1").unwrap()["answer"], "red; green");
    let args = question.answering(&asked, "2").unwrap();
    bench
        .check(&[
            ("ask_user", args, "=The user answered: green\n"),
            ("ask_user", asked, "=The user gave no answer.\n"),
            ("ask_user", json!({"question": " "}), "MISUSE `question` is empty"),
            ("ask_user", json!({"question": "a", "many": true}), "MISUSE `many` needs `options`"),
            (
                "ask_user",
                json!({"question": "a", "options": vec!["x"; 10]}),
                "MISUSE `options` are at most 9",
            ),
        ])
        .await;
}

#[tokio::test]
async fn steps_are_kept_whole_with_one_in_progress() {
    let mut bench = Bench::new(&[]);
    let item = |text: &str, status: &str| json!({"text": text, "status": status});
    let items =
        json!({"items": [item("read", "done"), item("write", "in_progress"), item("test", "pending")]});
    let plan = bench.plan("todo", &items).await.unwrap();
    assert_eq!((plan.summary.as_str(), plan.risk), ("steps, 1 of 3 done: write", Risk::Low));
    let output = bench.run("todo", &items).await.unwrap();
    assert_eq!(text(&output), "[x] read\n[>] write\n[ ] test\n");
    assert_eq!(output.state.as_ref(), Some(&items["items"]));
    let outcome = bench.tool("todo").outcome(ReturnStatus::Ok, &text(&output));
    assert_eq!(outcome, "1 of 3 done");
    bench
        .check(&[
            (
                "todo",
                json!({"items": [item("a", "in_progress"), item("b", "in_progress")]}),
                "MISUSE 2 items are in_progress",
            ),
            (
                "todo",
                json!({"items": [item("a", "later")]}),
                "items, item 1, status must be one of pending, ",
            ),
            ("todo", json!({"items": [item(" ", "done")]}), "MISUSE an item has an empty `text`"),
            ("todo", json!({"items": []}), "=The list is empty.\n"),
            ("todo", json!({}), "=The list is empty.\n"),
        ])
        .await;
}
