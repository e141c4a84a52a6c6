//! The inbox of all sessions: its contents and decisions; modes; sessions in the background.

use co::agent::port::{Event, Op};
use co::approval::{Approval, AutoApprove, Decider, RequestId};
use co::config::Mode;
use co::frontend::protocol::{
    ClientQuery, ClientRequest, Holder, InboxLine, QueryAnswer, ServerMessage, Update,
};
use co::history::{SessionId, TurnEnd};
use co::runtime::SessionTarget;
use co::store::{RequestState, StoredRequest};

use crate::runtime::interactive::{Client, elsewhere, open, run, with};

/// Two sessions that each ask to write a file, and say what they say once it is written.
const TWO: &str = "reply\n  call write_file {\"path\":\"a.txt\",\"content\":\"one\\n\"} | id=w1\nreply\n  call write_file \
                   {\"path\":\"b.txt\",\"content\":\"two\\n\"} | id=w2\nreply\n  text First of the two.\nreply\n  text Second of the two.";

impl Client {
    async fn inbox(&mut self) -> Vec<InboxLine> {
        let QueryAnswer::Inbox { lines } = self.query(ClientQuery::Inbox).await else { panic!() };
        lines
    }

    async fn elsewhere(&mut self, wanted: usize) {
        self.until("count of what waits elsewhere", |update| {
            (*update == Update::Message(ServerMessage::Elsewhere { count: wanted })).then_some(())
        })
        .await;
    }

    async fn request(&mut self, id: &str) -> Result<Box<StoredRequest>, String> {
        let query = ClientQuery::Request { request: RequestId(id.to_owned()) };
        let QueryAnswer::Request { request } = self.query(query).await else { panic!() };
        request
    }

    pub async fn notice(&mut self, about: &str) -> String {
        self.until("words", |update| match update {
            Update::Message(ServerMessage::Local { title, text, .. }) if title == about => Some(text.clone()),
            Update::Event(_) | Update::Message(_) => None,
        })
        .await
    }

    /// A prompt whose request is postponed.
    async fn postponed(&mut self, prompt: &str) -> RequestId {
        self.line(prompt).await;
        let request = self.asked().await;
        self.ask(ClientRequest::Op(Op::Defer)).await;
        self.idle().await;
        request
    }

    async fn all(&mut self, requests: &[&RequestId], approval: Approval) {
        let requests: Vec<RequestId> = requests.iter().map(|id| (*id).clone()).collect();
        self.ask(ClientRequest::Op(Op::decide_alike(&requests, &approval))).await;
    }
}

fn shown(lines: &[InboxLine]) -> Vec<(&str, Holder, &str)> {
    lines.iter().map(|line| (line.title(), line.holder, line.row.tool.as_str())).collect()
}

#[test]
fn requests_of_two_sessions_are_decided_from_one() {
    let (co, service) = with(TWO);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        let first = client.postponed("write a").await;
        assert_eq!(client.close().await[0], "co: session \"write a\" saved · 1 approval waiting");

        let mut client = open(&co, SessionTarget::New);
        client.elsewhere(1).await;
        let second = client.postponed("write b").await;
        let lines = client.inbox().await;
        assert_eq!(
            shown(&lines),
            [("write a", Holder::NoProcess, "write_file"), ("write b", Holder::Here, "write_file")]
        );
        let whole = client.request(&first.0).await.unwrap();
        assert_eq!(
            (whole.request.args["path"].as_str(), &whole.session),
            (Some("a.txt"), &lines[0].row.session)
        );
        assert!(client.request("ffff").await.unwrap_err().ends_with('.'));

        client.all(&[&first, &second], Approval::yes()).await;
        assert_eq!(client.end().await, TurnEnd::Completed, "the one at hand goes on by itself");
        assert_eq!((co.read("a.txt"), co.read("b.txt").as_deref()), (None, Some("two\n")));
        client.idle().await;
        let approved: Vec<RequestState> = client.inbox().await.iter().map(|line| line.row.state).collect();
        assert_eq!(approved, [RequestState::Approved], "until its session is resumed");

        client.ask(ClientRequest::ResumeNow { session: lines[0].row.session.clone() }).await;
        assert_eq!(client.notice("resume").await, "“write a” continues in the background.");
        assert_eq!(client.notice("resume").await, "“write a” continued and is done.");
        assert_eq!(co.read("a.txt").as_deref(), Some("one\n"));
        // Decided already: one line says so.
        client.all(&[&first, &second], Approval::Deny { reason: None }).await;
        assert_eq!(client.notice("approvals").await, "2 of 2 were not recorded: already decided elsewhere.");
        client.close().await;
    });
}

/// Postponing what is postponed changes nothing and is answered all the same, between turns and while one runs.
#[test]
fn every_round_of_decisions_is_answered() {
    let script = "reply\n  call write_file {\"path\":\"a.txt\",\"content\":\"one\\n\"} | id=w1\nreply\n  text Half\n  hang";
    let (co, service) = with(script);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        let waiting = client.postponed("write a").await;
        client.close().await;
        let mut client = open(&co, SessionTarget::New);
        client.elsewhere(1).await;
        client.all(&[&waiting], Approval::Later).await;
        client.elsewhere(1).await;
        client.line("hello").await;
        client
            .until("text", |update| matches!(update, Update::Event(Event::TextDelta { .. })).then_some(()))
            .await;
        client.all(&[&waiting], Approval::Later).await;
        assert_eq!(client.query(ClientQuery::Handled).await, QueryAnswer::Handled);
        client.all(&[&waiting], Approval::Deny { reason: None }).await;
        client.elsewhere(0).await;
        client.close().await;
    });
}

/// A pipe reads its next line once all is handled: nothing that follows from a line may come later.
#[test]
fn all_is_handled_after_what_answers_a_line_and_once_its_turn_began() {
    let script =
        "reply\n  call write_file {\"path\":\"a.txt\",\"content\":\"one\\n\"} | id=w1\nreply\n  text Done.";
    let (co, service) = with(script);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.idle().await;
        for command in ["/help", "/status", "/model gpt-none", "/resume", "/model", "/mcp reconnect none"] {
            client.seen.clear();
            client.line(command).await;
            client.query(ClientQuery::Handled).await;
            let answers = |update: &Update| {
                matches!(
                    update,
                    Update::Message(
                        ServerMessage::Local { .. }
                            | ServerMessage::Sessions { .. }
                            | ServerMessage::Models { .. }
                    )
                )
            };
            assert!(client.seen.iter().any(answers), "{command}: {:#?}", client.seen);
        }
        let began = Update::Message(ServerMessage::TurnBegan);
        client.seen.clear();
        client.line("write a").await;
        client.query(ClientQuery::Handled).await;
        assert!(client.seen.contains(&began), "{:#?}", client.seen);
        let request = match client.seen.iter().find_map(asked) {
            Some(request) => request,
            None => client.asked().await,
        };
        client.ask(ClientRequest::Op(Op::Defer)).await;
        client.idle().await;
        client.seen.clear();
        client.decide(&request, Approval::yes()).await;
        client.query(ClientQuery::Handled).await;
        assert!(client.seen.contains(&began), "{:#?}", client.seen);
        client.close().await;
    });
}

fn asked(update: &Update) -> Option<RequestId> {
    match update {
        Update::Event(Event::ApprovalNeeded { request }) => Some(request.id.clone()),
        Update::Event(_) | Update::Message(_) => None,
    }
}

/// Two requests of one reply, in a session that another process has.
#[test]
fn a_round_of_decisions_in_a_session_of_another_process_is_said_in_one_sentence() {
    let script = "reply\n  call write_file {\"path\":\"a.txt\",\"content\":\"one\\n\"} | id=w1\n  call write_file \
                  {\"path\":\"b.txt\",\"content\":\"two\\n\"} | id=w2\nreply\n  text Done.";
    let (co, service) = with(script);
    run(&service, async {
        let mut holder = open(&co, SessionTarget::New);
        holder.line("write both").await;
        let (first, second) = (holder.asked().await, holder.asked().await);
        let mut reader = open(&co, SessionTarget::Latest);
        reader.header(|header| header.read_only.is_some()).await;
        let gone = RequestId("gone".to_owned());
        reader.all(&[&first, &gone, &second], Approval::Deny { reason: None }).await;
        let said = reader.notice("approvals").await;
        assert!(said.starts_with("1 of 3 was not recorded. "), "{said}");
        assert_eq!(holder.end().await, TurnEnd::Completed);
        reader.close().await;
        holder.close().await;
    });
}

/// While nothing runs, and while a turn does.
#[test]
fn what_another_process_decides_is_told_at_once() {
    let script = "reply\n  call write_file {\"path\":\"a.txt\",\"content\":\"one\\n\"} | id=w1\nreply\n  call write_file \
                  {\"path\":\"b.txt\",\"content\":\"two\\n\"} | id=w2\nreply\n  text Half\n  hang";
    let (co, service) = with(script);
    run(&service, async {
        let other = elsewhere(&co).await;
        let mut waiting = Vec::new();
        for prompt in ["write a", "write b"] {
            let mut client = open(&co, SessionTarget::New);
            waiting.push(client.postponed(prompt).await);
            client.close().await;
        }
        let mut client = open(&co, SessionTarget::New);
        client.elsewhere(2).await;
        assert_eq!(client.inbox().await.len(), 2);
        other.decide(&waiting[0], Approval::yes(), Decider::Cli).await.unwrap();
        client.elsewhere(1).await;

        client.line("hello").await;
        client
            .until("text", |update| matches!(update, Update::Event(Event::TextDelta { .. })).then_some(()))
            .await;
        other.decide(&waiting[1], Approval::yes(), Decider::Cli).await.unwrap();
        client.elsewhere(0).await;
        let undecided =
            client.inbox().await.into_iter().filter(|line| line.row.state == RequestState::Waiting);
        assert_eq!(undecided.count(), 0, "answered while the turn runs");
        client.close().await;
    });
}

#[test]
fn a_mode_holds_at_once_and_is_shown_while_a_turn_runs() {
    let (co, service) = with("reply\n  text Half\n  hang");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        assert_eq!(client.header(|_| true).await.mode, Mode::Ask);
        client.line("/mode").await;
        assert!(
            client.notice("mode").await.starts_with("The mode is `ask`: reads run; changes and commands ask")
        );
        client.line("/mode plan").await;
        client.header(|header| header.mode == Mode::Plan).await;
        client.line("/mode nonsense").await;
        assert!(client.notice("mode").await.contains("Nothing was changed."));
        client.line("hello").await;
        client
            .until("text", |update| matches!(update, Update::Event(Event::TextDelta { .. })).then_some(()))
            .await;
        client.ask(ClientRequest::SetMode { mode: Mode::DryRun }).await;
        let header = client.header(|header| header.mode == Mode::DryRun).await;
        assert_eq!((header.title.as_str(), header.auto_approve), ("hello", AutoApprove::Asking));
        client.line("/yolo on").await;
        let header = client.header(|header| header.auto_approve == AutoApprove::Yolo).await;
        assert_eq!(header.mode, Mode::DryRun, "told while the turn runs");
        client.close().await;
    });
}

#[test]
fn a_mode_is_set_when_the_program_starts() {
    let (co, service) = with("");
    let co = co.env("CO_MODE", "plan");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        assert_eq!(client.header(|_| true).await.mode, Mode::Plan);
        client.close().await;
    });
    // A project may be more careful than the person, and never less.
    let co = co.env("CO_MODE", "").file("work/.co/config.toml", "mode = 'auto'\n").trusting();
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        let told = client.notice("settings").await;
        assert!(told.contains("a project's file may not set it to `auto`"), "{told}");
        client.close().await;
    });
    let co = co.file("work/.co/config.toml", "mode = 'dry-run'\n").trusting();
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        assert_eq!(client.header(|_| true).await.mode, Mode::DryRun);
        client.close().await;
    });
}

/// A session in the background: it outlives a change of the session at hand, is listed as going on, cannot be opened
/// or resumed twice meanwhile, and is ended and saved when the front end closes.
#[test]
fn a_session_beside_is_ended_and_saved() {
    let script = "reply\n  call write_file {\"path\":\"a.txt\",\"content\":\"one\\n\"} | id=w1\n  call write_file \
                  {\"path\":\"c.txt\",\"content\":\"one\\n\"} | id=w3\nreply\n  text Half\n  hang";
    let (co, service) = with(script);
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        let session = client.header(|_| true).await.session;
        let first = client.postponed("write a").await;
        client.close().await;

        let mut client = open(&co, SessionTarget::New);
        let at_hand = client.header(|_| true).await.session;
        let lines = client.inbox().await;
        client.ask(ClientRequest::ResumeNow { session: at_hand }).await;
        assert!(client.notice("resume").await.contains("the current session"));
        client.ask(ClientRequest::ResumeNow { session: SessionId("nobody".to_owned()) }).await;
        assert!(client.notice("resume").await.contains("session"), "{:?}", client.seen.last());
        client.ask(ClientRequest::ResumeNow { session: session.clone() }).await;
        assert!(client.notice("resume").await.contains("in the background"));
        assert!(client.notice("resume").await.contains("waiting"), "nothing is decided yet");

        let ids: Vec<&RequestId> = lines.iter().map(|line| &line.row.id).collect();
        assert!(ids.contains(&&first));
        client.all(&ids, Approval::yes()).await;
        client.elsewhere(0).await;
        client.ask(ClientRequest::ResumeNow { session: session.clone() }).await;
        assert!(client.notice("resume").await.contains("in the background"));
        client.ask(ClientRequest::ResumeNow { session: session.clone() }).await;
        assert_eq!(client.notice("resume").await, "This session is already running.");
        client.ask(ClientRequest::Open { session: session.clone() }).await;
        assert!(client.notice("resume").await.contains("running in the background"));
        client.close().await;

        // It is free again, and no process has to find out its outcome.
        let mut client = open(&co, SessionTarget::Resume(session.0.clone()));
        assert_eq!(client.header(|_| true).await.read_only, None);
        let left = |update: &Update| matches!(update, Update::Message(ServerMessage::Local { title, .. }) if title == "interrupted work");
        assert!(!client.seen.iter().any(left), "{:?}", client.seen);
        client.close().await;
    });
}

#[test]
fn the_last_lines_name_what_waits_also_where_nothing_was_said() {
    let (co, service) = with("reply\n  call write_file {\"path\":\"a.txt\",\"content\":\"one\\n\"}\n");
    run(&service, async {
        let mut client = open(&co, SessionTarget::New);
        client.postponed("write").await;
        client.close().await;
        let client = open(&co, SessionTarget::New);
        assert_eq!(client.close().await, ["co: 1 approval waiting · co approvals"]);
    });
}
