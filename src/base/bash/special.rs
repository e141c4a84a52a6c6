//! Checks for programs whose words have a special meaning, and for what words may name.

use super::flags::{Arg, ParsedArgs};
use super::notes;
use crate::stdx::secret_files::{may_hold_secrets, may_match_secrets};

/// A placeholder for a name that another program finds: it lies in the folder, and is otherwise unknown.
pub const FOUND: &str = "./…";

/// Checks, by its text alone, that an argument names files of the workspace that are not secrets.
pub fn is_inside(arg: &Arg) -> Result<(), String> {
    let text = arg.text.as_str();
    if arg.pattern {
        is_safe_pattern(text)?;
        if may_match_secrets(text) {
            return Err(format!("`{text}` may match files that hold secrets"));
        }
    }
    names_inside(text)
}

/// Checks that an argument is no pattern, or one whose matches are neither flags nor outside the workspace.
pub fn is_no_flag(arg: &Arg) -> Result<(), String> {
    if arg.pattern { is_inside(arg) } else { Ok(()) }
}

/// Checks that a text names neither a path outside the workspace nor a file that may hold secrets.
pub fn names_inside(text: &str) -> Result<(), String> {
    if text == "/dev/null" {
        return Ok(());
    }
    let outside = || Err(format!("`{text}` may be outside the folder"));
    let parts = || text.split(['/', ':', '=']);
    // `:/word` is a commit.
    let absolute = text.starts_with('/') || text.split(':').skip(1).any(|part| part.starts_with('/'));
    if (absolute && !text.starts_with(":/")) || parts().any(|part| part == "..") {
        return outside();
    }
    if may_hold_secrets(text) { Err(format!("`{text}` may hold secrets")) } else { Ok(()) }
}

/// Checks that the matches of a pattern can be neither flags, nor in other folders, nor hidden files.
fn is_safe_pattern(text: &str) -> Result<(), String> {
    let opens = |part: &str| part.contains(['*', '?', '[']);
    let first = text.split('/').next().unwrap_or_default();
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') || first == ".";
    let hidden = text.split('/').any(|part| part.starts_with('.') && opens(part));
    if begins && !hidden && !text.contains('[') {
        Ok(())
    } else {
        Err(format!("`{text}` may match names that are flags or hidden; write `./{text}`"))
    }
}

/// For programs that print or ignore all their words: checks that patterns name files of the workspace.
pub fn anything(args: &[Arg]) -> Result<(), String> {
    args.iter().filter(|arg| arg.pattern).try_for_each(|arg| names_inside(&arg.text))
}

/// Accepts `cd` to a folder below the current one: after `cd` back or home, later names would lie elsewhere.
pub fn cd(args: &[Arg]) -> Result<(), String> {
    match args {
        [one]
            if !one.text.starts_with('-')
                && !one.pattern
                && !one.text.split('/').any(|part| part == ".git") =>
        {
            is_inside(one)
        }
        _ => Err("where `cd` goes is only known when it runs".to_owned()),
    }
}

pub fn exit(args: &[Arg]) -> Result<(), String> {
    let number = |arg: &Arg| !arg.text.is_empty() && arg.text.bytes().all(|b| b.is_ascii_digit());
    if args.len() <= 1 && args.iter().all(number) { Ok(()) } else { Err("`exit` takes a number".to_owned()) }
}

/// Accepts a `printf` format of plain conversions: `%n` and flags such as `-v` set variables.
pub fn printf(args: &[Arg]) -> Result<(), String> {
    let format = match args {
        [dashes, format, ..] if dashes.text == "--" => format,
        [format, ..] => format,
        [] => return Ok(()),
    };
    let conversions = format.text.replace("%%", "");
    let mut kinds = conversions.split('%').skip(1);
    let plain = |kind: &str| {
        let kind = kind.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #.*'".contains(c));
        kind.starts_with(['s', 'd', 'i', 'u', 'x', 'X', 'o', 'c', 'b', 'q', 'f', 'e', 'g'])
    };
    if format.pattern || format.text.starts_with('-') || !kinds.all(plain) {
        return Err("`printf` can set variables with such a format".to_owned());
    }
    anything(args)
}

/// Accepts `[` with its closing `]`.
pub fn bracket(args: &[Arg]) -> Result<(), String> {
    match args.split_last() {
        Some((last, args)) if last.text == "]" => test(args),
        Some(_) | None => Err("`[` has no `]`".to_owned()),
    }
}

/// Accepts comparisons; `-v` and subscripts can run commands in some shells.
pub fn test(args: &[Arg]) -> Result<(), String> {
    const OPERATORS: &[&str] = &[
        "-e", "-f", "-d", "-r", "-w", "-x", "-s", "-L", "-h", "-n", "-z", "-a", "-o", "-b", "-c", "-p", "-S",
        "-eq", "-ne", "-gt", "-lt", "-ge", "-le", "-nt", "-ot", "-ef",
    ];
    for arg in args {
        let flag = arg.text.starts_with('-') && !arg.text.bytes().skip(1).all(|b| b.is_ascii_digit());
        if arg.pattern
            || arg.text.contains(['[', '$', '`'])
            || (flag && !OPERATORS.contains(&arg.text.as_str()))
        {
            return Err(format!("`test` with `{}` is not known to be read-only", arg.text));
        }
        is_inside(arg)?;
    }
    Ok(())
}

/// Accepts `date` that shows a time: an operand that is not a format would set the clock.
pub fn date(parsed: &ParsedArgs<'_>) -> Result<(), String> {
    match parsed.operands.as_slice() {
        [] => Ok(()),
        [one] if one.text.starts_with('+') && !one.pattern => Ok(()),
        _ => Err("`date` with such a word sets the clock".to_owned()),
    }
}

/// Accepts `sed` scripts that print or omit lines by number.
pub fn sed(parsed: &ParsedArgs<'_>) -> Result<(), String> {
    let given = parsed.flags.iter().filter(|flag| ["-e", "--expression"].contains(&flag.name));
    let mut scripts: Vec<&str> = given.filter_map(|flag| flag.value).collect();
    let mut files = parsed.operands.as_slice();
    if scripts.is_empty() {
        let Some((script, rest)) = files.split_first().filter(|(script, _)| !script.pattern) else {
            return Err("`sed` has no script".to_owned());
        };
        scripts.push(script.text.as_str());
        files = rest;
    }
    if let Some(other) = scripts.iter().find(|script| !script.split(';').all(prints_lines)) {
        return Err(format!(
            "`sed` with `{other}` is not known to be read-only; only line numbers and p, d, q, = are"
        ));
    }
    files.iter().try_for_each(|arg| is_inside(arg))
}

/// Whether a `sed` command has an accepted form: `5p`, `1,$p`, `10q`, `3,+4p`, `$=`.
fn prints_lines(command: &str) -> bool {
    let command = command.trim();
    let Some(addresses) = command.strip_suffix(['p', 'd', 'q', '=']) else { return false };
    let address = |text: &str| text == "$" || (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()));
    let addresses = addresses.strip_suffix('!').unwrap_or(addresses);
    match addresses.split_once(',') {
        Some((first, last)) => address(first) && address(last.strip_prefix(['+', '~']).unwrap_or(last)),
        None => addresses.is_empty() || address(addresses),
    }
}

/// Accepts a `jq` filter that reads neither the environment nor modules.
pub fn jq(parsed: &ParsedArgs<'_>) -> Result<(), String> {
    let Some((filter, files)) = parsed.operands.split_first() else { return Ok(()) };
    let reads = |word: &str| filter.text.to_lowercase().contains(word);
    let unsure = filter.pattern || filter.text == FOUND;
    if unsure || ["env", "import", "include", "modulemeta", "get_search_list", "$__"].into_iter().any(reads) {
        return Err("the filter of `jq` may read variables or other files".to_owned());
    }
    files.iter().try_for_each(|arg| is_inside(arg))
}

/// Accepts `git rev-parse` with plain names of references. Other arguments refer to the index or to objects,
/// for which git may start programs named in settings.
pub fn refs(parsed: &ParsedArgs<'_>) -> Result<(), String> {
    let plain = |text: &str| text.chars().all(|c| c.is_alphanumeric() || matches!(c, '/' | '-' | '_' | '.'));
    match parsed.operands.iter().find(|arg| arg.pattern || !plain(&arg.text)) {
        Some(arg) => {
            Err(format!("`git rev-parse {}` may run programs set in the repository's settings", arg.text))
        }
        None => parsed.operands.iter().try_for_each(|arg| is_inside(arg)),
    }
}

/// Accepts known words of `cargo`: words after `--` go to a program with its own flags, some of which name
/// files to write.
pub fn cargo(parsed: &ParsedArgs<'_>) -> Result<(), String> {
    const KNOWN: [&str; 4] = ["--nocapture", "--exact", "--ignored", "--include-ignored"];
    let known = |text: &str| !text.starts_with('-') || KNOWN.contains(&text);
    match parsed.operands.iter().find(|arg| arg.pattern || !known(&arg.text)) {
        Some(arg) => Err(notes::flag("cargo", &arg.text)),
        None => Ok(()),
    }
}

/// Accepts `git log` and the like without formats such as `%G?`, which run the signature checker.
pub fn log(parsed: &ParsedArgs<'_>) -> Result<(), String> {
    if parsed.flags.iter().any(|flag| flag.value.is_some_and(shows_signatures)) {
        return Err("`%G` runs the program that checks signatures".to_owned());
    }
    parsed.operands.iter().try_for_each(|arg| is_inside(arg))
}

/// Whether a format shows signatures. A conversion may have a modifier: `%+GK`, `% G?`.
fn shows_signatures(format: &str) -> bool {
    let plain = format.replace("%%", "");
    let mut conversions = plain.split('%').skip(1);
    conversions.any(|one| one.trim_start_matches(['+', '-', ' ']).starts_with('G'))
        || format.contains("signature")
}

/// Accepts `git reflog` if it only shows the log.
pub fn reflog(parsed: &ParsedArgs<'_>) -> Result<(), String> {
    match parsed.operands.first() {
        Some(first) if first.text != "show" => Err(format!("`git reflog {}` changes history", first.text)),
        Some(_) | None => log(parsed),
    }
}

/// Tests and actions of `find` without an argument.
const ALONE: &[&str] = &[
    "-print",
    "-print0",
    "-ls",
    "-prune",
    "-quit",
    "-empty",
    "-depth",
    "-d",
    "-xdev",
    "-mount",
    "-not",
    "!",
    "-a",
    "-and",
    "-o",
    "-or",
    "(",
    ")",
    ",",
    "-true",
    "-false",
    "-executable",
    "-readable",
    "-writable",
    "-nouser",
    "-nogroup",
    "-daystart",
    "-noleaf",
];

/// Tests and actions of `find` with a text argument.
const WITH_TEXT: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-regex",
    "-iregex",
    "-regextype",
    "-type",
    "-xtype",
    "-size",
    "-mtime",
    "-mmin",
    "-atime",
    "-amin",
    "-ctime",
    "-cmin",
    "-maxdepth",
    "-mindepth",
    "-perm",
    "-user",
    "-group",
    "-links",
    "-inum",
    "-printf",
    "-uid",
    "-gid",
    "-lname",
    "-ilname",
    "-fstype",
    "-used",
];

/// Tests of `find` with a file name as argument.
const WITH_FILE: &[&str] = &["-newer", "-anewer", "-cnewer", "-samefile"];

/// Accepts `find` whose only actions print; the caller judges what `-exec` runs.
pub fn find(args: &[Arg]) -> Result<(), String> {
    let begins = |arg: &Arg| arg.text.starts_with('-') || ["(", "!", ")", ","].contains(&arg.text.as_str());
    let starts = args.iter().take_while(|arg| !begins(arg));
    starts.clone().try_for_each(is_inside)?;
    let mut rest = args.iter().skip(starts.count());
    while let Some(arg) = rest.next() {
        let name = arg.text.as_str();
        if arg.pattern {
            return Err(format!("`{name}` may match names that are flags or hidden"));
        } else if ["-P", "-E"].contains(&name) || ALONE.contains(&name) {
            continue;
        } else if WITH_TEXT.contains(&name) {
            rest.next().filter(|arg| !arg.pattern).ok_or_else(|| format!("`find {name}` needs a text"))?;
        } else if WITH_FILE.contains(&name) {
            is_inside(rest.next().ok_or_else(|| format!("`find {name}` needs a file"))?)?;
        } else if begins(arg) {
            return Err(super::notes::flag("find", name));
        } else {
            // A folder after an option: `find -P src`.
            is_inside(arg)?;
        }
    }
    Ok(())
}
