//! Strict templates of prompts: a name without a value is an error, work and result are bounded, and no file can be
//! included. Values are inserted as they are and never read as a template.

use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value};

use crate::stdx::text::binary_size;

/// The work that one template may do; about one unit for an instruction or 64 bytes.
const FUEL: u64 = 50_000;

/// How deep parts of a template may be nested or call each other.
const DEPTH: usize = 50;

/// The longest result, in bytes.
const LONGEST: usize = 64 * 1024;

/// Why a template cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {why}")]
pub struct TemplateError {
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    pub why: String,
}

/// Fills in a template, and trims the result. `file` is for errors.
pub fn render(file: &str, template: &str, values: &[(&str, &str)]) -> Result<String, TemplateError> {
    let fail = |line: usize, why: &str| TemplateError { file: file.to_owned(), line, why: why.to_owned() };
    // Most texts are no templates, and making an engine takes longer than all of them.
    if !template.contains("{{") && !template.contains("{%") && !template.contains("{#") {
        return trim_bounded(template).map_err(|why| fail(1, &why));
    }
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_recursion_limit(DEPTH);
    environment.set_fuel(Some(FUEL));
    let values = Value::from_pairs(values.iter().map(|(name, value)| (*name, *value)));
    let text = environment
        .render_named_str(file, template, values)
        .map_err(|error| fail(error.line().unwrap_or(1), &why(&error)))?;
    trim_bounded(&text).map_err(|why| fail(1, &why))
}

/// Returns a text without space around it. Errs if it is empty or too long.
fn trim_bounded(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("the text is empty".to_owned()),
        text if text.len() > LONGEST => Err(format!("the text is longer than {}", binary_size(LONGEST))),
        text => Ok(text.to_owned()),
    }
}

fn why(error: &Error) -> String {
    match (error.kind(), error.detail()) {
        (ErrorKind::UndefinedError, _) => "a name has no value here".to_owned(),
        (ErrorKind::OutOfFuel, _) => "the template does too much work; does a loop not end?".to_owned(),
        (ErrorKind::TemplateNotFound, _) => "other files cannot be included".to_owned(),
        (kind, None) => kind.to_string(),
        (kind, Some(detail)) => format!("{kind}: {detail}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_filled_in_or_refused_with_its_line() {
        let long = "x".repeat(LONGEST + 1);
        let cases: &[(&str, Result<&str, &str>)] = &[
            ("In {{ folder }}.\n", Ok("In {{ 1 + 1 }}.")),
            ("{% if folder %}yes{% else %}no{% endif %}", Ok("yes")),
            ("\none\n{{ missing }}", Err("p.md:3: a name has no value here")),
            ("{{ folder.parts.first }}", Err("p.md:1: a name has no value here")),
            ("one\n{% if folder %}", Err("p.md:2: syntax error: ")),
            ("one\n{{ folder", Err("p.md:2: syntax error: ")),
            ("{{ folder | nofilter }}", Err("p.md:1: unknown filter: ")),
            (
                "a\n{% for i in range(9000) %}{% for j in range(9000) %}{{ j }}{% endfor %}{% endfor %}",
                Err("p.md:2: the template does too much work; does a loop not end?"),
            ),
            ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", Err("p.md:1: ")),
            ("{% include '/etc/passwd' %}", Err("p.md:1: other files cannot be included")),
            (" \n", Err("p.md:1: the text is empty")),
            (&long, Err("p.md:1: the text is longer than 64 KiB")),
        ];
        for (template, expected) in cases {
            // The value looks like a template and stays what it is.
            let got = render("p.md", template, &[("folder", "{{ 1 + 1 }}")]);
            match (got, expected) {
                (Ok(text), Ok(expected)) => assert_eq!(text, *expected, "{template}"),
                (Err(error), Err(start)) => assert!(error.to_string().starts_with(start), "{error}"),
                (got, _) => panic!("{template}: {got:?}"),
            }
        }
    }
}
