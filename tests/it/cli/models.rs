//! `co models` through the real binary: lists of servers on loopback, one that is dead, one that answers with a web page.

use kit::replay::server::{Page, Plan, ReplayServer};
use serde_json::json;

use crate::co::{Co, RunOutput};

/// A server with one page.
struct PageServer {
    server: ReplayServer,
    _runtime: tokio::runtime::Runtime,
}

fn serve(path: &str, body: &str) -> PageServer {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let pages = vec![Page { path: path.to_owned(), status: 200, body: body.to_owned() }];
    let server = runtime.block_on(ReplayServer::start(Plan { pages, ..Plan::default() })).unwrap();
    PageServer { server, _runtime: runtime }
}

/// An address without a listener.
fn dead() -> String {
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    format!("http://{address}")
}

fn claude() -> PageServer {
    let body = json!({ "data": [
        { "type": "model", "id": "claude-sonnet-5", "max_input_tokens": 1_000_000, "max_tokens": 128_000 },
        { "type": "model", "id": "claude-haiku-4-5-20251001" },
        { "type": "model", "id": "claude-next" },
    ], "has_more": false, "last_id": "claude-next" });
    serve("/v1/models", &body.to_string())
}

/// The text with names for addresses.
fn named(text: &str, places: &[(&str, &str)]) -> String {
    places.iter().fold(text.to_owned(), |text, (name, address)| {
        text.replace(address, name).replace(address.trim_start_matches("http://"), name)
    })
}

#[track_caller]
fn fits(ran: &RunOutput) {
    // Sentences are for the terminal to wrap.
    for line in ran.out.lines().filter(|line| !line.contains(": ")) {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn what_services_offer_is_listed_side_by_side() {
    let claude = claude();
    let html = serve("/v1/models", "<!doctype html><title>Sign in</title>");
    let dead = dead();
    let co = Co::new()
        .env("ANTHROPIC_API_KEY", "sk-secret")
        .env("ANTHROPIC_BASE_URL", claude.server.url())
        .env("OPENAI_API_KEY", "sk-secret")
        .env("OPENAI_BASE_URL", format!("{dead}/v1"))
        .env("CO_BASE_URL", html.server.chat_url())
        .file(
            ".config/co/config.toml",
            "[models.claude-next]\nwindow = 500_000\ninput_price = 1.5\noutput_price = 7.25\n",
        );
    let places = [("A", claude.server.url()), ("H", html.server.url()), ("D", dead)];
    let places = places.each_ref().map(|(name, address)| (*name, address.as_str()));
    let ran = co.run(&["models"]);
    fits(&ran);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let anthropic = format!(
        "anthropic ({}){}   WINDOW    $/M IN    $/M OUT\n\
         \x20 claude-haiku-4-5-20251001                        200k   unknown    unknown\n\
         \x20 claude-next                                      500k      1.50       7.25\n\
         \x20 claude-sonnet-5                                    1M   unknown    unknown\n",
        claude.server.url(),
        " ".repeat(46 - 12 - claude.server.url().len()),
    );
    assert!(ran.out.starts_with(&anthropic), "{}\n{anthropic}", ran.out);
    let rest = named(ran.out.strip_prefix(&anthropic).unwrap(), &places);
    let said: Vec<&str> = rest.lines().collect();
    assert!(said[1].starts_with("openai (D/v1): could not reach D: "), "{rest}");
    assert!(
        said[3].starts_with("openai-compatible (H/v1): a web page answered instead of the API"),
        "{rest}"
    );
    assert_eq!(said.len(), 4);

    let json = co.run(&["models", "anthropic", "--json"]).json();
    assert_eq!(json.as_array().unwrap().len(), 1);
    assert_eq!(
        json[0]["models"][1],
        json!({
            "name": "claude-next", "id": "anthropic/claude-next", "window": 500_000, "max_output": null,
            "usd_per_million": { "input": 1.5, "output": 7.25, "cached_input": null, "cache_write": null,
                                 "reasoning": null, "long_input": null },
            "images": null, "in_use": false,
        })
    );
    let json = co.run(&["models", "--json"]).json();
    assert_eq!(json[0]["error"], json!(null));
    assert_eq!((&json[1]["models"], json[1]["error"].is_string()), (&json!([]), true));
}

#[test]
fn a_router_tells_its_prices_and_what_is_in_use_is_marked() {
    let long = format!("accounts/fireworks/models/{}", "x".repeat(40));
    let body = json!({ "data": [
        { "id": "anthropic/claude-sonnet-4.5", "context_length": 200_000,
          "pricing": { "prompt": "0.000003", "completion": "0.000015" } },
        { "id": "openai/gpt-4o" },
        { "id": long },
    ] });
    let router = serve("/v1/models", &body.to_string());
    let co = Co::new()
        .env("CO_PROVIDER", "openai-compatible")
        .env("CO_BASE_URL", router.server.chat_url())
        .env("CO_MODEL", "openai-compatible/anthropic/claude-sonnet-4.5");
    let ran = co.run(&["models", "openai-compatible"]);
    fits(&ran);
    let out = ran.out.split_once('\n').unwrap().1.to_owned();
    assert_eq!(
        out,
        format!(
            "  {long}\n\
             \x20                                               unknown   unknown    unknown\n\
             * anthropic/claude-sonnet-4.5                      200k      3.00      15.00\n\
             \x20 openai/gpt-4o                                    128k   unknown    unknown\n\n* in use\n"
        )
    );
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
}

#[test]
fn offline_asks_nobody() {
    let co = Co::new().env("OPENAI_API_KEY", "sk-secret");
    let ran = co.run(&["models", "--offline"]);
    fits(&ran);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert!(
        ran.out.contains("\n* gpt-5                                            400k      1.25      10.00\n"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("\n  gpt-6-astra                                     1.05M     10.00+     50.00+\n"),
        "{}",
        ran.out
    );
    assert!(ran.out.ends_with("\n* in use\n+ costs more for long inputs: see `co models --json`\n"));
    let co = Co::new();
    co.run(&["models"]).check(
        0,
        "No service is set up: `co auth add NAME` saves a key, `co auth list` lists them; or start a model server on \
         this machine.\n",
        "",
    );
}

#[test]
fn a_list_that_does_not_come_is_an_error() {
    let dead = dead();
    let co = Co::new().env("ANTHROPIC_BASE_URL", &dead);
    let ran = co.run(&["models"]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.out.starts_with(&format!("anthropic ({dead}): could not reach ")), "{}", ran.out);
    assert_eq!(
        ran.err,
        "co: error: the service did not list its models\n    \
         Check the network and the base URL: `co config` shows it.\n    \
         `co models --offline` lists what is known without asking\n"
    );
    co.run(&["models", "nobody"]).check(
        2,
        "",
        "co: error: there is no provider `nobody`; `co auth list` lists them\n",
    );
    let denied = serve(
        "/v1/models",
        "{\"error\": {\"type\": \"authentication_error\", \"message\": \"invalid x-api-key\"}}",
    );
    let co = Co::new().env("ANTHROPIC_API_KEY", "sk-secret").env("ANTHROPIC_BASE_URL", denied.server.url());
    let ran = co.run(&["models"]);
    assert_eq!(ran.out, format!("anthropic ({}): invalid x-api-key\n", denied.server.url()));
    assert!(ran.err.contains("Replace the key") && !ran.err.contains("sk-secret"), "{}", ran.err);
}
