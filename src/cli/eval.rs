//! `co eval`: runs golden cases against a model, scores and compares them. What is done is kept after each run, so that an
//! interrupted eval goes on where it ended.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};

use super::args::{EvalArgs, Flags};
use super::console;
use super::error::{CliError, Kind, Result};
use super::print::choose_model;
use super::signals::Stop;
use super::table::table;
use crate::app::known_tools;
use crate::config::Settings;
use crate::eval::case::{BUILT_IN, Case, Cases, parse};
use crate::eval::report::Report;
use crate::eval::results::{
    CaseResult, CaseStatus, Comparison, DimStats, Gate, ResultConfig, Results, RunResult, compare, dims,
    gate, percent,
};
use crate::eval::run::CaseRunner;
use crate::frontend::traces::page;
use crate::stdx::fs::{create_private_dir, fingerprint, write_atomic, write_private};
use crate::stdx::moment::milliseconds;
use crate::stdx::text::count;
use crate::telemetry::SpanFile;
use crate::workspace::{World, load_settings};

/// The most spans of one failed run in the page of traces.
const SPANS: usize = 200;

/// How often progress is said where no line can be drawn over.
const SLOWLY: Duration = Duration::from_secs(10);

pub(super) async fn run(what: EvalArgs, world: &World, flags: Flags) -> Result<()> {
    let loaded = load_settings(world, flags)?;
    for share in [("--threshold", what.threshold), ("--max-degradation", what.max_degradation)] {
        if !(0.0..=1.0).contains(&share.1) {
            return Err(CliError::usage(format!("{} {}: a share from 0 to 1", share.0, share.1)));
        }
    }
    let text = read_cases(what.file.as_deref())?;
    let cases = wanted_cases(&what, parse(&text))?;
    let baselines = baselines(&what, &world.workspace)?;
    let stop = Stop::on_signals()?;
    let models = Arc::new(choose_model(world, &loaded).await?);
    let current = models.current();
    let model = what.model_tag.clone().unwrap_or_else(|| format!("{}-{}", current.provider, current.model));
    let config = ResultConfig {
        runs: what.runs as usize,
        threshold: what.threshold,
        dim_filter: what.dim.map(|dim| dim.word().to_owned()),
        case_id_filter: what.case_id.clone(),
    };
    let settings = loaded.settings.clone();
    let key = identity(&text, world, &settings, &format!("{}/{}", current.provider, current.model));
    let evals = settings.data_dir.join("evals");
    let folder = evals.join(key.chars().take(16).collect::<String>());
    create_private_dir(&folder)?;
    let mut kept = StoredRuns::open(&folder)?;
    if !kept.done.is_empty() {
        console::note(&format!("co: going on: {} were done before", count(kept.done.len() as u64, "run")));
    }
    let runner = CaseRunner::open(world, loaded, models, folder.clone()).await.map_err(CliError::from)?;
    if what.max_usd.is_some() && !runner.is_priced() {
        let error = CliError::usage(format!("`--max-usd`: the price of {model} is not known"));
        return Err(error.hint("`[models.\"NAME\"]` in your settings takes prices: `co help settings`"));
    }
    let offered = runner.tool_names();
    let offered: BTreeSet<&str> = offered.iter().map(String::as_str).collect();
    let runnable: Vec<&Case> = cases.iter().filter(|case| case.missing(&offered).is_empty()).collect();
    console::note(&format!(
        "co: {} of {model}, {} each{}",
        count(runnable.len() as u64, "case"),
        count(u64::from(what.runs), "run"),
        match cases.len() - runnable.len() {
            0 => String::new(),
            skipped => format!("; {skipped} skipped, because tools they need are not there"),
        }
    ));
    run_missing(&what, &runner, &runnable, &mut kept, &stop).await?;
    let scored = cases.iter().map(|case| {
        let missing = case.missing(&offered).into_iter().map(ToOwned::to_owned);
        CaseResult::of(case, kept.runs(&case.id, what.runs), missing.collect())
    });
    let timestamp = world.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let results = Results::new(model, timestamp, config, scored.collect());
    let comparisons: Vec<Comparison> =
        baselines.iter().map(|baseline| compare(&results, baseline, what.max_degradation)).collect();
    let gate = gate(&results, &comparisons);
    world.telemetry.flush();
    let places = ReportPaths::of(&what, &evals);
    let traces = places.write_traces(&results, &folder)?;
    let report = Report {
        results: &results,
        baselines: &baselines,
        comparisons: &comparisons,
        gate,
        max_degradation: what.max_degradation,
        traces: traces.as_deref(),
    };
    places.write(&places.report, &report.markdown())?;
    places.write(&places.matrix, &report.html())?;
    if let Some(save) = &what.save {
        let text = serde_json::to_string_pretty(&results).map_err(std::io::Error::from)?;
        places.write(save, &text)?;
    }
    // Its content is in the reports now; a folder that stays is only used again by the same eval.
    let _ = fs::remove_dir_all(&folder);
    if what.json {
        console::json(&results)?;
    } else {
        console::out(&summary(&results, &comparisons))?;
        console::out(&format!("report: {}\nmatrix: {}\n", places.report.display(), places.matrix.display()))?;
    }
    match gate {
        Gate::Passed => Ok(()),
        Gate::BelowThreshold if results.overall().scorable == 0 => {
            let error = CliError::error("no case could be scored");
            Err(error.hint(no_score_advice(&results, &settings)))
        }
        Gate::BelowThreshold => Err(CliError::error(format!(
            "the accuracy of {} is below the threshold of {}",
            percent(results.overall_accuracy),
            percent(what.threshold)
        ))),
        Gate::Regressed => {
            let dropped: BTreeSet<&str> =
                comparisons.iter().flat_map(|one| &one.drops).map(|drop| drop.dim.as_str()).collect();
            let dropped: Vec<&str> = dropped.into_iter().collect();
            Err(CliError::message(Kind::Regressed, format!("worse than a baseline: {}", dropped.join(", "))))
        }
    }
}

/// Returns the identity of everything that runs depend on: with another identity, no kept run counts.
fn identity(cases: &str, world: &World, settings: &Settings, model: &str) -> String {
    let tools: Vec<String> =
        known_tools(world, settings).tools().specs().map(|spec| format!("{spec:?}")).collect();
    let address = settings.endpoint.base_url.as_deref().unwrap_or_default();
    let Settings { thinking, max_output_tokens, parallel_calls, .. } = settings;
    let parts = format!("{thinking:?} {max_output_tokens:?} {parallel_calls} {}", env!("CARGO_PKG_VERSION"));
    fingerprint(format!("{cases}\n{model}\n{address}\n{parts}\n{}", tools.join("\n")).as_bytes())
}

/// Returns the advice where nothing could be scored.
fn no_score_advice(results: &Results, settings: &Settings) -> String {
    let first = results.cases.iter().flat_map(|case| &case.runs).find_map(|run| run.error_msg.clone());
    match first {
        Some(why) => format!("every run had a temporary failure: {why}"),
        None if settings.provider.is_none() => "no case that is left can run here".to_owned(),
        None => "the cases need tools that are not there".to_owned(),
    }
}

fn read_cases(file: Option<&Path>) -> Result<String> {
    let Some(file) = file else { return Ok(BUILT_IN.to_owned()) };
    fs::read(file)
        // Bytes that are no text spoil their line only.
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .map_err(|error| CliError::usage(format!("{}: {error}", file.display())))
}

/// Returns the cases that are to be run; says what is wrong with the others.
fn wanted_cases(what: &EvalArgs, found: Cases) -> Result<Vec<Case>> {
    let name =
        what.file.as_ref().map_or_else(|| "the built-in cases".to_owned(), |file| file.display().to_string());
    console::notes(found.faults.iter().map(|(line, fault)| format!("{name}:{line}: {fault}")));
    if !found.faults.is_empty() && !what.keep_going {
        let error =
            CliError::error(format!("{name} has mistakes in {}", count(found.faults.len() as u64, "line")));
        return Err(error.hint("mend them, or leave them out with `--keep-going`"));
    }
    if let Some(id) = &what.case_id
        && !found.cases.iter().any(|case| case.id == *id)
    {
        return Err(CliError::error(format!("{name}: there is no case {id:?}")));
    }
    let is_wanted = |case: &Case| {
        what.dim.is_none_or(|dim| case.dim == dim) && what.case_id.as_ref().is_none_or(|id| case.id == *id)
    };
    let cases: Vec<Case> = found.cases.into_iter().filter(is_wanted).collect();
    if cases.is_empty() {
        return Err(CliError::error(format!("{name}: no cases, so nothing was measured")));
    }
    Ok(cases)
}

/// Reads the results to compare with.
fn baselines(what: &EvalArgs, folder: &Path) -> Result<Vec<Results>> {
    let mut files = what.compare.clone();
    if files.is_empty()
        && let Ok(found) = fs::read_dir(folder.join("evals").join("baselines"))
    {
        files = found.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
        files.sort();
    }
    let read = |file: PathBuf| {
        let text = fs::read_to_string(&file).map_err(|error| error.to_string());
        text.and_then(|text| Results::parse(&text))
            .map_err(|why| CliError::error(format!("{}: {why}", file.display())))
    };
    files.into_iter().map(read).collect()
}

/// The runs that are done, in a file.
struct StoredRuns {
    file: File,
    done: BTreeMap<(String, u32), RunResult>,
}

#[derive(Serialize, Deserialize)]
struct StoredRun {
    case: String,
    run: u32,
    result: RunResult,
}

impl StoredRuns {
    fn open(folder: &Path) -> Result<Self> {
        let path = folder.join("runs.jsonl");
        let text = fs::read_to_string(&path).unwrap_or_default();
        // A line that was cut off by a power failure is run again.
        let lines = text.lines().filter_map(|line| serde_json::from_str::<StoredRun>(line).ok());
        // A temporary failure may be over.
        let done =
            lines.filter(|one| !one.result.error).map(|one| ((one.case, one.run), one.result)).collect();
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        if file.try_lock().is_err() {
            return Err(CliError::error("the same eval runs already, in another process"));
        }
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n")?;
        }
        Ok(Self { file, done })
    }

    fn add(&mut self, case: &str, run: u32, result: RunResult) -> Result<()> {
        let kept = StoredRun { case: case.to_owned(), run, result };
        let line = serde_json::to_string(&kept).map_err(std::io::Error::from)?;
        writeln!(self.file, "{line}")?;
        self.done.insert((kept.case, run), kept.result);
        Ok(())
    }

    fn runs(&self, case: &str, runs: u32) -> Vec<RunResult> {
        (0..runs).filter_map(|run| self.done.get(&(case.to_owned(), run)).cloned()).collect()
    }

    fn usd(&self) -> f64 {
        self.done.values().filter_map(|run| run.usd).sum()
    }
}

/// Makes the runs that are missing. At the cap no further run begins, and those that run are waited for. Errs if some are
/// still missing.
async fn run_missing(
    what: &EvalArgs,
    runner: &CaseRunner,
    cases: &[&Case],
    kept: &mut StoredRuns,
    stop: &Stop,
) -> Result<()> {
    let jobs: Vec<(&Case, u32)> = (0..what.runs)
        .flat_map(|run| cases.iter().map(move |case| (*case, run)))
        .filter(|(case, run)| !kept.done.contains_key(&(case.id.clone(), *run)))
        .collect();
    let cut_short = |kind, why: String, next: &str| {
        let error = CliError::message(kind, why);
        Err(error.hint(format!("the runs so far are kept: the same command {next}")))
    };
    let mut progress = Progress::new(jobs.len());
    let is_spent = |kept: &StoredRuns| what.max_usd.is_some_and(|most| kept.usd() >= most);
    let stopping = Cell::new(is_spent(kept));
    let mut running = stream::iter(jobs.into_iter().enumerate().take_while(|_| !stopping.get()))
        .map(|(at, (case, run))| async move { (case, run, runner.run(case, &format!("run-{at}")).await) })
        .buffer_unordered(what.parallel as usize);
    loop {
        let next = tokio::select! {
            next = running.next() => next,
            () = stop.token.cancelled() => {
                let kind = Kind::Interrupted(stop.caught().unwrap_or_default());
                return cut_short(kind, "interrupted".to_owned(), "goes on with the others");
            }
        };
        let Some((case, run, result)) = next else { break };
        match result {
            Ok(result) => kept.add(&case.id, run, result)?,
            Err(why) => {
                let why = format!("no run can succeed: {why}");
                return cut_short(Kind::Provider, why, "goes on once that is mended");
            }
        }
        progress.step(runner.is_priced().then(|| kept.usd()));
        stopping.set(is_spent(kept));
    }
    if progress.done == progress.all {
        return Ok(());
    }
    let why = format!("stopped at ${:.4}, the cap of `--max-usd`", kept.usd());
    cut_short(Kind::Budget, why, "with a larger cap goes on")
}

/// Progress on standard error: one line that is drawn over on a terminal, else a line now and then.
struct Progress {
    all: usize,
    done: usize,
    began: Instant,
    said: Instant,
    draws: bool,
}

impl Progress {
    fn new(all: usize) -> Self {
        let now = Instant::now();
        Self { all, done: 0, began: now, said: now, draws: std::io::stderr().is_terminal() }
    }

    fn step(&mut self, usd: Option<f64>) {
        self.done += 1;
        let is_over = self.done == self.all;
        if !self.draws && (self.said.elapsed() < SLOWLY || is_over) {
            return;
        }
        self.said = Instant::now();
        let rate = self.done as f64 / self.began.elapsed().as_secs_f64().max(1e-3);
        let left = milliseconds((self.all - self.done) as f64 / rate * 1e3);
        let cost = usd.map(|usd| format!(", ${usd:.4}")).unwrap_or_default();
        let line = format!("{}/{} runs, {rate:.1} a second{cost}, {left} left", self.done, self.all);
        let mut out = std::io::stderr().lock();
        // Progress that cannot be shown is no failure.
        let _ = match (self.draws, is_over) {
            (true, false) => write!(out, "\r\u{1b}[K{line}"),
            (true, true) => write!(out, "\r\u{1b}[K"),
            (false, _) => writeln!(out, "co: {line}"),
        };
    }
}

/// Where reports go.
struct ReportPaths {
    report: PathBuf,
    matrix: PathBuf,
    traces: PathBuf,
}

impl ReportPaths {
    fn of(what: &EvalArgs, evals: &Path) -> Self {
        let report = what.report.clone().unwrap_or_else(|| evals.join("report.md"));
        let stem = report.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let beside = |suffix: &str| report.with_file_name(format!("{stem}{suffix}"));
        Self { matrix: beside(".html"), traces: beside("-traces.html"), report }
    }

    fn write(&self, path: &Path, text: &str) -> Result<()> {
        let written = write_atomic(path, text.as_bytes());
        written.map_err(|error| CliError::error(format!("{}: {error}", path.display())))
    }

    /// Writes the traces of the runs that failed into a page; returns its name, if there are any.
    fn write_traces(&self, results: &Results, folder: &Path) -> Result<Option<String>> {
        // Without a file of spans there is no trace.
        let Ok(file) = SpanFile::open(folder) else { return Ok(None) };
        let failed = results.cases.iter().filter(|case| case.status == CaseStatus::Fail);
        let ids = failed.filter_map(|case| case.failure()?.trace.as_deref());
        let spans: Vec<_> = ids.filter_map(|id| file.trace(id, SPANS).ok()).flatten().collect();
        if spans.is_empty() {
            return Ok(None);
        }
        let written = write_private(&self.traces, page(&spans).as_bytes());
        written.map_err(|error| CliError::error(format!("{}: {error}", self.traces.display())))?;
        Ok(self.traces.file_name().map(|name| name.to_string_lossy().into_owned()))
    }
}

/// The result in a few lines.
fn summary(results: &Results, comparisons: &[Comparison]) -> String {
    let line = |(name, stats): (&str, &DimStats)| {
        [
            name.to_owned(),
            format!("{}/{}", stats.passed, stats.scorable),
            stats.accuracy_text(),
            stats.interval_text(),
            stats.skipped.to_string(),
            stats.errors.to_string(),
        ]
    };
    let heads = ["DIMENSION", "PASSED", "ACCURACY", "95 % INTERVAL", "SKIPPED", "ERRORS"];
    let mut text = table(heads, dims(results).chain([("overall", &results.overall())]).map(line));
    for case in results.cases.iter().filter(|case| case.status == CaseStatus::Fail) {
        let why = case.failure().and_then(|run| run.error_msg.as_deref()).unwrap_or_default();
        text.push_str(&format!("FAIL {}: {why}\n", case.id));
    }
    for one in comparisons {
        let (drops, worse, better) = (one.drops.len(), one.regressions.len(), one.improvements.len());
        text.push_str(&format!(
            "against {}: {drops} dimensions dropped, {worse} cases got worse, {better} got better\n",
            one.model
        ));
    }
    text
}
