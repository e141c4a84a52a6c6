//! Parses the tests of arguments: the keys below `args`, each with a plain value or a table of predicates.

use serde_json::{Number, Value};
use toml_edit::{Item, TableLike};

use super::{PREDICATES, RuleParser, name_line, unknown};
use crate::approval::rules::pattern::{Glob, Regex};
use crate::approval::rules::predicate::{ArgTest, Predicate};
use crate::stdx::paths::normalize;

impl RuleParser<'_> {
    pub(super) fn args(&mut self, table: &dyn TableLike, path: &mut Vec<String>, out: &mut Vec<ArgTest>) {
        for (key, item) in table.iter() {
            let depth = path.len();
            path.extend(key.split('.').map(str::to_owned));
            match item.as_table_like() {
                None => {
                    if let Some(value) = self.scalar(item) {
                        out.push(ArgTest { path: path.clone(), predicate: Predicate::OneOf(vec![value]) });
                    }
                }
                Some(inner) if inner.is_empty() => {
                    self.problem_at(
                        item,
                        format!("`{}` tests nothing; add a predicate such as `glob`", name_line(key)),
                    );
                }
                Some(inner) if inner.iter().all(|(name, _)| PREDICATES.contains(&name)) => {
                    self.predicates(inner, path, out);
                }
                // Either an unknown predicate, or an argument nested in an argument.
                Some(inner) => match inner.iter().find(|(name, _)| !PREDICATES.contains(name)) {
                    Some((name, _))
                        if item.is_inline_table()
                            || inner.iter().any(|(name, _)| PREDICATES.contains(&name)) =>
                    {
                        self.problem_at(item, unknown(name, PREDICATES, "a predicate is"));
                    }
                    Some(_) | None => self.args(inner, path, out),
                },
            }
            path.truncate(depth);
        }
    }

    fn predicates(&mut self, table: &dyn TableLike, path: &[String], out: &mut Vec<ArgTest>) {
        let mut bounds = (None, None);
        for (name, item) in table.iter() {
            let predicate = match name {
                "one_of" => self.one_of(item),
                "glob" => self.make_from(item, Glob::new).map(Predicate::Glob),
                "regex" => self.make_from(item, Regex::new).map(Predicate::Regex),
                "host" => {
                    self.make_from(item, |text| Glob::new(&text.to_ascii_lowercase())).map(Predicate::Host)
                }
                "inside" => self.inside(item),
                "words" => self.words_test(item),
                "empty" => self.empty(item),
                _ => {
                    let number = item.as_float().or_else(|| item.as_integer().map(lossy));
                    if number.is_none_or(f64::is_nan) {
                        self.problem_at(item, format!("`{name}` is a number"));
                    }
                    if name == "min" {
                        bounds.0 = number;
                    } else {
                        bounds.1 = number;
                    }
                    None
                }
            };
            out.extend(predicate.map(|predicate| ArgTest { path: path.to_vec(), predicate }));
        }
        if let (min, max) = bounds
            && (min.is_some() || max.is_some())
        {
            out.push(ArgTest { path: path.to_vec(), predicate: Predicate::Bounds { min, max } });
        }
    }

    fn one_of(&mut self, item: &Item) -> Option<Predicate> {
        let array = item.as_array().filter(|array| !array.is_empty());
        let what = "`one_of` is a list of strings or numbers: `{ one_of = [\"a\", \"b\"] }`";
        let array = self.expect(item, array, what)?;
        let values: Option<Vec<Value>> =
            array.iter().map(|value| self.scalar(&Item::Value(value.clone()))).collect();
        values.map(Predicate::OneOf)
    }

    fn inside(&mut self, item: &Item) -> Option<Predicate> {
        let text = self.text_of(item)?;
        let path = self.at_home(&text).filter(|path| !path.as_os_str().is_empty());
        let what = "`inside` is a folder: relative to the session's folder, absolute, or with `~/`";
        self.expect(item, path, what).map(|path| Predicate::Inside(normalize(&path)))
    }

    /// One list of words, or a list of such lists.
    fn words_test(&mut self, item: &Item) -> Option<Predicate> {
        const HOW: &str =
            "`words` is a list of a command's first words: `{ words = [\"git\", \"status|log\"] }`";
        let array = self.expect(item, item.as_array().filter(|array| !array.is_empty()), HOW)?;
        let lists: Vec<Vec<Option<&str>>> = if array.iter().all(toml_edit::Value::is_array) {
            array
                .iter()
                .filter_map(toml_edit::Value::as_array)
                .map(|list| list.iter().map(toml_edit::Value::as_str).collect())
                .collect()
        } else {
            vec![array.iter().map(toml_edit::Value::as_str).collect()]
        };
        let mut choices = Vec::new();
        for list in lists {
            let mut choice = Vec::new();
            for word in &list {
                let word = self.expect(item, word.filter(|word| !word.is_empty()), HOW)?;
                let globs = word
                    .split('|')
                    .map(|one| self.or_report(item, Glob::new(one)))
                    .collect::<Option<Vec<_>>>()?;
                choice.push(globs);
            }
            choices.push(self.expect(item, Some(choice).filter(|choice| !choice.is_empty()), HOW)?);
        }
        Some(Predicate::Words(choices))
    }

    fn empty(&mut self, item: &Item) -> Option<Predicate> {
        self.expect(item, item.as_bool(), "`empty` is true or false").map(Predicate::Empty)
    }

    fn scalar(&mut self, item: &Item) -> Option<Value> {
        let value = item
            .as_str()
            .map(Value::from)
            .or_else(|| item.as_bool().map(Value::from))
            .or_else(|| item.as_integer().map(Value::from))
            .or_else(|| Number::from_f64(item.as_float()?).map(Value::Number));
        let what = "it is a string, a number, true or false; for several values write `{ one_of = […] }`";
        self.expect(item, value, what)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a bound beyond 2^53 need not be exact")]
fn lossy(number: i64) -> f64 {
    number as f64
}
