//! Tests of entered lines and their effects.

use serde_json::json;

use super::*;
use crate::agent::prompt::{PromptPart, PromptPosition, SentError};
use crate::approval::{AutoApprove, Request, RequestId};
use crate::config::{Mode, ThinkingLevel};
use crate::history::RecordNo;
use crate::message::Usd;
use crate::message::{CallId, ToolName, Usage};
use crate::sandbox::tasks::Task;
use crate::sandbox::{Confinement, Isolation};
use crate::store::{StoredUsage, UsedModel};
use crate::tool::mcp::{ServerState, ServerStatus};
use crate::tool::{Access, CallPlan, Category, Risk, SideEffect, ToolSpec};

fn request() -> Request {
    let plan = CallPlan::new("run `ls`\u{1b}[2J".to_owned(), Risk::Medium, Access::Anything);
    let (id, call) = (RequestId("8c2f00000001".to_owned()), CallId("s/1.1.0".to_owned()));
    let request = Request::new(id, call, ToolName::new("shell"), json!({"command": "ls"}), plan);
    Request { risk: Risk::High, ..request }
}

fn task() -> Task {
    let started = jiff::Timestamp::UNIX_EPOCH;
    Task { number: 1, command: "npm run dev".to_owned(), mark: "c1".to_owned(), started, end: None }
}

fn view() -> CommandView {
    CommandView {
        personality: "finch".to_owned(),
        personalities: vec!["finch".to_owned(), "pirate".to_owned()],
        prompt: vec![PromptPart {
            name: "identity".to_owned(),
            place: PromptPosition::Prefix,
            source: "built-in x.md".to_owned(),
            tokens: 1_200,
            text: "You are co.\n~~~\u{1b}".to_owned(),
        }],
        guide: None,
        sent: None,
        without_personality: None,
        cost: Vec::new(),
        cache: Vec::new(),
        stats: Default::default(),
        stats_broken: None,
        context: ContextView {
            parts: vec![("system prompt", 900), ("tool outputs", 2_100)],
            window: Some(10_000),
            limit: Some(8_000),
            last_input: Some(2_800),
            cached: Some(2_100),
            compactable: Some((12, 1_500)),
            compactions: 1,
        },
        prompts: vec![(RecordNo(3), "first".to_owned()), (RecordNo(9), "sec\nond".to_owned())],
        mode: Mode::Ask,
        auto_approve: AutoApprove::Asking,
        isolation: Isolation::FULL,
        read_only: None,
        turn_runs: false,
        thinking: ThinkingLevel::Off,
        status: vec![("folder".to_owned(), "/tmp/a`b".to_owned())],
        tools: vec![ToolSpec {
            name: ToolName::new("list_dir"),
            description: "Lists a folder. More words.".to_owned(),
            parameters: json!({}),
            category: Category::Files,
            risk: Risk::Low,
            side_effect: SideEffect::None { cache_for: None },
            origin: crate::tool::Origin::Builtin,
            output_limit: 1,
            timeout: std::time::Duration::from_secs(1),
        }],
        tasks: vec![(task(), "/tmp/task-1.txt".to_owned())],
        servers: vec![ServerStatus {
            name: "github".to_owned(),
            place: "npx github".to_owned(),
            state: ServerState::Failed { why: "it ended\u{1b}[2J".to_owned() },
        }],
        totals: ConversationSize {
            turns: 1,
            user: 1,
            assistant: 2,
            returns: 1,
            queued: 1,
            usage: Usage::default(),
        },
        waiting: vec![request()],
        waiting_elsewhere: 2,
        grants: vec![(RequestId("r1".to_owned()), "write_file (except HIGH)".to_owned())],
        rules: vec![RuleLine { id: "mine".to_owned(), text: "allow shell: command = \"a`b\"".to_owned() }],
        rules_broken: Some("rules.toml:3: it has no effect".to_owned()),
    }
}

#[test]
fn every_line_is_one_thing() {
    let of_user = |command: &str, privacy, confinement| Entry::Shell {
        command: command.to_owned(),
        privacy,
        confinement,
    };
    let shell = |command: &str, privacy| of_user(command, privacy, Confinement::Network);
    let command = |name: &str, args: &str| Entry::Command { name: name.to_owned(), args: args.to_owned() };
    let prompt = |text: &str| Entry::Prompt { text: text.to_owned() };
    for (line, entry) in [
        ("exit", Entry::Quit),
        (" QuIt \n", Entry::Quit),
        ("", Entry::Nothing),
        (" \t\n", Entry::Nothing),
        ("!ls -la", shell("ls -la", Privacy::Shared)),
        ("!! cat key ", shell("cat key", Privacy::Private)),
        ("!", shell("", Privacy::Shared)),
        ("!exit", shell("exit", Privacy::Shared)),
        ("/help", command("help", "")),
        ("/model  a/b c ", command("model", "a/b c")),
        ("/", command("", "")),
        ("/etc/hosts what?", command("etc/hosts", "what?")),
        (" /etc/hosts what?", prompt("/etc/hosts what?")),
        ("!unsandboxed  make all", of_user("make all", Privacy::Shared, Confinement::Unsandboxed)),
        ("!! unsandboxed ls", of_user("ls", Privacy::Private, Confinement::Unsandboxed)),
        ("!unsandboxed-tool", shell("unsandboxed-tool", Privacy::Shared)),
        (" !important", prompt("!important")),
        ("exit now", prompt("exit now")),
        ("two\nlines\n", prompt("two\nlines")),
    ] {
        assert_eq!(dispatch(line), entry, "{line:?}");
    }
}

/// Returns a message's title, tone and text joined, or the effect as text.
fn effect(line: &str, view: &CommandView) -> String {
    let Entry::Command { name, args } = dispatch(line) else { panic!("{line:?} is no command") };
    match Commands::builtin().decide(&name, &args, view) {
        CommandEffect::Say(Notice { title, text, tone }) => format!("{tone:?} {title}: {text}"),
        CommandEffect::Change(SessionChange::Clear) => "clear".to_owned(),
        CommandEffect::Revoke(request, say) => format!("revoke {request}: {}", say.text),
        CommandEffect::SetAutoApprove(auto_approve, say) => {
            format!("{auto_approve:?} {:?} {}", say.tone, say.title)
        }
        CommandEffect::SetMode(mode, say) => format!("{mode:?} {:?} {}", say.tone, say.title),
        CommandEffect::ShowKeys(filter) => format!("keys {filter:?}"),
        CommandEffect::SwitchModel(name) => format!("switch to {name}"),
        CommandEffect::ListModels => "list models".to_owned(),
        CommandEffect::SetThinking(level, say) => format!("{level:?} {:?} {}", say.tone, say.title),
        CommandEffect::SetPersonality(name, say) => format!("be {name}: {}", say.text),
        CommandEffect::Send { say, text, .. } => {
            let say = say.map(|say| format!("{} ", say.text)).unwrap_or_default();
            format!("{say}send {}", text.lines().next().unwrap_or_default())
        }
        CommandEffect::Change(SessionChange::Retry) => "retry".to_owned(),
        CommandEffect::Change(SessionChange::Compact { focus }) => format!("compact {focus:?}"),
        CommandEffect::Change(SessionChange::UndoCompaction) => "undo compaction".to_owned(),
        CommandEffect::Change(SessionChange::Fork { message }) => format!("fork {message:?}"),
        CommandEffect::Change(SessionChange::Rewind { before, text, files }) => {
            format!("rewind to {} {text:?} {files:?}", before.0)
        }
        CommandEffect::Change(SessionChange::Undo { what, agreed }) => format!("undo {what:?} {agreed}"),
        CommandEffect::ListChanges => "list changes".to_owned(),
        CommandEffect::Memory(request) => format!("memory {request:?}"),
        CommandEffect::EditMemory(id) => format!("edit memory {id}"),
        CommandEffect::CarryOut(mode) => format!("carry out in {mode:?}"),
        CommandEffect::ListServices => "pick a service".to_owned(),
        CommandEffect::Trust(trusting) => format!("trust {trusting:?}"),
        CommandEffect::ListSessions { query } => format!("pick a session like {query:?}"),
        CommandEffect::Rename(title) => format!("rename to {title:?}"),
        CommandEffect::Export(form) => format!("export {form:?}"),
        CommandEffect::ClearCache(pattern) => format!("clear cache {pattern:?}"),
        CommandEffect::EndTask(number) => format!("end task {number}"),
        CommandEffect::ListServers => "list servers".to_owned(),
        CommandEffect::ReconnectServer(name) => format!("reconnect {name}"),
        CommandEffect::Quit => "quit".to_owned(),
    }
}

#[test]
fn commands_decide() {
    let idle = view();
    let running = CommandView { turn_runs: true, auto_approve: AutoApprove::Yolo, ..view() };
    let plan = CommandView { mode: Mode::Plan, ..view() };
    let open = CommandView { isolation: Isolation::NONE, ..view() };
    let guided = CommandView { guide: Some("CLAUDE.md".to_owned()), ..view() };
    let read_only_view = CommandView { read_only: Some("process 7".to_owned()), ..view() };
    for (view, line, expected) in [
        (&idle, "/clear", "clear"),
        (&running, "/clear", "Warning clear: A turn is running. Stop it with Ctrl+C first, then `/clear`."),
        (&read_only_view, "/new", "clear"),
        (&idle, "/exit", "quit"),
        (&idle, "/retry", "retry"),
        (&running, "/retry", "Warning retry: A turn is running. Stop it with Ctrl+C first, then `/retry`."),
        (
            &idle,
            "/thinking",
            "Plain thinking: Thinking is `off`. `/thinking off`, `low`, `medium`, `high`, `default` or a number of tokens sets it.",
        ),
        (&running, "/thinking High", "High Plain thinking"),
        (&idle, "/thinking default", "Default Plain thinking"),
        (&idle, "/thinking 2000", "Tokens(2000) Plain thinking"),
        (
            &idle,
            "/thinking 0",
            "Warning thinking: The levels are `default`, `off`, `low`, `medium`, `high` and a number of tokens. Nothing was changed.",
        ),
        (
            &idle,
            "/personality",
            "Plain personality: The personality is `finch`; there are `finch`, `pirate`. The setting `personality` keeps one.",
        ),
        (
            &running,
            "/personality Pirate",
            "be pirate: The personality is `pirate` from the next turn on. The prefix of the prompt changes with it, so \
             that the provider reads the conversation anew once.",
        ),
        (
            &idle,
            "/personality bird",
            "Warning personality: There is no personality `bird`; there are `finch`, `pirate`. Nothing was changed.",
        ),
        (
            &idle,
            "/init",
            "send Write an AGENTS.md for this project: the short guide that a new colleague, or an assistant, needs to work here.",
        ),
        (
            &guided,
            "/init",
            "There is `CLAUDE.md` already, so the model is asked to update it. send This project has CLAUDE.md. Read it, \
             compare it with the project as it is now (README, manifests, build files, layout, tests, CI), and propose \
             changes with edit_file: correct what is wrong, add what is missing and would not be guessed, remove what no \
             longer holds or holds for every project. Keep its form and its author's words otherwise. If nothing has to \
             change, say so and change nothing.",
        ),
        (
            &idle,
            "/status prompt",
            "Plain prompt: The prompt of the next turn has about 1,200 tokens besides the conversation. A change in the \
             prefix makes the provider read the conversation anew; one at the tail does not.\n\n**`identity`** (prefix, \
             1,200 tokens) from `built-in x.md`\n\n~~~~text\nYou are co.\n~~~␛\n~~~~\n",
        ),
        (
            &idle,
            "/status all",
            "Warning status: `all` is unknown: write `/status`, `/status prompt`, `/status prompt 2` for what turn 2 sent, or \
             `/status prompt 2 1` for its first request with the conversation.",
        ),
        (
            &CommandView { sent: Some(Err(SentError::NoTurn { turn: 9, turns: 2 })), ..view() },
            "/status prompt 9",
            "Warning status: Nothing can be shown: there is no turn 9: the session has had 2.",
        ),
        (
            &CommandView {
                sent: Some(Err(SentError::NoRequest { number: 3, turn: 2, requests: 1 })),
                ..view()
            },
            "/status prompt 2 3",
            "Warning status: Nothing can be shown: there is no request 3 of turn 2: it has had 1 that ended.",
        ),
        (
            &CommandView { without_personality: Some("ollama:tiny".to_owned()), ..view() },
            "/personality pirate",
            "be pirate: The personality is `pirate` from the next turn on. The prompt of `ollama:tiny` has no personality, so \
             it changes only with another model.",
        ),
        (&idle, "/QUIT", "quit"),
        (&running, "/keys", "keys \"\""),
        (&idle, "/keys  fold  all", "keys \"fold  all\""),
        (&idle, "/mode auto", "Auto Warning mode auto"),
        (&running, "/mode Dry-Run", "DryRun Plain mode dry-run"),
        (
            &idle,
            "/mode defer-all",
            "Warning mode: The modes are `ask`, `auto`, `plan` and `dry-run`. Nothing was changed.",
        ),
        (&idle, "/yolo", "Yolo Warning yolo is on"),
        (&plan, "/go", "carry out in Ask"),
        (&plan, "/go auto", "carry out in Auto"),
        (
            &idle,
            "/go",
            "Warning go: The mode is not `plan`, so there is no plan to carry out. Nothing was changed.",
        ),
        (&open, "/yolo", "Yolo Warning yolo is on, except for commands"),
        (&idle, "/yolo yes", "YoloUnsandboxed Warning yolo is on, for unsandboxed commands too"),
        (&running, "/yolo", "Asking Plain yolo is off"),
        (&running, "/yolo on", "Yolo Warning yolo is on"),
        (&idle, "/yolo off", "Asking Plain yolo is off"),
        (
            &idle,
            "/yolo maybe",
            "Warning yolo: Use `/yolo on`, `/yolo off`, or `/yolo` to toggle; `/yolo yes` for unsandboxed \
             commands too. Nothing was changed.",
        ),
        (&idle, "/resume", "pick a session like \"\""),
        (&running, "/sessions dana", "pick a session like \"dana\""),
        (&idle, "/model anthropic/x ", "switch to anthropic/x"),
        (&idle, "/trust", "trust Look"),
        (&idle, "/trust yes", "trust Yes"),
        (
            &idle,
            "/trust /tmp",
            "Warning trust: `/trust` shows the settings, rules, hooks, tool servers, texts for the model, memories and commands of this folder, `/trust yes` trusts them. `co \
             trust FOLDER` trusts another one, `co trust --revoke` revokes trust. Nothing was changed.",
        ),
        (&idle, "/login", "pick a service"),
        (&idle, "/status", "Plain status: - folder: ``/tmp/a`b``"),
        (&idle, "/tools", "Plain tools: files:\n\n- `list_dir` (low risk, only reads): Lists a folder."),
        (&idle, "/tasks", "Plain tasks: - 1: `npm run dev`, running; output in `/tmp/task-1.txt`"),
        (
            &CommandView::default(),
            "/tasks",
            "Plain tasks: Nothing runs in the background. While a command runs, Ctrl+B lets it go on there.",
        ),
        (&running, "/rename  the\tinvoices ", "rename to \"the invoices\""),
        (&read_only_view, "/rename x", "Warning rename: Only process 7 can rename this session."),
        (&idle, "/rename", "Warning rename: Add the title: `/rename the invoices of May`."),
        (&idle, "/export", "export Markdown"),
        (&running, "/export html", "export Html"),
        (&idle, "/export pdf", "Warning export: The forms are `md`, `json` and `html`. Nothing was written."),
        (&idle, "/compact", "compact None"),
        (&idle, "/compact the  API", "compact Some(\"the  API\")"),
        (&idle, "/compact undo", "undo compaction"),
        (
            &CommandView::default(),
            "/compact undo",
            "Warning compact: This session has no compaction that can be undone.",
        ),
        (
            &running,
            "/compact",
            "Warning compact: A turn is running. Stop it with Ctrl+C first, then `/compact`.",
        ),
        (&read_only_view, "/compact", "Warning compact: Only process 7 can compact this session."),
        (
            &CommandView::default(),
            "/compact preview",
            "Plain compact: There is not enough older text to compact.",
        ),
        (&idle, "/fork", "fork None"),
        (&read_only_view, "/fork try tabs", "fork Some(\"try tabs\")"),
        (&running, "/fork", "Warning fork: A turn is running. Stop it with Ctrl+C first, then `/fork`."),
        (&idle, "/rewind 1 files", "rewind to 9 \"sec\\nond\" TakenBack"),
        (&idle, "/rewind 1 files yes", "rewind to 9 \"sec\\nond\" Agreed"),
        (
            &idle,
            "/rewind 1 all",
            "Warning rewind: `1 all` is not `NUMBER` or `NUMBER files`. Nothing was changed.",
        ),
        (&idle, "/undo", "undo Last false"),
        (&idle, "/undo yes", "undo Last false"),
        (&idle, "/undo turn yes", "undo Turn true"),
        (&idle, "/undo 12", "undo Entry(12) false"),
        (&running, "/undo list", "list changes"),
        (&running, "/undo", "Warning undo: A turn is running. Stop it with Ctrl+C first, then `/undo`."),
        (
            &read_only_view,
            "/redo",
            "Warning redo: Only process 7 can do this here. `co undo` does it from a shell.",
        ),
        (
            &idle,
            "/undo everything",
            "Warning undo: `everything` is neither `turn`, `list` nor a number. Nothing was changed.",
        ),
        (&idle, "/redo", "undo Redo true"),
        (&running, "/memory", "memory List"),
        (&read_only_view, "/memory search  two words", "memory Search(\"two words\")"),
        (&idle, "/memory add Prefers tabs", "memory Add { text: \"Prefers tabs\", tags: [], scope: User }"),
        (&idle, "/memory edit p2", "edit memory p2"),
        (
            &idle,
            "/memory edit #2 New text",
            "memory Edit { id: MemoryId { scope: User, number: 2 }, text: \"New text\" }",
        ),
        (&idle, "/memory why 12", "memory Show(MemoryId { scope: User, number: 12 })"),
        (&idle, "/memory review yes", "memory Decay"),
        (&idle, "/forget p3", "memory Forget(MemoryId { scope: Project, number: 3 })"),
        (
            &idle,
            "/forget",
            "Warning forget: `/forget ID` forgets a memory; `/memory` lists them with their ids.",
        ),
        (
            &idle,
            "/forget 0",
            "Warning memory: \"0\" is not the id of a memory, as `12` or, of a project, `p12`. Nothing was changed.",
        ),
        (
            &idle,
            "/memory clean",
            "Warning memory: `clean` is not one of: list, search WORDS, add TEXT, edit ID, why ID, forget ID, review. Nothing was changed.",
        ),
        (&idle, "/rewind 1", "rewind to 9 \"sec\\nond\" Stay"),
        (&idle, "/rewind 2", "rewind to 3 \"first\" Stay"),
        (&idle, "/rewind 3", "Warning rewind: There is no prompt `3`. Nothing was changed."),
        (&idle, "/rewind 0", "Warning rewind: There is no prompt `0`. Nothing was changed."),
        (
            &running,
            "/rewind",
            "Warning rewind: A turn is running. Stop it with Ctrl+C first, then `/rewind`.",
        ),
        (
            &read_only_view,
            "/rewind",
            "Warning rewind: Only process 7 can rewind this session. `/fork` copies it.",
        ),
        (&CommandView::default(), "/rewind", "Warning rewind: There is no prompt to go back to."),
        (&idle, "/mcp", "list servers"),
        (&running, "/mcp reconnect github", "reconnect github"),
        (&idle, "/mcp reconnect x", "Warning tool servers: There is no server `x`; `/mcp` lists them."),
        (
            &idle,
            "/mcp off",
            "Warning tool servers: `/mcp` lists them, `/mcp reconnect NAME` connects one again.",
        ),
        (&running, "/tasks end 1", "end task 1"),
        (&idle, "/tasks end one", "Warning tasks: A task has a number: `/tasks end 1`."),
        (
            &idle,
            "/history",
            "Plain history: 1 turn, 4 messages: 1 from you, 2 replies, 1 tool answer. 1 prompt in the queue.",
        ),
    ] {
        assert_eq!(effect(line, view), expected, "{line}");
    }
}

#[test]
fn commands_name_what_there_is() {
    let view = view();
    for (line, parts) in [
        ("/help", vec!["`/model [provider/model]`: ", "`/yolo [on|off]`", "`!!`"]),
        ("/model", vec!["list models"]),
        ("/rewind", vec!["1. `sec …`\n2. `first`\n", "`/rewind NUMBER`"]),
        ("/compact preview", vec!["oldest 12 messages, about 1,500 tokens", "`/compact undo`"]),
        (
            "/context",
            vec![
                "about 3,000 tokens, 30 % of the model's window of 10,000",
                "- tool outputs: 2,100 (70 %)",
                "2,800 tokens by the provider's count, 75 % of them from its cache",
                "Beyond 8,000 tokens",
            ],
        ),
        (
            "/approvals",
            vec![
                "`8c2f00000001` HIGH `shell`: ``run `ls`␛[2J``",
                "2 requests in other",
                "1. `write_file (except HIGH)`\n",
                "`/approvals revoke NUMBER` revokes one.",
                "`co rules revoke ID` removes one:\n\n- `mine` ``allow shell: command = \"a`b\"``\n",
            ],
        ),
        ("/approvals revoke 1", vec!["revoke r1: `write_file (except HIGH)` is no longer allowed."]),
        ("/approvals revoke 0", vec!["There is no `0`"]),
        ("/approvals revoke x", vec!["There is no `x`"]),
        ("/approvals what", vec!["Use `/approvals` or `/approvals revoke NUMBER`."]),
        (
            "/rules",
            vec![
                "- `mine` ``allow shell: command = \"a`b\"``\n",
                "Everything asks until an error is fixed: `rules.toml:3: it has no effect`",
                "`co rules suggest` proposes some",
            ],
        ),
        (
            "/stauts",
            vec!["Warning unknown command: `/stauts`", "did you mean `/status`?", "Nothing was sent"],
        ),
        ("/\u{1b}[31m", vec!["`/␛[31m` is not a command; `/help` lists them."]),
        ("/etc/hosts", vec!["needs a space before it"]),
    ] {
        let said = effect(line, &view);
        for part in parts {
            assert!(said.contains(part), "{line}: {part:?} is missing in {said:?}");
        }
    }
    let builtin = Commands::builtin();
    let names: Vec<&str> = builtin.iter().map(|command| command.name.as_str()).collect();
    let expected = [
        "help",
        "keys",
        "clear",
        "new",
        "status",
        "cost",
        "stats",
        "context",
        "compact",
        "tools",
        "tasks",
        "cache",
        "mcp",
        "trust",
        "history",
        "model",
        "thinking",
        "personality",
        "init",
        "retry",
        "mode",
        "go",
        "login",
        "yolo",
        "approvals",
        "rules",
        "rename",
        "export",
        "fork",
        "rewind",
        "memory",
        "forget",
        "undo",
        "redo",
        "resume",
        "sessions",
        "quit",
        "exit",
    ];
    assert_eq!(names, expected);
    let choices: Vec<_> = builtin.iter().flat_map(Command::choices).collect();
    assert_eq!(
        choices,
        [
            "default", "off", "low", "medium", "high", "ask", "auto", "plan", "dry-run", "ask", "auto", "on",
            "off", "md", "json", "html"
        ]
    );
}

#[test]
fn costs_are_told_by_part_and_model() {
    let total = |requests, cost, unpriced| StoredUsage {
        requests,
        input: 83_200,
        cached_input: 60_000,
        output: 512,
        cost: Usd(cost),
        unpriced,
        ..StoredUsage::default()
    };
    let model = |name: &str| UsedModel { provider: "p".to_owned(), model: name.to_owned() };
    let part = |name, models| CostPart { name, models };
    let unanswered = UsedModel { provider: String::new(), model: String::new() };
    let cost = vec![
        part("last request", vec![(model("`a`"), StoredUsage { reasoning: 100, ..total(1, 0, 1) })]),
        part("this turn", Vec::new()),
        part(
            "today",
            vec![
                (model("a"), total(2, 1_200_000_000, 1)),
                (unanswered, StoredUsage { requests: 1, ..StoredUsage::default() }),
            ],
        ),
    ];
    let expected = "Plain cost: \
        - last request: cost unknown; 1 request, 83,200 input (60,000 cached), 512 output (100 thinking)\n\
        - today: cost at least $1.20 (1 request of unknown price); 3 requests, 83,200 input (60,000 cached), 512 output\n  \
          - `p/a`: cost at least $1.20 (1 request of unknown price); 2 requests, 83,200 input (60,000 cached), 512 output\n  \
          - no answer: cost $0.00; 1 request, 0 input, 0 output\n\n\
        Costs use the prices of the day of each request.";
    assert_eq!(effect("/cost", &CommandView { cost, ..view() }), expected);
    let nothing = "Plain cost: No requests today or in this session.";
    assert_eq!(effect("/cost", &view()), nothing);
}

#[test]
fn a_command_can_be_added_while_the_program_runs() {
    let mut commands = Commands::builtin();
    let name = format!("deploy-{}", 7);
    let text = format!("from a file of {name}");
    let says = move |args: &str, _: &Commands, _: &CommandView| {
        CommandEffect::Say(Notice::plain("deploy", format!("{text}: {args}")))
    };
    assert!(commands.add(Command::new(&name, "[where]", "deploy it", CommandNeed::Nothing, says.clone())));
    let said = |line| match commands.decide(&name, line, &CommandView::default()) {
        CommandEffect::Say(say) => say.text,
        other => panic!("{other:?}"),
    };
    assert_eq!(said(" staging "), "from a file of deploy-7: staging");
    let CommandEffect::Say(help) = commands.decide("help", "", &CommandView::default()) else { panic!() };
    assert!(help.text.contains("- `/deploy-7 [where]`: deploy it\n"));
    assert!(
        !commands.add(Command::new("quit", "", "something else", CommandNeed::Nothing, says)),
        "built in"
    );
}
