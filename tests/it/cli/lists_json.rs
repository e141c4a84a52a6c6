//! The JSON of `co status`, `config`, `sessions` and `usage`: programs read it, so its shape is fixed.

use serde_json::Value;

use crate::co::{Co, RunOutput, Service, Wire};

/// The JSON with names for what differs from run to run: moments, days, sizes.
fn stable(ran: &RunOutput) -> String {
    fn walk(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(walk),
            Value::Object(fields) => {
                for (name, value) in fields {
                    match name.as_str() {
                        "created" | "updated" | "day" | "bytes" | "version" => {
                            *value = format!("[{name}]").into();
                        }
                        _ => walk(value),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mut value = ran.json();
    walk(&mut value);
    format!("{value:#}")
}

#[test]
fn lists_have_one_shape() {
    let co = Co::new();
    insta::assert_snapshot!("status_of_nothing", stable(&co.run(&["status", "--json"])));
    let service = Service::new("reply\n  text One.\n  usage 1000 100 400 | cost=0.9");
    let co = Co::new().with(&service, Wire::Chat);
    assert_eq!(co.run(&["-p", "what is this?"]).code, Some(0));
    let status = stable(&co.run(&["status", "--json"]));
    assert!(status.contains("\"origin\": \"setting\"") && status.contains("\"sessions\": 1"), "{status}");
    insta::assert_snapshot!("sessions", stable(&co.run(&["sessions", "--json"])));
    for by in ["day", "model", "session"] {
        insta::assert_snapshot!(format!("usage_by_{by}"), stable(&co.run(&["usage", "--by", by, "--json"])));
    }
}

#[test]
fn a_store_that_cannot_be_used_is_told_in_json_too() {
    let co = Co::new().file(".local/share/co/co.db", "no database at all".repeat(100));
    let ran = co.run(&["status", "--json"]);
    let told = ran.json();
    assert_eq!((ran.code, &told["store"]), (Some(1), &Value::Null));
    assert!(told["error"].as_str().unwrap().starts_with("cannot be used: "), "{told}");
}

#[test]
fn settings_have_one_shape() {
    let co = Co::new()
        .file(
            ".config/co/config.toml",
            "max_requests = 7\nauto_confirm = true\nopenai.api_key = 'sk-1234567890'\n",
        )
        .env("CO_THEME", "light");
    let ran = co.run(&["config", "--json", "--set", "shell.env=A,B", "--set", "temperature=0.5"]);
    assert!(!ran.out.contains("sk-1234567890"), "{}", ran.out);
    let mut told = ran.json();
    let shown =
        ["max_requests", "theme", "shell.env", "temperature", "model", "ascii", "openai.api_key", "keys"];
    told["settings"].as_array_mut().unwrap().retain(|one| shown.contains(&one["key"].as_str().unwrap()));
    insta::assert_snapshot!("config", format!("{told:#}"));
}

#[test]
fn the_options_of_a_command_stand_apart_from_those_of_all() {
    for command in ["status", "sessions", "approvals", "usage"] {
        let help = Co::new().run(&[command, "--help"]).out;
        let (own, global) = help.split_once("\nGlobal options:\n").unwrap();
        assert!(own.contains("--json") && !own.contains("--model"), "{help}");
        assert!(global.contains("--model") && !global.contains("--json"), "{help}");
    }
}
