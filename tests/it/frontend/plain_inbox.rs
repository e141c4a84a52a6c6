//! The lists of the plain front end: the inbox, numbered, with one of it as a question; models and tool servers. The mode
//! in words.

use co::agent::port::Event;
use co::approval::{Approval, AutoApprove};
use co::config::Mode;
use co::frontend::plain::{Input, Plain, Setup, Source};
use co::frontend::protocol::{
    ClientQuery, ClientRequest, Header, ModelLine, QueryAnswer, QueryId, ServerLine, ServerList,
    ServerMessage, ServerOrigin, Tone, Update,
};
use co::message::ToolName;
use co::tool::mcp::ListedTool;

use crate::tui::inbox::{lines, stored, whole};
use crate::tui::kit::{decided, header, id};

/// The front end, its clock, and what it said since it was asked last.
struct InboxFixture {
    plain: Plain,
    now_ms: u64,
    text: String,
    asks: Vec<ClientRequest>,
    /// The query whether all is handled.
    unhandled: Option<QueryId>,
}

impl InboxFixture {
    fn open() -> Self {
        Self::open_with(Source::Terminal)
    }

    fn open_with(source: Source) -> Self {
        let setup = Setup { source, echoes: true, shows_thoughts: false, has_editor: false };
        let plain = Plain::new(setup);
        let mut front = Self { plain, now_ms: 1_000, text: String::new(), asks: Vec::new(), unhandled: None };
        front.tell(ServerMessage::Header(header()));
        front.tell(ServerMessage::Idle);
        front.text.clear();
        front
    }

    fn input(&mut self, input: Input) {
        self.plain.take(self.now_ms, input);
        loop {
            let turned = self.plain.take_output();
            self.text.push_str(&turned.text);
            for ask in turned.asks {
                match ask {
                    ClientRequest::Query { id, query: ClientQuery::Handled } => self.unhandled = Some(id),
                    ask => self.asks.push(ask),
                }
            }
            if !turned.question {
                return;
            }
            self.plain.take(self.now_ms, Input::Asked { before: Vec::new(), begun: String::new() });
        }
    }

    fn tell(&mut self, notice: ServerMessage) {
        self.input(Input::Update(Box::new(Update::Message(notice))));
    }

    fn answer(&mut self, query: u64, answer: QueryAnswer) {
        self.tell(ServerMessage::Answer { id: QueryId(query), answer });
    }

    fn handled(&mut self) {
        let id = self.unhandled.take().unwrap();
        self.tell(ServerMessage::Answer { id, answer: QueryAnswer::Handled });
    }

    fn say(&mut self, line: &str) {
        self.now_ms += 1_000;
        self.input(Input::Tick);
        self.text.push_str(&format!("{line}\n"));
        self.input(Input::Line(line.to_owned()));
    }

    /// Lets the first question of a round gather the others.
    fn wait(&mut self) {
        self.now_ms += 1_000;
        self.input(Input::Tick);
    }

    fn said(&mut self) -> String {
        std::mem::take(&mut self.text)
    }
}

const LIST: &str = "/inbox
inbox triage, in /home/alex/work, this session:
  1: low risk, write_file, write 1 line to notes/1.md (new file), waiting for 1 h
  2: medium risk, shell, run a command in work, waiting for 2 h, expires Mon 14:31
trip to Lisbon, hotels, in /home/alex/trips/lisbon, not open anywhere:
  3: low risk, write_file, write 1 line to notes/3.md (new file), waiting for 3 h
  4: HIGH risk, shell, run `rsync -a ~/Tax nas:/backup/tax`, with untrusted text, waiting for 4 h, expires Mon 14:31
rust ownership notes, in /home/alex/notes, open in another co:
  5: medium risk, edit_file, write 60 lines to notes/billing.md, waiting for 5 h
Type /decide and a number to decide one, for example /decide 1.
You: ";

fn listed() -> InboxFixture {
    let mut front = InboxFixture::open();
    front.say("/inbox");
    assert_eq!(front.asks, [ClientRequest::Query { id: QueryId(1), query: ClientQuery::Inbox }]);
    front.answer(1, QueryAnswer::Inbox { lines: lines() });
    front.asks.clear();
    front
}

/// Asks about one request of the list, which was shown whole.
fn asked(number: u32) -> InboxFixture {
    let mut front = listed();
    front.say(&format!("/decide {number}"));
    let query = ClientQuery::Request { request: id(number) };
    assert_eq!(front.asks, [ClientRequest::Query { id: QueryId(2), query }]);
    front.asks.clear();
    front.said();
    let line = &lines()[usize::try_from(number).unwrap() - 1];
    front.answer(2, QueryAnswer::Request { request: Ok(stored(line, whole(number))) });
    front.wait();
    front
}

#[test]
fn what_waits_is_a_numbered_list() {
    assert_eq!(listed().said(), LIST);
    let mut narrowed = InboxFixture::open();
    narrowed.say("/inbox high lisbon");
    narrowed.answer(1, QueryAnswer::Inbox { lines: lines() });
    let said = narrowed.said();
    assert!(said.contains("  1: HIGH risk, shell") && !said.contains("  2:"), "{said}");
    for (words, told, said) in
        [("/inbox nothing", lines(), "No matching requests."), ("/inbox", Vec::new(), "No requests waiting.")]
    {
        let mut front = InboxFixture::open();
        front.say(words);
        front.answer(1, QueryAnswer::Inbox { lines: told });
        assert_eq!(front.said(), format!("{words}\n{said}\nYou: "));
    }
    for wrong in ["/decide 9", "/decide 0", "/decide all"] {
        let mut front = listed();
        front.said();
        front.say(wrong);
        assert!(front.said().contains("Type /decide and a number that /inbox printed"));
        assert!(front.asks.is_empty());
    }
}

#[test]
fn one_of_another_session_is_asked_and_decided() {
    let mut yes = asked(3);
    let said = yes.said();
    assert!(
        said.starts_with("From another session, trip to Lisbon, hotels:\nApproval 1 of 1, low risk"),
        "{said}"
    );
    yes.say("5");
    assert!(yes.said().contains("Folder: /home/alex/trips/lisbon"), "its own folder is told");
    yes.say("1");
    assert_eq!(yes.asks, [decided(3, Approval::yes())]);
    yes.tell(ServerMessage::Elsewhere { count: 0 });
    yes.handled();
    assert!(yes.said().ends_with("Approval 1: approved.\nYou: "));

    let mut no = asked(3);
    no.say("2");
    no.say("not now");
    assert_eq!(no.asks, [decided(3, Approval::Deny { reason: Some("not now".into()) })]);
    let mut later = asked(3);
    later.say("4");
    assert_eq!(later.asks, [decided(3, Approval::Later)]);

    let mut high = asked(4);
    high.say("1");
    assert!(high.asks.is_empty(), "HIGH is asked twice");
    high.say("yes");
    assert_eq!(high.asks, [decided(4, Approval::yes())]);

    // The requests of this session are sent again meanwhile: the question stays.
    let mut meanwhile = asked(3);
    meanwhile.tell(ServerMessage::Waiting { requests: Vec::new() });
    meanwhile.say("1");
    assert_eq!(meanwhile.asks, [decided(3, Approval::yes())]);
}

#[test]
fn a_list_that_failed_was_answered_by_its_error() {
    let mut front = InboxFixture::open();
    front.say("/inbox");
    let (title, text) = ("inbox".to_owned(), "the database is locked.".to_owned());
    front.tell(ServerMessage::Local { title, text, tone: Tone::Error });
    front.answer(1, QueryAnswer::Failed);
    assert!(front.said().ends_with("the database is locked.\nYou: "), "one answer");
}

#[test]
fn what_cannot_be_asked_is_said() {
    let mut gone = listed();
    gone.say("/decide 3");
    gone.answer(2, QueryAnswer::Request { request: Err("there is no such request.".into()) });
    assert!(gone.said().contains("It cannot be shown: there is no such request."));
    let mut decided = listed();
    decided.say("/decide 3");
    let mut settled = stored(&lines()[2], whole(3));
    settled.state = co::store::RequestState::Consumed;
    decided.answer(2, QueryAnswer::Request { request: Ok(settled) });
    assert!(decided.said().contains("It was decided in the meantime."));
}

#[test]
fn more_that_waits_elsewhere_is_said_once() {
    let mut front = InboxFixture::open();
    for (count, said) in [
        (0, ""),
        (2, "\n2 approvals waiting in other sessions. Type /inbox to list them.\nYou: "),
        (2, ""),
        (1, ""),
        (2, "\n2 approvals waiting in other sessions. Type /inbox to list them.\nYou: "),
    ] {
        front.tell(ServerMessage::Elsewhere { count });
        assert_eq!(front.said(), said, "{count}");
    }
}

#[test]
fn the_mode_is_said_once_and_stands_before_the_line() {
    let mut front = InboxFixture::open();
    for (mode, auto_approve, line) in [
        (Mode::Auto, AutoApprove::Asking, "You (auto): "),
        (Mode::Plan, AutoApprove::Yolo, "You (plan, yolo): "),
        (Mode::Ask, AutoApprove::Yolo, "You (yolo): "),
        (Mode::Ask, AutoApprove::YoloUnsandboxed, "You (yolo unsandboxed): "),
    ] {
        // Only the command says what it sets.
        front.tell(ServerMessage::Header(Header { mode, auto_approve, ..header() }));
        assert_eq!(front.said(), "", "{mode:?}");
        front.tell(ServerMessage::Local {
            title: "mode".to_owned(),
            text: "It is set.".to_owned(),
            tone: Tone::Plain,
        });
        let said = front.said();
        assert!(said.ends_with(&format!("It is set.\n{line}")), "{mode:?}: {said}");
    }
}

#[test]
fn models_and_tool_servers_are_listed() {
    let model =
        |name: &str, current| ModelLine { name: name.to_owned(), note: "built in".to_owned(), current };
    let models = vec![model("offline/tour", true), model("a/b", false)];
    let (own_name, name) = ("find".to_owned(), ToolName::new("github_find\u{1b}[2J"));
    let tool = ListedTool { own_name, name, is_renamed: false, about: String::new(), is_on: true };
    let server = |name: &str, origin| ServerLine {
        name: name.to_owned(),
        state: "ready, 1 tool".to_owned(),
        tone: Tone::Plain,
        is_on: true,
        origin,
        facts: vec!["npx server".to_owned()],
        tools: vec![tool.clone()],
    };
    let lines = vec![server("github", ServerOrigin::Settings), server("known", ServerOrigin::Preset)];
    let listed = |lines| ServerMessage::Servers { servers: ServerList { lines, omitted: None } };
    let mut front = InboxFixture::open();
    front.tell(ServerMessage::Models { models });
    front.tell(listed(lines));
    front.tell(listed(Vec::new()));
    for expected in [
        "- `offline/tour` **(in use)**: built in\n",
        "- `a/b`: built in\n",
        "switches directly",
        "- `github`: ready, 1 tool\n    - `github_find␛[2J`\n    - npx server\n",
        "There are no tool servers.",
    ] {
        assert!(front.text.contains(expected), "{expected:?} in {}", front.text);
    }
    assert!(!front.text.contains("known"), "{}", front.text);
}

/// A pipe takes its next line once the decision on a request of another session is handled, whatever is told before.
#[test]
fn only_its_own_answer_ends_the_wait_for_a_decision() {
    for lost in [None, Some("This request has expired and can no longer be decided.")] {
        let mut front = InboxFixture::open_with(Source::Pipe);
        front.say("/inbox");
        front.answer(1, QueryAnswer::Inbox { lines: lines() });
        front.say("/decide 3");
        front.answer(2, QueryAnswer::Request { request: Ok(stored(&lines()[2], whole(3))) });
        front.wait();
        front.asks.clear();
        front.say("4");
        assert_eq!(front.asks, [decided(3, Approval::Later)]);
        front.said();
        if let Some(text) = lost {
            let text = text.to_owned();
            front.input(Input::Update(Box::new(Update::Event(Event::DecisionsLost {
                requests: vec![id(3)],
                text,
            }))));
        }
        front.tell(ServerMessage::Header(header()));
        front.tell(ServerMessage::Elsewhere { count: 1 });
        front.tell(ServerMessage::Idle);
        assert!(!front.plain.listens(), "nothing of this was the answer");
        front.handled();
        assert!(front.plain.listens() && front.said().contains(lost.unwrap_or_default()));
    }
}
