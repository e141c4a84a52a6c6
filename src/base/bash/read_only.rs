//! Decides whether a script is read-only: every command must be in the table, with allowed words.

use super::flags::{Arg, Order, ParsedArgs, parse};
use super::lexer::{Open, Redirect, SimpleCommand, Word};
use super::programs::{Operands, Program, ProgramEffect, program};
use super::reading::read;
use super::special::{FOUND, is_inside, is_no_flag, names_inside};
use super::wrap::{WrapperEffect, wrapper};
use super::{MAX_NESTING, notes};
use crate::stdx::secret_files::may_match_secrets;

/// Variables that change only the form of the output.
const HARMLESS: &[&str] = &[
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_COLLATE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "TZ",
    "NO_COLOR",
    "CLICOLOR",
    "COLUMNS",
    "LINES",
];

/// Harmless flags between `git` and its subcommand.
const BEFORE: &[&str] =
    &["--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"];

/// Shells that interpret a script as this module does.
const POSIX_SHELLS: &[&str] = &["sh", "bash", "dash", "ash"];

/// The maximum number of commands to judge: more than a user would review.
const MAX_COMMANDS: usize = 100;

/// The folder in which a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WorkingFolder {
    /// The session's folder.
    Session,
    /// The session's folder, in a sandbox that confines the programs which a repository's settings name.
    Confined,
    /// A folder that the script changes to, whose settings were not examined.
    Elsewhere,
}

/// Checks that a script is known to be read-only; errs with the reason if not.
pub fn script(script: &str) -> Result<(), String> {
    script_in(script, WorkingFolder::Session, 0)
}

/// Checks that a script is known to be read-only if a sandbox confines it; errs with the reason if not.
pub fn confined_script(script: &str) -> Result<(), String> {
    script_in(script, WorkingFolder::Confined, 0)
}

fn script_in(script: &str, mut place: WorkingFolder, depth: usize) -> Result<(), String> {
    if depth > MAX_NESTING {
        return Err("it is nested too deeply".to_owned());
    }
    let reading = read(script)?;
    if let Some(beyond) = reading.beyond {
        return Err(beyond.to_owned());
    }
    if reading.commands.is_empty() {
        return Err("it contains no command".to_owned());
    }
    if reading.commands.len() > MAX_COMMANDS {
        return Err("it contains too many commands to be sure".to_owned());
    }
    for simple in &reading.commands {
        // If its input is redirected from a file, the pipe feeds nothing into it.
        let fed = simple.fed_by.filter(|_| simple.redirects.iter().all(|one| !one.operator.contains('<')));
        let feeder = reading.commands.iter().find(|other| fed.is_some() && other.start() == fed);
        judge(simple, feeder, place, depth)?;
        if simple.words.first().is_some_and(|word| word.text == "cd") {
            place = WorkingFolder::Elsewhere;
        }
    }
    Ok(())
}

fn judge(
    simple: &SimpleCommand,
    feeder: Option<&SimpleCommand>,
    place: WorkingFolder,
    depth: usize,
) -> Result<(), String> {
    simple.assigns.iter().try_for_each(|word| assigns(&fixed_arg(word)?.text))?;
    simple.redirects.iter().try_for_each(redirect)?;
    let args = simple.words.iter().map(fixed_arg).collect::<Result<Vec<Arg>, String>>()?;
    let judge = Judge { feeder, place, depth };
    judge.command(&args)
}

fn fixed_arg(word: &Word) -> Result<Arg, String> {
    let why = match word.open {
        None | Some(Open::Pattern) => None,
        Some(Open::Variable) => Some("a variable's value is only known when it runs"),
        Some(Open::Substitution) => Some("what a command prints is only known when it runs"),
        Some(Open::Tilde) => Some("`~` is outside the folder"),
        Some(Open::Brace) => Some("shells read `{…}` differently"),
    };
    Arg::of(word).ok_or_else(|| why.unwrap_or("a word is only known when it runs").to_owned())
}

fn assigns(text: &str) -> Result<(), String> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let plain =
        value.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-+@/".contains(&b)) && !value.starts_with('/');
    if HARMLESS.contains(&name) && plain {
        return Ok(());
    }
    Err(format!("`{name}=` may change what the command does"))
}

fn redirect(redirect: &Redirect) -> Result<(), String> {
    let target = fixed_arg(&redirect.target)?;
    let text = target.text.as_str();
    let operator = redirect.operator.trim_start_matches(|c: char| c.is_ascii_digit());
    match operator {
        "<" if target.pattern => Err(format!("which file `{text}` means is only known when it runs")),
        "<" => is_inside(&target),
        ">&" if ["1", "2"].contains(&text) => Ok(()),
        ">" | ">>" if text == "/dev/null" => Ok(()),
        _ if redirect.writes() => Err(format!("it writes to `{text}`")),
        _ => Err(format!("`{}{text}` is not known to be read-only", redirect.operator)),
    }
}

struct Judge<'a> {
    /// The command whose output this one reads, if it is a simple one.
    feeder: Option<&'a SimpleCommand>,
    place: WorkingFolder,
    depth: usize,
}

impl Judge<'_> {
    fn command(&self, args: &[Arg]) -> Result<(), String> {
        let Some((name, rest)) = args.split_first() else {
            return Err("a redirection or an assignment alone is not known to be read-only".to_owned());
        };
        let deeper = Self { feeder: self.feeder, place: self.place, depth: self.depth + 1 };
        if self.depth > MAX_NESTING {
            return Err("it is nested too deeply".to_owned());
        }
        match name.text.as_str() {
            _ if name.pattern => Err("which program runs is only known when it runs".to_owned()),
            "git" => self.git(rest),
            "command" if rest.first().is_some_and(|arg| ["-v", "-V"].contains(&arg.text.as_str())) => Ok(()),
            "find" => deeper.find(rest),
            shell if POSIX_SHELLS.contains(&shell) && rest.first().is_some_and(|arg| arg.text == "-c") => {
                match rest {
                    [_, text] if !text.pattern => script_in(&text.text, self.place, self.depth + 1),
                    _ => Err(notes::unknown(shell)),
                }
            }
            text => match wrapper(text) {
                Some(_) => deeper.wrapper(text, args),
                None => check_program(text, rest),
            },
        }
    }

    fn wrapper(&self, name: &str, args: &[Arg]) -> Result<(), String> {
        let Some(wrapper) = wrapper(name).filter(|wrapper| wrapper.effect != WrapperEffect::More) else {
            return Err(notes::unknown(name));
        };
        let unknown = || notes::unknown(name);
        if args.iter().any(|arg| arg.pattern && wrapper.effect == WrapperEffect::Feeds) {
            return Err(unknown());
        }
        let words: Vec<Option<String>> = args.iter().map(|arg| Some(arg.text.clone())).collect();
        let start = wrapper.program(&words).ok_or_else(unknown)?;
        let (own, inner) = args.split_at(start);
        // `script_in` would not notice a `cd` behind a wrapper.
        let goes = inner.first().is_none_or(|arg| arg.text == "cd");
        if goes || own.iter().any(|arg| arg.pattern) {
            return Err(unknown());
        }
        let sets = own.iter().skip(1).filter(|arg| arg.text.contains('=') && !arg.text.starts_with('-'));
        sets.map(|arg| arg.text.as_str()).try_for_each(assigns)?;
        match wrapper.effect {
            WrapperEffect::Transparent | WrapperEffect::Sets => self.command(inner),
            WrapperEffect::Feeds => self.xargs(own, inner),
            WrapperEffect::More => Err(unknown()),
        }
    }

    /// Judges `xargs`, whose input supplies words. Names printed by `find` lie in its folders, if each ends
    /// with a NUL.
    fn xargs(&self, own: &[Arg], inner: &[Arg]) -> Result<(), String> {
        const UNSURE: &str = "what `xargs` gives to a program is only known when it runs";
        let is = |word: &Word, text: &str| word.text == text && word.open.is_none();
        let nul = own.iter().any(|arg| ["-0", "--null"].contains(&arg.text.as_str()));
        let from_find = self.feeder.is_some_and(|feeder| {
            let words = &feeder.words;
            let named = words.get(1).is_some_and(|word| !word.text.starts_with('-') && word.open.is_none());
            let only = |word: &Word| {
                ["-print", "-printf", "-ls", "-exec", "-o", "-or", ","].contains(&word.text.as_str())
            };
            words.first().is_some_and(|word| is(word, "find"))
                && named
                && words.last().is_some_and(|word| is(word, "-print0"))
                && !words.iter().any(only)
                && feeder.redirects.iter().all(|one| one.operator == "2>")
        });
        let only_own = own
            .iter()
            .skip(1)
            .all(|arg| ["-0", "--null", "-r", "--no-run-if-empty"].contains(&arg.text.as_str()));
        let prints = ["echo", "basename", "dirname"].contains(&inner[0].text.as_str());
        if prints && only_own && inner.len() == 1 {
            return Ok(());
        }
        if !(nul && only_own && from_find) {
            return Err(UNSURE.to_owned());
        }
        let mut filled = inner.to_vec();
        // More than one, because a program may write to its second operand.
        filled.extend([FOUND; 3].map(|text| Arg { text: text.to_owned(), pattern: false }));
        self.command(&filled)?;
        let sure = self
            .feeder
            .is_some_and(|feeder| finds_no_secrets(feeder.words.iter().map(|word| word.text.as_str())));
        if !sure && !OF_NAMES.contains(&inner[0].text.as_str()) {
            return Err(
                "`xargs` may get files that hold secrets; choose them with `find -type f -name`".to_owned()
            );
        }
        Ok(())
    }

    /// Judges `find`, and the commands that its `-exec` runs on the names found.
    fn find(&self, args: &[Arg]) -> Result<(), String> {
        let mut own = Vec::new();
        let mut at = 0;
        let sure = finds_no_secrets(args.iter().map(|arg| arg.text.as_str()));
        while let Some(arg) = args.get(at) {
            at += 1;
            if arg.text != "-exec" {
                own.push(arg.clone());
                continue;
            }
            let rest = args.get(at..).unwrap_or_default();
            let ends = |end: &usize| {
                rest[*end].text == ";" || (rest[*end].text == "+" && *end > 0 && rest[*end - 1].text == "{}")
            };
            let end = (0..rest.len()).find(ends).ok_or("`find -exec` has no end")?;
            let named = |arg: &Arg| Arg { text: arg.text.replace("{}", FOUND), pattern: arg.pattern };
            if rest[..end].iter().any(|arg| arg.text != "{}" && arg.text.contains("{}")) {
                return Err("what `find -exec` runs is only known when it runs".to_owned());
            }
            let mut inner: Vec<Arg> = rest[..end].iter().map(named).collect();
            if rest[end].text == "+" {
                inner.extend([FOUND; 2].map(|text| Arg { text: text.to_owned(), pattern: false }));
            }
            self.command(&inner)?;
            if !sure && !inner.first().is_some_and(|program| OF_NAMES.contains(&program.text.as_str())) {
                return Err(
                    "`find -exec` may read files that hold secrets; choose them with `-type f -name`"
                        .to_owned(),
                );
            }
            at += end + 1;
        }
        check_program("find", &own)
    }

    fn git(&self, args: &[Arg]) -> Result<(), String> {
        if self.place == WorkingFolder::Elsewhere {
            return Err("`git` in another folder follows the settings there".to_owned());
        }
        let rest = args
            .iter()
            .position(|arg| !BEFORE.contains(&arg.text.as_str()))
            .map_or(&[][..], |at| &args[at..]);
        let text = |at: usize| rest.get(at).filter(|arg| !arg.pattern).map(|arg| arg.text.as_str());
        let Some(first) = text(0) else { return Err(notes::unknown("git")) };
        let first = if first.starts_with('-') { first.split('=').next().unwrap_or(first) } else { first };
        let two = text(1).map(|second| format!("git {first} {second}"));
        if let Some(name) = two.filter(|name| program(name).is_some()) {
            return self.git_row(&name, rest.get(2..).unwrap_or_default());
        }
        self.git_row(&format!("git {first}"), rest.get(1..).unwrap_or_default())
    }

    fn git_row(&self, name: &str, args: &[Arg]) -> Result<(), String> {
        match program(name) {
            Some(Program { effect: ProgramEffect::RunsSettings, .. })
                if self.place == WorkingFolder::Confined =>
            {
                known_words(name, args)
            }
            Some(_) | None => check_program(name, args),
        }
    }
}

/// Whether `find` with these words finds only names that no secret has.
fn finds_no_secrets<'a>(words: impl Iterator<Item = &'a str>) -> bool {
    const ACTS: [&str; 5] = ["-exec", "-print", "-print0", "-printf", "-ls"];
    let words: Vec<&str> = words.collect();
    let acts = |word: &&str| ACTS.contains(word);
    // Words after an action do not select its files. Only the tests before the first action are checked.
    let tests = words.split(acts).next().unwrap_or_default();
    let one_act = words.iter().filter(|word| acts(word)).count() == 1;
    let chosen = |pair: &[&str]| ["-name", "-iname"].contains(&pair[0]) && !may_match_secrets(pair[1]);
    // A link may point to a file with another name.
    let regular = |pair: &[&str]| pair == ["-type", "f"];
    let other = |word: &&str| ["-o", "-or", ",", "!", "-not"].contains(word);
    one_act && tests.windows(2).any(chosen) && tests.windows(2).any(regular) && !words.iter().any(other)
}

/// Checks against its row that a program is read-only; errs with the reason if not.
fn check_program(name: &str, args: &[Arg]) -> Result<(), String> {
    match program(name) {
        Some(Program { effect: ProgramEffect::RunsSettings, .. }) => {
            known_words(name, args)?;
            Err(format!("`{name}` runs programs set in the repository's settings"))
        }
        Some(Program { effect: ProgramEffect::Acts, .. }) | None => Err(notes::unknown(name)),
        Some(Program { effect: ProgramEffect::Reads, .. }) => known_words(name, args),
    }
}

/// Returns how many of the first words name a program or a subcommand that has a row; `None` if none does.
pub fn subcommand(words: &[Option<String>]) -> Option<usize> {
    let named = |count: usize| {
        let words: Option<Vec<&str>> = words.get(..count)?.iter().map(Option::as_deref).collect();
        program(&words?.join(" ")).map(|_| count)
    };
    named(3).or_else(|| named(2)).or_else(|| named(1))
}

/// Whether every word after a program's name is a flag known to its row, or a non-secret workspace file.
pub fn has_known_words(words: &[Option<String>]) -> bool {
    let Some(named) = subcommand(words) else { return false };
    let (name, rest) = words.split_at(named);
    let name: Vec<&str> = name.iter().flatten().map(String::as_str).collect();
    let args: Option<Vec<Arg>> =
        rest.iter().map(|word| Some(Arg { text: word.clone()?, pattern: false })).collect();
    args.is_some_and(|args| known_words(&name.join(" "), &args).is_ok())
}

/// Checks that a program's words are allowed by its row.
fn known_words(name: &str, args: &[Arg]) -> Result<(), String> {
    let Some(Program { flags, operands, .. }) = program(name) else { return Err(notes::unknown(name)) };
    if let Operands::Own(check) = operands {
        return check(args);
    }
    let parsed = parse(&flags, args, Order::Mixed).map_err(|refused| notes::flag(name, &refused.0))?;
    for flag in &parsed.flags {
        // If another version of the program takes no value here, the next word is an operand.
        if let Some(value) = flag.value.filter(|_| flag.names_file || flag.apart) {
            names_inside(value)?;
            let number = value.strip_prefix('-').is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
            if value.starts_with('-') && !number {
                return Err(notes::flag(name, flag.name));
            }
        }
    }
    reads_no_secrets(name, &parsed)?;
    check_operands(name, &operands, &parsed)
}

/// Programs that report only the name, size and kind of a file.
const OF_NAMES: &[&str] = &[
    "echo", "basename", "dirname", "ls", "stat", "file", "wc", "du", "realpath", "readlink", "test", "[",
    "printf", "true",
];

/// File types of `rg` that contain source code.
const OF_SOURCES: &[&str] = &[
    "rust", "py", "python", "js", "ts", "go", "c", "cpp", "java", "md", "markdown", "html", "css", "ruby",
    "php", "swift", "kotlin", "scala", "haskell", "lua", "perl", "sql", "zig",
];

/// Checks that a program which reads whole folders is limited to kinds of files that no secret has.
fn reads_no_secrets(name: &str, parsed: &ParsedArgs<'_>) -> Result<(), String> {
    let has = |names: &[&str]| names.iter().any(|flag| parsed.has(flag));
    let chosen = |names: &[&str]| {
        let mut values =
            parsed.flags.iter().filter(|flag| names.contains(&flag.name)).filter_map(|flag| flag.value);
        values.clone().next().is_some()
            && values.all(|glob| glob.starts_with('!') || !may_match_secrets(glob))
    };
    let reads_all = match name {
        "grep" | "egrep" | "fgrep" => {
            has(&["-r", "--recursive", "-d", "--directories"]) && !chosen(&["--include"])
        }
        "rg" => {
            let names_only = has(&["--files", "--type-list"]);
            let globs = ["-g", "--glob", "--iglob"];
            let all_but = parsed.flags.iter().any(|flag| {
                globs.contains(&flag.name) && flag.value.is_some_and(|glob| !glob.starts_with('!'))
            });
            let of_type: Vec<&str> = parsed
                .flags
                .iter()
                .filter(|flag| ["-t", "--type"].contains(&flag.name))
                .filter_map(|flag| flag.value)
                .collect();
            let typed = !of_type.is_empty() && of_type.iter().all(|kind| OF_SOURCES.contains(kind));
            // A glob that selects files takes precedence over a type.
            !(names_only || typed && !all_but || all_but && chosen(&globs))
        }
        "diff" => has(&["-r", "--recursive", "-N", "--new-file"]) && !has(&["-q", "--brief"]),
        _ => false,
    };
    if reads_all {
        let limit = if name == "rg" { "-t rust" } else { "--include='*.rs'" };
        Err(format!("`{name}` may read files that hold secrets; limit it, as with `{limit}`"))
    } else {
        Ok(())
    }
}

fn check_operands(name: &str, operands: &Operands, parsed: &ParsedArgs<'_>) -> Result<(), String> {
    let given = &parsed.operands;
    let too_many = |most: usize| given.get(most).map_or(Ok(()), |arg| Err(notes::operands(name, &arg.text)));
    let paths = |from: usize| given.iter().skip(from).try_for_each(|arg| is_inside(arg));
    let has = |names: &[&str]| names.iter().any(|flag| parsed.has(flag));
    match operands {
        Operands::None => too_many(0),
        Operands::NoneWith(flags) if has(flags) => too_many(0),
        Operands::NoneWith(_) => Err(notes::unknown(name)),
        Operands::Texts => given.iter().try_for_each(|arg| is_no_flag(arg)),
        Operands::Paths => paths(0),
        Operands::AtMost(most) => {
            too_many(*most)?;
            match given.iter().find(|arg| arg.pattern) {
                Some(arg) => Err(notes::operands(name, &arg.text)),
                None => paths(0),
            }
        }
        Operands::TextThenPaths(flags) if has(flags) => paths(0),
        Operands::TextThenPaths(_) => match given.first() {
            Some(arg) if arg.pattern => {
                Err(format!("`{}` is only known when it runs; put it in quotes", arg.text))
            }
            Some(_) | None => paths(1),
        },
        Operands::TextsWith(flags) if has(flags) => given.iter().try_for_each(|arg| is_no_flag(arg)),
        Operands::TextsWith(_) => too_many(0),
        Operands::Check(check) => check(parsed),
        // Its words are not flags and operands; the caller has already run this check.
        Operands::Own(_) => Err(notes::unknown(name)),
    }
}
