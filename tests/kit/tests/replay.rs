//! `co-replay` serves a script to any client, and says what is wrong with one.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

const REQUEST: &str = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;

#[test]
fn scripts_are_served_to_any_client() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("hello.replies");
    std::fs::write(&script, "reply\n  text From a script.\n").unwrap();
    let mut server = Command::new(env!("CARGO_BIN_EXE_co-replay"))
        .arg(&script)
        .args(["--wire", "chat"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().strip_prefix("serving 1 reply at http://").unwrap();
    let (host, path) = url.split_once('/').unwrap();
    let mut client = TcpStream::connect(host).unwrap();
    write!(
        client,
        "POST /{path}/chat/completions HTTP/1.1\r\nhost: {host}\r\ncontent-type: \
         application/json\r\ncontent-length: {}\r\n\r\n{REQUEST}",
        REQUEST.len()
    )
    .unwrap();
    // The connection stays open behind the answer.
    let lines = BufReader::new(client).lines().map(Result::unwrap);
    let answer: Vec<String> = lines.take_while(|line| !line.contains("[DONE]")).collect();
    assert!(answer.iter().any(|line| line.contains("script.")), "{answer:#?}");
    let pid = server.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

#[test]
fn a_wrong_script_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("bad.replies");
    std::fs::write(&script, "reply\n  dance\n").unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_co-replay")).arg(&script).output().unwrap();
    let err = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(1));
    assert!(err.contains("bad.replies: line 2: "), "{err}");
}
