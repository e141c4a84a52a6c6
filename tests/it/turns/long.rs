//! Long sessions: they replay to the same history, and most of what is sent was sent before.

use co::message::{Message, Piece};
use co::provider::{ModelRequest, RequestKind};
use kit::turns::{run, script};

fn runs(text: &str) -> (String, Vec<ModelRequest>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(run::run_seen(&script::parse(text)))
}

/// 400 turns with tools, approvals and three compactions: the kit compares the store's history with the live one,
/// and counts that each side effect ran once.
#[test]
fn long_sessions_replay_to_the_same_history() {
    let mut text = "file a A\nmodel-window 10000000\n".to_owned();
    for turn in 1..=400 {
        text.push_str(&format!("prompt number {turn}\n"));
        match turn % 20 {
            0 => text.push_str(&format!(
                "answer write yes\nreply\n  call write {{\"path\":\"f{turn}\",\"text\":\"x\"}}\nreply\n  text Wrote.\n"
            )),
            1..=5 => text.push_str("reply\n  call look {\"path\":\"a\"}\nreply\n  text Looked.\n"),
            _ => text.push_str("reply\n  text Fine, and so on.\n"),
        }
        if turn % 120 == 0 {
            text.push_str("compact\nreply\n  text Numbers were counted.\nreopen\n");
        }
    }
    let (told, _) = runs(&text);
    assert_eq!(told.matches("\ncompacted ").count(), 3, "{}", told.lines().last().unwrap_or_default());
    assert_eq!(told.matches("\nran write").count(), 20);
    // What earlier compactions replaced is in the ledger of the last.
    let summary = told.lines().find(|line| line.starts_with("- note Summary:")).unwrap();
    assert!(summary.contains("number 1 /") && summary.contains("\"path\":\"f340\""), "{summary}");
    assert!(told.contains("0 replies left"), "{}", told.lines().find(|line| line.starts_with("==")).unwrap());
}

/// The bytes of a request that a service which caches prefixes would have from the request before, and all of them.
fn cached(before: Option<&ModelRequest>, request: &ModelRequest) -> (usize, usize) {
    let size = |message: &Message| {
        message.weight(|piece| match piece {
            Piece::Said(text) | Piece::Thought(text) => text.len(),
            Piece::Call(call) => call.args.to_string().len(),
            Piece::Image => 0,
        })
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
