//! Processes that outlived their command: found by a mark in their environment, named, and ended.
//!
//! A process leaves the group of its command with `setsid`, and outlives a `co` that was killed; the mark goes with
//! it, because children inherit the environment. One that clears its environment escapes this too. It looks only at
//! processes of the same user, and signals none without the mark. Blocking: it reads all of `/proc`. Called by the
//! subprocess sandbox when a command ends, and when a session is opened again.

use super::Survivor;

/// The variable that marks the processes of a command; its value is the id of the call.
pub const MARKER: &str = "CO_CALL";

/// How often the processes are looked through again for children that were born meanwhile.
const SWEEPS: usize = 5;

/// Longest command line that is kept, in characters.
const MAX_COMMAND: usize = 200;

/// The living processes whose environment holds `CO_CALL=<marker>`, by rising process id. Empty where the system has
/// no `/proc` of Linux's form. The command lines are not sanitized.
#[must_use]
pub fn survivors(marker: &str) -> Vec<Survivor> {
    living(|mark| mark == marker.as_bytes())
}

/// As [`survivors`], for every mark that begins so.
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

/// Kills the living processes that carry the mark, and returns those it killed.
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
    // Gone, or another user's: both are none of ours.
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

/// Kills a process if it still carries the mark, and says whether it did.
#[cfg(target_os = "linux")]
fn kill(pid: u32, marker: &str) -> bool {
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    let Some(id) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return false };
    // The handle comes before the second look, so that a number given to a new process meanwhile is never hit.
    let Ok(handle) = pidfd_open(id, PidfdFlags::empty()) else { return false };
    is_marked(pid, &|mark| mark == marker.as_bytes()) && pidfd_send_signal(handle, Signal::KILL).is_ok()
}

/// Without `/proc` nothing is found, so there is nothing to kill.
#[cfg(not(target_os = "linux"))]
fn kill(_pid: u32, _marker: &str) -> bool {
    false
}
