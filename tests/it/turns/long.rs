//! Long sessions: they replay to the same history, and most of what is sent was sent before.

use std::path::Path;
use std::sync::Arc;

use co::command::ExportForm;
use co::frontend::export::{ExportHead, export};
use co::frontend::import::import;
use co::history::{Conversation, CopyOf, Durability, Record};
use co::message::{Message, MessagePiece};
use co::provider::{ModelRequest, RequestKind};
use co::session::Session;
use co::store::{Store, StoreOptions};
use kit::turns::{run, script};

fn runs(text: &str) -> (String, Vec<ModelRequest>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(run::run_seen(&script::parse(text)))
}

/// 1,000 turns with tools, approvals and seven compactions: the kit compares the store's history with the live one,
/// and counts that each side effect ran once. Then it is found, copied, exported, imported and rewound.
#[test]
fn long_sessions_replay_to_the_same_history() {
    let mut text = "file a A\nmodel-window 10000000\n".to_owned();
    for turn in 1..=1_000 {
        text.push_str(&format!("prompt number {turn}\n"));
        match turn % 20 {
            0 => text.push_str(&format!(
                "answer write yes\nreply\n  call write {{\"path\":\"f{turn}\",\"text\":\"x\"}}\nreply\n  text Wrote.\n"
            )),
            1..=5 => text.push_str("reply\n  call look {\"path\":\"a\"}\nreply\n  text Looked.\n"),
            _ => text.push_str("reply\n  text Fine, and so on.\n"),
        }
        if turn % 125 == 0 && turn < 1_000 {
            text.push_str("compact\nreply\n  text Numbers were counted.\nreopen\n");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (told, _) = runtime.block_on(run::run_in(&script::parse(&text), folder.path()));
    runtime.block_on(whole_ways(folder.path()));
    assert_eq!(told.matches("\ncompacted ").count(), 7, "{}", told.lines().last().unwrap_or_default());
    assert_eq!(told.matches("\nran write").count(), 50);
    // The ledger of the last compaction contains the messages that earlier ones replaced.
    let summary = told.lines().find(|line| line.starts_with("- note Summary:")).unwrap();
    assert!(summary.contains("number 1 /") && summary.contains("\"path\":\"f780\""), "{summary}");
    assert!(told.contains("0 replies left"), "{}", told.lines().find(|line| line.starts_with("==")).unwrap());
}

/// Other operations on a long session keep all of it.
async fn whole_ways(folder: &Path) {
    let store = Store::open(StoreOptions::new(folder.join("data"), folder.join("run"))).await.unwrap();
    let found = store.search("number 888", 5).await.unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    let mut session = Session::open(&store, &found[0].id).await.unwrap();
    let texts = |messages: &[Message]| -> Vec<String> {
        let text = |message: &Message| match message {
            Message::ToolReturns { returns } => returns.iter().map(co::message::ToolReturn::text).collect(),
            Message::Assistant(reply) => {
                reply.text() + &reply.calls().map(|call| call.args.to_string()).collect::<String>()
            }
            Message::User { parts } => co::message::images::typed_text(parts),
        };
        messages.iter().filter(|message| message.summary().is_none()).map(text).collect()
    };
    let of = |history: &co::history::History| {
        texts(&history.shown_messages().map(Arc::unwrap_or_clone).collect::<Vec<_>>())
    };
    let whole = of(session.history());
    assert_eq!(session.history().prompts().count(), 1_000);
    let copy = session.history().conversation(session.id().clone());
    assert_eq!(of(Session::copy(&store, copy).await.unwrap().history()), whole);
    let messages: Vec<Arc<Message>> = session.history().shown_messages().collect();
    let head = ExportHead {
        id: session.id(),
        title: "long",
        workspace: Path::new("/w"),
        exported: jiff::Timestamp::UNIX_EPOCH,
    };
    let imported = import(&export(ExportForm::Json, &head, &messages)).unwrap();
    let imported = Conversation {
        of: CopyOf::File { format: imported.format.to_owned() },
        workspace: "/w".into(),
        title: imported.title,
        messages: imported.messages,
        started: Default::default(),
        notes: Vec::new(),
        summary: None,
    };
    assert_eq!(of(Session::copy(&store, imported).await.unwrap().history()), whole);
    // Back behind four of the seven compactions.
    let (before, _) = session.history().prompts().nth(450).unwrap();
    session.commit(&[Record::Rewound { before }], Durability::Synced).await.unwrap();
    let left = of(&Session::read(&store, session.id()).await.unwrap());
    assert_eq!(left, of(session.history()));
    assert_eq!(session.history().prompts().count(), 450);
    assert_eq!(left, whole[..left.len()]);
}

/// The bytes of a request that a service which caches prefixes would have from the request before, and all of them.
fn cached(before: Option<&ModelRequest>, request: &ModelRequest) -> (usize, usize) {
    let size = |message: &Message| {
        let bytes = message.pieces().map(|piece| match piece {
            MessagePiece::Prompt(text) | MessagePiece::Note(_, text) | MessagePiece::Output(text) => {
                text.len()
            }
            MessagePiece::Answer(text) | MessagePiece::Thought(text) => text.len(),
            MessagePiece::Call(call) => call.args.to_string().len(),
            MessagePiece::Native | MessagePiece::Image(_) => 0,
        });
        bytes.sum::<usize>()
    };
    let tools = |request: &ModelRequest| {
        request.tools.iter().map(|tool| format!("{tool:?}")).collect::<String>() + &request.system
    };
    let preamble = tools(request);
    let all = preamble.len() + request.conversation().map(size).sum::<usize>();
    let Some(before) = before.filter(|before| tools(before) == preamble) else { return (0, all) };
    let same = before.conversation().zip(request.conversation()).take_while(|(one, other)| one == other);
    (preamble.len() + same.map(|(_, message)| size(message)).sum::<usize>(), all)
}

/// 100 turns with default settings, in a window that they fill more than twice. Summaries count as not cached.
#[test]
fn most_of_what_is_sent_is_in_a_cache() {
    let mut text = "model-window 60000\n".to_owned();
    for turn in 1..=100 {
        text.push_str(&format!("file f{turn} {}\n", format!("line {turn} of a file; ").repeat(600)));
        text.push_str(&format!("prompt please read file number {turn} and say what is in it\n"));
        let call = format!("{{\"path\":\"f{turn}\"}}");
        text.push_str(&format!("reply\n  call look {call}\nreply\n  text*20 \"It has many lines. \"\n"));
    }
    // Each summary takes a reply of its turn.
    text.push_str(&"reply\n  text Files were read.\n".repeat(6));
    let (told, requests) = runs(&text);
    let compactions = told.matches("\ncompacted ").count();
    assert!((1..=4).contains(&compactions), "{compactions} compactions");
    let (mut from_cache, mut sent) = (0, 0);
    let mut before: Option<&ModelRequest> = None;
    for request in &requests {
        let (part, all) = cached(before.filter(|_| request.purpose == RequestKind::Answer), request);
        from_cache += part;
        sent += all;
        if request.purpose == RequestKind::Answer {
            before = Some(request);
        }
    }
    let share = from_cache * 1_000 / sent;
    println!("{}.{} % of {sent} bytes, {compactions} compactions", share / 10, share % 10);
    assert!(share >= 950, "{share} of 1,000 bytes are in the cache; {compactions} compactions");
}
