//! Going from one session to another in one front end, and what the owner lists for it.

use co::agent::port::Event;
use co::approval::{Approval, AutoApprove};
use co::frontend::protocol::{
    ClientQuery, ClientRequest, EarlierLine, QueryAnswer, ServerMessage, SessionHit, SessionLine, Tone,
    Update,
};
use co::history::{SessionId, TurnEnd};
use co::message::Message;
use co::runtime::SessionTarget;

use crate::co::Co;
use crate::runtime::interactive::{Client, WRITES, open, run, with};

const TWO: &str = "reply\n  text First answer.\nreply\n  text Second answer.";

impl Client {
    async fn sessions(&mut self) -> Vec<SessionLine> {
        let QueryAnswer::Sessions { sessions } = self.query(ClientQuery::Sessions).await else { panic!() };
        sessions
    }

    /// The sessions of this folder, as sent at the start.
    async fn recent(&mut self) -> Vec<SessionLine> {
        self.until("recent sessions", |update| match update {
            Update::Message(ServerMessage::Recent { sessions }) => Some(sessions.clone()),
            Update::Event(_) | Update::Message(_) => None,
        })
        .await
    }

    async fn enter(&mut self, session: &SessionId) {
        self.ask(ClientRequest::Open { session: session.clone() }).await;
        self.until("another session", |update| {
            (*update == Update::Message(ServerMessage::Entered)).then_some(())
        })
        .await;
    }

    async fn draft(&mut self) -> String {
        self.until("draft", |update| match update {
            Update::Message(ServerMessage::Draft { text }) => Some(text.clone()),
            Update::Event(_) | Update::Message(_) => None,
        })
        .await
    }

    async fn transcript(&mut self) -> Vec<Message> {
        self.until("transcript", |update| match update {
            Update::Message(ServerMessage::Transcript { messages, .. }) => {
                Some(messages.iter().map(|one| Message::clone(one)).collect())
            }
            Update::Event(_) | Update::Message(_) => None,
        })
        .await
    }

    async fn id(&mut self) -> SessionId {
        self.header(|_| true).await.session
    }
}

/// The texts of the replies of a conversation.
fn replies(messages: &[Message]) -> Vec<String> {
    let said = |message: &Message| match message {
        Message::Assistant(reply) => Some(reply.text()),
        Message::User { .. } | Message::ToolReturns { .. } => None,
    };
    messages.iter().filter_map(said).collect()
}

/// Opens a new session after another one with one turn was closed.
async fn after_a_session(co: &Co) -> Client {
    let mut client = open(co, SessionTarget::New);
    client.line("one").await;
    client.end().await;
    client.close().await;
    open(co, SessionTarget::New)
}

#[test]
fn sessions_are_changed_and_each_keeps_its_own() {
    let (co, service) = with(TWO);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("the first question").await;
        assert_eq!(client.end().await, TurnEnd::Completed);
        client.close().await;

        let mut client = open(&co, SessionTarget::New);
        let second = client.id().await;
        let recent = client.recent().await;
        assert_eq!(recent.len(), 1, "the first screen is told without asking");
        assert_eq!(
            (recent[0].title.as_str(), recent[0].turns, recent[0].here),
            ("the first question", 1, true)
        );
        client.line("the second question").await;
        assert_eq!(client.end().await, TurnEnd::Completed);
        client.idle().await;
        client.ask(ClientRequest::Draft { text: "for the second".to_owned() }).await;

        client.enter(&recent[0].id).await;
        let header = client.header(|_| true).await;
        assert_eq!((&header.session, header.title.as_str()), (&recent[0].id, "the first question"));
        assert_eq!(replies(&client.transcript().await), ["First answer."]);
        client.waiting(0).await;
        client.idle().await;
        client.ask(ClientRequest::Draft { text: "for the first".to_owned() }).await;
        let listed = client.sessions().await;
        assert_eq!(listed.iter().map(|one| &one.id).collect::<Vec<_>>(), [&second]);

        client.enter(&second).await;
        assert_eq!(replies(&client.transcript().await), ["Second answer."]);
        assert_eq!(client.draft().await, "for the second");
        client.enter(&recent[0].id).await;
        assert_eq!(client.draft().await, "for the first");
        let lines = client.close().await;
        assert!(lines[0].contains("the first question"), "{lines:?}");
    });
}

#[test]
fn a_session_can_be_gone_on_with_after_the_change() {
    let (co, service) = with(TWO);
    run(&service, async {
        let mut client = after_a_session(&co).await;
        let recent = client.recent().await;
        client.enter(&recent[0].id).await;
        client.line("two").await;
        assert_eq!(client.reply().await, "Second answer.");
        client.end().await;
        client.close().await;
        let mut client = open(&co, SessionTarget::Latest);
        assert_eq!(replies(&client.transcript().await), ["First answer.", "Second answer."]);
        client.close().await;
    });
    let asked = service.asked(2);
    assert!(asked.contains("one") && asked.contains("First answer."), "{asked}");
}

#[test]
fn a_running_turn_keeps_its_session() {
    let (co, service) = with("reply\n  text Done.\nreply\n  text Half\n  hang");
    run(&service, async {
        let mut client = after_a_session(&co).await;
        let recent = client.recent().await;
        client.line("two").await;
        client
            .until("text", |update| matches!(update, Update::Event(Event::TextDelta { .. })).then_some(()))
            .await;
        client.ask(ClientRequest::Open { session: recent[0].id.clone() }).await;
        let (title, text, tone) = client.local().await;
        assert_eq!((title.as_str(), tone), ("resume", Tone::Warning));
        assert!(text.contains("Stop it with Ctrl+C first"), "{text}");
        client.close().await;
    });
}

#[test]
fn what_waits_comes_with_its_session_and_yolo_does_not() {
    let (co, service) = with(WRITES);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        let first = client.id().await;
        client.line("write").await;
        let request = client.asked().await;
        client.ask(ClientRequest::Op(co::agent::port::Op::Defer)).await;
        client.end().await;
        client.close().await;

        let mut client = open(&co, SessionTarget::New);
        let recent = client.recent().await;
        assert_eq!((recent[0].id.clone(), recent[0].waiting), (first.clone(), 1));
        client.line("/yolo on").await;
        client.header(|header| header.auto_approve == AutoApprove::Yolo).await;
        client.enter(&first).await;
        assert_eq!(client.header(|_| true).await.auto_approve, AutoApprove::Asking);
        client.waiting(1).await;
        client.decide(&request, Approval::yes()).await;
        assert_eq!(client.reply().await, "Done.");
        client.end().await;
        assert_eq!(co.read("a.txt").as_deref(), Some("one\n"));
        client.close().await;
    });
}

#[test]
fn a_session_of_another_process_is_looked_at_and_left() {
    let (co, service) = with(TWO);
    run(&service, async {
        let mut holder = open(&co, SessionTarget::New);
        let held = holder.id().await;
        holder.line("held").await;
        holder.end().await;

        let mut client = open(&co, SessionTarget::New);
        let own = client.id().await;
        client.line("mine").await;
        client.end().await;
        client.idle().await;
        client.enter(&held).await;
        let header = client.header(|_| true).await;
        assert!(header.read_only.is_some() && header.session == held);
        assert_eq!(replies(&client.transcript().await), ["First answer."]);
        // Files are sent here too.
        std::fs::write(co.workspace().join("notes.md"), "x").unwrap();
        let QueryAnswer::Files { paths } = client.query(ClientQuery::Files).await else { panic!() };
        assert!(paths.contains(&"notes.md".to_owned()), "{paths:?}");
        client.enter(&own).await;
        let header = client.header(|_| true).await;
        assert_eq!((header.session, header.read_only), (own, None));
        client.close().await;
        holder.close().await;
    });
}

#[test]
fn what_cannot_be_opened_leaves_the_session_as_it_is() {
    let (co, service) = with("reply\n  text Here.");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        let own = client.id().await;
        client.ask(ClientRequest::Open { session: SessionId("ffffffff-none".to_owned()) }).await;
        let (title, _, tone) = client.local().await;
        assert_eq!((title.as_str(), tone), ("resume", Tone::Error));
        // The one at hand is no other.
        client.ask(ClientRequest::Open { session: own.clone() }).await;
        client.line("still here?").await;
        assert_eq!(client.reply().await, "Here.");
        assert!(!client.seen.contains(&Update::Message(ServerMessage::Entered)));
        client.close().await;
    });
}

#[test]
fn only_sessions_with_something_in_them_are_listed() {
    let (co, service) = with("reply\n  text x");
    run(&service, async {
        for draft in ["", "call Dana about the invoice"] {
            let client = open(&co, SessionTarget::New);
            client.ask(ClientRequest::Draft { text: "half".to_owned() }).await;
            client.ask(ClientRequest::Draft { text: draft.to_owned() }).await;
            client.close().await;
        }
        let mut client = open(&co, SessionTarget::New);
        client.line("/resume Dana").await;
        let (listed, query) = client
            .until("sessions to pick from", |update| match update {
                Update::Message(ServerMessage::Sessions { sessions, query }) => {
                    Some((sessions.clone(), query.clone()))
                }
                Update::Event(_) | Update::Message(_) => None,
            })
            .await;
        let titles: Vec<&str> = listed.iter().map(|one| one.title.as_str()).collect();
        assert_eq!(titles, ["draft: call Dana about the invoice"]);
        assert_eq!(query, "Dana");
        client.line("go on").await;
        client.end().await;
        client.close().await;
    });
}

#[test]
fn the_end_of_a_session_and_earlier_lines_are_told() {
    let (co, service) = with(
        "reply\n  text I look.\n  call read_file {\"path\":\"none\"} | id=r1\nreply\n  text Nothing there.",
    );
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        let first = client.id().await;
        let searched = first.clone();
        client.line("look\nthere").await;
        client.end().await;
        client.line("look\nthere ").await;
        client.close().await;
        let mut client = open(&co, SessionTarget::New);
        let QueryAnswer::Preview { messages } = client.query(ClientQuery::Preview { session: first }).await
        else {
            panic!()
        };
        assert_eq!(replies(&messages)[..2], ["I look.", "Nothing there."]);
        let none = SessionId("ffffffff-none".to_owned());
        let nothing = QueryAnswer::Preview { messages: Vec::new() };
        assert_eq!(client.query(ClientQuery::Preview { session: none }).await, nothing);
        let words = "nothing th".to_owned();
        let QueryAnswer::SearchSessions { hits } = client.query(ClientQuery::SearchSessions { words }).await
        else {
            panic!()
        };
        let around = "Nothing there.".to_owned();
        assert_eq!(hits, [SessionHit { session: searched, around }]);

        client.line("!true").await;
        let QueryAnswer::Earlier { lines } = client.query(ClientQuery::Earlier).await else { panic!() };
        let here = |text: &str| EarlierLine { text: text.to_owned(), here: true };
        assert_eq!(lines, [here("!true"), here("look\nthere "), here("look\nthere")]);
        client.close().await;
    });
}

#[test]
fn a_cleared_session_stays_and_a_new_one_begins() {
    let script = "reply\n  text First answer.\n  usage 20000 5\nreply\n  text Second answer.";
    let (co, service) = with(script);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        let used = |header: &co::frontend::protocol::Header| header.context.map(|context| context.used);
        let first = client.header(|_| true).await;
        assert_eq!(used(&first), Some(0));
        client.line("the first question").await;
        client.end().await;
        client.header(|header| used(header) == Some(20_000)).await;
        client.idle().await;
        client.line("/clear").await;
        client
            .until("another session", |update| {
                (*update == Update::Message(ServerMessage::Entered)).then_some(())
            })
            .await;
        let new = client.header(|_| true).await;
        assert_ne!(new.session, first.session);
        assert_eq!((new.title.as_str(), used(&new)), ("new session", Some(0)), "nothing of the old one");
        let recent = client.recent().await;
        assert_eq!(
            (recent[0].id.clone(), recent[0].title.as_str()),
            (first.session.clone(), "the first question")
        );
        client.line("/new").await;
        client.transcript().await;
        assert_eq!(client.id().await, new.session, "it is new already");
        client.enter(&first.session).await;
        let again = client.header(|_| true).await;
        assert_eq!((again.title.as_str(), used(&again)), ("the first question", Some(20_000)));
        client.close().await;
    });
    let listed = co.run(&["sessions"]).out;
    assert!(listed.contains("the first question") && listed.lines().count() == 2, "no empty one: {listed}");
}

#[test]
fn the_last_prompt_is_repeated() {
    let script =
        "reply\n  error 401 authentication_error no such key\nreply\n  text One.\nreply\n  text Two.";
    let (co, service) = with(script);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("/retry").await;
        assert_eq!(client.local().await.1, "Nothing was asked yet.");
        client.line("tell me").await;
        assert!(matches!(client.end().await, TurnEnd::Failed { .. }));
        client.idle().await;
        client.close().await;
        let mut client = open(&co, SessionTarget::Latest);
        let (_, text, _) = client.local().await;
        assert!(text.contains("no such key") && text.contains("`/retry` repeats"), "{text}");
        client.idle().await;
        client.line("/retry").await;
        assert_eq!(client.reply().await, "One.");
        client.end().await;
        client.idle().await;
        client.line("/retry").await;
        assert_eq!(client.reply().await, "Two.");
        client.close().await;
    });
    assert_eq!(service.asked(2).matches("tell me").count(), 1, "the failed request is repeated");
    assert_eq!(service.asked(3).matches("tell me").count(), 2, "an answered prompt is sent again");
}

#[test]
fn models_are_listed_live_and_names_are_checked() {
    let models = "{\"data\": [{\"id\": \"claude-next\"}]}";
    let service = crate::co::Service::with_page("reply\n  text ok", "/v1/models", models);
    let co = crate::co::Co::new().with(&service, crate::co::Wire::Anthropic);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.ask(ClientRequest::ListModels).await;
        let lines = client
            .until("all lists", |update| match update {
                Update::Message(ServerMessage::ModelsChanged { models, pending: 0, failed }) => {
                    Some((models.clone(), failed.clone()))
                }
                Update::Event(_) | Update::Message(_) => None,
            })
            .await;
        let names: Vec<&str> = lines.0.iter().map(|line| line.name.as_str()).collect();
        assert!(lines.0[0].current && names.contains(&"anthropic/claude-next"), "{names:?} {:?}", lines.1);
        client.line("/model claude-nxet").await;
        let (_, text, tone) = client.local().await;
        assert!(tone == Tone::Error && text.contains("did you mean `anthropic/claude-next`?"), "{text}");
        client.line("/model claude-next").await;
        client.header(|header| header.model == "claude-next").await;
        client.close().await;
    });
}

#[test]
fn a_session_is_renamed_and_exported_while_it_is_open() {
    let (co, service) = with("reply\n  text It is in May.");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.line("where is the invoice?").await;
        client.idle().await;
        client.line("/rename the spring papers").await;
        client.header(|header| header.title == "the spring papers").await;
        client.line("/export html").await;
        let (_, text, _) = client.local().await;
        assert!(text.starts_with("The session is in `"), "{text}");
        client.close().await;
    });
    let page = std::fs::read_dir(co.workspace())
        .unwrap()
        .flatten()
        .find(|entry| entry.path().extension().is_some_and(|extension| extension == "html"));
    let page = std::fs::read_to_string(page.unwrap().path()).unwrap();
    assert!(page.contains("<title>the spring papers</title>") && page.contains("It is in May."), "{page}");
}
