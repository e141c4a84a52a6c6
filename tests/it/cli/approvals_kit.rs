//! Parts that the tests of `co approvals` share: a folder whose store holds requests that no model asked for.

use co::approval::{Approval, Decider, Request, RequestId};
use co::history::{Durability, Record, SessionId};
use co::message::{CallId, ToolCall, ToolName};
use co::session::Session;
use co::store::{Store, StoreOptions, StoredRequest};
use co::tool::{Access, CallPlan, Effect, Preview, Risk, Undo};
use serde_json::{Value, json};

use crate::co::Co;
use crate::store::common::turn_calling;

/// The binary's home, and our own view of its store.
pub struct Fixture {
    pub co: Co,
    pub store: Store,
    pub runtime: tokio::runtime::Runtime,
}

impl Fixture {
    pub fn new() -> Self {
        let co = Co::new();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let options = StoreOptions::new(co.data(), co.data().join("run"));
        let store = runtime.block_on(Store::open(options)).unwrap();
        Self { co, store, runtime }
    }

    /// The same with a variable set.
    pub fn env(self, name: &str, value: &str) -> Self {
        Self { co: self.co.env(name, value), ..self }
    }

    /// A session that asks for these in its first turn; still open.
    pub fn session(&self, title: &str, requests: &[Request]) -> Session {
        let calls: Vec<ToolCall> = requests.iter().map(call).collect();
        let mut records = turn_calling(title, calls.iter().cloned());
        let asked = calls.into_iter().zip(requests);
        records
            .extend(asked.map(|(call, request)| Record::Asked { call, request: Box::new(request.clone()) }));
        let folder = self.co.workspace();
        self.runtime.block_on(async {
            let mut session = Session::create(&self.store, &folder).await.unwrap();
            session.commit(&records, Durability::Written).await.unwrap();
            session
        })
    }

    /// The same, closed again.
    pub fn asked(&self, title: &str, requests: &[Request]) -> SessionId {
        self.session(title, requests).id().clone()
    }

    pub fn decide(&self, id: &str, approval: Approval, by: Decider) {
        let id = RequestId(id.to_owned());
        self.runtime.block_on(self.store.decide(&id, approval, by)).unwrap();
    }

    pub fn request(&self, id: &str) -> StoredRequest {
        self.runtime.block_on(self.store.find_request(id)).unwrap()
    }

    /// The arguments approved in place of those asked for.
    pub fn instead(&self, id: &str) -> Option<Value> {
        match self.request(id).decision.unwrap().0 {
            Approval::Approve { instead, .. } => instead.map(|(_, args)| args),
            other => panic!("{other:?}"),
        }
    }

    /// Sets a column of a request, as only time or a newer co would.
    pub fn set(&self, id: &str, column: &str, value: &str) {
        let db = rusqlite::Connection::open(self.co.data().join("co.db")).unwrap();
        db.execute(&format!("UPDATE approvals SET {column} = ?2 WHERE id = ?1"), [id, value]).unwrap();
    }
}

fn call(request: &Request) -> ToolCall {
    ToolCall {
        id: request.call.clone(),
        wire_id: request.call.0.clone(),
        name: request.tool.clone(),
        args: request.args.clone(),
    }
}

/// Writing to a file, asked as `id`, 12 hexadecimal digits.
pub fn write(id: &str, path: &str, content: &str) -> Request {
    Request {
        id: RequestId(id.to_owned()),
        call: CallId(format!("call-{id}")),
        tool: ToolName::new("write_file"),
        args: json!({ "path": path, "content": content }),
        plan: CallPlan {
            summary: format!("write {path}"),
            preview: Preview::None,
            risk: Risk::Medium,
            access: Access::Nothing,
            basis: Vec::new(),
            undo: Undo::None,
            effect: Effect::OfTool,
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

/// The same of another risk.
pub fn risky(risk: Risk, request: Request) -> Request {
    Request { risk, ..request }
}

/// The same, after others.
pub fn after(others: &[&Request], request: Request) -> Request {
    Request { depends: others.iter().map(|other| other.call.clone()).collect(), ..request }
}
