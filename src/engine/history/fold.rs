//! The fold: computes the state of a session from its records.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::late::{self, DependencyState, LateCall, LateCalls, OpenCall};
use super::{Conversation, CopyOf, SessionId};
use super::{Limit, Limits, Record, RecordNo, RecordedState, TurnEnd, UsageTotals};
use crate::approval::{Approval, Decider, Grants, Request};
use crate::message::{
    AssistantMessage, CallId, Message, NoteKind, ReturnStatus, ToolCall, ToolReturn, UserPart, images,
};
use crate::provider::RequestKind;
use crate::stdx::text::one_line_summary;
use crate::tool::{FIND_TOOLS, SeenVersions};

/// The [`Record::State`] key for the file versions that the model has seen.
pub const SEEN: &str = "seen";

/// Cells of a title made of a prompt.
const TITLE: usize = 80;

/// The state of a session, folded from its records.
#[derive(Debug, Clone, Default)]
pub struct History {
    applied: u64,
    workspace: PathBuf,
    entries: Vec<(RecordNo, Arc<Message>)>,
    /// Messages that compactions have replaced, oldest first: for people, and for undoing.
    archive: Vec<(RecordNo, Arc<Message>)>,
    /// Where in the archive each compaction that can be undone begins.
    compactions: Vec<usize>,
    /// Calls that have started a side effect.
    started: BTreeSet<CallId>,
    /// The calls of the last reply, while one of them has no return.
    open: Vec<OpenCall>,
    late: LateCalls,
    turns: u32,
    running: Option<RunningTurn>,
    /// The span of the last turn.
    trace: Option<String>,
    spent: UsageTotals,
    last_end: Option<TurnEnd>,
    notes: Vec<(NoteKind, String)>,
    queued: Vec<Vec<UserPart>>,
    draft: String,
    title: Option<String>,
    /// Whether a model was asked for a title.
    title_asked: bool,
    /// The beginning of the first prompt, which names the session until it is renamed.
    first_words: Option<String>,
    last_input: Option<u64>,
    measured: Option<MeasuredRequest>,
    grants: Grants,
    seen: Arc<SeenVersions>,
    state: BTreeMap<String, Value>,
    damaged: usize,
    /// How calls ended that were decided after their turn had gone on. For people; the model gets a note.
    late_returns: BTreeMap<CallId, ToolReturn>,
}

/// A request whose size the provider has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuredRequest {
    /// The input tokens of the whole request.
    pub tokens: u64,
    /// How many messages of the conversation it had.
    pub messages: usize,
}

/// A turn that started and did not end, or that can go on (deferred, stopped by a cap, failed).
#[derive(Debug, Clone, PartialEq)]
pub struct RunningTurn {
    /// The turn's number, from 1.
    pub number: u32,
    /// The number of its start record.
    pub since: RecordNo,
    pub limits: Limits,
    pub used: UsageTotals,
    /// Attempts so far; the next request is attempt `attempts + 1`.
    pub attempts: u32,
    /// The attempt and text of a reply that was being streamed.
    pub partial: Option<(u32, String)>,
    /// Its span, if it was recorded.
    pub trace: Option<String>,
}

impl History {
    /// Folds the records of a whole session.
    pub fn of(records: &[Record]) -> Self {
        let mut history = Self::default();
        for record in records {
            history.apply(record);
        }
        history
    }

    /// Applies one record. The only way the conversation changes, live and on replay.
    pub fn apply(&mut self, record: &Record) {
        self.applied += 1;
        match record {
            Record::Opened { workspace } => self.workspace.clone_from(workspace),
            Record::TurnStarted { turn, limits, trace } => {
                self.turns = *turn;
                self.trace.clone_from(trace);
                self.last_end = None;
                self.running = Some(RunningTurn {
                    number: *turn,
                    since: self.no(),
                    limits: *limits,
                    used: UsageTotals::default(),
                    attempts: 0,
                    partial: None,
                    trace: trace.clone(),
                });
            }
            Record::Said { message } => self.apply_message(message),
            Record::RequestEnded { attempt, usage, cost, error, purpose, .. } => {
                self.spent.count(*usage, *cost, *error);
                self.title_asked |= *purpose == RequestKind::Title;
                if let (Some(tokens), RequestKind::Answer) = (usage.and_then(|usage| usage.input), purpose) {
                    self.last_input = Some(tokens);
                    self.measured = Some(MeasuredRequest { tokens, messages: self.entries.len() });
                }
                if let Some(turn) = &mut self.running {
                    turn.attempts = turn.attempts.max(*attempt);
                    turn.used.count(*usage, *cost, *error);
                }
            }
            Record::Partial { attempt, text } => self.partial(*attempt, text),
            Record::Asked { call, request } => self.apply_request(call, request),
            Record::Decided { call, approval, by, .. } => self.apply_decision(call, approval, by),
            Record::Judged { judgement, .. } => self.grants.count(&judgement.by),
            Record::Revoked { request } => self.grants.revoke(request),
            Record::Expired { call, .. } => self.know(call, RecordedState::Expired),
            Record::ToolStarted { call } => {
                self.started.insert(call.clone());
                self.know(call, RecordedState::MayHaveRun);
            }
            Record::ToolFinished { returned } => self.apply_return(returned),
            Record::Deferred { .. } => {}
            Record::TurnEnded { end } => {
                self.last_end = Some(end.clone());
                match end {
                    TurnEnd::Deferred => {}
                    // It goes on with a new request; the partial reply of the earlier attempt is void.
                    TurnEnd::Failed { .. } | TurnEnd::LimitReached { limit: Limit::Cap(_) } => {
                        if let Some(turn) = &mut self.running {
                            turn.partial = None;
                        }
                    }
                    TurnEnd::Completed | TurnEnd::Interrupted | TurnEnd::LimitReached { .. } => {
                        self.running = None;
                    }
                }
            }
            Record::Queued { prompts } => self.queued.clone_from(prompts),
            Record::Draft { text } => self.draft.clone_from(text),
            Record::Noted { kind, text } => self.notes.push((kind.clone(), text.clone())),
            Record::Compacted { summary, kept_from, .. } => self.apply_compaction(summary, *kept_from),
            Record::Uncompacted => self.undo_compaction(),
            Record::Copied { started, .. } => self.started.extend(started.iter().cloned()),
            Record::Rewound { before } => self.rewind(*before),
            Record::Cleared => self.clear(),
            Record::Renamed { title } => self.title = Some(title.clone()),
            Record::State { tool, value } => self.keep_state(tool, value),
            Record::Damaged { .. } => self.damaged += 1,
        }
    }

    fn no(&self) -> RecordNo {
        RecordNo(self.applied)
    }

    fn apply_message(&mut self, message: &Arc<Message>) {
        match &**message {
            Message::User { parts } => {
                if self.first_words.is_none() {
                    let text = images::in_short(parts);
                    self.first_words = (!text.is_empty()).then(|| one_line_summary(&text, TITLE));
                }
                // One delivery settles one note, so that two equal notes are both delivered.
                for delivered in parts.iter().filter_map(as_note) {
                    if let Some(at) = self.notes.iter().position(|(kind, text)| (kind, text) == delivered) {
                        self.notes.remove(at);
                    }
                }
            }
            Message::Assistant(AssistantMessage { .. }) => {}
            Message::ToolReturns { .. } => {}
        }
        if let Some(turn) = &mut self.running {
            turn.partial = None;
        }
        self.entries.push((self.no(), Arc::clone(message)));
        if let Message::Assistant(reply) = &**message {
            self.open = reply.calls().map(OpenCall::new).collect();
        }
    }

    fn partial(&mut self, attempt: u32, text: &str) {
        let Some(turn) = &mut self.running else { return };
        match &mut turn.partial {
            Some((same, so_far)) if *same == attempt => so_far.push_str(text),
            Some(_) | None => turn.partial = Some((attempt, text.to_owned())),
        }
    }

    fn apply_request(&mut self, call: &ToolCall, request: &Request) {
        self.late.watch(request, &self.open);
        if let Some(open) = self.unanswered_call(&call.id) {
            open.known = RecordedState::Waiting;
            open.by = None;
            open.later = false;
            open.request = Some(request.clone());
        } else if let Some(late) = self.late.find(&call.id) {
            late.known = RecordedState::Waiting;
            late.by = None;
            late.request = request.clone();
        }
    }

    fn apply_decision(&mut self, call: &CallId, approval: &Approval, by: &Decider) {
        let open = self.unanswered_call(call).and_then(|open| open.request.clone());
        let Some(request) = open.or_else(|| self.late.find(call).map(|one| one.request.clone())) else {
            return;
        };
        self.grants.apply(&request, approval, &self.workspace);
        match approval {
            Approval::Later => {
                if let Some(open) = self.unanswered_call(call) {
                    open.later = true;
                }
            }
            Approval::Approve { .. } | Approval::Deny { .. } => {
                self.know(call, RecordedState::Decided(approval.clone()));
                if let Some(open) = self.unanswered_call(call) {
                    open.by = Some(by.clone());
                } else if let Some(one) = self.late.find(call) {
                    one.by = Some(by.clone());
                }
            }
        }
    }

    /// The call of the last reply, if it has no return. A call with a return may still be a late call.
    fn unanswered_call(&mut self, call: &CallId) -> Option<&mut OpenCall> {
        self.open.iter_mut().find(|open| open.call.id == *call && open.returned.is_none())
    }

    fn know(&mut self, call: &CallId, known: RecordedState) {
        if let Some(open) = self.unanswered_call(call) {
            open.known = known;
        } else if let Some(one) = self.late.find(call) {
            one.know(known);
        }
    }

    fn apply_return(&mut self, returned: &ToolReturn) {
        let unanswered = |open: &OpenCall| open.call.id == returned.call && open.returned.is_none();
        if let Some(at) = self.open.iter().position(unanswered) {
            let open = &mut self.open[at];
            let still_wanted = match returned.status {
                ReturnStatus::Undecided => open.known != RecordedState::Expired,
                // A call that the user set to later outlives an interrupt too.
                ReturnStatus::Interrupted => open.later && open.known == RecordedState::Waiting,
                ReturnStatus::Ok | ReturnStatus::Failed | ReturnStatus::Denied | ReturnStatus::Unknown => {
                    false
                }
            };
            let known = std::mem::replace(&mut open.known, RecordedState::Returned);
            open.returned = Some(returned.clone());
            if still_wanted && let Some(request) = open.request.take() {
                let one = LateCall {
                    call: open.call.clone(),
                    known,
                    by: open.by.take(),
                    request,
                    ran: None,
                    trace: self.trace.clone(),
                };
                self.late.add(one, &self.open[at + 1..]);
                self.late.on_end(&returned.call, DependencyState::Open);
            } else {
                self.late.on_end(&returned.call, late::final_state(returned.status));
            }
            self.close_when_answered();
        } else if let Some(at) = self.late.position(&returned.call)
            && (returned.status != ReturnStatus::Undecided
                || self.late.calls[at].known == RecordedState::Expired)
        {
            let done = self.late.calls.remove(at);
            self.late.on_end(&returned.call, late::final_state(returned.status));
            let text = late::outcome(&done, returned);
            self.notes.push((NoteKind::LateOutcome { call: done.call.id }, text));
            self.late_returns.insert(returned.call.clone(), returned.clone());
        }
    }

    fn close_when_answered(&mut self) {
        if self.open.iter().all(|open| open.returned.is_some()) {
            let returns = self.open.drain(..).filter_map(|open| open.returned).collect();
            self.entries.push((self.no(), Arc::new(Message::ToolReturns { returns })));
        }
    }

    fn apply_compaction(&mut self, summary: &str, kept_from: RecordNo) {
        let first = self.first_kept(kept_from);
        self.compactions.push(self.archive.len());
        self.archive.extend(self.entries.drain(..first));
        // The new summary replaces an earlier one.
        self.entries.retain(|(_, message)| message.summary().is_none());
        self.entries.insert(0, (kept_from, Arc::new(Message::note(NoteKind::Summary, summary))));
        self.measured = None;
    }

    fn undo_compaction(&mut self) {
        let Some(first) = self.compactions.pop() else { return };
        let summarized = self.archive.split_off(first);
        let since = self.entries.drain(..).filter(|(_, message)| message.summary().is_none());
        self.entries = summarized.into_iter().chain(since).collect();
        self.measured = None;
    }

    /// Where to cut, so that calls stay with their returns and a reply with open calls is kept.
    fn first_kept(&self, kept_from: RecordNo) -> usize {
        let wanted = self.entries.iter().position(|(no, _)| *no >= kept_from).unwrap_or(self.entries.len());
        let reply_before = |at: usize| {
            self.entries
                .iter()
                .take(at)
                .rposition(|(_, message)| matches!(**message, Message::Assistant(_)))
                .unwrap_or(at)
        };
        let cut = match self.entries.get(wanted) {
            Some((_, message)) if matches!(**message, Message::ToolReturns { .. }) => reply_before(wanted),
            Some(_) | None => wanted,
        };
        if self.open.is_empty() { cut } else { cut.min(reply_before(self.entries.len())) }
    }

    /// Leaves out this message and those after it. Open calls become late calls.
    fn rewind(&mut self, before: RecordNo) {
        let summary_hides = |history: &Self| {
            let first = history.entries.first();
            first.is_some_and(|(no, message)| message.summary().is_some() && before < *no)
        };
        while summary_hides(self) && !self.compactions.is_empty() {
            self.undo_compaction();
        }
        let from = self.entries.iter().position(|(no, message)| *no >= before && message.summary().is_none());
        self.entries.truncate(from.unwrap_or(self.entries.len()));
        self.make_open_late();
        self.measured = None;
        self.running = None;
        self.last_end = None;
    }

    fn clear(&mut self) {
        self.make_open_late();
        self.entries.clear();
        self.archive.clear();
        self.compactions.clear();
        self.measured = None;
        // The outcome of a late approval is delivered once, even if the conversation was cleared.
        self.notes.retain(|(kind, _)| matches!(kind, NoteKind::LateOutcome { .. }));
        self.running = None;
        self.last_end = None;
    }

    /// The open calls of the last reply become late calls.
    fn make_open_late(&mut self) {
        for one in std::mem::take(&mut self.open).into_iter().filter(|one| one.returned.is_none()) {
            let OpenCall { call, known, by, request, .. } = one;
            match request {
                Some(request) => self
                    .late
                    .add(LateCall { call, known, by, request, ran: None, trace: self.trace.clone() }, &[]),
                None => self.late.on_end(&call.id, DependencyState::Failed),
            }
        }
    }

    fn keep_state(&mut self, tool: &str, value: &Value) {
        if tool == SEEN
            && let Ok(more) = serde_json::from_value::<SeenVersions>(value.clone())
        {
            Arc::make_mut(&mut self.seen).extend(more);
        } else if let (true, Some(Value::Array(known)), Value::Array(more)) =
            (tool == FIND_TOOLS, self.state.get_mut(tool), value)
        {
            // Calls of one reply find at the same time.
            known.extend(more.iter().cloned());
        } else {
            self.state.insert(tool.to_owned(), value.clone());
        }
    }
}

/// Accessors.
impl History {
    /// Number of records applied so far; the next one gets this number plus one.
    pub fn len(&self) -> u64 {
        self.applied
    }

    pub fn is_empty(&self) -> bool {
        self.applied == 0
    }

    /// Number of damaged or missing records; their content is absent from this history.
    pub fn damaged_count(&self) -> usize {
        self.damaged
    }

    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The conversation, with the number of the record that completed each message.
    pub fn entries(&self) -> &[(RecordNo, Arc<Message>)] {
        &self.entries
    }

    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.entries.iter().map(|(_, message)| message.as_ref())
    }

    /// The messages that compactions have replaced, oldest first; summaries stand where they stood.
    pub fn archived_messages(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.archive.iter().map(|(_, message)| message)
    }

    /// The conversation with the messages that compactions have replaced, and their summaries.
    pub fn whole_conversation(&self) -> impl Iterator<Item = &(RecordNo, Arc<Message>)> {
        self.archive.iter().chain(&self.entries)
    }

    /// The user's prompts with the numbers of their messages, oldest first; those that were replaced included.
    pub fn prompts(&self) -> impl Iterator<Item = (RecordNo, &[UserPart])> {
        self.whole_conversation().filter_map(|(no, message)| match &**message {
            Message::User { parts } if message.is_prompt() => Some((*no, parts.as_slice())),
            Message::User { .. } | Message::Assistant(_) | Message::ToolReturns { .. } => None,
        })
    }

    /// The whole conversation, to be copied into another session.
    pub fn conversation(&self, of: SessionId) -> Conversation {
        let summary = self.entries.first().and_then(|(_, message)| message.summary());
        let whole = |message: &Message| message.summary().is_none();
        let replaced = self.archived_messages().filter(|message| whole(message)).count();
        Conversation {
            of: CopyOf::Session { session: of },
            workspace: self.workspace.clone(),
            title: self.title.clone(),
            messages: self.shown_messages().map(Arc::unwrap_or_clone).filter(whole).collect(),
            started: self.started.clone(),
            notes: self.notes.clone(),
            summary: summary.map(|text| (text.to_owned(), replaced)),
        }
    }

    /// Number of compactions that can be undone.
    pub fn compactions(&self) -> usize {
        self.compactions.len()
    }

    /// Whether a call has started a side effect, however it ended.
    pub fn has_started(&self, call: &CallId) -> bool {
        self.started.contains(call)
    }

    /// How a call ended that was decided after its turn had gone on.
    pub fn late_return(&self, call: &CallId) -> Option<&ToolReturn> {
        self.late_returns.get(call)
    }

    /// The last request whose size the provider counted; `None` if messages before it were replaced since.
    pub fn measured_request(&self) -> Option<MeasuredRequest> {
        self.measured
    }

    /// The messages as people see them: with those that compactions have replaced; calls that were decided late have
    /// the return that they had then.
    pub fn shown_messages(&self) -> impl Iterator<Item = Arc<Message>> {
        self.whole_conversation().map(|(_, message)| match &**message {
            Message::ToolReturns { returns }
                if returns.iter().any(|one| self.late_returns.contains_key(&one.call)) =>
            {
                let late = |one: &ToolReturn| self.late_returns.get(&one.call).unwrap_or(one).clone();
                Arc::new(Message::ToolReturns { returns: returns.iter().map(late).collect() })
            }
            Message::User { .. } | Message::Assistant(_) | Message::ToolReturns { .. } => Arc::clone(message),
        })
    }

    /// The calls of the last reply, in call order, answered ones included; empty once all have returns.
    pub fn open_calls(&self) -> &[OpenCall] {
        &self.open
    }

    /// Late calls, whose turn went on without them, in call order.
    pub fn late_calls(&self) -> &[LateCall] {
        &self.late.calls
    }

    /// Late calls that can be settled now, each with how what it runs after ended; in call order.
    pub fn settleable_late_calls(&self) -> Vec<(OpenCall, DependencyState)> {
        let late = self.late.calls.iter().map(|one| (one, self.dependency_state(&one.request.depends)));
        late.filter(|(one, state)| one.can_settle(*state))
            .map(|(one, state)| (one.as_open(), state))
            .collect()
    }

    /// The combined state of the calls that a request depends on: the worst of them.
    pub fn dependency_state(&self, depends: &[CallId]) -> DependencyState {
        let states: Vec<DependencyState> = depends.iter().map(|call| self.late.state_of(call)).collect();
        let worst =
            [DependencyState::Failed, DependencyState::Open].into_iter().find(|state| states.contains(state));
        worst.unwrap_or(DependencyState::Succeeded)
    }

    /// The turn that is running, was cut off, or can be resumed.
    pub fn running_turn(&self) -> Option<&RunningTurn> {
        self.running.as_ref()
    }

    /// The span of the last turn, as a W3C `traceparent`, if it was recorded.
    pub fn trace(&self) -> Option<&str> {
        self.trace.as_deref()
    }

    /// The usage of all requests to models in this session.
    pub fn total_usage(&self) -> UsageTotals {
        self.spent
    }

    /// Number of turns started so far.
    pub fn turns(&self) -> u32 {
        self.turns
    }

    /// How the last turn ended; `None` during a turn, before the first one and after one was cut off.
    pub fn last_end(&self) -> Option<&TurnEnd> {
        self.last_end.as_ref()
    }

    /// Notes that the next user message will contain, oldest first.
    pub fn notes(&self) -> &[(NoteKind, String)] {
        &self.notes
    }

    pub fn queued_prompts(&self) -> &[Vec<UserPart>] {
        &self.queued
    }

    pub fn draft(&self) -> &str {
        &self.draft
    }

    /// Returns the title that the user or a model gave it.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Returns the model that answered last, as `provider/model`; `None` if none did, or it was not kept then.
    pub fn answered_by(&self) -> Option<&str> {
        self.entries.iter().rev().find_map(|(_, message)| match &**message {
            Message::Assistant(reply) => Some(reply.asked.as_str()).filter(|name| !name.is_empty()),
            Message::User { .. } | Message::ToolReturns { .. } => None,
        })
    }

    /// Whether a model was asked for a title, with or without success.
    pub fn is_title_asked(&self) -> bool {
        self.title_asked
    }

    /// Returns the title, or else the beginning of the first prompt.
    pub fn name(&self) -> Option<&str> {
        self.title().or(self.first_words.as_deref())
    }

    /// Returns the input tokens of the last request that was counted.
    pub fn last_input(&self) -> Option<u64> {
        self.last_input
    }

    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    pub fn seen_versions(&self) -> &Arc<SeenVersions> {
        &self.seen
    }

    pub fn state(&self, tool: &str) -> Option<&Value> {
        self.state.get(tool)
    }
}

fn as_note(part: &UserPart) -> Option<(&NoteKind, &String)> {
    match part {
        UserPart::Note { kind, text } => Some((kind, text)),
        UserPart::Text { .. } | UserPart::Image { .. } => None,
    }
}
