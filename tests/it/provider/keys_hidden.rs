//! No child of `co` can read its keys: not from the environment block of its parent, not from its memory, not from its
//! open files; as root and as an ordinary user.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;

use crate::co::{Co, Service, Wire};

const KEY: &str = "sk-the-key-of-this-test-000";

/// An ordinary user that every system has.
const NOBODY: u32 = 65_534;

/// Everything that a command could find of its parent.
const LOOK: &str = "tr '\\\\0' '\\\\n' < /proc/$PPID/environ; cat /proc/$PPID/mem; ls -l /proc/$PPID/fd; cat /proc/$PPID/fd/*; env; echo end";

#[test]
fn a_command_finds_no_key() {
    let rule = "[[rule]]\neffect = \"allow\"\ntool = \"shell\"\n";
    let is_root = rustix::process::geteuid().is_root();
    let users = if is_root { vec![None, Some(NOBODY)] } else { vec![None] };
    for user in users {
        let replies = format!("reply\n  call shell {{\"command\":\"{LOOK}\"}}\nreply\n  text Done.\n");
        let service = Service::new(&replies);
        let co = Co::new().with(&service, Wire::Anthropic);
        let co = co.file(".config/co/rules.toml", rule);
        let co = co.env("ANTHROPIC_API_KEY", KEY).env("MY_DB_URL", format!("postgres://u:{KEY}@h/db"));
        let mut command = co.command(&co.workspace(), &["-p", "look"]);
        if let Some(user) = user {
            give(&co, user);
            command.uid(user).gid(user);
        }
        let output = command.stdin(Stdio::null()).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{user:?}: {err}");
        let seen = service.asked(2);
        assert!(seen.contains("PAGER=cat"), "{user:?}: the command ran: {seen}");
        assert!(!seen.contains(KEY) && !seen.contains("the-key-of-this-test"), "{user:?}: {seen}");
    }
}

/// Hands a home to another user, and lets them reach the program.
fn give(co: &Co, user: u32) {
    let home = co.home();
    let above = home.parent().unwrap();
    std::fs::set_permissions(above, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut folders = vec![home];
    while let Some(path) = folders.pop() {
        chown(&path, Some(user), Some(user)).unwrap();
        if path.is_dir() {
            folders.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
}
