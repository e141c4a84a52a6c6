//! Lists to pick from: earlier lines, sessions, services, models. Filtered while the user types; nothing changes until
//! Enter.

mod draw;
mod preview;
mod search;

use std::collections::HashSet;

use self::preview::Preview;
use self::search::SessionSearch;
use super::{Login, Panel, PanelContext, PanelEffect, PanelState, Screen, stop_first};
use crate::frontend::protocol::{
    ClientQuery, ClientRequest, EarlierLine, LoginReason, ModelLine, QueryAnswer, ServerMessage, ServiceLine,
    SessionLine,
};
use crate::history::SessionId;
use crate::tui::cells::RenderContext;
use crate::tui::composer::Editor;
use crate::tui::fuzzy::{MatchMode, Query};
use crate::tui::keys::{
    Action, CHOOSE, Context, ContextRow, HelpGroup, Keymap, Letters, Nav, Section, StatusHint, at, row,
};
use crate::tui::line::Line;

/// Bytes of an entry that are matched.
const MOST_MATCHED: usize = 4 * 1024;

const CONTEXT: Context = Context::Panel(&ContextRow::new(
    "pick",
    "in a picker",
    Letters::AreText,
    &[Context::Text, Context::Global],
));

/// Switches between this folder and everything.
const NARROW: Action = Action::Panel("narrow");
const ACCEPT: Action = Action::Panel("accept");

pub const KEYS: &[Section] = &[at(CONTEXT, HelpGroup::Work).rows(&[
    row("previous", Action::Nav(Nav::Up), "Up Ctrl+P", ""),
    row("next", Action::Nav(Nav::Down), "Down Ctrl+N Ctrl+R", ""),
    row("narrow", NARROW, "Tab Ctrl+S", "lists: folder / all"),
    row("accept", ACCEPT, "Enter", ""),
    row("escape", Action::Escape, "Esc Ctrl+C Ctrl+G", "").way_out(),
])];

const EARLIER: &[StatusHint] = &[
    (CONTEXT, &[], "type to search"),
    (CONTEXT, &[NARROW], " this folder / all"),
    (CONTEXT, CHOOSE, " choose"),
];
const SESSIONS: &[StatusHint] = &[
    (CONTEXT, &[], "type to search"),
    (CONTEXT, &[NARROW], " this folder / all"),
    (CONTEXT, &[ACCEPT], " open"),
];
const SERVICES: &[StatusHint] = &[
    (CONTEXT, &[], "type to search"),
    (CONTEXT, CHOOSE, " choose"),
    (CONTEXT, &[ACCEPT], " set up"),
    (Context::Global, &[Action::Escape], " close"),
];
const MODELS: &[StatusHint] =
    &[(CONTEXT, &[], "type to search"), (CONTEXT, CHOOSE, " choose"), (CONTEXT, &[ACCEPT], " select")];

/// An open list.
#[derive(Debug, Clone, PartialEq)]
pub struct Picker {
    pub list: List,
    pub query: Editor,
    /// Only entries of this folder are listed.
    pub only_here: bool,
    /// Matching entries, in the displayed order.
    pub found: Vec<usize>,
    /// The index into `found`.
    pub chosen: usize,
    /// More entries may arrive soon.
    pub is_loading: bool,
    /// Why the last choice failed.
    pub trouble: Option<String>,
}

/// The purpose of picking a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    Switch,
    /// This service was just set up: the model is kept as the default, and its name can be typed too.
    Keep {
        service: String,
    },
}

/// The listed entries.
#[derive(Debug, Clone, PartialEq)]
pub enum List {
    /// Earlier lines, the newest first.
    Earlier(Vec<EarlierLine>),
    /// Sessions, the latest first.
    Sessions { sessions: Vec<SessionLine>, preview: Box<Preview>, said: SessionSearch },
    /// Services that can be set up.
    Services { services: Vec<ServiceLine>, why: LoginReason },
    Models {
        models: Vec<ModelLine>,
        purpose: Purpose,
        /// The services that sent no list, each with the reason.
        failed: Vec<String>,
    },
}

impl PanelState for Picker {
    fn context(&self) -> Context {
        CONTEXT
    }

    fn on_open(&mut self, cx: &mut PanelContext<'_>) {
        match self.list {
            List::Earlier(_) => cx.ask(ClientQuery::Earlier),
            List::Sessions { .. } => self.ask(cx),
            List::Services { .. } | List::Models { .. } => {}
        }
    }

    fn act(&mut self, action: Action, cx: &mut PanelContext<'_>) -> Option<PanelEffect> {
        let page = (cx.screen.rows / 2).max(1);
        match action {
            Action::Escape => return Some(self.escape(cx)),
            ACCEPT => return Some(self.accept(cx)),
            NARROW => self.turn_scope(),
            Action::Nav(nav) => self.go(nav.row(self.chosen, page)),
            _ => return None,
        }
        self.ask(cx);
        Some(PanelEffect::Stay)
    }

    fn editor(&mut self) -> Option<&mut Editor> {
        Some(&mut self.query)
    }

    fn on_change(&mut self, cx: &mut PanelContext<'_>) {
        self.asked_anew();
        self.ask(cx);
    }

    fn tell(&mut self, message: ServerMessage, _cx: &mut PanelContext<'_>) -> PanelEffect {
        if let ServerMessage::ModelsChanged { models, failed, pending } = message {
            self.tell_models(models, failed, pending);
        }
        PanelEffect::Stay
    }

    fn answer(&mut self, query: ClientQuery, answer: QueryAnswer, cx: &mut PanelContext<'_>) {
        match (query, answer, &mut self.list) {
            (_, QueryAnswer::Earlier { lines }, _) => self.tell_earlier(lines),
            // Lines entered in this session stay listed.
            (ClientQuery::Earlier, QueryAnswer::Failed, _) => self.is_loading = false,
            (
                ClientQuery::Preview { session },
                QueryAnswer::Preview { messages },
                List::Sessions { preview, .. },
            ) => {
                preview.tell(session, &messages);
            }
            (
                ClientQuery::SearchSessions { words },
                QueryAnswer::SearchSessions { hits },
                List::Sessions { said, .. },
            ) => {
                said.tell(words, hits);
                self.filter();
            }
            _ => {}
        }
        self.ask(cx);
    }

    fn lay_out(&mut self, screen: &Screen<'_>, _cards: &mut crate::tui::cards::Cards) {
        if let List::Sessions { preview, .. } = &mut self.list {
            preview.lay_out(&RenderContext { width: draw::preview_columns(screen), ..screen.context });
        }
    }

    fn draw(&self, screen: &Screen<'_>) -> Vec<Line> {
        draw::lines(screen, self)
    }

    fn cursor(&self, screen: &Screen<'_>) -> Option<(usize, usize)> {
        Some(draw::cursor(screen, self))
    }

    fn hints(&self, keymap: &Keymap) -> String {
        keymap.status(match self.list {
            List::Earlier(_) => EARLIER,
            List::Sessions { .. } => SESSIONS,
            List::Services { .. } => SERVICES,
            List::Models { .. } => MODELS,
        })
    }

    fn title(&self) -> Option<&'static str> {
        Some(match self.list {
            List::Earlier(_) => "earlier lines",
            List::Sessions { .. } => "sessions",
            List::Services { .. } => "services",
            List::Models { .. } => "models",
        })
    }
}

impl Picker {
    /// Lists earlier lines: those known here, until the owner sends all.
    pub fn earlier<'a>(known: impl Iterator<Item = &'a str>) -> Self {
        let mut pick = Self::of(List::Earlier(Vec::new()), true);
        pick.list = List::Earlier(each_once(known, Vec::new()));
        pick.filter();
        pick
    }

    /// Lists sessions; those of this folder if there are any.
    pub fn sessions(sessions: Vec<SessionLine>, query: &str) -> Self {
        let here = sessions.iter().any(|session| session.here);
        let list = List::Sessions { sessions, preview: Box::default(), said: SessionSearch::default() };
        let mut pick = Self::of(list, false);
        pick.only_here = here;
        pick.query.insert(query);
        pick.filter();
        pick
    }

    /// Lists services that can be set up.
    pub fn services(services: Vec<ServiceLine>, why: LoginReason) -> Self {
        let mut pick = Self::of(List::Services { services, why }, false);
        pick.filter();
        pick
    }

    /// Lists models; the one in use is chosen first.
    pub fn models(models: Vec<ModelLine>, purpose: Purpose) -> Self {
        let current = models.iter().position(|line| line.current).unwrap_or_default();
        let is_loading = purpose == Purpose::Switch;
        let mut pick = Self::of(List::Models { models, purpose, failed: Vec::new() }, is_loading);
        pick.filter();
        pick.chosen = current;
        pick
    }

    /// Takes the models again, with those of the services that have answered. The chosen one stays chosen.
    fn tell_models(&mut self, listed: Vec<ModelLine>, reasons: Vec<String>, pending: usize) {
        let List::Models { models, purpose: Purpose::Switch, failed } = &mut self.list else { return };
        let chosen = self.found.get(self.chosen).and_then(|at| models.get(*at)).map(|line| line.name.clone());
        (*models, *failed) = (listed, reasons);
        let at = models.iter().position(|line| Some(&line.name) == chosen.as_ref());
        self.is_loading = pending > 0;
        self.asked_anew();
        self.chosen = self.found.iter().position(|found| Some(*found) == at).unwrap_or(0);
    }

    fn of(list: List, is_loading: bool) -> Self {
        let query = Editor::default();
        Self { list, query, only_here: false, found: Vec::new(), chosen: 0, is_loading, trouble: None }
    }

    /// Takes the lines of all sessions. Lines known only to this process come first.
    pub fn tell_earlier(&mut self, stored: Vec<EarlierLine>) {
        let List::Earlier(lines) = &mut self.list else { return };
        let known = std::mem::take(lines);
        *lines = each_once(known.iter().map(|line| line.text.as_str()), stored);
        self.is_loading = false;
        self.filter();
    }

    /// Filters again after the query, scope or entries changed. The chosen entry stays chosen.
    pub fn filter(&mut self) {
        let before = self.found.get(self.chosen).copied();
        let query = self.query.text();
        let here = |is_here: bool| !self.only_here || is_here;
        self.found = match &self.list {
            List::Earlier(lines) => {
                let mut like = Query::new(&query, MatchMode::Text);
                let matches =
                    |at: &usize| here(lines[*at].here) && like.score(head(&lines[*at].text)).is_some();
                (0..lines.len()).filter(matches).collect()
            }
            List::Sessions { sessions, said, .. } => {
                let mut like = Query::new(&query, MatchMode::Name);
                let mut found = like.best(sessions.iter().map(|session| session.title.as_str()));
                let wanted = query.trim().to_lowercase();
                if !wanted.is_empty() {
                    let by_id = (0..sessions.len()).filter(|at| sessions[*at].id.0.starts_with(&wanted));
                    let place = |id: &SessionId| sessions.iter().position(|session| session.id == *id);
                    for at in by_id.chain(said.sessions(&query).filter_map(place)) {
                        if !found.contains(&at) {
                            found.push(at);
                        }
                    }
                }
                found.retain(|at| here(sessions[*at].here));
                found
            }
            List::Services { services, .. } => {
                let words: Vec<String> =
                    services.iter().map(|one| format!("{} {}", one.title, one.name)).collect();
                Query::new(&query, MatchMode::Name).best(words.iter().map(String::as_str))
            }
            List::Models { models, .. } => {
                Query::new(&query, MatchMode::Name).best(models.iter().map(|line| line.name.as_str()))
            }
        };
        self.chosen = before.and_then(|at| self.found.iter().position(|found| *found == at)).unwrap_or(0);
    }

    /// Handles a change of the query: the best match is chosen.
    pub fn asked_anew(&mut self) {
        self.chosen = 0;
        self.found.clear();
        self.filter();
    }

    fn go(&mut self, to: usize) {
        self.chosen = to.min(self.found.len().saturating_sub(1));
    }

    pub fn turn_scope(&mut self) {
        match self.list {
            List::Earlier(_) | List::Sessions { .. } => {}
            List::Services { .. } | List::Models { .. } => return,
        }
        self.only_here = !self.only_here;
        self.filter();
    }

    /// Returns the chosen session, if sessions are listed.
    fn session(&self) -> Option<&SessionLine> {
        if let List::Sessions { sessions, .. } = &self.list { self.of_chosen(sessions) } else { None }
    }

    fn of_chosen<'a, T>(&self, all: &'a [T]) -> Option<&'a T> {
        self.found.get(self.chosen).and_then(|at| all.get(*at))
    }

    /// Returns the number of all entries.
    pub fn total(&self) -> usize {
        match &self.list {
            List::Earlier(lines) => lines.len(),
            List::Sessions { sessions, .. } => sessions.len(),
            List::Services { services, .. } => services.len(),
            List::Models { models, .. } => models.len(),
        }
    }

    /// Requests the end of the chosen session and the sessions in which the typed words were said, one of each at a time.
    fn ask(&mut self, cx: &mut PanelContext<'_>) {
        let chosen = self.session().map(|session| session.id.clone());
        let List::Sessions { preview, said, .. } = &mut self.list else { return };
        if let Some(words) = said.next(&self.query.text()) {
            cx.ask(ClientQuery::SearchSessions { words });
        }
        let Some(session) = chosen else { return };
        if preview.asked.is_none() && preview.loaded.as_ref() != Some(&session) {
            preview.asked = Some(session.clone());
            cx.ask(ClientQuery::Preview { session });
        }
    }

    fn accept(&self, cx: &mut PanelContext<'_>) -> PanelEffect {
        match &self.list {
            List::Earlier(lines) => self.of_chosen(lines).map(|line| PanelEffect::Write(line.text.clone())),
            List::Sessions { sessions, .. } if cx.turn_runs && self.of_chosen(sessions).is_some() => {
                cx.flash(stop_first(cx.screen.keymap));
                None
            }
            List::Sessions { sessions, .. } => {
                self.of_chosen(sessions).map(|session| PanelEffect::OpenSession(session.id.clone()))
            }
            List::Services { services, .. } => self.of_chosen(services).map(|service| {
                let login = Login::new(service.clone(), Box::new(self.clone()));
                PanelEffect::Replace(Panel::Login(Box::new(login)))
            }),
            List::Models { models, purpose, .. } => self.pick_model(self.of_chosen(models), purpose, cx),
        }
        .unwrap_or(PanelEffect::Stay)
    }

    /// Takes the chosen model, or the typed one if none matches.
    fn pick_model(
        &self,
        chosen: Option<&ModelLine>,
        purpose: &Purpose,
        cx: &mut PanelContext<'_>,
    ) -> Option<PanelEffect> {
        let typed = self.query.text().trim().to_owned();
        let name = match (chosen, purpose) {
            (Some(line), _) => line.name.clone(),
            (None, _) if typed.is_empty() => return None,
            (None, Purpose::Keep { service }) => format!("{service}/{typed}"),
            (None, Purpose::Switch) => typed,
        };
        cx.send(match purpose {
            Purpose::Keep { .. } => ClientRequest::KeepModel { name },
            Purpose::Switch => ClientRequest::SwitchModel { name },
        });
        Some(PanelEffect::Close)
    }

    fn escape(&self, cx: &mut PanelContext<'_>) -> PanelEffect {
        if let List::Services { why: LoginReason::First, .. } = self.list {
            cx.send(ClientRequest::SkipLogin);
            cx.flash("you will not be asked again: /login sets up a service");
        }
        PanelEffect::Close
    }
}

/// Returns the part of an entry that is matched, so that a large paste is not searched for every key press.
fn head(text: &str) -> &str {
    text.split_at(text.floor_char_boundary(MOST_MATCHED)).0
}

/// Returns `stored` with the lines that only this process knows, such as private commands: each follows the line that
/// this process entered after it, as the newest come first.
fn each_once<'a>(known: impl Iterator<Item = &'a str>, stored: Vec<EarlierLine>) -> Vec<EarlierLine> {
    let mut seen: HashSet<String> = stored.iter().map(|line| line.text.clone()).collect();
    let mut lines = stored;
    let mut next = 0;
    for text in known {
        if seen.insert(text.to_owned()) {
            lines.insert(next, EarlierLine { text: text.to_owned(), here: true });
            next += 1;
        } else if let Some(at) = lines.iter().position(|line| line.text == text) {
            next = next.max(at + 1);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn earlier(lines: &[(&str, bool)]) -> Vec<EarlierLine> {
        lines.iter().map(|(text, here)| EarlierLine { text: (*text).to_owned(), here: *here }).collect()
    }

    fn shown(pick: &Picker) -> Vec<&str> {
        let List::Earlier(lines) = &pick.list else { panic!("lines are listed") };
        pick.found.iter().map(|at| lines[*at].text.as_str()).collect()
    }

    #[test]
    fn earlier_lines_come_once_and_the_newest_first() {
        let mut timed = Picker::earlier(["b", "!!own", "a"].into_iter());
        timed.tell_earlier(earlier(&[("z", false), ("b", true), ("a", true)]));
        assert_eq!(shown(&timed), ["z", "b", "!!own", "a"], "a private command stands in its time");
        let mut pick = Picker::earlier(["own", "b", "own", "a"].into_iter());
        assert_eq!(shown(&pick), ["own", "b", "a"]);
        pick.go(1);
        pick.tell_earlier(earlier(&[("z", false), ("b", true), ("a", true)]));
        assert_eq!(shown(&pick), ["own", "z", "b", "a"]);
        assert!(!pick.is_loading);
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
            let mut pick = Picker::earlier([line.as_str()].into_iter());
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
            updated: jiff::Timestamp::UNIX_EPOCH,
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
        let ids = |pick: &Picker| {
            let List::Sessions { sessions, .. } = &pick.list else { panic!("sessions are listed") };
            pick.found.iter().map(|at| sessions[*at].id.0.clone()).collect::<Vec<_>>()
        };
        let mut pick = Picker::sessions(sessions.clone(), "");
        assert_eq!(ids(&pick), ["01aa", "03cc"]);
        pick.turn_scope();
        assert_eq!(ids(&pick), ["01aa", "02bb", "03cc"]);
        for (query, found) in [("lisb", &["02bb"][..]), ("03C", &["03cc"]), ("in", &["01aa", "03cc"])] {
            let mut pick = Picker::sessions(sessions.clone(), query);
            pick.only_here = false;
            pick.asked_anew();
            let mut found_ids = ids(&pick);
            found_ids.retain(|id| found.contains(&id.as_str()));
            assert_eq!(found_ids, found, "{query}");
        }
        assert!(!Picker::sessions(sessions[1..2].to_vec(), "").only_here);
    }
}
