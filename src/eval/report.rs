//! Reports: Markdown, and a page with the matrix of cases and models. Pure.

use std::fmt::Write as _;

use super::results::{CaseResult, CaseStatus, Comparison, Gate, Results, dims, percent};
use crate::frontend::export::escape;

/// The data of a report.
pub struct Report<'a> {
    pub results: &'a Results,
    pub baselines: &'a [Results],
    pub comparisons: &'a [Comparison],
    pub gate: Gate,
    pub max_degradation: f64,
    /// The name of the page with the traces of failures, beside the report.
    pub traces: Option<&'a str>,
}

impl Report<'_> {
    /// Returns the cases, those that got worse first, then those that fail, then the others.
    fn cases(&self) -> Vec<&CaseResult> {
        let mut cases: Vec<&CaseResult> = self.results.cases.iter().collect();
        cases.sort_by_key(|case| match case.status {
            _ if self.is_regression(case) => 0,
            CaseStatus::Fail => 1,
            CaseStatus::Error => 2,
            CaseStatus::Pass => 3,
            CaseStatus::Skip => 4,
        });
        cases
    }

    fn is_regression(&self, case: &CaseResult) -> bool {
        self.comparisons.iter().any(|one| one.regressions.contains(&case.id))
    }

    fn trace_of(&self, case: &CaseResult) -> Option<String> {
        let trace = case.failure()?.trace.as_ref()?;
        Some(format!("{}#{trace}", self.traces?))
    }

    fn gate_words(&self) -> String {
        match self.gate {
            Gate::Passed => "passed".to_owned(),
            Gate::BelowThreshold => {
                format!("failed: the overall accuracy is below {}", percent(self.results.config.threshold))
            }
            Gate::Regressed => format!(
                "failed: a dimension is more than {} below a baseline, or beyond chance",
                percent(self.max_degradation)
            ),
        }
    }

    /// Returns the report as Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let (results, overall) = (self.results, self.results.overall());
        let mut text = format!(
            "# Tool calling: {}\n\n- {}\n- overall: **{}** ({} of {} cases; 95 % interval {})\n\
             - gate: {}\n- cost: {}, {} runs a case\n",
            cell(&results.model),
            results.timestamp,
            percent(results.overall_accuracy),
            overall.passed,
            overall.scorable,
            overall.interval_text(),
            self.gate_words(),
            results.usd.map_or_else(|| "unknown".to_owned(), |usd| format!("${usd:.4}")),
            results.config.runs,
        );
        if overall.skipped + overall.errors > 0 {
            let (skipped, errors) = (overall.skipped, overall.errors);
            let _ = writeln!(text, "- not scored: {skipped} skipped, {errors} with temporary failures only");
        }
        text.push_str("\n| dimension | passed | of | accuracy | 95 % interval |");
        for baseline in self.baselines {
            let _ = write!(text, " {} |", cell(&baseline.model));
        }
        text.push_str("\n|---|---|---|---|---|");
        text.push_str(&"---|".repeat(self.baselines.len()));
        text.push('\n');
        for (dim, stats) in dims(results) {
            let (accuracy, interval) = (stats.accuracy_text(), stats.interval_text());
            let _ =
                write!(text, "| {dim} | {} | {} | {accuracy} | {interval} |", stats.passed, stats.scorable);
            for baseline in self.baselines {
                let there =
                    baseline.dim_stats.get(dim).map_or_else(|| "-".to_owned(), |one| percent(one.accuracy));
                let _ = write!(text, " {there} |");
            }
            text.push('\n');
        }
        for comparison in self.comparisons {
            text.push_str(&comparison_text(comparison));
        }
        let failed: Vec<_> =
            self.cases().into_iter().filter(|case| case.status == CaseStatus::Fail).collect();
        if !failed.is_empty() {
            text.push_str("\n## Failures\n\n");
        }
        for case in failed {
            let why = case.failure().and_then(|run| run.error_msg.clone()).unwrap_or_default();
            let trace = self.trace_of(case).map(|to| format!(" ([trace]({to}))")).unwrap_or_default();
            let _ = writeln!(
                text,
                "- `{}` ({}), {} of {} runs passed: {}{trace}",
                case.id,
                case.dim,
                case.pass_count,
                case.valid_runs,
                cell(&why)
            );
        }
        text
    }

    /// Returns the matrix as one HTML page.
    #[must_use]
    pub fn html(&self) -> String {
        let mut text = format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
             <meta name=\"color-scheme\" content=\"light dark\"><title>Tool calling: {}</title><style>{}</style></head><body>",
            escape(&self.results.model),
            include_str!("report.css")
        );
        let overall = self.results.overall();
        let _ = write!(
            text,
            "<h1>Tool calling</h1><p>{}: {} of {} cases, {}; gate {}</p><table><thead><tr><th>case</th><th>dimension</th>",
            escape(&self.results.model),
            overall.passed,
            overall.scorable,
            percent(overall.accuracy),
            escape(&self.gate_words())
        );
        for model in std::iter::once(self.results).chain(self.baselines) {
            let _ = write!(text, "<th>{}</th>", escape(&model.model));
        }
        text.push_str("<th>why</th></tr></thead><tbody>");
        for case in self.cases() {
            let (row, mark) =
                if self.is_regression(case) { (" class=\"worse\"", "got worse: ") } else { ("", "") };
            let _ = write!(text, "<tr{row}><td>{}</td><td>{}</td>", escape(&case.id), escape(&case.dim));
            text.push_str(&status_cell(Some(case)));
            for baseline in self.baselines {
                text.push_str(&status_cell(baseline.cases.iter().find(|one| one.id == case.id)));
            }
            let why = match case.status {
                CaseStatus::Skip => format!("needs {}", case.missing.join(", ")),
                _ => case.runs.iter().find_map(|run| run.error_msg.clone()).unwrap_or_default(),
            };
            let trace = self.trace_of(case).map(|to| format!(" <a href=\"{}\">trace</a>", escape(&to)));
            let _ = write!(text, "<td>{mark}{}{}</td></tr>", escape(&why), trace.unwrap_or_default());
        }
        text.push_str("</tbody></table></body></html>\n");
        text
    }
}

fn status_cell(case: Option<&CaseResult>) -> String {
    let Some(case) = case else { return "<td>not run</td>".to_owned() };
    let word = case.status.word();
    let runs =
        if case.total_runs > 0 { format!(" {}/{}", case.pass_count, case.valid_runs) } else { String::new() };
    format!("<td class=\"{}\">{word}{runs}</td>", word.to_lowercase())
}

/// The comparison with one baseline, regressions first.
fn comparison_text(comparison: &Comparison) -> String {
    let mut text = format!("\n## Against {}\n\n", cell(&comparison.model));
    for drop in &comparison.drops {
        let now = drop.now.map_or_else(|| "not measured".to_owned(), percent);
        let _ = writeln!(text, "- **{} dropped**: {} before, {now}", drop.dim, percent(drop.before));
    }
    for (word, ids) in [("got worse", &comparison.regressions), ("got better", &comparison.improvements)] {
        if !ids.is_empty() {
            let ids: Vec<String> = ids.iter().map(|id| format!("`{id}`")).collect();
            let _ = writeln!(text, "- {word}: {}", ids.join(", "));
        }
    }
    if comparison.not_run > 0 {
        let _ = writeln!(text, "- {} of its cases were not run", comparison.not_run);
    }
    if text.ends_with("\n\n") {
        text.push_str("- no difference\n");
    }
    text
}

/// A text in one cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ").replace('<', "&lt;")
}
