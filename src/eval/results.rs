//! Results: counted, compared with baselines, and kept as JSON in the shape of seed 004.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::case::{Case, Dim};
use super::score::{ObservedCall, Verdict};

use crate::stdx::names::names;

/// The version of the JSON; that of the seed has none.
pub const VERSION: u32 = 1;

/// Of a standard normal distribution: 95 % lie within.
const Z: f64 = 1.959_964;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum CaseStatus {
    Pass,
    Fail,
    /// No run counts: all had temporary failures.
    Error,
    /// A tool that it needs is missing.
    Skip,
}

names! { CaseStatus, word { Pass = "PASS", Fail = "FAIL", Error = "ERROR", Skip = "SKIP", } }

/// One run of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    pub passed: bool,
    /// Whether it had a temporary failure and does not count.
    pub error: bool,
    #[serde(default)]
    pub tool_name: Option<String>,
    #[serde(default)]
    pub tool_args: Option<Value>,
    /// Why it failed, or the temporary failure.
    #[serde(default)]
    pub error_msg: Option<String>,
    /// Whether it ended in words after a call.
    #[serde(default)]
    pub recovered: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// The id of its trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

impl RunResult {
    #[must_use]
    pub fn of(verdict: &Verdict, first: Option<&ObservedCall>) -> Self {
        let (passed, error, error_msg) = match verdict {
            Verdict::Passed => (true, false, None),
            Verdict::Failed(why) => (false, false, Some(why.clone())),
            Verdict::Transient(why) | Verdict::Unusable(why) => (false, true, Some(why.clone())),
        };
        Self {
            passed,
            error,
            tool_name: first.map(|call| call.tool.clone()),
            tool_args: first.map(|call| call.args.clone()),
            error_msg,
            recovered: None,
            usd: None,
            trace: None,
        }
    }
}

/// All runs of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseResult {
    pub id: String,
    pub dim: String,
    #[serde(default)]
    pub expect_tool: Option<String>,
    pub status: CaseStatus,
    #[serde(default)]
    pub pass_count: usize,
    #[serde(default)]
    pub total_runs: usize,
    /// Runs without a temporary failure.
    #[serde(default)]
    pub valid_runs: usize,
    #[serde(default)]
    pub runs: Vec<RunResult>,
    /// The tools that are not there, of a case that was skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

impl CaseResult {
    /// A case passes with more than half of the runs that count. One whose tools are missing is skipped.
    #[must_use]
    pub fn of(case: &Case, runs: Vec<RunResult>, missing: Vec<String>) -> Self {
        let runs = if missing.is_empty() { runs } else { Vec::new() };
        let valid_runs = runs.iter().filter(|run| !run.error).count();
        let pass_count = runs.iter().filter(|run| run.passed).count();
        let status = match valid_runs {
            _ if !missing.is_empty() => CaseStatus::Skip,
            0 => CaseStatus::Error,
            _ if pass_count * 2 > valid_runs => CaseStatus::Pass,
            _ => CaseStatus::Fail,
        };
        Self {
            id: case.id.clone(),
            dim: case.dim.word().to_owned(),
            expect_tool: case.expect_tool.clone(),
            status,
            pass_count,
            total_runs: runs.len(),
            valid_runs,
            runs,
            missing,
        }
    }

    /// The first run that failed.
    #[must_use]
    pub fn failure(&self) -> Option<&RunResult> {
        self.runs.iter().find(|run| !run.passed && !run.error)
    }
}

/// The counts of one dimension.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct DimStats {
    pub cases: usize,
    /// Cases with a run that counts.
    pub scorable: usize,
    pub passed: usize,
    /// `passed / scorable`; 0 if none is scorable.
    pub accuracy: f64,
    #[serde(default)]
    pub errors: usize,
    #[serde(default)]
    pub skipped: usize,
}

impl DimStats {
    fn of<'a>(cases: impl Iterator<Item = &'a CaseResult>) -> Self {
        let mut stats = Self::default();
        for case in cases {
            stats.cases += 1;
            stats.skipped += usize::from(case.status == CaseStatus::Skip);
            stats.errors += usize::from(case.status == CaseStatus::Error);
            stats.passed += usize::from(case.status == CaseStatus::Pass);
            stats.scorable += usize::from(matches!(case.status, CaseStatus::Pass | CaseStatus::Fail));
        }
        if stats.scorable > 0 {
            stats.accuracy = stats.passed as f64 / stats.scorable as f64;
        }
        stats
    }

    /// The interval in which the share of passed cases lies with 95 %. Cases are counted, not runs: at temperature 0 the runs
    /// of a case are near copies of each other.
    #[must_use]
    pub fn interval(&self) -> (f64, f64) {
        wilson(self.passed, self.scorable)
    }
}

impl DimStats {
    /// Returns the accuracy in percent, if it was measured.
    #[must_use]
    pub fn accuracy_text(&self) -> String {
        if self.scorable == 0 { "not measured".to_owned() } else { percent(self.accuracy) }
    }

    /// Returns the interval in percent.
    #[must_use]
    pub fn interval_text(&self) -> String {
        let (low, high) = self.interval();
        format!("{} to {}", percent(low), percent(high))
    }
}

/// Formats a share in percent.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Returns Wilson's interval of a share, 95 %.
#[must_use]
pub fn wilson(passed: usize, total: usize) -> (f64, f64) {
    if total == 0 {
        return (0.0, 1.0);
    }
    let (n, p) = (total as f64, passed as f64 / total as f64);
    let scale = 1.0 + Z * Z / n;
    let middle = (p + Z * Z / (2.0 * n)) / scale;
    let half = Z / scale * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ResultConfig {
    pub runs: usize,
    pub threshold: f64,
    #[serde(default)]
    pub dim_filter: Option<String>,
    #[serde(default)]
    pub case_id_filter: Option<String>,
}

/// The results of one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    #[serde(default = "first_version")]
    pub version: u32,
    pub model: String,
    pub timestamp: String,
    pub config: ResultConfig,
    pub overall_accuracy: f64,
    pub dim_stats: BTreeMap<String, DimStats>,
    pub cases: Vec<CaseResult>,
    /// The cost of all runs; absent if the price of some is unknown.
    #[serde(default)]
    pub usd: Option<f64>,
}

fn first_version() -> u32 {
    VERSION
}

impl Results {
    #[must_use]
    pub fn new(model: String, timestamp: String, config: ResultConfig, cases: Vec<CaseResult>) -> Self {
        let mut dim_stats = BTreeMap::new();
        for case in &cases {
            dim_stats
                .entry(case.dim.clone())
                .or_insert_with(|| DimStats::of(cases.iter().filter(|one| one.dim == case.dim)));
        }
        let usd = cases.iter().flat_map(|case| &case.runs).map(|run| run.usd).sum();
        let overall_accuracy = DimStats::of(cases.iter()).accuracy;
        Self { version: VERSION, model, timestamp, config, overall_accuracy, dim_stats, cases, usd }
    }

    /// Reads results that were kept; errs with a sentence about what to do.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("it is not JSON ({error})"))?;
        match value.get("version").map(Value::as_u64) {
            None | Some(Some(1)) => {}
            Some(version) => {
                let version = version.map_or_else(|| "unknown".to_owned(), |version| version.to_string());
                return Err(format!(
                    "its version is {version}, and this co reads {VERSION}: save it anew with `--save`"
                ));
            }
        }
        serde_json::from_value(value).map_err(|error| format!("it holds no results of an eval ({error})"))
    }

    /// The counts of all dimensions.
    #[must_use]
    pub fn overall(&self) -> DimStats {
        DimStats::of(self.cases.iter())
    }

    /// The same results with only the cases that a filter left.
    fn only(&self, wanted: impl Fn(&CaseResult) -> bool) -> Self {
        let cases = self.cases.iter().filter(|case| wanted(case)).cloned().collect();
        Self::new(self.model.clone(), self.timestamp.clone(), self.config.clone(), cases)
    }
}

/// A dimension in which the results are worse than a baseline's.
#[derive(Debug, Clone, PartialEq)]
pub struct DimDrop {
    pub dim: String,
    pub before: f64,
    /// `None`: it was not measured.
    pub now: Option<f64>,
}

/// The comparison with one baseline.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    pub model: String,
    /// Dimensions that fail the gate.
    pub drops: Vec<DimDrop>,
    /// Cases that passed there and fail here.
    pub regressions: Vec<String>,
    /// Cases that failed there and pass here.
    pub improvements: Vec<String>,
    /// Cases of the baseline that were not run here, by a filter or because they are gone.
    pub not_run: usize,
}

/// Compares with a baseline, over the cases that both scored. A drop counts if it is beyond `max`, or if the intervals of both
/// do not touch. Cases that a filter or a missing tool left out count for neither side; a dimension of which nothing was
/// scored here is a drop.
#[must_use]
pub fn compare(now: &Results, baseline: &Results, max: f64) -> Comparison {
    let ResultConfig { dim_filter, case_id_filter, .. } = &now.config;
    let here = |case: &CaseResult| now.cases.iter().find(|one| one.id == case.id);
    let wanted = |case: &CaseResult| {
        dim_filter.as_ref().is_none_or(|dim| case.dim == *dim)
            && case_id_filter.as_ref().is_none_or(|id| case.id == *id)
            && here(case).is_none_or(|one| one.status != CaseStatus::Skip)
    };
    let is_scored = |case: &CaseResult| matches!(case.status, CaseStatus::Pass | CaseStatus::Fail);
    let before = baseline.only(wanted);
    let common = before.only(|case| is_scored(case) && here(case).is_some_and(is_scored));
    let same = now.only(|case| common.cases.iter().any(|one| one.id == case.id));
    let mut comparison = Comparison { model: baseline.model.clone(), ..Comparison::default() };
    for (dim, whole) in before.dim_stats.iter().filter(|(_, stats)| stats.scorable > 0) {
        let (old, new) = (common.dim_stats.get(dim).unwrap_or(whole), same.dim_stats.get(dim));
        let is_drop = match new {
            None => true,
            Some(new) => {
                let lost = old.accuracy - new.accuracy;
                let apart = new.interval().1 < old.interval().0;
                // Shares that are equal may differ by rounding.
                lost > max + 1e-9 || (lost > 1e-9 && apart)
            }
        };
        if is_drop {
            let now = new.map(|new| new.accuracy);
            comparison.drops.push(DimDrop { dim: dim.clone(), before: old.accuracy, now });
        }
    }
    for old in &before.cases {
        let Some(new) = now.cases.iter().find(|one| one.id == old.id) else {
            comparison.not_run += 1;
            continue;
        };
        match (old.status, new.status) {
            (CaseStatus::Pass, CaseStatus::Fail) => comparison.regressions.push(old.id.clone()),
            (CaseStatus::Fail, CaseStatus::Pass) => comparison.improvements.push(old.id.clone()),
            _ => {}
        }
    }
    comparison
}

/// The outcome of the gates, as an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    Passed,
    /// The overall accuracy is below the threshold, or nothing could be scored.
    BelowThreshold,
    /// A dimension dropped against a baseline.
    Regressed,
}

#[must_use]
pub fn gate(results: &Results, comparisons: &[Comparison]) -> Gate {
    let overall = results.overall();
    if overall.scorable == 0 || overall.accuracy + 1e-9 < results.config.threshold {
        return Gate::BelowThreshold;
    }
    match comparisons.iter().any(|one| !one.drops.is_empty()) {
        true => Gate::Regressed,
        false => Gate::Passed,
    }
}

/// Returns the dimensions in their usual order, those of other programs last.
pub fn dims(results: &Results) -> impl Iterator<Item = (&str, &DimStats)> {
    let known = Dim::ALL.into_iter().map(Dim::word);
    let own = known.filter_map(|dim| results.dim_stats.get_key_value(dim));
    let others = results.dim_stats.iter().filter(|(dim, _)| Dim::named(dim).is_none());
    own.chain(others).map(|(dim, stats)| (dim.as_str(), stats))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases as `dim:id=passed/valid/total`.
    fn results(text: &str, filter: Option<&str>) -> Results {
        let cases = text.split_whitespace().map(|one| {
            let (dim, rest) = one.split_once(':').unwrap();
            let (id, counts) = rest.split_once('=').unwrap();
            let counts: Vec<usize> = counts.split('/').map(|count| count.parse().unwrap()).collect();
            let case = serde_json::json!({ "id": id, "dim": dim, "prompt": "p" });
            let case: Case = serde_json::from_value(case).unwrap();
            let run = |at: usize| RunResult {
                passed: at < counts[0],
                error: at >= counts[1],
                ..RunResult::of(&Verdict::Passed, None)
            };
            CaseResult::of(&case, (0..counts[2]).map(run).collect(), Vec::new())
        });
        let config =
            ResultConfig { threshold: 0.8, dim_filter: filter.map(str::to_owned), ..ResultConfig::default() };
        Results::new("m".to_owned(), String::new(), config, cases.collect())
    }

    #[test]
    fn cases_pass_by_the_majority_of_runs_that_count() {
        let cases = [
            ("refusal:a=3/3/3", CaseStatus::Pass),
            ("refusal:a=2/3/3", CaseStatus::Pass),
            ("refusal:a=1/2/3", CaseStatus::Fail),
            ("refusal:a=1/1/3", CaseStatus::Pass),
            ("refusal:a=0/0/3", CaseStatus::Error),
        ];
        for (text, status) in cases {
            assert_eq!(results(text, None).cases[0].status, status, "{text}");
        }
        let all = results("refusal:a=3/3/3 refusal:b=0/3/3 refusal:c=0/0/3", None);
        let stats = all.dim_stats["refusal"];
        assert_eq!((stats.cases, stats.scorable, stats.passed, stats.errors), (3, 2, 1, 1));
        assert!((all.overall_accuracy - 0.5).abs() < 1e-9);
    }

    #[test]
    fn intervals_are_wilson_s() {
        let cases = [
            (0, 0, 0.0, 1.0),
            (0, 10, 0.0, 0.2775),
            (10, 10, 0.7225, 1.0),
            (5, 10, 0.2366, 0.7634),
            (80, 100, 0.7112, 0.8667),
        ];
        for (passed, total, low, high) in cases {
            let (one, other) = wilson(passed, total);
            assert!(
                (one - low).abs() < 1e-3 && (other - high).abs() < 1e-3,
                "{passed}/{total}: {one} {other}"
            );
        }
    }

    #[test]
    fn gates_open_for_what_is_measured_and_good_only() {
        let good = "tool_selection:a=3/3/3 tool_selection:b=3/3/3 refusal:c=3/3/3";
        let table = [
            (good, None, Some(good), Gate::Passed),
            (good, None, None, Gate::Passed),
            // Nothing was run, or nothing counts.
            ("", None, None, Gate::BelowThreshold),
            ("refusal:c=0/0/3", None, None, Gate::BelowThreshold),
            ("refusal:c=0/3/3", None, None, Gate::BelowThreshold),
            // Exactly at the threshold.
            (
                "refusal:a=1/1/1 refusal:b=1/1/1 refusal:c=1/1/1 refusal:d=1/1/1 refusal:e=0/1/1",
                None,
                None,
                Gate::Passed,
            ),
            // A dimension that is gone, or that failed to be measured, is a drop.
            ("tool_selection:a=3/3/3 tool_selection:b=3/3/3", None, Some(good), Gate::Regressed),
            (
                "tool_selection:a=3/3/3 tool_selection:b=3/3/3 refusal:c=0/0/3",
                None,
                Some(good),
                Gate::Regressed,
            ),
            // A case that a filter left out is not.
            (
                "tool_selection:a=3/3/3 tool_selection:b=3/3/3",
                Some("tool_selection"),
                Some(good),
                Gate::Passed,
            ),
            (
                "tool_selection:a=3/3/3 tool_selection:b=0/3/3",
                Some("tool_selection"),
                Some(good),
                Gate::BelowThreshold,
            ),
        ];
        for (now, filter, baseline, expected) in table {
            let now = results(now, filter);
            let compared: Vec<_> =
                baseline.into_iter().map(|text| compare(&now, &results(text, None), 0.1)).collect();
            assert_eq!(gate(&now, &compared), expected, "{now:?} {compared:?}");
        }
    }

    #[test]
    fn a_drop_counts_beyond_the_limit_or_beyond_chance() {
        let many = |passed: usize| -> String {
            (0..200).map(|at| format!("refusal:c{at}={}/1/1 ", usize::from(at < passed))).collect()
        };
        let (full, nine, eight) =
            (results(&many(200), None), results(&many(186), None), results(&many(170), None));
        assert_eq!(compare(&full, &full, 0.1).drops, Vec::new());
        // 7 points of 200 are no chance, 7 of 14 cases may be.
        assert_eq!(compare(&nine, &full, 0.1).drops.len(), 1);
        assert_eq!(compare(&eight, &full, 0.1).drops.len(), 1, "beyond the limit");
        let few = results("refusal:a=3/3/3 refusal:b=2/3/3", None);
        let fewer = results("refusal:a=2/3/3 refusal:b=2/3/3", None);
        assert_eq!(compare(&fewer, &few, 0.1).drops, Vec::new(), "no case was lost");
        let lost = compare(&results("refusal:a=0/3/3 refusal:b=3/3/3", None), &few, 0.6);
        assert_eq!((lost.drops.len(), lost.regressions), (0, vec!["a".to_owned()]));
    }

    #[test]
    fn baselines_of_the_seed_load_and_those_of_later_versions_do_not() {
        let seed = r#"{"model": "gemini", "timestamp": "2026-02-09", "config": {"runs": 3, "threshold": 0.8, "dim_filter": null,
            "case_id_filter": null}, "overall_accuracy": 1.0, "dim_stats": {"refusal": {"cases": 1, "scorable": 1, "passed": 1,
            "accuracy": 1.0, "errors": 0}}, "cases": [{"id": "a", "dim": "refusal", "expect_tool": null, "status": "PASS",
            "pass_count": 3, "total_runs": 3, "valid_runs": 3, "runs": [{"passed": true, "error": false, "tool_name": null,
            "tool_args": null, "error_msg": null, "recovered": null}]}]}"#;
        let seed = Results::parse(seed).unwrap();
        assert_eq!((seed.version, seed.cases.len()), (1, 1));
        let again = serde_json::to_string(&seed).unwrap();
        assert_eq!(Results::parse(&again).unwrap(), seed);
        for (text, why) in
            [("{", "not JSON"), ("[]", "no results"), (r#"{"version": 2}"#, "its version is 2")]
        {
            assert!(Results::parse(text).unwrap_err().contains(why), "{text}");
        }
    }
}
