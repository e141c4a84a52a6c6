//! Reads scripted replies from text. Every error names its line.

use std::time::Duration;

use serde_json::Value;

use super::{CallEnding, End, Reply, ScriptedError, Step, stop_word};
use co_engine::message::{StopKind, StopReason, Usage, Usd};

/// The maximum number of repetitions of a piece.
const MOST_REPEATS: usize = 10_000_000;

/// The fault of a script, and its line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ScriptError {
    /// Counted from 1.
    pub line: usize,
    pub message: String,
}

/// Reads a text that consists only of `reply` blocks.
pub fn parse_replies(text: &str) -> Result<Vec<Reply>, ScriptError> {
    let mut lines = Lines { all: text.lines().collect(), next: 0, first: 1 };
    let mut replies = Vec::new();
    while let Some((line, content)) = lines.next_said() {
        if content.trim() != "reply" {
            return Err(fail(line, format!("expected `reply`, found `{}`", content.trim())));
        }
        replies.push(read_reply(&mut lines, line)?);
    }
    Ok(replies)
}

/// Reads the steps of one reply; `first_line` is the line number of the first one in the enclosing file.
pub fn parse_reply(first_line: usize, steps: &str) -> Result<Reply, ScriptError> {
    let mut lines = Lines { all: steps.lines().collect(), next: 0, first: first_line };
    let reply = read_reply(&mut lines, first_line)?;
    match lines.next_said() {
        None => Ok(reply),
        Some((line, content)) => Err(fail(line, format!("`{}` is not a step of a reply", content.trim()))),
    }
}

fn fail(line: usize, message: impl Into<String>) -> ScriptError {
    ScriptError { line, message: message.into() }
}

struct Lines<'a> {
    all: Vec<&'a str>,
    next: usize,
    first: usize,
}

impl<'a> Lines<'a> {
    /// Returns the next line that is neither empty nor a comment.
    fn next_said(&mut self) -> Option<(usize, &'a str)> {
        while let Some(line) = self.all.get(self.next) {
            self.next += 1;
            let trimmed = line.trim_start();
            if !trimmed.is_empty() && !trimmed.starts_with('#') {
                return Some((self.first + self.next - 1, line));
            }
        }
        None
    }

    /// Steps back over the line that [`next_said`](Self::next_said) returned.
    fn put_back(&mut self) {
        self.next -= 1;
    }

    /// Returns the lines up to `>>>`, without the indent of the line that opened them.
    fn block(&mut self, opened_at: usize, indent: usize) -> Result<String, ScriptError> {
        let mut kept = Vec::new();
        while let Some(line) = self.all.get(self.next) {
            self.next += 1;
            if line.trim() == ">>>" {
                return Ok(kept.join("\n"));
            }
            let own = line.len() - line.trim_start_matches(' ').len();
            kept.push(line.get(own.min(indent)..).unwrap_or_default());
        }
        Err(fail(opened_at, "`<<<` without a closing `>>>`"))
    }
}

struct Draft {
    model: Option<String>,
    steps: Vec<Step>,
    usage: Usage,
    end: Option<End>,
}

fn read_reply(lines: &mut Lines<'_>, head: usize) -> Result<Reply, ScriptError> {
    let usage = Usage { input: Some(10), output: Some(5), ..Usage::default() };
    let mut draft = Draft { model: None, steps: Vec::new(), usage, end: None };
    while let Some((line, content)) = lines.next_said() {
        if content.trim() == "reply" {
            lines.put_back();
            break;
        }
        if draft.end.is_some() {
            return Err(fail(line, "a reply says nothing after its end (stop, error, cut, hang)"));
        }
        step(&mut draft, lines, line, content)?;
    }
    if draft.steps.is_empty() && draft.end.is_none() {
        return Err(fail(head, "an empty reply: say `text …`, `call …` or an end"));
    }
    let calls = draft.steps.iter().any(|step| matches!(step, Step::Call { .. }));
    let kind = if calls { StopKind::ToolUse } else { StopKind::EndTurn };
    let end = draft.end.unwrap_or_else(|| End::Stop(stop(kind, None)));
    Ok(Reply { model: draft.model, steps: draft.steps, usage: draft.usage, end })
}

fn step(draft: &mut Draft, lines: &mut Lines<'_>, line: usize, content: &str) -> Result<(), ScriptError> {
    let trimmed = content.trim();
    let (word, rest) = trimmed.split_once(' ').unwrap_or((trimmed, ""));
    let indent = content.len() - content.trim_start_matches(' ').len();
    let mut long = |rest: &str| match rest.strip_suffix("<<<") {
        Some(before) if before.is_empty() || before.ends_with(' ') => {
            Ok((before.trim().to_owned(), Some(lines.block(line, indent)?)))
        }
        Some(_) | None => Ok((rest.to_owned(), None)),
    };
    let (word, times) = repeat(word, line)?;
    let steps = &mut draft.steps;
    match word {
        "model" => draft.model = Some(named(rest, "model", line)?),
        "thinking" => {
            let (rest, block) = long(rest)?;
            steps.push(thinking(&rest, block, line)?);
        }
        "text" => {
            let (rest, block) = long(rest)?;
            let text = block.map_or_else(|| literal(&rest, line), Ok)?;
            steps.push(Step::Text { text, times });
        }
        "call" => {
            let (rest, block) = long(rest)?;
            steps.push(call(&rest, block, line)?);
        }
        "native" => steps.push(Step::Native { data: json(rest, line)? }),
        "part" => steps.push(Step::Part),
        "gate" => steps.push(Step::Gate { name: named(rest, "gate", line)? }),
        "usage" => draft.usage = usage(rest, line)?,
        "stop" => draft.end = Some(End::Stop(stop_line(rest, line)?)),
        "error" => draft.end = Some(End::Error(error(rest, line)?)),
        "cut" => draft.end = Some(End::Cut),
        "hang" => draft.end = Some(End::Hang),
        other => return Err(fail(line, format!("`{other}` is not a step of a reply"))),
    }
    Ok(())
}

fn repeat(word: &str, line: usize) -> Result<(&str, usize), ScriptError> {
    let Some((word, times)) = word.split_once('*') else { return Ok((word, 1)) };
    match times.parse() {
        Ok(times) if word == "text" && (1..=MOST_REPEATS).contains(&times) => Ok((word, times)),
        Ok(_) | Err(_) => Err(fail(line, format!("only `text*N` repeats, N from 1 to {MOST_REPEATS}"))),
    }
}

fn named(rest: &str, what: &str, line: usize) -> Result<String, ScriptError> {
    if rest.is_empty() || rest.contains(char::is_whitespace) {
        return Err(fail(line, format!("`{what}` needs one name without spaces")));
    }
    Ok(rest.to_owned())
}

/// Returns the value of a JSON string if the text is one, else the text itself.
fn literal(text: &str, line: usize) -> Result<String, ScriptError> {
    if text.is_empty() {
        return Err(fail(line, "nothing is said: give words, a \"string\" or `<<<`"));
    }
    Ok(serde_json::from_str(text).unwrap_or_else(|_| text.to_owned()))
}

fn json(text: &str, line: usize) -> Result<Value, ScriptError> {
    serde_json::from_str(text).map_err(|error| fail(line, format!("no JSON: {error}")))
}

fn thinking(rest: &str, block: Option<String>, line: usize) -> Result<Step, ScriptError> {
    let (said, signature) = match rest.rsplit_once("| sig=") {
        Some((said, signature)) => (said.trim_end(), Some(signature.trim().to_owned())),
        None => (rest, None),
    };
    let text = match block {
        Some(block) => block,
        // Some models send a signature without thinking.
        None if said.is_empty() && signature.is_some() => String::new(),
        None => literal(said, line)?,
    };
    Ok(Step::Thinking { text, signature })
}

fn call(rest: &str, block: Option<String>, line: usize) -> Result<Step, ScriptError> {
    let (said, attributes) = match rest.rsplit_once(" | ") {
        Some((said, attributes)) if attributes.split_whitespace().all(is_call_attribute) => {
            (said, attributes)
        }
        Some(_) | None => (rest, ""),
    };
    let (name, args) = said.split_once(' ').unwrap_or((said, ""));
    if name.is_empty() {
        return Err(fail(line, "`call` needs a tool name"));
    }
    let args = block.unwrap_or_else(|| args.trim().to_owned());
    let (mut wire_id, mut raw, mut ending) = (None, false, CallEnding::Closed);
    for attribute in attributes.split_whitespace() {
        match attribute.split_once('=') {
            Some((_, id)) => wire_id = Some(id.to_owned()),
            None if attribute == "open" => (raw, ending) = (true, CallEnding::Open),
            None => raw = true,
        }
    }
    if !raw && !args.is_empty() {
        serde_json::from_str::<Value>(&args)
            .map_err(|error| fail(line, format!("arguments are no JSON ({error}); `| raw` sends them so")))?;
    }
    Ok(Step::Call { wire_id, name: name.to_owned(), args, ending })
}

fn is_call_attribute(word: &str) -> bool {
    word == "raw" || word == "open" || word.starts_with("id=")
}

fn usage(rest: &str, line: usize) -> Result<Usage, ScriptError> {
    let (said, cost) = match rest.split_once(" | cost=") {
        Some((said, cost)) => {
            let cost = cost.trim().parse().ok().and_then(Usd::from_dollars);
            let wrong = || fail(line, "`cost` is an amount of dollars, e.g. `| cost=0.05`");
            (said, Some(cost.ok_or_else(wrong)?))
        }
        None => (rest, None),
    };
    Ok(Usage { cost, ..tokens(said, line)? })
}

fn tokens(rest: &str, line: usize) -> Result<Usage, ScriptError> {
    let numbers: Option<Vec<u64>> = rest.split_whitespace().map(|word| word.parse().ok()).collect();
    match numbers.as_deref() {
        Some([input, output]) => Ok(Usage { input: Some(*input), output: Some(*output), ..Usage::default() }),
        Some([input, output, cached]) => Ok(Usage {
            input: Some(*input),
            output: Some(*output),
            cached_input: Some(*cached),
            ..Usage::default()
        }),
        Some(_) | None => Err(fail(line, "`usage` needs two or three numbers: input, output, cached")),
    }
}

fn stop_line(rest: &str, line: usize) -> Result<StopReason, ScriptError> {
    let (word, words) = rest.split_once(' ').unwrap_or((rest, ""));
    if word.is_empty() {
        return Err(fail(line, "`stop` needs a kind, e.g. `stop max_tokens`"));
    }
    let known = [
        StopKind::EndTurn,
        StopKind::ToolUse,
        StopKind::MaxTokens,
        StopKind::StopSequence,
        StopKind::Refusal,
        StopKind::PauseTurn,
    ];
    let detail = (!words.trim().is_empty()).then(|| words.trim().to_owned());
    Ok(match known.into_iter().find(|kind| stop_word(*kind) == Some(word)) {
        Some(kind) => stop(kind, detail),
        // Like the codec: a full window counts as an output limit.
        None if word == "model_context_window_exceeded" => {
            StopReason { kind: StopKind::MaxTokens, raw: Some(word.to_owned()), detail }
        }
        // A filter's word on the Chat Completions wire.
        None if word == "content_filter" => {
            StopReason { kind: StopKind::Refusal, raw: Some(word.to_owned()), detail }
        }
        None => StopReason { kind: StopKind::Other, raw: Some(word.to_owned()), detail },
    })
}

fn stop(kind: StopKind, detail: Option<String>) -> StopReason {
    StopReason { kind, raw: stop_word(kind).map(str::to_owned), detail }
}

fn error(rest: &str, line: usize) -> Result<ScriptedError, ScriptError> {
    let (said, attributes) = rest.rsplit_once(" | ").unwrap_or((rest, ""));
    let mut words = said.splitn(3, ' ');
    let status = words.next().and_then(|word| word.parse().ok()).filter(|status| *status >= 400);
    let (Some(status), Some(code)) = (status, words.next()) else {
        return Err(fail(
            line,
            "`error` needs a status from 400 and a code, e.g. `error 529 overloaded_error busy`",
        ));
    };
    let message = words.next().unwrap_or(code).to_owned();
    let mut error =
        ScriptedError { status, code: code.to_owned(), message, retry_after: None, should_retry: None };
    for attribute in attributes.split_whitespace() {
        let known = match attribute.split_once('=') {
            Some(("retry-after", seconds)) => {
                error.retry_after = seconds.parse().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
                error.retry_after.is_some()
            }
            Some(("should-retry", value)) => {
                error.should_retry = value.parse().ok();
                error.should_retry.is_some()
            }
            Some(_) | None => false,
        };
        if !known {
            return Err(fail(
                line,
                format!("`{attribute}`: an error takes retry-after=SECONDS and should-retry=true|false"),
            ));
        }
    }
    Ok(error)
}
