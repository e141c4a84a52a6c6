//! Finds possible commands, word by word, in a command line that the shell's grammar does not understand.
//!
//! It errs on the side of finding more: text in quotes, substitutions, comments and here-documents is also
//! returned as commands, because any of it may be run, and a word that is dangerous by itself is returned at
//! any position. It never fails.

use crate::bash::{self, Invocation, Segment};

/// Programs that are returned wherever their names occur: the names are rarely used for anything else.
const ANYWHERE: [&str; 12] =
    ["rm", "unlink", "shred", "sudo", "doas", "chmod", "chown", "rsync", "curl", "wget", "ssh", "terraform"];

/// Returns the possible commands in a text.
pub fn invocations(script: &str) -> Vec<Invocation> {
    // Read once with quotes removed, and once with quotes as ends of commands: the shell could run either.
    let joined = script.replace("\\\n", "").replace(['\'', '"', '\\'], "");
    let apart = script.replace("\\\n", "").replace(['\'', '"', '\\'], "\n");
    let mut found = Vec::new();
    for text in [joined, apart] {
        let mut piped = false;
        for segment in bash::segments(&text) {
            commands(&segment, piped, &mut found);
            // Commands in a group read the group's input.
            piped = segment.end == Some('|') || (piped && !matches!(segment.end, Some('\n' | ')' | ';')));
        }
    }
    found
}

/// Finds the commands in one segment.
fn commands(segment: &Segment, piped: bool, found: &mut Vec<Invocation>) {
    let targets = |words: &[String]| words.iter().cloned().map(Some).collect();
    let (mut writes, mut reads) = (targets(&segment.writes), targets(&segment.reads));
    let mut begins = true;
    for (at, word) in segment.words.iter().enumerate() {
        let name = word.rsplit('/').next().unwrap_or(word);
        if begins || ANYWHERE.contains(&name) || name.starts_with("mkfs") {
            let (writes, reads) = (std::mem::take(&mut writes), std::mem::take(&mut reads));
            found.push(invocation(&segment.words[at..], writes, reads, piped));
        }
        // After a program that runs others, any word could be one of them.
        let precedes = bash::runs_others(name) || bash::is_keyword(name);
        begins = (begins && (precedes || word.contains('=') || at > 0)) || (at == 0 && precedes);
    }
    if !writes.is_empty() || !reads.is_empty() {
        found.push(invocation(&[], writes, reads, piped));
    }
}

fn invocation(
    words: &[String],
    writes: Vec<Option<String>>,
    reads: Vec<Option<String>>,
    piped: bool,
) -> Invocation {
    Invocation {
        words: words.iter().cloned().map(Some).collect(),
        written: words.to_vec(),
        assigns: Vec::new(),
        writes,
        reads,
        piped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_that_could_run_is_given() {
        let cases = [
            ("cat <<E\nrm -r x\nE", "rm,-r,x"),
            ("f() { git push; }", "git,push"),
            ("case a in a) git push;; esac", "git,push"),
            ("sh -c 'git push", "git,push"),
            ("r''m x (", "rm,x"),
            ("g\\it push (", "git,push"),
            ("please rm x (", "rm,x"),
            ("env -i A=b timeout 5 git push (", "git,push"),
            ("A=1 git push (", "git,push"),
            ("ls|git push (", "git,push"),
            ("`git push", "git,push"),
        ];
        for (script, expected) in cases {
            let found = invocations(script);
            let shown = |one: &Invocation| one.words.iter().flatten().cloned().collect::<Vec<_>>().join(",");
            assert!(found.iter().any(|one| shown(one) == expected), "{script}: {found:?}");
        }
        // Whatever runs others, from the tables of `bash`, and what was listed here before.
        for before in [
            "env", "nohup", "time", "xargs", "exec", "command", "builtin", "nice", "ionice", "timeout",
            "setsid", "stdbuf", "busybox", "find", "parallel", "watch", "if", "then", "else", "elif", "do",
            "while", "until", "!", "{", "sudo", "eval", "source", ".", "trap", "fd", "ssh", "flock",
            "unshare", "setpriv", "su", "chroot",
        ] {
            let found = invocations(&format!("{before} -x y git push ("));
            let pushes = |one: &Invocation| one.words.iter().flatten().eq(["git", "push"]);
            assert!(found.iter().any(pushes), "{before}: {found:?}");
        }
        let writes: Vec<_> =
            invocations("ls >out 2>>err (").into_iter().flat_map(|one| one.writes).flatten().collect();
        assert!(writes.contains(&"out".to_owned()) && writes.contains(&"err".to_owned()), "{writes:?}");
        assert!(invocations("ls | sh (").iter().any(|one| one.piped && one.words == [Some("sh".to_owned())]));
    }
}
