//! Custom commands: Markdown files whose text is sent as a prompt, with the arguments in place of `$ARGUMENTS`, `$1`, `$2`
//! and so on. They bring text only: no command runs, and no tool or mode is set.

use super::{Command, CommandEffect, CommandNeed, CommandView, Commands, code};
use crate::stdx::text::{binary_size, front_matter, one_line_summary};

/// The longest text that a command may send, in bytes.
const LONGEST: usize = 1 << 20;

/// Cells of a description in lists.
const ABOUT: usize = 100;

/// The file of a custom command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFile {
    /// Its path below the folder of commands, which gives the name.
    pub path: String,
    /// The place to show; of a project's own file, the path in the folder.
    pub source: String,
    pub is_of_project: bool,
    pub text: String,
}

impl Commands {
    /// Adds custom commands; a built-in command or an earlier one of the same name stays. Returns what has no effect, as
    /// sentences.
    pub fn add_custom(&mut self, files: &[CommandFile]) -> Vec<String> {
        let mut remarks = Vec::new();
        for file in files {
            let shown = code(&file.source);
            let command = match custom(file) {
                Ok((command, without_effect)) => {
                    if !without_effect.is_empty() {
                        let what = without_effect.join(", ");
                        remarks.push(format!("{shown} is only sent as text; this has no effect: {what}."));
                    }
                    command
                }
                Err(why) => {
                    remarks.push(format!("{shown} is no command: {why}."));
                    continue;
                }
            };
            if let Some(other) = self.by_name(&command.name) {
                let of = code(&other.source);
                remarks
                    .push(format!("{shown} has no effect: `/{}` is {of} already; rename it.", command.name));
            } else {
                self.add(command);
            }
        }
        remarks
    }
}

/// Builds the command of a file, and says what in the file has no effect.
fn custom(file: &CommandFile) -> Result<(Command, Vec<String>), String> {
    let name = name(&file.path)?;
    let (head, body) = front_matter(&file.text);
    let body = body.trim().to_owned();
    if body.is_empty() {
        return Err("it is empty".to_owned());
    }
    let (mut about, mut usage, mut without_effect) = (None, String::new(), Vec::new());
    for (key, value) in head.map(entries).unwrap_or_default() {
        match key {
            "description" => about = Some(one_line_summary(value, ABOUT)),
            "argument-hint" => usage = one_line_summary(value, ABOUT),
            other => without_effect.push(code(other)),
        }
    }
    if body.lines().any(|line| line.trim_start().starts_with('!') || line.contains("!`")) {
        without_effect.push("commands after `!`".to_owned());
    }
    let about = about.unwrap_or_else(|| one_line_summary(&body, ABOUT));
    let title = name.clone();
    let of_project = file.is_of_project.then(|| file.source.clone());
    let decide = move |args: &str, _: &Commands, _: &CommandView| match expand(&body, args) {
        Some(text) => {
            let (typed, of_project) = (args.to_owned(), of_project.clone());
            CommandEffect::Send { say: None, text, typed, of_project }
        }
        None => {
            let text = format!(
                "With these arguments the text is longer than {}. Nothing was sent.",
                binary_size(LONGEST)
            );
            CommandEffect::warning(&title, text)
        }
    };
    Ok((Command::new(&name, &usage, &about, CommandNeed::Nothing, decide).from(&file.source), without_effect))
}

/// Returns the name of a command from the path of its file: `git/fix-it.md` is `git:fix-it`.
fn name(path: &str) -> Result<String, String> {
    let stem = path.strip_suffix(".md").unwrap_or(path).to_lowercase();
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_part = |part: &str| !part.is_empty() && part.chars().all(is_plain);
    match stem.split('/').all(is_part) {
        true => Ok(stem.replace('/', ":")),
        false => Err("its name may have letters, digits, `-`, `_` and `.`".to_owned()),
    }
}

/// Returns the entries `key: value` of a front matter, without quotes; lines that continue one are left out.
fn entries(head: &str) -> Vec<(&str, &str)> {
    let of_line = |line| {
        let (key, value): (&str, &str) = str::split_once(line, ':')?;
        let is_key =
            !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        is_key.then(|| (key, value.trim().trim_matches(['"', '\''])))
    };
    head.lines().filter_map(of_line).collect()
}

/// Puts arguments in place of `$ARGUMENTS` (all of them), `$1` to `$99` (one word each, quotes group). A text without any
/// gets them at its end. `None` if the result is too long.
fn expand(body: &str, args: &str) -> Option<String> {
    let words = shlex::split(args).unwrap_or_else(|| args.split_whitespace().map(str::to_owned).collect());
    let (mut out, mut rest, mut is_used) = (String::new(), body, false);
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number = after.get(..digits).filter(|number| number.len() <= 2 && !number.starts_with('0'));
        if let Some(tail) = after.strip_prefix("ARGUMENTS") {
            (rest, is_used) = (tail, true);
            out.push_str(args);
        } else if let Some(number) = number.and_then(|number| number.parse::<usize>().ok()) {
            (rest, is_used) = (after.get(digits..).unwrap_or_default(), true);
            out.push_str(words.get(number - 1).map_or("", String::as_str));
        } else {
            rest = after;
            out.push('$');
        }
        if out.len() > LONGEST {
            return None;
        }
    }
    out.push_str(rest);
    if !is_used && !args.is_empty() {
        out.push_str(&format!("\n\n{args}"));
    }
    (out.len() <= LONGEST).then(|| out.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> CommandFile {
        CommandFile {
            path: path.to_owned(),
            source: format!("/c/{path}"),
            text: text.to_owned(),
            is_of_project: false,
        }
    }

    #[test]
    fn arguments_are_values_in_a_text() {
        let huge = "$ARGUMENTS".repeat(1_000);
        let long = "x".repeat(10_000);
        for (body, args, expected) in [
            ("Fix $1 in $2.", "a b", Some("Fix a in b.")),
            ("Fix $1 in $2.", "'a c'", Some("Fix a c in .")),
            ("All: $ARGUMENTS!", "  a  'b", Some("All:   a  'b!")),
            ("$1", "$2 {{ x }} $ARGUMENTS", Some("$2")),
            ("$ARGUMENTS", "$1 {{ x }}", Some("$1 {{ x }}")),
            ("$10 costs $5, $0 and $ and $x and $123.", "", Some("costs , $0 and $ and $x and $123.")),
            ("Say hi.", "to Ada", Some("Say hi.\n\nto Ada")),
            ("Say hi.", "", Some("Say hi.")),
            (&huge, &long, None),
        ] {
            assert_eq!(expand(body, args).as_deref(), expected, "{body}");
        }
    }

    #[test]
    fn a_file_becomes_a_command_or_is_spoken_of() {
        for (path, text, name, usage, about, said) in [
            ("Review.md", "Look at $1\nwell", "review", "", "Look at $1 …", ""),
            (
                "git/fix.md",
                "---\ndescription: \"Fix it\"\nargument-hint: [a] [b]\n---\nGo",
                "git:fix",
                "[a] [b]",
                "Fix it",
                "",
            ),
            (
                "x.md",
                "---\nmodel: opus\nallowed-tools:\n  - Bash(git: *)\n---\nState: !`git status`",
                "x",
                "",
                "State: !`git status`",
                "`/c/x.md` is only sent as text; this has no effect: `model`, `allowed-tools`, commands after `!`.",
            ),
            (
                "HELP.md",
                "x",
                "",
                "",
                "",
                "`/c/HELP.md` has no effect: `/help` is `built-in` already; rename it.",
            ),
            (
                "a b.md",
                "x",
                "",
                "",
                "",
                "`/c/a b.md` is no command: its name may have letters, digits, `-`, `_` and `.`.",
            ),
            ("e.md", "---\nmodel: x\n---\n \n", "", "", "", "`/c/e.md` is no command: it is empty."),
        ] {
            let mut commands = Commands::builtin();
            let before = commands.iter().count();
            assert_eq!(commands.add_custom(&[file(path, text)]).join("\n"), said, "{path}");
            let added: Vec<&Command> = commands.iter().skip(before).collect();
            match added.as_slice() {
                [] => assert_eq!(name, ""),
                [one] => {
                    let got =
                        (one.name.as_str(), one.usage.as_str(), one.about.as_str(), one.source.as_str());
                    assert_eq!(got, (name, usage, about, format!("/c/{path}").as_str()));
                }
                _ => panic!("{path}: {}", added.len()),
            }
        }
    }

    #[test]
    fn the_first_of_a_name_counts_and_is_sent_as_text() {
        let mut commands = Commands::builtin();
        let remarks = commands.add_custom(&[file("go-on.md", "first $1"), file("GO-ON.md", "second")]);
        assert_eq!(remarks, ["`/c/GO-ON.md` has no effect: `/go-on` is `/c/go-on.md` already; rename it."]);
        let effect = commands.decide("Go-On", " now ", &CommandView::default());
        assert_eq!(
            effect,
            CommandEffect::Send {
                say: None,
                text: "first now".to_owned(),
                typed: "now".to_owned(),
                of_project: None
            }
        );
    }
}
