//! Lists to pick from that lie over the transcript: lines entered before, sessions.
//!
//! A list is filtered as the person types; nothing is changed until Enter. Changed by `update::pick`, drawn by
//! `view::pick`.

use std::collections::HashSet;

use super::cells::{Cell, Look};
use super::composer::Editor;
use super::fuzzy::{Like, Query};
use super::line::Line;
use crate::frontend::protocol::{EarlierLine, LoginWhy, ModelLine, ServiceLine, SessionLine};
use crate::history::SessionId;

/// Bytes of an entry that are matched.
const MOST_MATCHED: usize = 4 * 1024;

/// An open list.
#[derive(Debug, Clone, PartialEq)]
pub struct Pick {
    pub list: List,
    pub query: Editor,
    pub scope: Scope,
    /// Entries that match, in the order in which they are shown.
    pub found: Vec<usize>,
    /// Which of `found`.
    pub chosen: usize,
    pub wait: Wait,
    /// Why what was chosen before did not work.
    pub trouble: Option<String>,
}

/// What a model is picked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    Switch,
    /// This service was set up just now: the model answers from now on, and one can be typed too.
    Keep {
        service: String,
    },
}

/// What is listed.
#[derive(Debug, Clone, PartialEq)]
pub enum List {
    /// Lines entered before, the newest first.
    Earlier(Vec<EarlierLine>),
    /// Sessions, the latest first.
    Sessions {
        sessions: Vec<SessionLine>,
        preview: Box<Preview>,
    },
    /// Services that can be set up.
    Services {
        services: Vec<ServiceLine>,
        why: LoginWhy,
    },
    Models {
        models: Vec<ModelLine>,
        purpose: Purpose,
    },
}

/// What of the list is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    All,
    /// Of this folder.
    Here,
}

/// Whether the owner has yet to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    Nothing,
    Looking,
}

/// The end of the chosen session's conversation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Preview {
    /// Asked for and not told yet; one at a time.
    pub asked: Option<SessionId>,
    pub told: Option<SessionId>,
    /// The beginning of what was said last in it.
    pub last: String,
    pub cells: Vec<Cell>,
    /// As laid out for `width`.
    pub lines: Vec<Line>,
    width: usize,
}

impl Preview {
    pub fn tell(&mut self, session: SessionId, cells: Vec<Cell>, last: String) {
        if self.asked.as_ref() == Some(&session) {
            self.asked = None;
        }
        self.told = Some(session);
        self.last = last;
        self.cells = cells;
        self.width = 0;
    }

    /// Brings the lines up to date.
    pub fn lay_out(&mut self, look: &Look) {
        if self.width == look.width {
            return;
        }
        self.width = look.width;
        self.lines.clear();
        for at in 0..self.cells.len() {
            if at > 0 && self.cells[at].gap_after(&self.cells[at - 1]) > 0 {
                self.lines.push(Line::new());
            }
            self.cells[at].refresh(look);
            self.lines.extend(self.cells[at].lines_from(0).cloned());
        }
    }
}

impl Pick {
    /// Lines entered before: what is known of them, until the owner tells all.
    pub fn earlier<'a>(known: impl Iterator<Item = &'a str>) -> Self {
        let mut pick = Self::of(List::Earlier(Vec::new()), Wait::Looking);
        pick.list = List::Earlier(each_once(known, Vec::new()));
        pick.filter();
        pick
    }

    /// Sessions; those of this folder where there are any.
    pub fn sessions(sessions: Vec<SessionLine>, query: &str) -> Self {
        let here = sessions.iter().any(|session| session.here);
        let preview = Box::default();
        let mut pick = Self::of(List::Sessions { sessions, preview }, Wait::Nothing);
        pick.scope = if here { Scope::Here } else { Scope::All };
        pick.query.insert(query);
        pick.filter();
        pick
    }

    /// Services that can be set up.
    pub fn services(services: Vec<ServiceLine>, why: LoginWhy) -> Self {
        let mut pick = Self::of(List::Services { services, why }, Wait::Nothing);
        pick.filter();
        pick
    }

    /// Models; the one in use is chosen first.
    pub fn models(models: Vec<ModelLine>, purpose: Purpose) -> Self {
        let current = models.iter().position(|line| line.current).unwrap_or_default();
        let mut pick = Self::of(List::Models { models, purpose }, Wait::Nothing);
        pick.filter();
        pick.chosen = current;
        pick
    }

    fn of(list: List, wait: Wait) -> Self {
        let query = Editor::default();
        Self { list, query, scope: Scope::All, found: Vec::new(), chosen: 0, wait, trouble: None }
    }

    /// The owner told what was entered in all sessions. What only this process knows of comes first.
    pub fn tell_earlier(&mut self, told: Vec<EarlierLine>) {
        let List::Earlier(lines) = &mut self.list else { return };
        let known = std::mem::take(lines);
        *lines = each_once(known.iter().map(|line| line.text.as_str()), told);
        self.wait = Wait::Nothing;
        self.filter();
    }

    /// The list again, after its query, scope or entries changed. What was chosen stays chosen.
    pub fn filter(&mut self) {
        let before = self.found.get(self.chosen).copied();
        let query = self.query.text();
        let here = |is_here: bool| self.scope == Scope::All || is_here;
        self.found = match &self.list {
            List::Earlier(lines) => {
                let mut like = Query::new(&query, Like::Text);
                let matches =
                    |at: &usize| here(lines[*at].here) && like.score(head(&lines[*at].text)).is_some();
                (0..lines.len()).filter(matches).collect()
            }
            List::Sessions { sessions, .. } => {
                let mut like = Query::new(&query, Like::Name);
                let mut found = like.best(sessions.iter().map(|session| session.title.as_str()));
                let wanted = query.trim().to_lowercase();
                if !wanted.is_empty() {
                    let by_id = (0..sessions.len()).filter(|at| sessions[*at].id.0.starts_with(&wanted));
                    let new: Vec<usize> = by_id.filter(|at| !found.contains(at)).collect();
                    found.extend(new);
                }
                found.retain(|at| here(sessions[*at].here));
                found
            }
            List::Services { services, .. } => {
                let words: Vec<String> =
                    services.iter().map(|one| format!("{} {}", one.title, one.name)).collect();
                Query::new(&query, Like::Name).best(words.iter().map(String::as_str))
            }
            List::Models { models, .. } => {
                Query::new(&query, Like::Name).best(models.iter().map(|line| line.name.as_str()))
            }
        };
        self.chosen = before.and_then(|at| self.found.iter().position(|found| *found == at)).unwrap_or(0);
    }

    /// The query changed: the best of the new list is chosen.
    pub fn asked_anew(&mut self) {
        self.chosen = 0;
        self.found.clear();
        self.filter();
    }

    pub fn up(&mut self, by: usize) {
        self.chosen = self.chosen.saturating_sub(by);
    }

    pub fn down(&mut self, by: usize) {
        self.chosen = (self.chosen + by).min(self.found.len().saturating_sub(1));
    }

    pub fn turn_scope(&mut self) {
        match self.list {
            List::Earlier(_) | List::Sessions { .. } => {}
            List::Services { .. } | List::Models { .. } => return,
        }
        self.scope = match self.scope {
            Scope::All => Scope::Here,
            Scope::Here => Scope::All,
        };
        self.filter();
    }

    /// The chosen line, where lines are listed.
    pub fn line(&self) -> Option<&EarlierLine> {
        match &self.list {
            List::Earlier(lines) => self.found.get(self.chosen).and_then(|at| lines.get(*at)),
            List::Sessions { .. } | List::Services { .. } | List::Models { .. } => None,
        }
    }

    /// The chosen service, where services are listed.
    pub fn service(&self) -> Option<&ServiceLine> {
        match &self.list {
            List::Services { services, .. } => self.found.get(self.chosen).and_then(|at| services.get(*at)),
            List::Earlier(_) | List::Sessions { .. } | List::Models { .. } => None,
        }
    }

    /// The chosen model, where models are listed.
    pub fn model(&self) -> Option<&ModelLine> {
        match &self.list {
            List::Models { models, .. } => self.found.get(self.chosen).and_then(|at| models.get(*at)),
            List::Earlier(_) | List::Sessions { .. } | List::Services { .. } => None,
        }
    }

    /// The chosen session, where sessions are listed.
    pub fn session(&self) -> Option<&SessionLine> {
        match &self.list {
            List::Sessions { sessions, .. } => self.found.get(self.chosen).and_then(|at| sessions.get(*at)),
            List::Earlier(_) | List::Services { .. } | List::Models { .. } => None,
        }
    }

    /// Entries in all, whatever is typed.
    pub fn total(&self) -> usize {
        match &self.list {
            List::Earlier(lines) => lines.len(),
            List::Sessions { sessions, .. } => sessions.len(),
            List::Services { services, .. } => services.len(),
            List::Models { models, .. } => models.len(),
        }
    }
}

/// What of an entry is matched: a large paste is not gone through for every letter.
fn head(text: &str) -> &str {
    text.split_at(text.floor_char_boundary(MOST_MATCHED)).0
}

/// `told`, after the lines that only this process knows.
fn each_once<'a>(known: impl Iterator<Item = &'a str>, told: Vec<EarlierLine>) -> Vec<EarlierLine> {
    let mut seen: HashSet<String> = told.iter().map(|line| line.text.clone()).collect();
    let own = known.filter(|text| seen.insert((*text).to_owned()));
    let mut lines: Vec<EarlierLine> =
        own.map(|text| EarlierLine { text: text.to_owned(), here: true }).collect();
    lines.extend(told);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(lines: &[(&str, bool)]) -> Vec<EarlierLine> {
        lines.iter().map(|(text, here)| EarlierLine { text: (*text).to_owned(), here: *here }).collect()
    }

    fn shown(pick: &Pick) -> Vec<&str> {
        let List::Earlier(lines) = &pick.list else { panic!("lines are listed") };
        pick.found.iter().map(|at| lines[*at].text.as_str()).collect()
    }

    #[test]
    fn earlier_lines_come_once_and_the_newest_first() {
        let mut pick = Pick::earlier(["own", "b", "own", "a"].into_iter());
        assert_eq!(shown(&pick), ["own", "b", "a"]);
        pick.down(1);
        pick.tell_earlier(told(&[("z", false), ("b", true), ("a", true)]));
        assert_eq!(shown(&pick), ["own", "z", "b", "a"]);
        assert_eq!(pick.wait, Wait::Nothing);
        pick.turn_scope();
        assert_eq!(shown(&pick), ["own", "b", "a"]);
        pick.turn_scope();
        pick.query.insert("Z");
        pick.asked_anew();
        assert!(shown(&pick).is_empty());
    }

    #[test]
    fn only_the_beginning_of_a_long_line_is_matched() {
        for (before, found) in [(MOST_MATCHED - 6, 1), (MOST_MATCHED, 0)] {
            let line = format!("{}needle", "e".repeat(before));
            let mut pick = Pick::earlier([line.as_str()].into_iter());
            pick.query.insert("needle");
            pick.asked_anew();
            assert_eq!(pick.found.len(), found, "{before}");
        }
    }

    fn session(id: &str, title: &str, here: bool) -> SessionLine {
        SessionLine {
            id: SessionId(id.to_owned()),
            title: title.to_owned(),
            workspace: "/w".into(),
            here,
            when: "today".to_owned(),
            turns: 1,
            waiting: 0,
        }
    }

    #[test]
    fn sessions_are_found_by_title_and_id() {
        let sessions = vec![
            session("01aa", "inbox triage", true),
            session("02bb", "trip to Lisbon", false),
            session("03cc", "index of birds", true),
        ];
        let ids = |pick: &Pick| {
            let List::Sessions { sessions, .. } = &pick.list else { panic!("sessions are listed") };
            pick.found.iter().map(|at| sessions[*at].id.0.clone()).collect::<Vec<_>>()
        };
        let mut pick = Pick::sessions(sessions.clone(), "");
        assert_eq!(ids(&pick), ["01aa", "03cc"]);
        pick.turn_scope();
        assert_eq!(ids(&pick), ["01aa", "02bb", "03cc"]);
        for (query, found) in [("lisb", &["02bb"][..]), ("03C", &["03cc"]), ("in", &["01aa", "03cc"])] {
            let mut pick = Pick::sessions(sessions.clone(), query);
            pick.scope = Scope::All;
            pick.asked_anew();
            let mut found_ids = ids(&pick);
            found_ids.retain(|id| found.contains(&id.as_str()));
            assert_eq!(found_ids, found, "{query}");
        }
        assert_eq!(Pick::sessions(sessions[1..2].to_vec(), "").scope, Scope::All);
    }
}
