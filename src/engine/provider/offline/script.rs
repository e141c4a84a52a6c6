//! The requests that the tour knows, and its script for each of them.

use serde_json::{Value, json};

use super::reply::Reply;
use super::texts;

/// One turn: a reply for each step, and the last words.
pub struct Script {
    /// Each step is one reply; the next one follows if all calls of the one before succeeded.
    pub steps: Vec<Reply>,
    /// The end of the reply after the last calls.
    pub end: String,
}

type ScriptRow = (&'static str, fn(&[&str]) -> Script);

/// The known requests. `{file}` matches one word or a quoted text, `{text}` any text.
const REQUESTS: &[ScriptRow] = &[
    ("show me around", |_| tour()),
    ("list the files here", |_| list(".")),
    ("list the files in {file}", |given| list(given[0])),
    ("read {file}", |given| {
        let thought = "The request names a file. `read_file` reads it; reading needs no approval.";
        Script::one(thought, "I read.\n", "read_file", json!({ "path": given[0] }))
    }),
    ("find files named {file}", |given| {
        let thought = "The request asks for files by name: that is `find_files`.";
        Script::one(thought, "Looking for them.\n", "find_files", json!({ "pattern": given[0] }))
    }),
    ("search for {text} in {file}", |given| search(given[0], given[1])),
    ("run {text}", |given| {
        let thought = "The request is a command. Commands may do anything, so this may need your approval.";
        Script::one(thought, texts::PROPOSED_RUN, "shell", json!({ "command": given[0] }))
    }),
    ("write a note to {file}: {text}", |given| write(given[0], &format!("{}\n", given[1]))),
    ("write a note to {file}", |given| write(given[0], texts::EMPTY_NOTE)),
    ("replace {text} with {text} in {file}", |given| replace(given[0], given[1], given[2])),
    ("hi", |_| Script::words(&[texts::HELLO, "\n", texts::HOW_TO_CONNECT])),
    ("hello", |_| Script::words(&[texts::HELLO, "\n", texts::HOW_TO_CONNECT])),
    ("help", |_| Script::words(&[texts::WHAT_I_CAN_DO, "\n", texts::HOW_TO_CONNECT])),
    ("what can you do", |_| Script::words(&[texts::WHAT_I_CAN_DO, "\n", texts::HOW_TO_CONNECT])),
    ("how do I connect a model", |_| Script::words(&[texts::HOW_TO_CONNECT])),
    ("connect", |_| Script::words(&[texts::HOW_TO_CONNECT])),
    ("show me some markdown", |_| Script::words(&[texts::MARKDOWN])),
    ("markdown", |_| Script::words(&[texts::MARKDOWN])),
];

/// Returns the script for a request. What has the form of no known one is said not to be understood.
pub fn script(request: &str) -> Script {
    let request = request.trim().trim_end_matches(['?', '!']).trim_end();
    let known = |(pattern, make): &ScriptRow| Some(make(&match_pattern(pattern, request)?));
    REQUESTS.iter().find_map(known).unwrap_or_else(|| {
        let thought = "I know no request that begins like this, and I will not guess.";
        let words = [texts::NOT_UNDERSTOOD, texts::WHAT_I_CAN_DO, "\n", texts::HOW_TO_CONNECT];
        Script::of([Reply { thought, ..Reply::words(&words.concat()) }])
    })
}

/// Returns what the request has in the places of the pattern; `None` if it has another form.
fn match_pattern<'a>(pattern: &str, request: &'a str) -> Option<Vec<&'a str>> {
    let (start, mut places) = pattern.split_once('{').unwrap_or((pattern, ""));
    let head = request.get(..start.len())?;
    let mut rest = request.get(start.len()..).filter(|_| head.eq_ignore_ascii_case(start))?;
    let mut found = Vec::new();
    while let Some((kind, after)) = places.split_once('}') {
        let (separator, next) = after.split_once('{').unwrap_or((after, ""));
        let given;
        (given, rest) = if separator.is_empty() { (rest, "") } else { rest.split_once(separator)? };
        found.push(unquote(given.trim(), kind)?);
        places = next;
    }
    rest.is_empty().then_some(found)
}

/// The text without quotes around it; `None` if it is empty, or not one word where a file is expected.
fn unquote<'a>(text: &'a str, kind: &str) -> Option<&'a str> {
    let inner = ['`', '"', '\''].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    let is_one = inner.is_some() || kind != "file" || !text.contains(char::is_whitespace);
    Some(inner.unwrap_or(text)).filter(|text| is_one && !text.is_empty())
}

impl Script {
    fn of(steps: impl Into<Vec<Reply>>) -> Self {
        Self { steps: steps.into(), end: String::new() }
    }

    /// Words and nothing else.
    fn words(words: &[&str]) -> Self {
        Self::of([Reply::words(&words.concat())])
    }

    /// One call, with words before it.
    fn one(thought: &'static str, words: &str, tool: &'static str, args: Value) -> Self {
        Self::of([Reply::call(thought, words, tool, args)])
    }
}

fn list(path: &str) -> Script {
    let thought = "The request asks what is in a folder: `list_dir` shows it.";
    Script::one(thought, "I look.\n", "list_dir", json!({ "path": path }))
}

fn search(text: &str, path: &str) -> Script {
    let thought =
        "The request asks where words occur. `search_text` takes a pattern, so I escape what is special.";
    let args = json!({ "pattern": regex::escape(text), "path": path });
    Script::one(thought, "I search.\n", "search_text", args)
}

fn write(path: &str, content: &str) -> Script {
    let thought =
        "The request asks for a file to be written. That changes something, so it needs your approval.";
    let args = json!({ "path": path, "content": content });
    Script::one(thought, texts::PROPOSED_WRITE, "write_file", args)
}

fn replace(old: &str, new: &str, path: &str) -> Script {
    let thought = "Before a file is changed it has to be read: first `read_file`, then `edit_file`.";
    let read = Reply::call(thought, "Reading it first.\n", "read_file", json!({ "path": path }));
    let args = json!({ "path": path, "old": old, "new": new });
    Script::of([read, Reply::call("", texts::PROPOSED_EDIT, "edit_file", args)])
}

fn tour() -> Script {
    let look = Reply {
        thought: "The tour: two reads at once, then a change that asks.",
        calls: vec![("list_dir", json!({ "path": "." })), ("find_files", json!({ "pattern": "README*" }))],
        ..Reply::words(texts::TOUR_LOOK)
    };
    let args = json!({ "path": "co-tour.md", "content": texts::TOUR_NOTE });
    let write = Reply::call("", texts::TOUR_WRITE, "write_file", args);
    Script { steps: vec![look, write], end: [texts::TOUR_END, texts::HOW_TO_CONNECT].concat() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_fills_the_places_of_its_pattern() {
        let cases: &[(&str, &str, Option<&[&str]>)] = &[
            ("read {file}", "Read README.md", Some(&["README.md"])),
            ("read {file}", "read \"my notes.md\"", Some(&["my notes.md"])),
            ("read {file}", "read the whole book", None),
            ("read {file}", "read ", None),
            ("run {text}", "run `git status`", Some(&["git status"])),
            ("run {text}", "run git log --oneline", Some(&["git log --oneline"])),
            ("run {text}", "run", None),
            ("write a note to {file}: {text}", "write a note to a.md: b: c", Some(&["a.md", "b: c"])),
            ("write a note to {file}: {text}", "write a note to a.md", None),
            ("replace {text} with {text} in {file}", "replace a b with c in d", Some(&["a b", "c", "d"])),
            ("search for {text} in {file}", "search for \"fn main\" in .", Some(&["fn main", "."])),
            ("help", "HELP", Some(&[])),
            ("help", "help me", None),
            ("help", "日本語", None),
        ];
        for (pattern, request, expected) in cases {
            assert_eq!(match_pattern(pattern, request).as_deref(), *expected, "{request}");
        }
    }
}
