//! A Jupyter notebook as text: its cells in order, with the text of their outputs. Pure.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::stdx::ansi::bare;
use crate::stdx::text::head_tail;

/// The most bytes of one output.
const MOST_OUTPUT: usize = 4_000;

#[derive(Deserialize)]
struct Notebook {
    cells: Vec<NotebookCell>,
}

#[derive(Deserialize)]
struct NotebookCell {
    cell_type: String,
    #[serde(default)]
    source: SourceText,
    execution_count: Option<u64>,
    #[serde(default)]
    outputs: Vec<CellOutput>,
}

#[derive(Deserialize)]
struct CellOutput {
    output_type: String,
    /// Of a stream.
    #[serde(default)]
    text: SourceText,
    /// Of a result, by media type.
    #[serde(default)]
    data: Map<String, Value>,
    /// Of an error.
    #[serde(default)]
    ename: String,
    #[serde(default)]
    evalue: String,
    #[serde(default)]
    traceback: Vec<String>,
}

/// A text, whole or in lines that keep their ends.
#[derive(Deserialize)]
#[serde(untagged, expecting = "neither a text nor a list of texts")]
enum SourceText {
    Whole(String),
    Lines(Vec<String>),
}

impl Default for SourceText {
    fn default() -> Self {
        Self::Whole(String::new())
    }
}

impl SourceText {
    fn joined(&self) -> Cow<'_, str> {
        match self {
            Self::Whole(text) => Cow::Borrowed(text),
            Self::Lines(lines) => Cow::Owned(lines.concat()),
        }
    }
}

/// Returns the cells of a notebook, each below a line with its number and kind. Errs if it is none.
pub fn text(source: &str) -> Result<String, serde_json::Error> {
    let notebook: Notebook = serde_json::from_str(source)?;
    let mut text = format!("[a notebook of {} cells]\n", notebook.cells.len());
    for (number, cell) in (1..).zip(&notebook.cells) {
        let run = cell.execution_count.map_or_else(String::new, |count| format!(", run {count}"));
        put(&mut text, &format!("[cell {number}, {}{run}]\n{}", cell.cell_type, cell.source.joined()));
        for output in &cell.outputs {
            put(&mut text, &format!("[output of cell {number}]\n{}", output.text()));
        }
    }
    Ok(text)
}

fn put(text: &mut String, piece: &str) {
    text.push_str(piece);
    if !text.ends_with('\n') {
        text.push('\n');
    }
}

impl CellOutput {
    /// Returns its text without escape sequences, within a limit.
    fn text(&self) -> String {
        let whole = match self.output_type.as_str() {
            "stream" => self.text.joined().into_owned(),
            "error" if self.traceback.is_empty() => format!("{}: {}", self.ename, self.evalue),
            "error" => self.traceback.join("\n"),
            _ => self.result(),
        };
        let plain = bare(&whole);
        let cut = head_tail(&plain, MOST_OUTPUT);
        if cut.dropped_bytes == 0 {
            return plain.into_owned();
        }
        let gap = if cut.head.ends_with('\n') { "" } else { "\n" };
        format!("{}{gap}[{} lines of this output left out]\n{}", cut.head, cut.dropped_lines, cut.tail)
    }

    fn result(&self) -> String {
        let plain = self.data.get("text/plain").and_then(|value| SourceText::deserialize(value).ok());
        let mut text = plain.map_or_else(String::new, |plain| plain.joined().into_owned());
        let others = self.data.keys().filter(|kind| *kind != "text/plain");
        let mut others: Vec<String> = match self.data.keys().any(|kind| kind.starts_with("image/")) {
            true => vec!["image".to_owned()],
            // Beside a plain text they are other forms of it.
            false if text.is_empty() => others.cloned().collect(),
            false => Vec::new(),
        };
        others.sort_unstable();
        for kind in others {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&format!("[{kind} output]"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cells_are_numbered_and_outputs_are_text() {
        let long = "x\n".repeat(5_000);
        let notebook = json!({"nbformat": 4, "metadata": {}, "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "text"]},
            {"cell_type": "code", "execution_count": 3, "source": "print(1)\n", "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["\u{1b}[31m1\u{1b}[0m\n"]},
                {"output_type": "execute_result", "data": {"text/plain": ["<Figure>"], "image/png": "iVBOR"}},
                {"output_type": "display_data", "data": {"text/html": "<b>"}},
                {"output_type": "display_data", "data": {"text/plain": "2", "text/html": "<b>2</b>"}},
                {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["\u{1b}[1mTrace\u{1b}[0m", "ValueError: no"]},
                {"output_type": "error", "ename": "ValueError", "evalue": "no"},
            ]},
            {"cell_type": "code", "execution_count": null, "outputs": []},
            {"cell_type": "code", "source": "", "outputs": [{"output_type": "stream", "text": long}]},
        ]});
        let text = text(&notebook.to_string()).unwrap();
        let (first, last) = text.split_once("[cell 4, code]\n").unwrap();
        assert_eq!(
            first,
            "[a notebook of 4 cells]\n[cell 1, markdown]\n# Title\ntext\n[cell 2, code, run 3]\nprint(1)\n[output of cell 2]\n1\n\
             [output of cell 2]\n<Figure>\n[image output]\n[output of cell 2]\n[text/html output]\n[output of cell 2]\n2\n\
             [output of cell 2]\nTrace\nValueError: no\n[output of cell 2]\nValueError: no\n[cell 3, code]\n"
        );
        assert!(
            last.contains("[3001 lines of this output left out]") && last.len() < MOST_OUTPUT + 100,
            "{last}"
        );
    }

    #[test]
    fn what_is_no_notebook_is_refused() {
        for text in [
            "",
            "{",
            "[]",
            "{}",
            r#"{"cells": 3}"#,
            r#"{"cells": [{"source": ""}]}"#,
            r#"{"cells": [{"cell_type": "code", "source": 1}]}"#,
        ] {
            assert!(super::text(text).is_err(), "{text}");
        }
    }
}
