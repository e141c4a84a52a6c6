//! Protects this process's secrets from its children: keys stay in memory that no other process can read.
//!
//! A child of the same user could read its parent's environment block, memory and open files under `/proc`.
//! Therefore the values of secrets are wiped from the block once they are read, the process is made
//! unreadable to others, and children run without the capability to bypass this (see `child.rs`). Called
//! once, by the command line, before any thread starts.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

use super::env::is_secret_name;

/// Takes the environment: the variables whose name and value are valid UTF-8. Those that hold secrets are
/// wiped from the block that the process was started with, so that this map is their only copy. Must be
/// called while there is one thread.
#[must_use]
pub fn take_environment() -> BTreeMap<String, String> {
    let env = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    wipe();
    STARTED_WITH.get_or_init(|| env).clone()
}

/// The environment as taken; programs chosen by the user receive all of it.
static STARTED_WITH: OnceLock<BTreeMap<String, String>> = OnceLock::new();

/// Gives a program chosen by the user (an editor, a command that prints a key) the environment that `co` was
/// started with, including keys. Must never be used for a program named by a model or a project.
pub fn give_environment(command: &mut std::process::Command) {
    if let Some(env) = STARTED_WITH.get() {
        command.envs(env);
    }
}

/// Prevents other processes of this user from reading this process's memory, and disables core dumps.
pub fn forbid_inspection() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
    {
        tracing::warn!(%error, "other processes of this user may read the memory of co");
    }
}

#[expect(unsafe_code, reason = "the system's own list of variables, as the C library names it")]
unsafe extern "C" {
    static environ: *const *mut c_char;
}

#[expect(unsafe_code, reason = "the environment block that the kernel shows can be changed in place only")]
fn wipe() {
    // SAFETY: `environ` is a list of C strings that ends with a null pointer, as the system's start-up code
    // set it; no other thread exists yet that could read or change it, and each byte written lies before its
    // string's end.
    unsafe {
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            let text = CStr::from_ptr(*entry).to_bytes();
            if let Some(at) = text.iter().position(|byte| *byte == b'=')
                && text.get(..at).is_some_and(|name| is_secret_name(&String::from_utf8_lossy(name)))
            {
                let value = (*entry).add(at + 1);
                std::ptr::write_bytes(value, 0, text.len() - at - 1);
            }
            entry = entry.add(1);
        }
    }
}
