//! Figures of the full screen.

use std::thread::sleep;
use std::time::{Duration, Instant};

use super::headless::answer;
use super::report::{Goal, Report, median, percentile};
use super::service::{Answer, Service};
use super::stage::{Binary, Screen, Stage, ms};

/// The word that the screen shows as soon as there is a composer, and the floor's.
const READY: &str = "── ask ──";

fn opened(stage: &Stage, binary: Binary, url: &str) -> Screen {
    let screen = match binary {
        Binary::Co => stage.open(binary, &[]),
        Binary::Floor => stage.open(binary, &["screen", url]),
    };
    screen.until_text(READY);
    screen
}

/// From exec to the first screen in which the composer is drawn.
pub fn first(report: &mut Report) {
    let stage = Stage::new(None);
    let take = |binary| {
        let runs = (0..15).map(|_| {
            let screen = match binary {
                Binary::Co => stage.open(binary, &[]),
                Binary::Floor => stage.open(binary, &["screen", "-"]),
            };
            let took = ms(screen.until_text(READY).duration_since(screen.started));
            screen.close();
            took
        });
        runs.collect::<Vec<f64>>()
    };
    report.add("exec to composer visible", "ms", &take(Binary::Co), &take(Binary::Floor), Goal::Times(3.0));
}

/// Half a minute without input: CPU, and memory at its end.
pub fn idle(report: &mut Report) {
    let stage = Stage::new(None);
    let screen = opened(&stage, Binary::Co, "-");
    sleep(Duration::from_secs(2));
    let before = screen.cpu();
    sleep(Duration::from_secs(30));
    report.add("idle for 30 s, CPU", "ms", &[(screen.cpu() - before).max(0.0)], &[], Goal::Most(0.0));
    report.add("idle, memory", "MiB", &[screen.memory()], &[], Goal::Most(14.0));
    screen.close();
}

/// The cost of five unused tool servers: the first screen compared to that without them, and half a minute of CPU.
pub fn servers(report: &mut Report) {
    let program = std::env::current_exe().unwrap().display().to_string();
    let server = serde_json::json!({ "command": program, "args": ["floor", "tools"] });
    let all: serde_json::Map<String, serde_json::Value> =
        (0..5).map(|at| (format!("s{at}"), server.clone())).collect();
    let all = serde_json::Value::Object(all).to_string();
    let (without, with) = (Stage::new(None), Stage::new(None).env("CO_MCP_SERVERS", &all));
    let take = |stage: &Stage| {
        let screen = stage.open(Binary::Co, &[]);
        let took = ms(screen.until_text(READY).duration_since(screen.started));
        screen.close();
        took
    };
    let (mut plain, mut served) = (Vec::new(), Vec::new());
    for _ in 0..15 {
        plain.push(take(&without));
        served.push(take(&with));
    }
    report.add("composer visible with 5 tool servers; without", "ms", &served, &plain, Goal::Times(1.2));
    let screen = opened(&with, Binary::Co, "-");
    sleep(Duration::from_secs(3));
    let before = screen.cpu();
    sleep(Duration::from_secs(30));
    let cost = (screen.cpu() - before).max(0.0);
    report.add("idle for 30 s with 5 tool servers, CPU", "ms", &[cost], &[], Goal::Most(1.0));
    screen.close();
}

/// 20,000 tokens at full speed: from Enter to the last word on the screen, and what it cost.
pub fn flood(report: &mut Report) {
    let service = Service::start(Answer::Text(answer(20_000)));
    let stage = Stage::new(Some(&service.url));
    let take = |binary| {
        let mut walls = Vec::new();
        let mut cpus = Vec::new();
        for _ in 0..9 {
            let mut screen = opened(&stage, binary, &service.url);
            // Whatever is done after the first frame is not part of it.
            sleep(Duration::from_millis(300));
            let before = screen.cpu();
            let start = Instant::now();
            screen.type_in("go\r");
            walls.push(ms(screen.until_text("LASTWORD").duration_since(start)));
            sleep(Duration::from_millis(100));
            cpus.push(screen.cpu() - before);
            screen.close();
        }
        (walls, cpus)
    };
    let (co, floor) = (take(Binary::Co), take(Binary::Floor));
    report.add("20,000 tokens on the screen", "ms", &co.0, &floor.0, Goal::Times(2.0));
    report.add("20,000 tokens on the screen, CPU", "ms", &co.1, &floor.1, Goal::Times(2.5));
}

fn tokens(count: usize) -> Vec<String> {
    let text = answer(count);
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(4).map(|piece| piece.iter().collect()).collect()
}

/// 100 tokens a second for 20 seconds: CPU, and bytes to the terminal.
pub fn stream(report: &mut Report) {
    let service = Service::start(Answer::Paced { tokens: tokens(2_000), a_second: 100 });
    let stage = Stage::new(Some(&service.url));
    let take = |binary| {
        let mut screen = opened(&stage, binary, &service.url);
        sleep(Duration::from_millis(300));
        let (cpu, bytes) = (screen.cpu(), screen.bytes());
        screen.type_in("go\r");
        screen.until_text("LASTWORD");
        let took = (screen.cpu() - cpu, (screen.bytes() - bytes) as f64 / 1_000.0);
        screen.close();
        took
    };
    let (co, floor) = (take(Binary::Co), take(Binary::Floor));
    report.add("100 tokens a second for 20 s, CPU", "ms", &[co.0], &[floor.0], Goal::Times(1.3));
    report.add("100 tokens a second for 20 s, to the terminal", "kB", &[co.1], &[floor.1], Goal::Times(0.4));
}

/// From the write of a letter until it is shown behind the composer's mark; 200 letters, 45 ms apart.
fn letters(screen: &mut Screen) -> Vec<f64> {
    let mut typed = String::new();
    (0..200)
        .map(|at| {
            let letter = char::from(b'a' + u8::try_from(at % 26).unwrap());
            if at % 50 == 0 {
                // Ctrl+U: a line that wraps is another matter.
                screen.type_in("\x15");
                typed.clear();
                sleep(Duration::from_millis(45));
            }
            typed.push(letter);
            let start = Instant::now();
            screen.type_in(&letter.to_string());
            let wanted = format!("> {typed}");
            let took = ms(screen.until_text(&wanted).duration_since(start));
            sleep(Duration::from_millis(45));
            took
        })
        .collect()
}

/// Echo of a letter, idle and while 200 tokens a second stream in.
pub fn echo(report: &mut Report) {
    let service = Service::start(Answer::Paced { tokens: tokens(4_000), a_second: 200 });
    let stage = Stage::new(Some(&service.url));
    let take = |binary, busy: bool| {
        let mut screen = opened(&stage, binary, &service.url);
        sleep(Duration::from_millis(300));
        if busy {
            screen.type_in("go\r");
            screen.until_text("Sentence");
        }
        let took = letters(&mut screen);
        screen.close();
        took
    };
    for (state, busy) in [("idle", false), ("streaming", true)] {
        let (co, floor) = (take(Binary::Co, busy), take(Binary::Floor, busy));
        report.add(
            &format!("key echo {state}, p50"),
            "ms",
            &[median(&co)],
            &[median(&floor)],
            Goal::Times(1.3),
        );
        report.add(
            &format!("key echo {state}, p99"),
            "ms",
            &[percentile(&co, 99)],
            &[percentile(&floor, 99)],
            Goal::Times(1.3),
        );
    }
}
