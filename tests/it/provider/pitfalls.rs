//! Bugs others paid for, each mapped to what keeps it out of here.
//!
//! The numbers are those of the list of pitfalls that the product was planned with: 1–22, 28–39, 42–49.
//! A row names a turn script, a test, or the capability that will bring the thing in question.

use std::path::Path;

enum Safeguard {
    /// `evals/turns/<name>.turn`.
    Turn(&'static str),
    /// A file and the name of a test in it.
    Test(&'static str, &'static str),
    /// Not here yet: the capability that brings it.
    Later(&'static str),
}

use Safeguard::{Later, Test, Turn};

const PITFALLS: &[(u32, &str, &[Safeguard])] = &[
    (
        1,
        "an interrupt keeps prompt, partial text and finished results",
        &[Turn("interrupt_in_mid_stream"), Turn("interrupt_while_a_tool_runs")],
    ),
    (
        2,
        "every unanswered call anywhere gets a return, idempotently",
        &[
            Turn("interrupt_while_a_tool_runs"),
            Test("src/engine/history/tests.rs", "repair_makes_sound_and_is_idempotent"),
        ],
    ),
    (3, "an abort marker follows an interrupt", &[Turn("interrupt_in_mid_stream")]),
    (
        4,
        "interrupt at a card: nothing runs, the next prompt works",
        &[Turn("interrupt_with_only_cards_defers")],
    ),
    (
        5,
        "cancel kills the whole process group",
        &[Test("src/engine/sandbox/subprocess/tests.rs", "nothing_of_a_command_outlives_its_end")],
    ),
    (6, "cancel with a tool server alive", &[Later("MCP")]),
    (7, "waits are interruptible", &[Turn("interrupt_in_backoff"), Turn("rate_limit_waits_and_retries")]),
    (
        8,
        "the second Ctrl+C counts for two seconds",
        &[Test("tests/it/tui/update.rs", "the_interrupt_contract")],
    ),
    (9, "a cancelled task and a signal end the same way", &[Turn("close_defers_what_waits")]),
    (
        10,
        "approve runs once, deny runs nothing",
        &[Turn("approve_runs_once"), Turn("deny_with_reason_goes_on")],
    ),
    (11, "approvals chain", &[Turn("approvals_chain")]),
    (12, "arguments of every shape", &[Turn("arguments_of_every_shape")]),
    (13, "mixed answers, in call order", &[Turn("mixed_answers_in_call_order")]),
    (14, "limits span approvals", &[Turn("budget_spans_deferral")]),
    (
        15,
        "tools are all there after an approval",
        &[Turn("deferred_approved_elsewhere_resumes"), Later("MCP, for its tools")],
    ),
    (
        16,
        "what is shown is what runs",
        &[
            Test("src/base/stdx/text/tests.rs", "nothing_dangerous_survives"),
            Test("tests/it/tui/update.rs", "no_reflex_approves_and_no_text_escapes"),
        ],
    ),
    (17, "a background start obeys the same policy", &[Later("background commands")]),
    (18, "the model cannot reach `!`", &[Test("src/command/tests.rs", "every_line_is_one_thing")]),
    (
        19,
        "yolo never beats deny, is visible",
        &[
            Turn("deny_rule_beats_yolo"),
            Turn("yolo_never_covers_shell"),
            Test("src/engine/approval/tests.rs", "a_deny_rule_wins_whatever_else"),
        ],
    ),
    (20, "headless never approves", &[Turn("headless_defers")]),
    (21, "identical calls of one reply", &[Turn("duplicate_calls_both_run")]),
    (22, "the first token is not lost", &[Turn("unicode_survives")]),
    (28, "what was typed is shown", &[Test("tests/it/tui/update.rs", "lines_are_sent_and_queued")]),
    (29, "a retry does not print text twice", &[Turn("retry_after_text_resets")]),
    (30, "the last piece is always committed", &[Turn("unicode_survives")]),
    (
        31,
        "lone surrogates and invalid UTF-8",
        &[Turn("unicode_survives"), Test("tests/it/provider/wire_fixtures.rs", "any_bytes_end_well")],
    ),
    (32, "a 400 keeps the prompt and is no user speech", &[Turn("bad_request_reflects")]),
    (
        33,
        "one retry budget, no doubled back-off",
        &[Turn("retries_run_out"), Test("tests/it/provider/http.rs", "failures_are_typed")],
    ),
    (
        34,
        "retry-after from headers and bodies",
        &[
            Turn("rate_limit_waits_and_retries"),
            Test("src/engine/provider/retry_headers.rs", "headers_become_waits"),
        ],
    ),
    (
        35,
        "overflow compacts once, never reflects",
        &[Turn("overflow_compacts_once"), Turn("overflow_twice_fails")],
    ),
    (36, "at the limit the history is kept", &[Turn("limit_nudges_then_ends")]),
    (37, "the last request is told to answer", &[Turn("limit_nudges_then_ends")]),
    (
        38,
        "limits hold in the middle of a run",
        &[Turn("token_limit"), Turn("limit_nudges_then_ends"), Turn("failed_requests_count")],
    ),
    (39, "exactly the limit is a success", &[Turn("exactly_the_limit_succeeds")]),
    (
        42,
        "cut text ends the turn, a cut call never runs",
        &[Turn("max_tokens_text_ends"), Turn("max_tokens_drops_the_cut_call")],
    ),
    (43, "thinking that ate the output is named", &[Turn("thinking_ate_the_output")]),
    (
        44,
        "the token limit has the field name the server knows",
        &[Test("src/engine/provider/openai_chat/tests.rs", "the_body_around_the_messages")],
    ),
    (
        45,
        "a malformed stream is an error, no panic",
        &[Turn("truncated_stream_retries"), Test("tests/it/provider/wire_fixtures.rs", "any_bytes_end_well")],
    ),
    (46, "streaks read parallel batches newest first", &[Later("loop guard")]),
    (47, "counters start anew each turn", &[Turn("counters_start_anew_each_turn")]),
    (
        48,
        "every tool dispatches",
        &[Test("src/engine/tool/builtin/tests/specs.rs", "schemas_are_flat_objects")],
    ),
    (49, "an empty result is no error", &[Turn("empty_result_is_no_error")]),
];

#[test]
fn every_pitfall_has_its_keeper() {
    let numbers: Vec<u32> = PITFALLS.iter().map(|(number, ..)| *number).collect();
    let wanted: Vec<u32> = (1..=22).chain(28..=39).chain(42..=49).collect();
    assert_eq!(numbers, wanted);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (number, what, keepers) in PITFALLS {
        assert!(!keepers.is_empty(), "{number} ({what}) has no keeper");
        for keeper in *keepers {
            match keeper {
                Turn(name) => {
                    let path = root.join("evals/turns").join(format!("{name}.turn"));
                    assert!(path.is_file(), "{number} ({what}): there is no turn script {name}");
                }
                Test(place, name) => assert!(
                    std::fs::read_to_string(root.join(place)).unwrap().contains(&format!("fn {name}(")),
                    "{number} ({what}): {place} has no test {name}"
                ),
                Later(capability) => assert!(!capability.is_empty()),
            }
        }
    }
}
