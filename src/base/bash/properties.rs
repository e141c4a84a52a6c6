//! Properties that hold for any script: no disguise makes a command safe, no text does harm, nothing hides.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::tests::rows;
use super::*;

/// Returns commands that a shell would run and that are not read-only, on one line each, without comments.
fn unsafe_commands() -> Vec<String> {
    let whole = |script: &str| {
        let closed =
            script.matches('\'').count().is_multiple_of(2) && script.matches('\"').count().is_multiple_of(2);
        closed && !script.contains(['\n', '#', '\0'])
    };
    let sound = |because: &str| !["grammar", "no command", "differently"].contains(&because);
    let rows = rows().into_iter().filter(|row| row.because.is_some_and(sound) && whole(&row.script));
    rows.map(|row| row.script).collect()
}

fn safe_commands() -> Vec<String> {
    let rows = rows().into_iter().filter(|row| row.because.is_none() && !row.script.contains(['#', '\n']));
    rows.map(|row| row.script).collect()
}

fn is_safe(script: &str) -> bool {
    classify(script) == Class::ReadOnly
}

/// Ways to disguise a command: `{}` is the command, `{q}` the command quoted for a shell once more, `{qq}`
/// the command as a shell's own command, quoted twice.
const DISGUISES: &[&str] = &[
    "  {}  ",
    "\t{}",
    "{} ",
    "\n{}\n",
    "{} # ls",
    "# ls\n{}",
    "ls; {}",
    "ls && {}",
    "ls || {}",
    "ls | {}",
    "ls\n{}",
    "{}; ls",
    "{} && ls",
    "{} | cat",
    "({})",
    "( {} )",
    "(ls; {})",
    "! {}",
    "ls \\\n; {}",
    "{} 2>/dev/null",
    "{} 2>&1",
    "LC_ALL=C {}",
    "echo $({})",
    "echo \"$({})\"",
    "cat <({})",
    "{ {}; }",
    "if true; then {}; fi",
    "while true; do {}; done",
    "for x in 1; do {}; done",
    "f() { {}; }; f",
    "cat <<E\n$({})\nE",
    "cat <<'E'\nx\nE\n{}",
    "sh <<'E'\n{}\nE",
    "ls & {}",
    "time {}",
    "nice {}",
    "timeout 5 {}",
    "env LC_ALL=C {}",
    "command {}",
    "nohup {}",
    "sh -c {q}",
    "bash -c {q}",
    "sh -c {qq}",
    "eval {q}",
    "sudo {}",
    "xargs {}",
    "echo x | xargs {}",
    "find . -exec {} \\;",
    "\u{a0}{}",
    "{}\u{200b}",
    "ls\u{2028}{}",
    "ls\r\n{}",
    "'ls'; {}",
    "\"ls\" -la; {}",
    "ls 'a' \"b\" c\\ d; {}",
    "ls '#'; {}",
    "ls '\\;'; {}; ls",
    "ls \\#; {}",
    "ls \"\\\"\"; {}",
    "ls '\\'; {}",
    "echo \"a'b\"; {}; echo \"'\"",
    "echo 'a\"b'; {}; echo '\"'",
    "[ -f x ] && {}",
    "[ a = b ]; {}",
    "ls a\\\\; {}",
    "ls ''; {}",
    "cd sub; {}",
    "true `{}`",
];

fn quoted(script: &str) -> String {
    format!("'{}'", script.replace('\'', "'\\''"))
}

fn dress(disguise: &str, script: &str) -> String {
    let twice = quoted(&format!("sh -c {}", quoted(script)));
    match disguise {
        _ if disguise.contains("{q}") => disguise.replace("{q}", &quoted(script)),
        _ if disguise.contains("{qq}") => disguise.replace("{qq}", &twice),
        _ => disguise.replacen("{}", script, 1),
    }
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

#[test]
fn no_disguise_makes_an_unsafe_command_safe() {
    for script in unsafe_commands() {
        for disguise in DISGUISES {
            let dressed = dress(disguise, &script);
            assert!(!is_safe(&dressed), "{dressed}");
        }
    }
}

#[test]
fn quotes_and_blanks_make_no_program_safe() {
    for (name, args) in
        [("rm", "x"), ("git", "push"), ("sort", "-o a b"), ("find", ". -delete"), ("tee", "out")]
    {
        let spellings = (1..name.len()).flat_map(|at| {
            let (head, tail) = name.split_at(at);
            [
                format!("{head}''{tail}"),
                format!("{head}\"\"{tail}"),
                format!("{head}\\{tail}"),
                format!("'{head}'{tail}"),
                format!("{head}\"{tail}\""),
                format!("{head}\\\n{tail}"),
                format!("{head}$x{tail}"),
                format!("{head}`true`{tail}"),
                format!("{head}\u{200d}{tail}"),
                format!("{head}\u{301}{tail}"),
                format!("$'{name}'"),
                format!("{{{name},}}"),
            ]
        });
        for spelling in spellings {
            for blank in [" ", "\t", "  ", " \\\n ", "\u{a0}", "\u{3000}", "\x0b", "\r"] {
                let script = format!("{spelling}{blank}{args}");
                assert!(!is_safe(&script), "{script:?}");
            }
        }
    }
}

/// Returns scripts that are each long or deeply nested in one way.
fn long_and_deep() -> Vec<String> {
    let deep = |open: &str, inside: &str, close: &str, times| {
        format!("{}{inside}{}", open.repeat(times), close.repeat(times))
    };
    vec![
        "a".repeat(1 << 20),
        "ls; ".repeat(1 << 18),
        "(".repeat(100_000),
        deep("(", "ls", ")", 100_000),
        deep("( ", "ls", " )", 1_900),
        deep("$(", "ls", ")", 2_600),
        deep("\"$(", "ls", ")\"", 1_600),
        "`".repeat(8_000),
        "{ ".repeat(4_000),
        "${".repeat(4_000),
        "! ".repeat(4_000),
        "if a; then ".repeat(700),
        "[[ a == ".repeat(1_000),
        "case a in ".repeat(800),
        "ls|".repeat(2_600),
        "[ ".repeat(4_000),
        ">a ".repeat(2_600),
        "a=".repeat(4_000),
        "\\".repeat(8_000),
        "'\"".repeat(4_000),
        "env ".repeat(2_000),
        "sh -c ".repeat(1_300),
        format!("ls {}", "x ".repeat(4_000)),
        "${x/".repeat(2_000),
    ]
}

#[test]
fn long_and_deep_scripts_end_soon() {
    let scripts = long_and_deep();
    let cut = |script: &String| script.chars().take(4_000).collect::<String>();
    for script in scripts.iter().map(cut).chain(scripts.clone()) {
        let start = Instant::now();
        let class = classify(&script);
        let known = invocations(&script).is_some();
        let head: String = script.chars().take(12).collect();
        assert!(start.elapsed() < Duration::from_secs(5), "{head}: {:?}", start.elapsed());
        assert!(class != Class::ReadOnly || known, "{head}");
        if let Class::Unknown { because } = class {
            assert!(because.len() < 1_000 && !because.is_empty(), "{because}");
        }
    }
}

/// Pieces of the language, for scripts that random text would not produce.
const PIECES: &[&str] = &[
    "ls",
    "rm",
    "x",
    " ",
    "  ",
    "\t",
    "\n",
    ";",
    "&",
    "&&",
    "|",
    "||",
    "(",
    ")",
    "{",
    "}",
    "'",
    "\"",
    "\\",
    "`",
    "$",
    "$(",
    "${",
    "x}",
    "<",
    ">",
    ">>",
    ">&",
    "<(",
    "2",
    "1",
    "/dev/null",
    "#",
    "!",
    "[",
    "]",
    "-la",
    "if",
    "then",
    "fi",
    "for",
    "in",
    "do",
    "done",
    "while",
    "=",
    "A=1",
    "*",
    "?",
    "~",
    "/",
    "..",
    "git",
    "status",
    "find",
    ".",
    "-exec",
    "{}",
    "+",
    "\\;",
    "sh",
    "-c",
    "env",
    "xargs",
    "é",
    "\u{a0}",
    "\u{202e}",
    "case",
    "esac",
    "function",
    "[[",
    "]]",
    "((",
    "))",
    "<<E",
    "E",
    "$'",
    "$\"",
    "time",
    "eval",
    "cd",
    "echo",
    "\r",
];

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn any_bytes_have_one_verdict(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let script = String::from_utf8_lossy(&bytes);
        prop_assert_eq!(classify(&script), classify(&script));
        prop_assert_eq!(invocations(&script), invocations(&script));
    }

    #[test]
    fn any_pieces_have_one_verdict(pieces in proptest::collection::vec(select(PIECES), 0..24)) {
        let script = pieces.concat();
        prop_assert_eq!(classify(&script), classify(&script));
        // A read-only script is understood, and names no program that does more.
        if is_safe(&script) {
            let found = invocations(&script).expect("what is judged is understood");
            let removes = |one: &Invocation| one.words.first() == Some(&Some("rm".to_owned()));
            prop_assert!(!found.iter().any(removes), "{}", script);
        }
    }

    #[test]
    fn two_disguises_make_nothing_safe(
        script in select(unsafe_commands()), outer in select(DISGUISES), inner in select(DISGUISES),
    ) {
        let dressed = dress(outer, &dress(inner, &script));
        prop_assert!(!is_safe(&dressed), "{}", dressed);
    }

    #[test]
    fn a_safe_command_covers_for_no_unsafe_one(
        safe in select(safe_commands()), other in select(unsafe_commands()),
        between in select(&["; ", " && ", " || ", " | ", "\n", " ;\n", "|", ";", "\n\n# x\n"][..]),
    ) {
        let script = format!("{safe}{between}{other}");
        prop_assert!(!is_safe(&script), "{}", script);
    }

    #[test]
    fn text_put_anywhere_hides_no_rm(safe in select(safe_commands()), at in any::<Index>(), piece in select(&[
        "; rm x;", "\nrm x\n", "&& rm x &&", "| rm x |", "$(rm x)", "`rm x`", "<(rm x)", "& rm x &", "(rm x)", " > out ", " $x ",
    ][..])) {
        let places: Vec<usize> = safe.char_indices().map(|(place, _)| place).chain([safe.len()]).collect();
        let (head, tail) = safe.split_at(*at.get(&places));
        let script = format!("{head}{piece}{tail}");
        // In quotes or after a backslash it remains text, and the verdict may stay the same.
        let is_text = invocations(&script).is_some_and(|found| {
            found.iter().all(|one| one.words.first() != Some(&Some("rm".to_owned())) && one.writes.iter().all(harmless))
        });
        prop_assert!(!is_safe(&script) || is_text, "{}", script);
        prop_assert!(!is_safe(&script) || safe.contains(['\'', '"', '\\']), "{}", script);
    }

    #[test]
    fn an_rm_is_found_wherever_it_is(safe in select(safe_commands()), frame in select(FRAMES), other in select(FRAMES)) {
        let script = frame.replace("{}", &other.replace("{}", "rm x")).replace("LS", &safe);
        let Some(found) = invocations(&script) else { return Ok(()) };
        let removes = |one: &Invocation| one.words == [Some("rm".to_owned()), Some("x".to_owned())];
        prop_assert!(found.iter().any(removes), "{}: {:?}", script, found);
    }
}

fn harmless(target: &Option<String>) -> bool {
    target.as_deref() == Some("/dev/null")
}

/// Places for a command; `LS` is another one.
const FRAMES: &[&str] = &[
    "{}",
    "LS; {}",
    "{}; LS",
    "LS && {}",
    "LS || {} || LS",
    "LS | {}",
    "LS\n{}\nLS",
    "({}; LS)",
    "LS; (LS; {})",
    "{ LS; {}; }",
    "if LS; then {}; fi",
    "if {}; then LS; else LS; fi",
    "while {}; do LS; done",
    "until LS; do {}; done",
    "for x in a b; do {}; done",
    "for x in $({}); do LS; done",
    "echo $({})",
    "echo \"a $({}) b\"",
    "cat <({})",
    "LS & {}",
    "! {}",
    "LS > $({})",
    "env A=b {}",
    "sudo -u me {}",
    "timeout 5 {}",
    "nice -n 5 {}",
    "time {}",
    "command {}",
    "exec {}",
    "A=$({})",
    "A=$({}) LS",
    "[ a = \"$({})\" ]",
    "2>&1 {}",
    "{} > out",
    "A=1 {}",
];

#[test]
fn an_rm_is_found_in_every_frame() {
    for frame in FRAMES {
        let script = frame.replace("{}", "rm x").replace("LS", "ls");
        let found = invocations(&script);
        let removes = |one: &Invocation| one.words == [Some("rm".to_owned()), Some("x".to_owned())];
        assert!(found.as_ref().is_some_and(|found| found.iter().any(removes)), "{script}: {found:?}");
    }
}
