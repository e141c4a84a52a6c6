//! A change that a user makes in a card is what runs, and the model sees it: an edited field, a hunk left out.

use super::kit::{on_terminal, press_until, sent_lines};
use crate::co::{Co, Service, Wire};
use crate::tui::terminal::Terminal;

const SCRIPT: &str = r##"
reply
  text I look at it.
  call read_file {"path":"a.txt"} | id=call_read
reply
  text Two changes.
  call edit_file {"path":"a.txt","old":"1\n2\n3\n4\n5\n6\n7\n8\n9\n","new":"one\n2\n3\n4\n5\n6\n7\n8\nnine\n"} | id=call_edit
reply
  text And all of it.
  call write_file {"path":"a.txt","content":"0\n1\n2\n3\n4\n5\n6\n7\n8\nnine\nten\n"} | id=call_write
reply
  text And another.
  call write_file {"path":"b.txt","content":"beta"} | id=call_other
reply
  text All done.
"##;

#[test]
fn what_was_changed_is_what_runs() {
    let service = Service::new(SCRIPT);
    let co = Co::new().with(&service, Wire::Anthropic).file("work/a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    let mut screen = on_terminal(&co, &[], (140, 40));
    screen.wait_for("unsandboxed");
    screen.keys("go<ret>");

    to_card(&mut screen, "[2] keep");
    press_until(&mut screen, "1", "[1] skip");
    press_until(&mut screen, "y", "And all of it.");
    assert_eq!(co.read("a.txt").as_deref(), Some("1\n2\n3\n4\n5\n6\n7\n8\nnine\n"));

    to_card(&mut screen, "[2] keep");
    press_until(&mut screen, "2", "[2] skip");
    press_until(&mut screen, "y", "And another.");
    assert_eq!(co.read("a.txt").as_deref(), Some("0\n1\n2\n3\n4\n5\n6\n7\n8\nnine\n"));

    to_card(&mut screen, "to b.txt (new file)");
    press_until(&mut screen, "e", "editing arguments");
    screen.keys("<tab><c-u>gamma<c-j>delta<c-s>");
    screen.wait_for("All done.");
    assert_eq!(co.read("b.txt").as_deref(), Some("gamma\ndelta"));

    let told = sent_lines(&service, 5).join("\n");
    let changed = "[The user changed this call before approving it. What really ran: ";
    for ran in [
        r#"edit_file {"path":"a.txt","old":"1\n2\n3\n4\n5\n6\n7\n8\n9\n","new":"1\n2\n3\n4\n5\n6\n7\n8\nnine\n"}"#,
        r#"write_file {"path":"a.txt","content":"0\n1\n2\n3\n4\n5\n6\n7\n8\nnine\n"}"#,
        r#"write_file {"path":"b.txt","content":"gamma\ndelta"}"#,
    ] {
        assert!(told.contains(&format!("return {changed}{ran}]")), "{ran}\n{told}");
    }
    service.is_content();
}

/// Waits for the card that says `text`, and gives it the keys.
fn to_card(screen: &mut Terminal, text: &str) {
    screen.wait_for(text);
    press_until(screen, "<a-a>", "· card ─");
}
