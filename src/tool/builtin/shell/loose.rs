//! Finds possible commands, word by word, in a command line that the shell's grammar does not understand.
//!
//! It errs on the side of finding more: text in quotes, substitutions, comments and here-documents is also
//! returned as commands, because any of it may be run, and a word that is dangerous by itself is returned at
//! any position. It never fails.

use crate::bash::Invocation;

/// Programs that are returned wherever their names occur: the names are rarely used for anything else.
const ANYWHERE: [&str; 12] =
    ["rm", "unlink", "shred", "sudo", "doas", "chmod", "chown", "rsync", "curl", "wget", "ssh", "terraform"];

/// Words that precede a program.
const BEFORE: [&str; 26] = [
    "env", "nohup", "time", "xargs", "exec", "command", "builtin", "nice", "ionice", "timeout", "setsid",
    "stdbuf", "busybox", "find", "parallel", "watch", "if", "then", "else", "elif", "do", "while", "until",
    "!", "{", "sudo",
];

/// Returns the possible commands in a text.
pub fn invocations(script: &str) -> Vec<Invocation> {
    // Read once with quotes removed, and once with quotes as ends of commands: the shell could run either.
    let joined = script.replace("\\\n", "").replace(['\'', '"', '\\'], "");
    let apart = script.replace("\\\n", "").replace(['\'', '"', '\\'], "\n");
    let mut found = Vec::new();
    for text in [joined, apart] {
        let mut piped = false;
        for piece in text.split_inclusive([';', '|', '&', '(', ')', '`', '\n']) {
            segment(piece.trim_end_matches([';', '|', '&', '(', ')', '`', '\n']), piped, &mut found);
            // Commands in a group read the group's input.
            piped = piece.ends_with('|') || (piped && !piece.ends_with(['\n', ')', ';']));
        }
    }
    found
}

/// Finds the commands in one piece, which has no operators except redirections.
fn segment(piece: &str, piped: bool, found: &mut Vec<Invocation>) {
    let spaced = piece.replace('>', " > ").replace('<', " < ");
    let mut words: Vec<&str> = Vec::new();
    let (mut writes, mut reads) = (Vec::new(), Vec::new());
    let mut parts = spaced.split_whitespace().peekable();
    while let Some(part) = parts.next() {
        if part != ">" && part != "<" {
            words.push(part);
        } else if let Some(target) = parts.next_if(|next| *next != ">" && *next != "<") {
            let targets = if part == ">" { &mut writes } else { &mut reads };
            targets.push(Some(target.to_owned()));
        }
    }
    let mut begins = true;
    for (at, word) in words.iter().enumerate() {
        let name = word.rsplit('/').next().unwrap_or(word);
        if begins || ANYWHERE.contains(&name) || name.starts_with("mkfs") {
            let (writes, reads) = (std::mem::take(&mut writes), std::mem::take(&mut reads));
            found.push(invocation(&words[at..], writes, reads, piped));
        }
        // After a wrapper, any word could be the program.
        begins = begins && (BEFORE.contains(&name) || word.contains('=') || at > 0)
            || (at == 0 && BEFORE.contains(&name));
    }
    if !writes.is_empty() || !reads.is_empty() {
        found.push(invocation(&[], writes, reads, piped));
    }
}

fn invocation(
    words: &[&str],
    writes: Vec<Option<String>>,
    reads: Vec<Option<String>>,
    piped: bool,
) -> Invocation {
    Invocation {
        words: words.iter().map(|word| Some((*word).to_owned())).collect(),
        written: words.iter().map(|word| (*word).to_owned()).collect(),
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
        let writes: Vec<_> =
            invocations("ls >out 2>>err (").into_iter().flat_map(|one| one.writes).flatten().collect();
        assert!(writes.contains(&"out".to_owned()) && writes.contains(&"err".to_owned()), "{writes:?}");
        assert!(invocations("ls | sh (").iter().any(|one| one.piped && one.words == [Some("sh".to_owned())]));
    }
}
