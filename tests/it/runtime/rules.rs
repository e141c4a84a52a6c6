//! A rule made at a card: drafted, checked, saved for a session, a folder or for good, and counted at once.

use co::approval::rules::RuleScope;
use co::approval::{Approval, RequestId};
use co::frontend::protocol::{ClientQuery, ClientRequest, PastCalls, QueryAnswer, ServerMessage, Update};
use co::history::TurnEnd;

use crate::co::Co;
use crate::runtime::interactive::{Client, open, run, with};
use co::runtime::SessionTarget;

const TWICE: &str = "reply\n  call write_file {\"path\":\"notes/a.md\",\"content\":\"one\\n\"} | id=w1\n\
                     reply\n  call write_file {\"path\":\"notes/b.md\",\"content\":\"two\\n\"} | id=w2\nreply\n  text Done.";

const DRAFT: &str = "[[rule]]\neffect = \"allow\"\ntool = \"write_file\"\n\
                     args.path = { inside = \"notes\" }\n\
                     risk = \"medium\"\nreason = \"any file in notes/\"\n\
                     match = ['{\"path\":\"notes/a.md\",\"content\":\"one\\n\"}']\n";

/// The rule for files of the same folder.
async fn drafted(client: &mut Client, request: &RequestId) -> (String, Result<PastCalls, String>) {
    let query = ClientQuery::DraftRule { request: request.clone() };
    let QueryAnswer::DraftRule { widths } = client.query(query).await else { panic!() };
    let width = widths.into_iter().find(|width| width.words == "any file in notes/").unwrap();
    (width.text, width.check.past)
}

async fn checked(client: &mut Client, text: &str) -> Result<PastCalls, String> {
    let query = ClientQuery::CheckRule { text: text.to_owned() };
    let QueryAnswer::CheckRule { check } = client.query(query).await else { panic!() };
    check.past
}

async fn not_saved(client: &mut Client) -> String {
    client
        .until("why it is not saved", |update| match update {
            Update::Message(ServerMessage::RuleNotSaved { why, .. }) => Some(why.clone()),
            Update::Event(_) | Update::Message(_) => None,
        })
        .await
}

async fn save(client: &Client, request: &RequestId, text: &str, scope: RuleScope) {
    client.ask(ClientRequest::SaveRule { request: request.clone(), text: text.to_owned(), scope }).await;
}

fn file(co: &Co) -> Option<String> {
    std::fs::read_to_string(co.home().join(".config/co/rules.toml")).ok()
}

#[test]
fn a_rule_saved_at_a_card_approves_it_and_what_is_like_it() {
    for (scope, folder) in
        [(RuleScope::Session, None), (RuleScope::Project, Some("work")), (RuleScope::User, None)]
    {
        let (co, service) = with(TWICE);
        std::fs::create_dir(co.workspace().join("notes")).unwrap();
        run(&service, async {
            let mut client = open(&co, SessionTarget::New);
            client.line("write").await;
            let request = client.asked().await;
            let (text, past) = drafted(&mut client, &request).await;
            assert_eq!((text.as_str(), past.is_ok()), (DRAFT, true));
            save(&client, &request, &text, scope).await;
            // A rule that the user did not write asks about the second call.
            assert_eq!(client.end().await, TurnEnd::Completed);
            assert_eq!(co.read("notes/b.md").as_deref(), Some("two\n"));
            let saved = match scope {
                RuleScope::Session => None,
                RuleScope::Project | RuleScope::User => file(&co),
            };
            let folder = folder.map(|name| format!("folder = \"{}\"\n", co.home().join(name).display()));
            let expected = match scope {
                RuleScope::Session => None,
                RuleScope::Project | RuleScope::User => {
                    Some(format!("{DRAFT}{}", folder.unwrap_or_default()))
                }
            };
            assert_eq!(saved, expected);
            client.line("/rules").await;
            let (_, told, _) = client.local().await;
            assert!(told.contains("allow write_file: path inside notes"), "{told}");
            client.close().await;
        });
    }
}

#[test]
fn what_was_allowed_is_listed_and_taken_back_for_good() {
    let writes = |path: &str| format!("reply\n  call write_file {{\"path\":\"{path}\",\"content\":\"x\"}}\n");
    let first = ["notes/a.md", "b.md", "notes/c.md"].map(writes).concat();
    let (co, service) =
        with(&format!("{first}reply\n  text Done.\n{}reply\n  text Done.", writes("notes/d.md")));
    std::fs::create_dir(co.workspace().join("notes")).unwrap();
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("write").await;
        let request = client.asked().await;
        let (text, _) = drafted(&mut client, &request).await;
        save(&client, &request, &text, RuleScope::Session).await;
        let other = client.asked().await;
        client.line("/approvals").await;
        let listed = "1. `any file in notes/ (allow write_file: path inside notes; up to medium)`\n";
        let (_, told, _) = client.local().await;
        assert!(told.contains(listed), "{told}");
        // A turn waits meanwhile; what it does next asks again.
        client.line("/approvals revoke 2").await;
        assert_eq!(client.local().await.1, "There is no `2`; `/approvals` shows the numbers.");
        client.line("/approvals revoke 1").await;
        let (_, told, _) = client.local().await;
        assert!(told.ends_with("is no longer allowed."), "{told}");
        client.decide(&other, Approval::yes()).await;
        let again = client.asked().await;
        client.decide(&again, Approval::yes()).await;
        assert_eq!(client.end().await, TurnEnd::Completed);
        client.close().await;
        let mut client = open(&co, SessionTarget::Latest);
        client.line("/approvals").await;
        let (_, told, _) = client.local().await;
        assert!(told.contains("Nothing is allowed for the whole session."), "{told}");
        client.line("write").await;
        let again = client.asked().await;
        // And taken back between turns.
        let (text, _) = drafted(&mut client, &again).await;
        save(&client, &again, &text, RuleScope::Session).await;
        assert_eq!(client.end().await, TurnEnd::Completed);
        client.idle().await;
        client.line("/approvals revoke 1").await;
        client.local().await;
        client.line("/approvals").await;
        let (_, told, _) = client.local().await;
        assert!(told.contains("Nothing is allowed for the whole session."), "{told}");
        client.close().await;
    });
}

#[test]
fn what_is_wrong_with_a_rule_comes_back_and_the_request_waits() {
    let (co, service) = with(TWICE);
    std::fs::create_dir(co.workspace().join("notes")).unwrap();
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("write").await;
        let request = client.asked().await;
        assert_eq!(
            checked(&mut client, "[[rule]]\neffect = \"alow\"\ntool = \"t\"").await,
            Err("line 2: `effect` is \"allow\", \"ask\" or \"deny\"".to_owned())
        );
        assert!(checked(&mut client, DRAFT).await.is_ok());
        for (text, wrong) in [
            ("nonsense", "line 1: this is not valid TOML: "),
            ("", "it has 0 rules; save one at a time"),
            (
                "[[rule]]\neffect = \"allow\"\ntool = \"shell\"",
                "it does not apply to this call; change it, or approve with y",
            ),
            (
                "[[rule]]\neffect = \"allow\"\ntool = \"*\"\nargs.path = { inside = \"else\" }",
                "it does not match this call (not so: path inside else); change it, or approve with y",
            ),
        ] {
            save(&client, &request, text, RuleScope::User).await;
            let told = not_saved(&mut client).await;
            assert!(told.starts_with(wrong), "{told}");
        }
        assert_eq!((file(&co), co.read("notes/a.md")), (None, None));
        // A rule that denies is saved, and answers the request when it is decided anew; nothing is approved by it.
        let deny = "[[rule]]\nid = \"no\"\neffect = \"deny\"\ntool = \"shell\"\n";
        save(&client, &request, deny, RuleScope::User).await;
        assert_eq!(client.local().await.1, "`no` is saved. It approves nothing.");
        client
            .until("that it approves nothing", |update| {
                let said = Update::Message(ServerMessage::RuleAllowsNothing { request: request.clone() });
                (*update == said).then_some(())
            })
            .await;
        assert_eq!((file(&co).as_deref(), co.read("notes/a.md")), (Some(deny), None));
        save(&client, &request, DRAFT, RuleScope::User).await;
        assert_eq!(client.end().await, TurnEnd::Completed);
        client.close().await;
    });
}

#[test]
fn a_mistake_in_the_file_is_told_once() {
    let (co, service) = with("reply\n  text Hello.\nreply\n  text Again.");
    let co = co.file(".config/co/rules.toml", "[[rule]]\n");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        let (title, text, _) = client.local().await;
        assert_eq!(title, "rules");
        assert!(
            co.named(&text).starts_with("The rules in [HOME]/.config/co/rules.toml have an error."),
            "{text}"
        );
        for reply in ["Hello.", "Again."] {
            client.line("hello").await;
            assert_eq!(client.reply().await, reply);
            client.idle().await;
        }
        client.line("/history").await;
        assert_eq!(client.local().await.0, "history");
        client.close().await;
    });
}
