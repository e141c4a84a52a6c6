//! Figures without a terminal.

use std::time::Duration;

use super::report::{Goal, Report, median};
use super::service::{Answer, Service};
use super::stage::{Binary, Stage, ms};

/// Words of an answer of so many tokens of about four characters, with the Markdown that models write.
pub fn answer(tokens: usize) -> String {
    let mut text = String::new();
    let mut number = 0;
    while text.len() < tokens * 4 {
        number += 1;
        text.push_str(&match number % 9 {
            0 => format!("\n## Part {number}\n\n"),
            3 => format!("- the *point* {number} with `code` in it\n- and one more **strong** word\n\n"),
            6 => format!("```rust\nfn part_{number}() -> usize {{\n    {number}\n}}\n```\n\n"),
            _ => {
                format!("Sentence {number} of the answer says what it has to say, and goes on for a while. ")
            }
        });
    }
    text.truncate(tokens * 4);
    text + "\n\nLASTWORD"
}

/// `--version`, from exec to exit.
pub fn start(report: &mut Report) {
    let stage = Stage::new(None);
    let take = |binary| -> Vec<f64> { (0..21).map(|_| stage.run(binary, &["--version"]).wall).collect() };
    report.add("`--version`", "ms", &take(Binary::Co), &take(Binary::Floor), Goal::Times(2.0));
}

/// One turn without a terminal against a service that answers at once, stored; then one of 20,000 tokens.
pub fn turn(report: &mut Report) {
    let walls = |text: String, runs: usize| {
        let service = Service::start(Answer::Text(text));
        let stage = Stage::new(Some(&service.url));
        let co: Vec<_> = (0..runs).map(|_| stage.run(Binary::Co, &["-p", "hello"])).collect();
        let floor: Vec<_> = (0..runs).map(|_| stage.run(Binary::Floor, &["ask", &service.url])).collect();
        (co, floor)
    };
    let (co, floor) = walls("An instant answer.".to_owned(), 21);
    let of = |costs: &[super::stage::Cost]| costs.iter().map(|cost| cost.wall).collect::<Vec<_>>();
    report.add("headless turn, stored", "ms", &of(&co), &of(&floor), Goal::Times(4.0));
    let (co, floor) = walls(answer(20_000), 9);
    report.add("headless turn of 20,000 tokens to a pipe", "ms", &of(&co), &of(&floor), Goal::Times(2.0));
    let cpu = |costs: &[super::stage::Cost]| costs.iter().map(|cost| cost.cpu).collect::<Vec<_>>();
    report.add(
        "headless turn of 20,000 tokens to a pipe, CPU",
        "ms",
        &cpu(&co),
        &cpu(&floor),
        Goal::Times(3.0),
    );
}

/// The cost of spans: the same turn with and without them, in turns.
pub fn spans(report: &mut Report) {
    let take = |text: String, runs: usize| {
        let service = Service::start(Answer::Text(text));
        let stage = Stage::new(Some(&service.url));
        let mut with = Vec::new();
        let mut without = Vec::new();
        for _ in 0..runs {
            with.push(stage.run(Binary::Co, &["-p", "hello"]));
            without.push(stage.run(Binary::Co, &["-p", "hello", "--set", "telemetry.max_mb=0"]));
        }
        (with, without)
    };
    let wall = |costs: &[super::stage::Cost]| costs.iter().map(|cost| cost.wall).collect::<Vec<_>>();
    let cpu = |costs: &[super::stage::Cost]| costs.iter().map(|cost| cost.cpu).collect::<Vec<_>>();
    let (with, without) = take("An instant answer.".to_owned(), 100);
    let added: Vec<f64> =
        wall(&with).iter().zip(wall(&without)).map(|(with, without)| with - without).collect();
    report.add("what spans add to a headless turn", "ms", &added, &[], Goal::Most(0.5));
    // Most of it is opening their file, once a process.
    report.add("headless turn with spans; without, CPU", "ms", &cpu(&with), &cpu(&without), Goal::Open);
    let (with, without) = take(answer(20_000), 60);
    report.add(
        "20,000 tokens with spans; without, CPU",
        "ms",
        &cpu(&with),
        &cpu(&without),
        Goal::Times(1.03),
    );
}

/// Between tool rounds: from the last byte of an answer that calls a reading tool to the next request, whole.
pub fn rounds(report: &mut Report) {
    let take = |binary, args: &[&str]| {
        let service = Service::start(Answer::Rounds { rounds: ROUNDS });
        let stage = Stage::new(Some(&service.url));
        let args: Vec<&str> =
            args.iter().map(|arg| if *arg == "URL" { service.url.as_str() } else { arg }).collect();
        stage.run(binary, &args);
        between(&service)
    };
    let co: Vec<f64> = (0..5).flat_map(|_| take(Binary::Co, &["-p", "look around"])).collect();
    let floor: Vec<f64> = (0..5).flat_map(|_| take(Binary::Floor, &["ask", "URL"])).collect();
    report.add("between tool rounds", "ms", &co, &floor, Goal::Times(6.0));
}

/// The cost of a sandbox per command: rounds that run `echo`, compared to the same ones without a sandbox, which a rule allows.
pub fn sandboxes(report: &mut Report) {
    const RULE: &str = "[[rule]]\nid = \"echo\"\neffect = \"allow\"\ntool = \"shell\"\n[rule.args.command]\nwords = [\"echo\"]\n";
    let take = |backend: &str| -> Option<Vec<f64>> {
        let service = Service::start(Answer::Commands { rounds: ROUNDS });
        let stage = Stage::new(Some(&service.url)).env("CO_SANDBOX_BACKEND", backend);
        std::fs::create_dir_all(stage.settings()).unwrap();
        std::fs::write(stage.settings().join("rules.toml"), RULE).unwrap();
        let output = stage.output(Binary::Co, &["-p", "say numbers"]);
        // Where the backend is missing, the rule still lets the commands run.
        let status = stage.output(Binary::Co, &["status", "--json"]);
        let is_used =
            String::from_utf8_lossy(&status.stdout).contains(&format!("\"backend\": \"{backend}\""));
        (output.status.success() && is_used).then(|| between(&service))
    };
    for (backend, most) in [("landlock", 3.0), ("bubblewrap", 20.0)] {
        let mut added = Vec::new();
        for _ in 0..5 {
            let (Some(plain), Some(held)) = (take("none"), take(backend)) else { break };
            let plain = median(&plain);
            added.extend(held.into_iter().map(|held| held - plain));
        }
        if added.is_empty() {
            println!("{backend}: not available here, not measured");
            continue;
        }
        report.add(&format!("what {backend} adds to a command"), "ms", &added, &[], Goal::Most(most));
    }
}

/// Rounds of tools in a turn.
const ROUNDS: usize = 20;

/// The times from the last byte of an answer to the next request.
fn between(service: &Service) -> Vec<f64> {
    let served = service.served();
    served.windows(2).map(|pair| ms(pair[1].asked.saturating_duration_since(pair[0].answered))).collect()
}

/// Twenty independent reads of one reply, of 100 ms each: from its last byte to the next request.
pub fn reads(report: &mut Report) {
    const EACH: Duration = Duration::from_millis(100);
    let service = Service::start(Answer::Searches { searches: 20, each: EACH });
    let own = service.url.trim_end_matches("/v1").to_owned();
    let stage = Stage::new(Some(&service.url)).env("CO_WEB_SEARXNG_URL", &own);
    let take = |_| {
        stage.run(Binary::Co, &["-p", "search"]);
        let served = service.served();
        ms(served[1].asked.saturating_duration_since(served[0].answered))
    };
    let co: Vec<f64> = (0..9).map(take).collect();
    report.add("20 reads of 100 ms in one reply", "ms", &co, &[], Goal::Most(150.0));
}
