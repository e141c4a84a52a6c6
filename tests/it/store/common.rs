//! Parts that the tests of the store share: a data folder, requests, records in short.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use co::approval::{Approval, Decider, Request, RequestId};
use co::history::{Limits, Record, TurnEnd};
use co::message::{
    AssistantMessage, AssistantPart, CallId, Message, PartKind, ReturnStatus, StopKind, StopReason, ToolCall,
    ToolName, ToolReturn,
};
use co::stdx::clock::{Clock, ManualClock};
use co::store::{Store, StoreOptions};
use co::tool::{Access, CallPlan, Preview, Risk, Undo};
use jiff::Timestamp;
use serde_json::json;

/// A data folder and a folder for wake-ups that vanish with the value; in memory where the machine has such a place,
/// because the tests wait for the disk thousands of times.
pub struct World {
    dir: tempfile::TempDir,
}

impl World {
    pub fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        Self { dir: dir.or_else(|_| tempfile::tempdir()).unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn options(&self) -> StoreOptions {
        StoreOptions::new(self.path("data"), self.path("run"))
    }

    /// One whose clock is this one.
    pub async fn store_at(&self, clock: &Arc<ManualClock>) -> Store {
        let clock = Arc::clone(clock) as Arc<dyn Clock>;
        Store::open(StoreOptions { clock, ..self.options() }).await.unwrap()
    }

    /// One more process's view of the same database.
    pub async fn store(&self) -> Store {
        Store::open(self.options()).await.unwrap()
    }
}

pub fn call(id: &str) -> ToolCall {
    ToolCall {
        id: CallId(id.to_owned()),
        wire_id: format!("wire-{id}"),
        name: ToolName::new("write_file"),
        args: json!({ "path": id }),
    }
}

pub fn request(call: &str, id: &str) -> Request {
    Request {
        id: RequestId(id.to_owned()),
        call: CallId(call.to_owned()),
        tool: ToolName::new("write_file"),
        args: json!({ "path": call }),
        plan: CallPlan {
            summary: format!("write {call}"),
            preview: Preview::None,
            risk: Risk::Medium,
            access: Access::Nothing,
            basis: Vec::new(),
            undo: Undo::None,
            effect: co::tool::Effect::OfTool,
            question: None,
            needs_person: None,
        },
        risk: Risk::Medium,
        why: vec!["write_file changes something".to_owned()],
        after: Vec::new(),
        depends: Vec::new(),
        taint: Vec::new(),
        expires: None,
        again: None,
        parameters: None,
    }
}

/// A turn begins, and the model answers the prompt with these calls.
pub fn turn_with(prompt: &str, calls: &[&str]) -> Vec<Record> {
    turn_calling(prompt, calls.iter().copied().map(call))
}

/// The same with whole calls.
pub fn turn_calling(prompt: &str, calls: impl IntoIterator<Item = ToolCall>) -> Vec<Record> {
    let parts = calls.into_iter().map(|call| AssistantPart::new(PartKind::ToolCall(call))).collect();
    let stop = StopReason::new(StopKind::ToolUse);
    vec![
        Record::TurnStarted { turn: 1, limits: Limits::default(), trace: None },
        Record::said(Message::user(prompt)),
        Record::said(Message::Assistant(AssistantMessage {
            parts,
            asked: String::new(),
            model: "m".to_owned(),
            stop,
        })),
    ]
}

pub fn asked(call_id: &str, id: &str) -> Record {
    Record::Asked { call: call(call_id), request: Box::new(request(call_id, id)) }
}

/// Asked, with an end to the time for an answer.
pub fn asked_until(call_id: &str, id: &str, expires: Timestamp) -> Record {
    Record::Asked {
        call: call(call_id),
        request: Box::new(Request { expires: Some(expires), ..request(call_id, id) }),
    }
}

pub fn decided(call: &str, id: &str, approval: Approval) -> Record {
    let (request, call) = (RequestId(id.to_owned()), CallId(call.to_owned()));
    Record::Decided { request, call, approval, by: Decider::Tui }
}

pub fn started(call: &str) -> Record {
    Record::ToolStarted { call: CallId(call.to_owned()) }
}

pub fn finished(call: &str, status: ReturnStatus) -> Record {
    Record::ToolFinished { returned: ToolReturn::program(CallId(call.to_owned()), status, "out") }
}

pub fn ended(end: TurnEnd) -> Record {
    Record::TurnEnded { end }
}

pub fn deny(reason: &str) -> Approval {
    Approval::Deny { reason: Some(reason.to_owned()) }
}
