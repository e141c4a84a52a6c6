//! Long sessions: whether a turn costs the same at their end as at their beginning.

use std::thread::sleep;
use std::time::Duration;

use super::headless::answer;
use super::report::{Goal, Report, median};
use super::service::{Answer, Service};
use super::stage::{Binary, Screen, Stage};

/// So many turns typed in, each answered with so many tokens: CPU of each turn, and the screen.
fn turns(count: usize, tokens: usize) -> (Vec<f64>, Screen) {
    let service = Service::start(Answer::Text(answer(tokens)));
    let stage = Stage::new(Some(&service.url)).env("CO_CONTEXT_TOKENS", "32000");
    let mut screen = stage.open(Binary::Co, &[]);
    screen.until_text("── ask ──");
    let mut cpus = Vec::with_capacity(count);
    for number in 0..count {
        let before = screen.cpu();
        let prompt = format!("turn-{number}-of-many");
        screen.type_in(&format!("{prompt}\r"));
        screen.until("the turn's end", |screen| {
            let text = screen.contents();
            // The prompt is in the transcript, its answer whole below it, and nothing spins.
            text.rsplit_once(&prompt).is_some_and(|(_, after)| after.contains("LASTWORD"))
                && !text.contains("interrupt")
        });
        cpus.push(screen.cpu() - before);
    }
    sleep(Duration::from_millis(200));
    (cpus, screen)
}

fn tell(report: &mut Report, name: &str, cpus: &[f64], screen: &Screen, goal: [Goal; 2]) {
    let first = &cpus[..20];
    let last = &cpus[cpus.len() - 20..];
    report.add(&format!("{name}: memory"), "MiB", &[screen.memory()], &[], goal[0]);
    report.add(&format!("{name}: CPU a turn, last 20"), "ms", last, first, goal[1]);
    println!("    (here the floor is the first 20 turns: median {:.2} ms)", median(first));
}

/// 200 turns of 150 tokens.
pub fn four_hundred(report: &mut Report) {
    let (cpus, screen) = turns(200, 150);
    tell(report, "400 messages", &cpus, &screen, [Goal::Most(24.0), Goal::Times(1.3)]);
    screen.close();
}

/// 5,000 turns of 50 tokens.
pub fn ten_thousand(report: &mut Report) {
    let (cpus, screen) = turns(5_000, 50);
    tell(report, "10,000 messages", &cpus, &screen, [Goal::Open, Goal::Open]);
    screen.close();
}
