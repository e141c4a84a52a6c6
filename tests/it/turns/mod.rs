//! Turn scripts: `evals/turns/*.turn`, each a scripted model, a scripted person, and the whole
//! transcript that must come of it. `CO_UPDATE_TURNS=1` writes the transcripts anew, to be read in the diff.

mod decisions;
mod long;

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

use futures::{FutureExt, StreamExt};
use kit::turns::{run, script};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("evals/turns")
}

fn scripts() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "turn"))
        .collect();
    found.sort();
    found
}

#[test]
fn every_script_ends_as_written() {
    let update = std::env::var_os("CO_UPDATE_TURNS").is_some();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let scripts = scripts();
    assert!(scripts.len() >= 40, "only {} turn scripts", scripts.len());
    // A script waits for the disk most of its time.
    let told = runtime.block_on(futures::stream::iter(scripts).map(tell).buffered(8).collect::<Vec<_>>());
    let mut wrong = Vec::new();
    for (path, text, told) in told {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let expected = script::parse(&text).expected;
        match told {
            Ok(told) if told == expected => {}
            Ok(told) if update => {
                let head = text.split_once("\n---\n").map_or(text.as_str(), |(head, _)| head);
                std::fs::write(&path, format!("{}\n---\n{told}", head.trim_end())).unwrap();
            }
            Ok(told) => wrong.push(format!("{name}:\n{}", difference(&expected, &told))),
            Err(_) => wrong.push(format!("{name}: broke")),
        }
    }
    assert!(wrong.is_empty(), "{} scripts differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// A script's path, its text, and the transcript that came of it.
async fn tell(path: PathBuf) -> (PathBuf, String, std::thread::Result<String>) {
    let text = std::fs::read_to_string(&path).unwrap();
    let told = AssertUnwindSafe(run::run(&script::parse(&text))).catch_unwind().await;
    (path, text, told)
}

fn difference(expected: &str, told: &str) -> String {
    similar::TextDiff::from_lines(expected, told).unified_diff().context_radius(2).to_string()
}
