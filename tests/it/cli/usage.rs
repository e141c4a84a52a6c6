//! `co usage`, caps and costs without a screen: through the real program, over HTTP, in any time zone.

use serde_json::{Value, json};

use crate::co::{Co, Service, Wire};

const LOOKS: &str =
    "reply\n  call list_dir {}\n  usage 1000 100 400 | cost=0.9\nreply\n  text Done.\n  usage 2000 50";

fn keys(value: &Value, names: &[&str]) -> Value {
    names
        .iter()
        .map(|name| ((*name).to_owned(), value[name].clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[test]
fn usage_is_listed_by_day_model_and_session() {
    let service = Service::new(LOOKS);
    let co = Co::new().with(&service, Wire::Chat).env("TZ", "XXX-9");
    co.run(&["usage"]).check(0, "No requests yet.\n", "");
    let ran = co.run(&["-p", "look", "--output", "json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let usage = json!({
        "requests": 2, "input": 3000, "output": 150, "cached_input": 400, "cache_write": null, "reasoning": null,
        "cost_usd": 0.9, "requests_of_unknown_price": 1,
    });
    assert_eq!(ran.json()["usage"], usage);
    let at_least = "at least $0.90 (1 request of unknown price)";
    let by_model = co.run(&["usage", "--by", "model"]);
    let row =
        format!("openai-compatible/replay  2         3,000  400     0        150     0         {at_least}\n");
    by_model.check(
        0,
        &format!("MODEL                     REQUESTS  INPUT  CACHED  WRITTEN  OUTPUT  THINKING  COST\n{row}"),
        "",
    );
    let by_session = co.run(&["usage", "--by", "session", "--json"]).json();
    let names = ["title", "requests", "failed", "input", "output", "cost_usd", "requests_of_unknown_price"];
    let row = json!({
        "title": "look", "requests": 2, "failed": 0, "input": 3000, "output": 150, "cost_usd": 0.9,
        "requests_of_unknown_price": 1,
    });
    assert_eq!(keys(&by_session["rows"][0], &names), row);
    assert_eq!(by_session["total"]["input"], 3000);
    let by_day = co.run(&["usage", "--since", "1d", "--json"]).json();
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::posix("XXX-9").unwrap());
    // A test that runs over midnight sees one day or the other.
    let days = [now.date(), now.date().yesterday().unwrap()].map(|date| json!(date.to_string()));
    assert!(days.contains(&by_day["rows"][0]["day"]), "{by_day}");
    let hint = "    write it as 2026-01-31, or as 7d for the last seven days, today included\n";
    let err = format!("co: error: `--since soon` is neither a date nor a number of days\n{hint}");
    co.run(&["usage", "--since", "soon"]).check(2, "", &err);
}

#[test]
fn a_cap_ends_a_turn_that_nobody_watches() {
    let service = Service::new(LOOKS);
    let co = Co::new().with(&service, Wire::Chat);
    let ran = co.run(&["-p", "look", "--set", "cap.session_usd=0.9"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(5), ""));
    let err = "The price of replay is unknown: cap.session_usd counts only costs its provider reports. Token caps still apply.\n✓ list_dir: list .\nco: $0.90 of $0.90 used in this session (cap.session_usd); the price of the next request is unknown\nco: error: the turn stopped at cap.session_usd\n    continue with a higher cap: co resume [SESSION] --print --set cap.session_usd=1.8\n";
    assert_eq!(ran.err, err);
    // It asks again until there is more; then the turn goes on where it was.
    let told = co.run(&["resume", "--output", "json", "--set", "cap.session_usd=0.9"]);
    assert_eq!(told.code, Some(5));
    let told = told.json();
    let cap = json!({
        "name": "cap.session_usd", "unit": "usd", "spent": 0.9, "limit": 0.9, "next_request": null,
        "raise": "--set cap.session_usd=1.8",
    });
    assert_eq!(keys(&told, &["end", "limit"]), json!({"end": "limit_reached", "limit": "session_usd"}));
    assert_eq!(told["cap"], cap);
    co.run(&["resume", "--print", "--set", "cap.session_usd=1.8"]).check(
        0,
        "Done.\n",
        "The price of replay is unknown: cap.session_usd counts only costs its provider reports. Token caps still apply.\n",
    );
    service.is_content();
}

#[test]
fn a_day_is_counted_in_all_sessions() {
    let service = Service::new("reply\n  text One.\n  usage 99000 500\nreply\n  text Two.");
    let co = Co::new().with(&service, Wire::Anthropic).env("CO_CAP_DAY_TOKENS", "100000");
    co.run(&["-p", "one"]).check(0, "One.\n", "");
    let ran = co.run(&["-p", "two"]);
    assert_eq!(ran.code, Some(5));
    assert!(ran.err.contains("--set cap.day_tokens=200000"), "{}", ran.err);
    assert!(ran.err.contains("99,500 of 100,000 tokens used today"), "{}", ran.err);
}

#[test]
fn a_project_never_sets_a_cap() {
    let co = Co::new().file("work/.co/config.toml", "[cap]\nday_usd = 1000").trusting();
    let ran = co.run(&["config"]);
    assert!(ran.err.contains("`cap.day_usd` is ignored"), "{}", ran.err);
}
