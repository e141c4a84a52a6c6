//! Processes that outlived their command: finds them by a mark in their environment, lists and ends them.
//!
//! A process can leave its command's group with `setsid`, and can outlive a `co` that was killed; it keeps
//! the mark, because children inherit the environment. A process that clears its environment is not found.
//! Only processes of the same user are examined, and none without the mark is signalled. Blocking: it reads
//! all of `/proc`. Called by the subprocess sandbox when a command ends, and when a session is reopened.

use super::Survivor;

/// The variable that marks the processes of a command; its value is the id of the call.
pub const MARKER: &str = "CO_CALL";

/// The maximum number of scans for processes that started during the previous scan.
const SWEEPS: usize = 5;

/// The maximum length of a command line to keep, in characters.
const MAX_COMMAND: usize = 200;

/// Returns the living processes whose environment has `CO_CALL=<marker>`, by ascending process id. Empty if
/// the system has no Linux-style `/proc`. The command lines are not sanitized.
#[must_use]
pub fn survivors(marker: &str) -> Vec<Survivor> {
    living(|mark| mark == marker.as_bytes())
}

/// Like [`survivors`], for every mark with this prefix.
#[must_use]
pub fn survivors_under(prefix: &str) -> Vec<Survivor> {
    living(|mark| mark.starts_with(prefix.as_bytes()))
}

fn living(wanted: impl Fn(&[u8]) -> bool) -> Vec<Survivor> {
    let own = std::process::id();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let mut found: Vec<Survivor> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != own && is_marked(*pid, &wanted))
        .map(|pid| Survivor { pid, command: command_line(pid) })
        .collect();
    found.sort_by_key(|survivor| survivor.pid);
    found
}

/// Kills the living processes with the mark, and returns those it killed.
pub fn end_survivors(marker: &str) -> Vec<Survivor> {
    let mut ended: Vec<Survivor> = Vec::new();
    for _ in 0..SWEEPS {
        let fresh: Vec<Survivor> =
            survivors(marker).into_iter().filter(|survivor| !ended.contains(survivor)).collect();
        if fresh.is_empty() {
            break;
        }
        ended.extend(fresh.into_iter().filter(|survivor| kill(survivor.pid, marker)));
    }
    ended
}

fn is_marked(pid: u32, wanted: &dyn Fn(&[u8]) -> bool) -> bool {
    // The process is gone or belongs to another user: neither is relevant here.
    let Ok(environ) = std::fs::read(format!("/proc/{pid}/environ")) else { return false };
    let mark = |entry: &[u8]| entry.strip_prefix(MARKER.as_bytes())?.strip_prefix(b"=").map(wanted);
    environ.split(|byte| *byte == 0).any(|entry| mark(entry) == Some(true))
}

fn command_line(pid: u32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = bytes.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let line = words.map(String::from_utf8_lossy).collect::<Vec<_>>().join(" ");
    line.chars().take(MAX_COMMAND).collect()
}

/// Kills a process if it still has the mark; returns whether it did.
#[cfg(target_os = "linux")]
fn kill(pid: u32, marker: &str) -> bool {
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    let Some(id) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    // Open the handle before checking the mark again, so that a reused process id is never signalled.
    let Ok(handle) = pidfd_open(id, PidfdFlags::empty()) else { return false };
    is_marked(pid, &|mark| mark == marker.as_bytes()) && pidfd_send_signal(handle, Signal::KILL).is_ok()
}

/// Without `/proc` nothing is found, so there is nothing to kill.
#[cfg(not(target_os = "linux"))]
fn kill(_pid: u32, _marker: &str) -> bool {
    false
}
