//! Processes, looked at from outside and independently of the program's own search.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// The living processes that carry the mark of something that ran in this session, with the mark.
pub fn marked(session: &str) -> Vec<(u32, String)> {
    let prefix = format!("CO_CALL={session}/");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // One that ended meanwhile has no environment; neither has a zombie, which is not alive.
        let Ok(environ) = fs::read(entry.path().join("environ")) else { continue };
        let entries = environ.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        if let Some(mark) = entries.into_iter().find(|entry| entry.starts_with(&prefix)) {
            found.push((pid, mark.into_owned()));
        }
    }
    found
}

/// Whether every thread of a process has been stopped by a signal.
pub fn is_stopped(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    threads.flatten().all(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
    })
}

pub fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process id");
    // One that is gone already needs no signal.
    let _ = kill_process(pid, signal);
}
