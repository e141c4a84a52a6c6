//! Turn scripts: `evals/turns/*.turn`, each a scripted model, a scripted person, and the whole
//! transcript that must come of it. `CO_UPDATE_TURNS=1` writes the transcripts anew, to be read in the diff.

mod decisions;
mod long;

use std::path::{Path, PathBuf};

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
    let mut wrong = Vec::new();
    for path in scripts {
        let text = std::fs::read_to_string(&path).unwrap();
        let script = script::parse(&text);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let caught =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runtime.block_on(run::run(&script))));
        match caught {
            Ok(told) if told == script.expected => {}
            Ok(told) if update => {
                let head = text.split_once("\n---\n").map_or(text.as_str(), |(head, _)| head);
                std::fs::write(&path, format!("{}\n---\n{told}", head.trim_end())).unwrap();
            }
            Ok(told) => wrong.push(format!("{name}:\n{}", difference(&script.expected, &told))),
            Err(_) => wrong.push(format!("{name}: broke")),
        }
    }
    assert!(wrong.is_empty(), "{} scripts differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn difference(expected: &str, told: &str) -> String {
    similar::TextDiff::from_lines(expected, told).unified_diff().context_radius(2).to_string()
}
