//! One session, five wires: the model is changed in mid-session from each wire to the next, and back again. The request
//! checker finds no fault in any request, a service's opaque data goes back to its own model only, and the whole
//! conversation stays.

use super::kit::{each, on_terminal, run, say, sent_lines};
use crate::co::{Co, Service};

/// A model of each wire, and the opaque data that it signs with.
const MODELS: [(&str, &str); 5] = [
    ("anthropic/claude-x", "c2lnbmVkLWFudGhyb3BpYw"),
    ("openai/gpt-x", "c2lnbmVkLXJlc3BvbnNlcw"),
    ("gemini/gemini-3-pro", "c2lnbmVkLWdlbWluaQ"),
    ("chat/some-x", "c2lnbmVkLWNoYXQ"),
    ("ollama/llama-x", "c2lnbmVkLW9sbGFtYQ"),
];

/// How the model is changed.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// Another run goes on with the session.
    Runs,
    /// The person says so.
    Screen,
}

/// The turns: each wire, and each again after all the others.
fn turns() -> impl Iterator<Item = (usize, &'static str, &'static str)> {
    MODELS
        .iter()
        .chain(&MODELS)
        .enumerate()
        .map(|(number, (model, signature))| (number + 1, *model, *signature))
}

fn script() -> String {
    let turn = |(number, model, signature): (usize, &str, &str)| {
        format!(
            "reply\n  thinking Thought {number} of {model}. | sig={signature}\n  text Look {number}.\n  \
             call read_file {{\"path\":\"a.txt\"}} | id=call_read_{number}\n  \
             call list_dir {{}} | id=call_list_{number}\nreply\n  text Done {number}.\n"
        )
    };
    turns().map(turn).collect()
}

/// A person who knows one service in five wires.
fn person(service: &Service) -> Co {
    let (root, chat) = (service.server.url(), service.server.chat_url());
    let settings = format!(
        "[providers.anthropic]\nbase_url = '{root}'\n[providers.openai]\nbase_url = '{chat}'\nwire = 'responses'\n\
         [providers.gemini]\nbase_url = '{root}'\n[providers.chat]\npreset = 'openai-compatible'\nbase_url = '{chat}'\n\
         [providers.ollama]\nbase_url = '{root}'\n"
    );
    Co::new().file(".config/co/config.toml", settings).file("work/a.txt", "the first line\n")
}

#[test]
fn the_model_changes_through_all_wires_and_back() {
    each(&[Way::Runs, Way::Screen], 2, |way| {
        let ids = MODELS.map(|(name, _)| format!("{{\"id\": \"{}\"}}", name.split_once('/').unwrap().1));
        let models = format!("{{\"data\": [{}]}}", ids.join(", "));
        let service = Service::with_page(&script(), "/v1/models", &models);
        let co = person(&service);
        match way {
            Way::Runs => in_runs(&co),
            Way::Screen => on_screen(&co),
        }
        service.is_content();
        let told = all_that_was_said();
        for (number, _, own) in turns() {
            for request in [2 * number - 1, 2 * number] {
                let body = service.asked(request);
                for (model, signature) in MODELS {
                    let known = signature == own && !goes_nowhere(model) && request > MODELS.len() * 2;
                    let here = request % 2 == 0 && signature == own && !goes_nowhere(model);
                    assert_eq!(
                        body.contains(signature),
                        known || here,
                        "{model} in request {request}: {body}"
                    );
                }
                assert_eq!(
                    sent_lines(&service, request),
                    told[..told.len().min(upto(request))],
                    "request {request}"
                );
            }
        }
        assert_eq!(service.server.requests().len(), 4 * MODELS.len());
    });
}

/// Ollama signs nothing.
fn goes_nowhere(model: &str) -> bool {
    model.starts_with("ollama/")
}

/// Lines of a whole turn, in the words of [`sent_lines`].
const LINES: usize = 7;

/// How many lines were said before a request.
fn upto(request: usize) -> usize {
    let turn = (request - 1) / 2;
    turn * LINES + if request % 2 == 1 { 1 } else { LINES - 1 }
}

fn all_that_was_said() -> Vec<String> {
    let lines = |(number, ..): (usize, &str, &str)| {
        [
            format!("user go {number}"),
            format!("assistant Look {number}."),
            "call read_file {\"path\":\"a.txt\"}".to_owned(),
            "call list_dir {}".to_owned(),
            "return      1\tthe first line\n".to_owned(),
            "return a.txt  15 bytes\n".to_owned(),
            format!("assistant Done {number}."),
        ]
    };
    turns().flat_map(lines).collect()
}

fn in_runs(co: &Co) {
    for (number, model, _) in turns() {
        let prompt = format!("go {number}");
        let mut args = vec!["-p", &prompt, "--model", model];
        if number > 1 {
            args.push("-c");
        }
        let ran = run(co, &args);
        let said = format!("Look {number}.\nDone {number}.\n");
        assert_eq!((ran.code, ran.out), (Some(0), said), "{model}: {}", ran.err);
    }
}

fn on_screen(co: &Co) {
    let mut screen = on_terminal(co, &["--model", MODELS[0].0], (100, 40));
    screen.wait_for("unsandboxed");
    for (number, model, _) in turns() {
        if number > 1 {
            say(&mut screen, &format!("/model {model}"));
        }
        screen.wait_for(&model.replace('/', " "));
        say(&mut screen, &format!("go {number}"));
        screen.wait_for(&format!("Done {number}."));
    }
}
