//! Tests that need no process: arguments, exit codes, tables.

use clap::Parser as _;

use super::args::{Args, Output};
use super::error::Kind;
use super::table::table;

#[test]
fn arguments_are_well_formed_and_understood() {
    use clap::CommandFactory as _;
    Args::command().debug_assert();
    let parsed = |line: &str| Args::try_parse_from(line.split(' ')).map_err(|error| error.kind());
    for (line, print, output, go_on) in [
        ("co", None, Output::Text, false),
        ("co -c", None, Output::Text, true),
        ("co -p hi", Some("hi"), Output::Text, false),
        ("co -p", Some(""), Output::Text, false),
        ("co --print hi --output json --continue", Some("hi"), Output::Json, true),
    ] {
        let args = parsed(line).expect(line);
        assert_eq!(
            (args.run.print.as_deref(), args.run.output, args.run.go_on),
            (print, output, go_on),
            "{line}"
        );
    }
    use clap::error::ErrorKind;
    for (line, kind) in [
        ("co --colour", ErrorKind::UnknownArgument),
        ("co aprovals", ErrorKind::InvalidSubcommand),
        ("co approvals yes", ErrorKind::MissingRequiredArgument),
        ("co approvals no", ErrorKind::MissingRequiredArgument),
        ("co -p x --output xml", ErrorKind::InvalidValue),
        ("co --version", ErrorKind::DisplayVersion),
        ("co --help", ErrorKind::DisplayHelp),
    ] {
        assert_eq!(parsed(line).map(drop), Err(kind), "{line}");
    }
}

#[test]
fn a_first_prompt_has_several_words_or_follows_dashes() {
    use clap::error::ErrorKind;
    let first = |line: &[&str]| {
        let args = Args::try_parse_from(["co"].iter().chain(line));
        args.map(|mut args| args.run.take_first().unwrap_or_default()).map_err(|error| error.kind())
    };
    let cases: [(&[&str], _); 13] = [
        (&[], Ok("")),
        (&["fix the tests"], Ok("fix the tests")),
        (&["-c", "go on, please"], Ok("go on, please")),
        (&["--", "status"], Ok("status")),
        (&["--", "-x", "is broken"], Ok("-x is broken")),
        (&["-p", "--", "-x"], Ok("-x")),
        (&["--", " "], Ok("")),
        (&["fix"], Err(ErrorKind::InvalidSubcommand)),
        (&[" fix "], Err(ErrorKind::InvalidSubcommand)),
        (&["fix", "the", "tests"], Err(ErrorKind::InvalidSubcommand)),
        (&["fix the", "tests"], Err(ErrorKind::InvalidSubcommand)),
        (&["fix the tests", "status"], Err(ErrorKind::ArgumentConflict)),
        (&["fix the", "--", "tests"], Err(ErrorKind::ArgumentConflict)),
    ];
    for (line, expected) in cases {
        assert_eq!(first(line), expected.map(str::to_owned), "{line:?}");
    }
}

#[test]
fn flags_are_settings() {
    let args = Args::try_parse_from([
        "co",
        "chat",
        "--model",
        "a/b",
        "-v",
        "--set",
        "theme=dark",
        "--set",
        "x = y=z",
    ]);
    let pairs = args.expect("valid").shared.flags().expect("valid");
    let expected = [("--model", "a/b"), ("--verbose", "true"), ("theme", "dark"), ("x", " y=z")];
    assert_eq!(pairs, expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
    let args = Args::try_parse_from(["co", "--set", "theme"]).expect("parses");
    assert_eq!(args.shared.flags().map_err(|error| error.kind), Err(Kind::Usage));
}

#[test]
fn kinds_have_their_codes() {
    let codes = [
        Kind::BrokenPipe,
        Kind::Error,
        Kind::Usage,
        Kind::Provider,
        Kind::Waiting,
        Kind::Budget,
        Kind::TurnLimit,
        Kind::Interrupted(2),
    ];
    assert_eq!(codes.map(Kind::code), [0, 1, 2, 3, 4, 5, 6, 130]);
}

#[test]
fn tables_line_up() {
    let rows = [["a".to_owned(), "日本".to_owned()], ["bcd".to_owned(), "x\u{1b}".to_owned()]];
    assert_eq!(table(["ID", "WHAT"], rows), "ID   WHAT\na    日本\nbcd  x␛\n");
}
