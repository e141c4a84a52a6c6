//! The list of tool servers.

use co::frontend::protocol::{
    ClientRequest, ServerChange, ServerLine, ServerList, ServerMessage, ServerOrigin, Tone,
};
use co::message::ToolName;
use co::tool::mcp::ListedTool;

use crate::tui::kit::{Screen, at_all_sizes};

fn line(name: &str, state: &str, tone: Tone, is_on: bool, origin: ServerOrigin) -> ServerLine {
    let facts = vec![format!("npx -y @example/{name}-server --with some --words")];
    ServerLine { name: name.into(), state: state.into(), tone, is_on, origin, facts, tools: Vec::new() }
}

fn servers() -> Vec<ServerLine> {
    let held = ServerOrigin::Project { content: Some("c0ffee".into()) };
    let mut files = line("files", "3 tools", Tone::Plain, true, ServerOrigin::Settings);
    let tool = |name: &str, about: &str, is_on| ListedTool {
        own_name: name.into(),
        name: ToolName::new(format!("files_{name}")),
        is_renamed: false,
        about: about.into(),
        is_on,
    };
    files.tools = vec![
        tool("read_text_file", "Reads a file as text, whatever its kind", true),
        tool("write_file", "Creates a file, or replaces one", false),
        tool("a_tool_whose_name_is_rather_long", "", true),
    ];
    files.facts.push("files-server 1.2, protocol 2025-06-18, 812 ms".into());
    let mut db = line("db", "not used: new in this project", Tone::Warning, false, held);
    db.facts.push("DATABASE_URL is given to it as URL".into());
    vec![
        db,
        files,
        line("search", "failed: it did not answer within 10 s", Tone::Error, true, ServerOrigin::Settings),
        line("thinking", "a scratch pad for thoughts in steps", Tone::Plain, false, ServerOrigin::Preset),
    ]
}

fn list(lines: Vec<ServerLine>) -> ServerList {
    ServerList { lines, omitted: None }
}

fn open(screen: Screen) -> Screen {
    screen.notice(ServerMessage::Servers { servers: list(servers()) })
}

#[test]
fn the_list_of_servers_shows_states_tools_and_what_is_wrong() {
    let shots = |keys: &str| at_all_sizes(|screen| open(screen).keys(keys).shot());
    insta::assert_snapshot!("servers_listed", shots("<down>"));
    insta::assert_snapshot!("servers_tools", shots("<down><ret><down><down>"));
    insta::assert_snapshot!("servers_of_a_project", shots(" "));
    let many = ServerList { lines: servers(), omitted: Some((140, 31_400)) };
    let mut screen = Screen::open(80, 24).notice(ServerMessage::Servers { servers: many });
    let shot = screen.shot();
    assert!(shot.contains("140 tools only named, 31400 tokens saved · 2 of 4 on"), "{shot}");
}

/// The requests sent for these keys.
fn sent(keys: &str) -> Vec<ServerChange> {
    let screen = open(Screen::open(80, 24)).keys(keys);
    let change = |ask: &ClientRequest| match ask {
        ClientRequest::Server(change) => Some(change.clone()),
        _ => None,
    };
    screen.asks().into_iter().filter_map(change).collect()
}

#[test]
fn keys_switch_connect_and_log_in() {
    let switch = |name: &str, on, content: Option<&str>| ServerChange::Switch {
        name: name.into(),
        on,
        content: content.map(str::to_owned),
    };
    let tool = |tool: &str, on| ServerChange::SwitchTool { name: "files".into(), tool: tool.into(), on };
    assert_eq!(sent(" "), [], "a project's server is shown first");
    assert_eq!(sent("  "), [switch("db", true, Some("c0ffee"))]);
    assert_eq!(sent(" <down><up> "), [], "and again after the user looked elsewhere");
    let long = |screen: Screen| {
        let mut servers = servers();
        servers[0].facts = vec!["a ".repeat(2_000)];
        screen.notice(ServerMessage::Servers { servers: list(servers) }).keys("  ")
    };
    assert!(long(Screen::open(80, 24)).asks().is_empty(), "nothing is agreed to that was not shown");
    assert_eq!(sent("<down> "), [switch("files", false, None)]);
    assert_eq!(sent("<down><down><down> "), [switch("thinking", true, None)]);
    assert_eq!(sent("<down><ret><down> <down> "), [tool("read_text_file", false), tool("write_file", true)]);
    let files = || "files".to_owned();
    assert_eq!(sent("<down>r"), [ServerChange::Reconnect { name: files() }]);
    let screen = open(Screen::open(80, 24)).keys("<down>l");
    assert!(screen.model.panel.is_none(), "the address is in the transcript");
    assert_eq!(sent("<down>l"), [ServerChange::Login { name: files() }]);
    assert!(open(Screen::open(80, 24)).keys("q").model.panel.is_none());
    let fewer = || ServerMessage::ServersChanged { servers: list(servers().split_off(2)) };
    let screen = open(Screen::open(80, 24)).keys("<down><ret><down>").notice(fewer()).keys(" ");
    assert_eq!(screen.asks(), [&ClientRequest::Server(switch("thinking", true, None))]);
}
