//! The records of a copied conversation: a fork of a session, or one imported from a file. Pure.
//!
//! Calls get ids of the new session, so that none collides with another's. Requests, decisions and usage are
//! not copied: what waited in the original waits there, and a grant of it counts for nothing here.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Limits, Record, RecordNo, SessionId, TurnEnd, patch_dangling_tool_calls};
use crate::message::{AssistantMessage, CallId, Message, NoteKind, PartKind, ToolReturn, UserPart};

/// The origin of a copied session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum CopyOf {
    Session {
        session: SessionId,
    },
    /// An imported file; `format` names who wrote it.
    File {
        format: String,
    },
}

/// A conversation to be copied into a new session.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    pub of: CopyOf,
    pub workspace: PathBuf,
    pub title: Option<String>,
    pub messages: Vec<Message>,
    /// Calls of it that have started a side effect, by their ids there.
    pub started: BTreeSet<CallId>,
    /// Notes that the next user message will contain.
    pub notes: Vec<(NoteKind, String)>,
    /// The text that replaces the first messages for the model, and how many they are.
    pub summary: Option<(String, usize)>,
}

impl Conversation {
    /// Returns the records of a session with this id, which is new. Calls without a return get one that says so.
    #[must_use]
    pub fn records(self, id: &SessionId) -> Vec<Record> {
        let messages: Vec<Arc<Message>> = self.messages.into_iter().map(Arc::new).collect();
        let kept = self.summary.as_ref().and_then(|(_, first)| messages.get(*first).cloned());
        let sound = patch_dangling_tool_calls(&messages);
        let mut copier = Copier {
            id,
            turn: 0,
            attempt: 0,
            ids: HashMap::new(),
            wire_ids: HashSet::new(),
            records: Vec::new(),
        };
        copier.records.push(Record::Opened { workspace: self.workspace });
        let mut kept_from = None;
        for message in &sound {
            if kept.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, message)) {
                kept_from = Some(copier.next());
            }
            copier.message(message);
        }
        copier.end_turn();
        // Without a message behind the summary, it replaces all of them.
        let kept_from = kept_from.unwrap_or(copier.next());
        let notes: Vec<Record> =
            self.notes.iter().map(|(kind, text)| copier.note_record(kind, text)).collect();
        let Copier { ids, mut records, .. } = copier;
        records.extend(notes);
        // Replaces the title that the first prompt gives.
        records.extend(self.title.map(|title| Record::Renamed { title }));
        let started = self.started.iter().filter_map(|call| ids.get(call).cloned()).collect();
        records.push(Record::Copied { of: self.of, started });
        records.extend(self.summary.map(|(summary, _)| Record::Compacted { summary, kept_from, by: None }));
        records
    }
}

struct Copier<'a> {
    id: &'a SessionId,
    turn: u32,
    attempt: u32,
    /// The new ids of calls, by their old ones.
    ids: HashMap<CallId, CallId>,
    /// The ids by which services know the calls; no service accepts one twice.
    wire_ids: HashSet<String>,
    records: Vec<Record>,
}

impl Copier<'_> {
    /// The number of the next record.
    fn next(&self) -> RecordNo {
        RecordNo(self.records.len() as u64 + 1)
    }

    fn message(&mut self, message: &Message) {
        match message {
            Message::User { parts } => {
                if message.is_prompt() {
                    self.end_turn();
                    (self.turn, self.attempt) = (self.turn + 1, 0);
                    self.records.push(Record::TurnStarted {
                        turn: self.turn,
                        limits: Limits::default(),
                        trace: None,
                    });
                }
                let parts = parts.iter().map(|part| self.part(part)).collect();
                self.records.push(Record::said(Message::User { parts }));
            }
            Message::Assistant(reply) => {
                let reply = self.reply(reply);
                self.records.push(Record::said(Message::Assistant(reply)));
            }
            Message::ToolReturns { returns } => {
                for one in returns {
                    let call = self.ids.get(&one.call).unwrap_or(&one.call).clone();
                    self.records.push(Record::ToolFinished { returned: ToolReturn { call, ..one.clone() } });
                }
            }
        }
    }

    fn part(&self, part: &UserPart) -> UserPart {
        match part {
            UserPart::Note { kind, text } => UserPart::Note { kind: self.kind(kind), text: text.clone() },
            UserPart::Text { .. } | UserPart::Image { .. } => part.clone(),
        }
    }

    fn note_record(&self, kind: &NoteKind, text: &str) -> Record {
        Record::Noted { kind: self.kind(kind), text: text.to_owned() }
    }

    fn kind(&self, kind: &NoteKind) -> NoteKind {
        match kind {
            NoteKind::LateOutcome { call } => {
                NoteKind::LateOutcome { call: self.ids.get(call).unwrap_or(call).clone() }
            }
            other => other.clone(),
        }
    }

    fn reply(&mut self, reply: &AssistantMessage) -> AssistantMessage {
        self.attempt += 1;
        let mut reply = reply.clone();
        for (index, part) in reply.parts.iter_mut().enumerate() {
            if let PartKind::ToolCall(call) = &mut part.kind {
                let id = CallId(format!("{}/{}.{}.{index}", self.id, self.turn, self.attempt));
                self.ids.insert(call.id.clone(), id.clone());
                call.id = id;
                if !self.wire_ids.insert(call.wire_id.clone()) {
                    // Nine letters or digits, which every service accepts.
                    call.wire_id = format!("c{:08}", self.records.len());
                    self.wire_ids.insert(call.wire_id.clone());
                }
            }
        }
        reply
    }

    fn end_turn(&mut self) {
        if self.turn > 0 {
            self.records.push(Record::TurnEnded { end: TurnEnd::Completed });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::history::History;
    use crate::message::{AssistantPart, ReturnStatus, StopKind, StopReason, ToolCall, ToolName};

    fn reply(part: PartKind) -> Message {
        let stop = StopReason::new(StopKind::EndTurn);
        let parts = vec![AssistantPart::new(part)];
        Message::Assistant(AssistantMessage { parts, asked: String::new(), model: String::new(), stop })
    }

    fn call(id: &str) -> Message {
        let (id, wire_id, name) = (CallId(id.to_owned()), id.to_owned(), ToolName::new("write_file"));
        reply(PartKind::ToolCall(ToolCall { id, wire_id, name, args: json!({"path": "a"}) }))
    }

    fn records() -> Vec<Record> {
        let said = Record::said;
        let finished = |call: &str, status| {
            let returned = ToolReturn::program(CallId(call.to_owned()), status, "done");
            Record::ToolFinished { returned }
        };
        let turn = |turn| Record::TurnStarted { turn, limits: Limits::default(), trace: None };
        vec![
            Record::Opened { workspace: "/w".into() },
            turn(1),
            said(Message::user("one")),
            said(call("old/1.1.0")),
            Record::ToolStarted { call: CallId("old/1.1.0".to_owned()) },
            finished("old/1.1.0", ReturnStatus::Ok),
            said(reply(PartKind::Text { text: "first".to_owned() })),
            Record::TurnEnded { end: TurnEnd::Completed },
            turn(2),
            said(Message::user("two")),
            said(reply(PartKind::Text { text: "second".to_owned() })),
            Record::TurnEnded { end: TurnEnd::Completed },
            Record::Compacted { summary: "before".to_owned(), kept_from: RecordNo(10), by: None },
            turn(3),
            said(Message::user("three")),
            said(call("old/3.1.0")),
        ]
    }

    fn texts(history: &History) -> Vec<String> {
        let text = |message: &Message| match message {
            Message::User { parts } => format!("{parts:?}"),
            Message::Assistant(reply) => format!("{:?}", reply.text()),
            Message::ToolReturns { returns } => returns[0].text(),
        };
        history.messages().map(text).collect()
    }

    #[test]
    fn a_copy_has_the_conversation_and_ids_of_its_own() {
        let original = History::of(&records());
        let (from, id) = (SessionId("old".to_owned()), SessionId("new".to_owned()));
        let copied = original.conversation(from.clone()).records(&id);
        let copy = History::of(&copied);
        let expected = [texts(&original), vec!["Nothing ran: the call was interrupted.".to_owned()]].concat();
        assert_eq!(texts(&copy)[..5], expected[..5], "the model sees the same");
        assert_eq!(copy.shown_messages().count(), original.shown_messages().count() + 1);
        assert_eq!((copy.turns(), copy.compactions(), copy.open_calls().len()), (3, 1, 0));
        assert_eq!(copy.last_end(), Some(&TurnEnd::Completed));
        assert!(copy.has_started(&CallId("new/1.1.0".to_owned())), "the ledger goes along");
        assert!(!copy.has_started(&CallId("new/3.1.0".to_owned())));
        let json = serde_json::to_string(&copied).unwrap();
        assert_eq!(json.matches("old/").count(), 2, "only wire ids stay as they were: {json}");
        let noted = Record::Noted { kind: NoteKind::CommandOutput, text: "ls".to_owned() };
        let noted = [records(), vec![noted]].concat();
        let copy_of =
            |records: &[Record]| History::of(&History::of(records).conversation(from.clone()).records(&id));
        assert_eq!(copy_of(&noted).notes().len(), 1, "a note that is not sent yet goes along");
        let only_summary = [records(), vec![Record::Rewound { before: RecordNo(10) }]].concat();
        let only_summary = copy_of(&only_summary);
        assert_eq!((texts(&only_summary).len(), only_summary.archived_messages().count()), (1, 4));
        // A copy of the copy is the same again.
        let again = copy.conversation(id.clone()).records(&from);
        assert_eq!(texts(&History::of(&again)), texts(&copy));
    }

    #[test]
    fn going_back_leaves_out_what_came_after() {
        let going_back = |before: u64| {
            let mut history = History::of(&records());
            history.apply(&Record::Rewound { before: RecordNo(before) });
            assert!(history.running_turn().is_none() && history.open_calls().is_empty());
            history
        };
        assert_eq!(texts(&going_back(15)).len(), 3, "the summary and the second turn");
        let second = going_back(10);
        assert_eq!((texts(&second).len(), second.archived_messages().count()), (1, 4), "the summary alone");
        let first = going_back(3);
        assert_eq!((texts(&first).len(), first.archived_messages().count(), first.compactions()), (0, 0, 0));
        assert!(first.has_started(&CallId("old/1.1.0".to_owned())), "what was done stays done");
    }
}
