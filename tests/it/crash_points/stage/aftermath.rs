//! The kill, and what must hold after it whatever the point says.

use std::collections::{BTreeMap, BTreeSet};

use co::history::{Record, SessionId};
use co::message::{CallId, ReturnStatus};
use rustix::process::Signal;

use super::super::processes;
use super::super::record::{self, short};
use super::super::step::Survivors;
use super::Stage;
use crate::tui::terminal::Terminal;

/// The report to the model on a call that was cut off.
const REPORT_TO_MODEL: &str = "Outcome unknown: this call had started";

/// The report to the person on one.
const REPORT_TO_PERSON: &str = "Outcome unknown: co ended";

/// The data that a kill left to be checked.
#[derive(Default)]
pub(super) struct Aftermath {
    /// Records of each session that must stay.
    kept: BTreeMap<SessionId, Vec<Record>>,
    /// Calls that had started and not ended at some kill.
    unknown: BTreeMap<SessionId, BTreeSet<CallId>>,
    /// The calls that were not reported to the person yet.
    unreported: BTreeMap<SessionId, BTreeSet<CallId>>,
    /// Processes that the next run must name and end.
    escaped: Vec<u32>,
    /// Processes that the next run must name.
    own: Vec<u32>,
}

impl Stage<'_> {
    /// Runs to its end what opens the session in focus again, and looks at what it had to say.
    pub(super) fn open_again(&mut self, args: &[&str], code: i32) {
        self.run(args, code);
        self.kept();
        let id = self.session().expect("a session");
        let unreported = self.after.unreported.remove(&id).unwrap_or_default().len();
        let said = self.last.as_ref().expect("it ran").err.clone();
        assert_eq!(
            said.matches(REPORT_TO_PERSON).count(),
            unreported,
            "{args:?} said: {said}\n{}",
            self.seen()
        );
        let (escaped, own) = (std::mem::take(&mut self.after.escaped), std::mem::take(&mut self.after.own));
        for pid in escaped.iter().chain(&own) {
            assert!(said.contains(&pid.to_string()), "process {pid} was not named: {said}");
        }
        let living: Vec<u32> = self.marked().into_iter().map(|(pid, _)| pid).collect();
        assert_eq!(living, own, "lives on after {args:?}: {said}\n{}", self.seen());
        // Only the test ends what the person started.
        own.iter().for_each(|pid| processes::signal(*pid, Signal::KILL));
        self.until("the end of the person's own command", |stage| stage.marked().is_empty().then_some(()));
    }

    pub(super) fn kill(&mut self, leaves: Survivors) {
        let before = self.all_records();
        let screens = std::mem::take(&mut self.screens);
        assert!(!screens.is_empty() || self.headless.is_some(), "there is nothing to kill");
        screens.iter().for_each(Terminal::kill);
        if let Some(mut child) = self.headless.take() {
            assert_eq!(child.try_wait().unwrap(), None, "it ended by itself before it was killed");
            child.kill().unwrap();
            child.wait().unwrap();
        }
        self.after.kept = before;
        self.kept();
        self.after.kept = self.all_records();
        for (session, records) in &self.after.kept {
            let unknown = cut_off(records);
            self.after.unknown.entry(session.clone()).or_default().extend(unknown.iter().cloned());
            self.after.unreported.insert(session.clone(), unknown);
        }
        let count = match leaves {
            Survivors::Nothing => 0,
            Survivors::Escaped(count) | Survivors::Own(count) => count,
        };
        // The kernel kills the children a moment after their parent.
        let living = self.until("the children to be gone", |stage| {
            Some(stage.marked()).filter(|living| living.len() == count)
        });
        let pids = living.iter().map(|(pid, _)| *pid).collect();
        match leaves {
            Survivors::Nothing | Survivors::Escaped(_) => self.after.escaped = pids,
            Survivors::Own(_) => self.after.own = pids,
        }
    }

    /// The records before the kill are a prefix of the records now.
    pub(super) fn kept(&self) {
        let now = self.all_records();
        for (session, kept) in &self.after.kept {
            let found = now.get(session).map_or(&[][..], Vec::as_slice);
            assert!(
                found.starts_with(kept),
                "records are lost; before: {:#?}\nnow: {:#?}",
                short(kept),
                short(found)
            );
        }
    }

    pub(super) fn nothing_ran_twice(&self) {
        for (session, records) in self.all_records() {
            let lines = short(&records);
            for call in record::calls(&records) {
                let started =
                    |record: &&Record| matches!(record, Record::ToolStarted { call: one } if *one == call);
                let ended: Vec<ReturnStatus> =
                    records.iter().filter_map(|record| status_of(record, &call)).collect();
                // One that was postponed is answered first, and again when it has run.
                let ended: Vec<_> =
                    ended.into_iter().filter(|status| *status != ReturnStatus::Undecided).collect();
                assert!(records.iter().filter(started).count() <= 1, "{call:?} started twice: {lines:#?}");
                assert!(ended.len() <= 1, "{call:?} ended twice: {lines:#?}");
                let unknown = self.after.unknown.get(&session).is_some_and(|calls| calls.contains(&call));
                assert_eq!(ended == [ReturnStatus::Unknown], unknown, "{call:?}: {lines:#?}");
            }
        }
    }

    /// The latest request of each session reports an unknown outcome for exactly its cut-off calls.
    pub(super) fn model_knows(&self) {
        for (session, records) in self.all_records() {
            let prompt =
                short(&records).into_iter().find_map(|line| line.strip_prefix("said ").map(str::to_owned));
            let requests = self.service.server.requests();
            let bodies = requests.iter().rev().map(|request| request.body.to_string());
            let prompt = format!("\"{}\"", prompt.expect("a prompt"));
            let Some(latest) = bodies.into_iter().find(|body| body.contains(&prompt)) else { continue };
            let unknown = self.after.unknown.get(&session).map_or(0, BTreeSet::len);
            assert_eq!(latest.matches(REPORT_TO_MODEL).count(), unknown, "{latest}\n{}", self.seen());
        }
    }

    pub(super) fn nothing_lives(&self) {
        assert_eq!(self.marked(), [], "lives on\n{}", self.seen());
    }
}

/// Calls that have started and not ended.
fn cut_off(records: &[Record]) -> BTreeSet<CallId> {
    let mut running = BTreeSet::new();
    for record in records {
        if let Record::ToolStarted { call } = record {
            running.insert(call.clone());
        }
        if let Record::ToolFinished { returned } = record {
            running.remove(&returned.call);
        }
    }
    running
}

fn status_of(record: &Record, call: &CallId) -> Option<ReturnStatus> {
    let Record::ToolFinished { returned } = record else { return None };
    (returned.call == *call).then_some(returned.status)
}
