//! The binary without key, network and settings: the built-in tour, through real tools and real approvals; and the
//! server of scripted replies that comes with it.

use crate::co::Co;

#[test]
fn plain_requests_become_real_work() {
    let cases: &[(&str, i32, &str, &str)] = &[
        ("hi", 0, "**I am not a language model.**", ""),
        ("list the files here", 0, "notes.md", "✓ list_dir: list .\n"),
        ("read notes.md", 0, "1\tsome words", "✓ read_file: read notes.md\n"),
        ("search for words in notes.md", 0, "notes.md:1: some words", "✓ search_text: "),
        (
            "run `ls`",
            4,
            "It waits for your decision, unless",
            "◇ shell (low) waiting for you: run ls (only reads) [[REQUEST]]\n",
        ),
        (
            "write a note to todo.md: buy milk",
            4,
            "it is waiting for your decision",
            "◇ write_file (medium) waiting for you: ",
        ),
    ];
    let co = Co::new().file("work/notes.md", "some words\n");
    for (prompt, code, out, err) in cases {
        let ran = co.run(&["-p", prompt]);
        assert_eq!(ran.code, Some(*code), "{prompt}: {ran:?}");
        assert!(ran.out.contains(out) && ran.err.contains(err), "{prompt}: {ran:?}");
    }
    assert_eq!(co.waiting().len(), 2);
}

#[test]
fn a_command_that_was_approved_later_runs_and_is_told() {
    let co = Co::new();
    assert_eq!(co.run(&["-p", "run `echo it ran > out.txt; echo told`"]).code, Some(4));
    assert_eq!(co.read("out.txt"), None);
    assert_eq!(co.run(&["approvals", "yes", &co.waiting()[0]]).code, Some(0));
    let ran = co.run(&["resume"]);
    assert_eq!((ran.code, co.read("out.txt").as_deref()), (Some(0), Some("it ran\n")));
    assert!(ran.out.contains("told"), "{}", ran.out);
}

#[test]
fn keys_that_nothing_uses_yet_are_named() {
    let co = Co::new().env("GROQ_API_KEY", "gsk").env("TOGETHER_API_KEY", "t");
    let ran = co.run(&["status"]);
    assert!(ran.out.contains("model     offline/tour (built in; no key, no server)\n"), "{}", ran.out);
    for name in ["Groq is set up", "Together AI is set up"] {
        assert_eq!(ran.err.lines().filter(|line| line.contains(name)).count(), 1, "{}", ran.err);
    }
}
