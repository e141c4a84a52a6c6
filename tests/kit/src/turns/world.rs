//! The simulated world of the turn scripts: files in memory, and tools that read, change, wait and fail.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::replay::ReplayGate;
use co_engine::message::{CallId, ReturnPart, Source, ToolName, Trust};
use co_engine::tool::{
    Access, CallPlan, Category, DiffKind, DiffLine, PlanContext, Preview, Resource, Risk, SideEffect, Tool,
    ToolContext, ToolError, ToolOutput, ToolSpec, Undo, Version,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};

/// Files and a log of what really ran.
#[derive(Default)]
pub struct World {
    files: Mutex<BTreeMap<String, String>>,
    log: Mutex<Vec<String>>,
    /// Calls with side effects that began, once per start.
    began: Mutex<Vec<CallId>>,
}

impl World {
    pub fn put(&self, path: &str, text: &str) {
        self.files.lock().unwrap().insert(path.to_owned(), text.to_owned());
    }

    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    pub fn began(&self) -> Vec<CallId> {
        self.began.lock().unwrap().clone()
    }

    fn read(&self, path: &str) -> Option<String> {
        self.files.lock().unwrap().get(path).cloned()
    }

    fn note(&self, line: String) {
        self.log.lock().unwrap().push(line);
    }

    fn version(&self, path: &str) -> Version {
        Version(self.read(path).map_or_else(|| "absent".to_owned(), |text| format!("v:{text}")))
    }
}

/// The behaviour of a tool.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Look,
    Write,
    Shell,
    Danger,
    Slow,
    SlowWrite,
    Stubborn,
    Broken,
    BrokenPlan,
    Count,
    Empty,
    /// Keeps in the session how often it ran.
    Tally,
}

const KINDS: &[(&str, Kind)] = &[
    ("look", Kind::Look),
    ("write", Kind::Write),
    ("shell", Kind::Shell),
    ("danger", Kind::Danger),
    ("slow", Kind::Slow),
    ("slow_write", Kind::SlowWrite),
    ("stubborn", Kind::Stubborn),
    ("broken", Kind::Broken),
    ("broken_plan", Kind::BrokenPlan),
    ("count", Kind::Count),
    ("empty", Kind::Empty),
    ("tally", Kind::Tally),
];

struct ToolDouble {
    kind: Kind,
    spec: ToolSpec,
    world: Arc<World>,
    gate: ReplayGate,
}

/// Creates all tools of a world. `gate` releases the `slow` ones.
pub fn tools(world: &Arc<World>, gate: &ReplayGate) -> Vec<Arc<dyn Tool>> {
    KINDS
        .iter()
        .map(|&(name, kind)| -> Arc<dyn Tool> {
            Arc::new(ToolDouble {
                kind,
                spec: spec(name, kind),
                world: Arc::clone(world),
                gate: gate.clone(),
            })
        })
        .collect()
}

fn spec(name: &str, kind: Kind) -> ToolSpec {
    let (side_effect, risk) = match kind {
        Kind::Look | Kind::Slow | Kind::Count | Kind::Empty | Kind::BrokenPlan | Kind::Tally => {
            (SideEffect::None { cache_for: None }, Risk::Low)
        }
        Kind::Write | Kind::Shell | Kind::SlowWrite | Kind::Stubborn | Kind::Broken => {
            (SideEffect::Local, Risk::Medium)
        }
        Kind::Danger => (SideEffect::External, Risk::High),
    };
    ToolSpec {
        name: ToolName::new(name),
        description: format!("The world's {name}."),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        category: if kind == Kind::Shell { Category::Shell } else { Category::Files },
        risk,
        side_effect,
        origin: co_engine::tool::Origin::Builtin,
        output_limit: 10_000,
        timeout: Duration::from_secs(60),
    }
}

fn text_arg<'a>(args: &'a Value, key: &str) -> &'a str {
    args.get(key).and_then(Value::as_str).unwrap_or("")
}

impl ToolDouble {
    fn planned(&self, args: &Value) -> Result<CallPlan, ToolError> {
        let path = text_arg(args, "path");
        let place = PathBuf::from("/w").join(path);
        let reads = |access_path: PathBuf| Access::Paths { reads: vec![access_path], writes: Vec::new() };
        let writes = |access_path: PathBuf| Access::Paths { reads: Vec::new(), writes: vec![access_path] };
        let basis = vec![(Resource(place.display().to_string()), self.world.version(path))];
        let (summary, preview, access, basis) = match self.kind {
            Kind::Look | Kind::Slow if self.world.read(path).is_none() => {
                return Err(ToolError::Misuse(format!("there is no file {path}")));
            }
            Kind::Look | Kind::Slow => (format!("read {path}"), Preview::None, reads(place), Vec::new()),
            Kind::Write | Kind::SlowWrite => {
                let line =
                    DiffLine { kind: DiffKind::Added, number: 1, text: text_arg(args, "text").to_owned() };
                let preview = Preview::Diff { path: path.to_owned(), lines: vec![line] };
                if text_arg(args, "text").is_empty() {
                    return Err(ToolError::Misuse("`text` must not be empty".to_owned()));
                }
                (format!("write {path}"), preview, writes(place), basis)
            }
            Kind::Shell => {
                let command = text_arg(args, "command").to_owned();
                (format!("run {command}"), Preview::Text { text: command }, Access::Anything, Vec::new())
            }
            Kind::Danger | Kind::Stubborn | Kind::Broken | Kind::Empty | Kind::Tally => {
                (format!("do {}", self.spec.name), Preview::None, Access::Nothing, Vec::new())
            }
            Kind::Count if args.get("n").is_some_and(Value::is_i64) => {
                ("count".to_owned(), Preview::None, Access::Nothing, Vec::new())
            }
            Kind::Count => return Err(ToolError::Misuse("`n` must be a whole number".to_owned())),
            Kind::BrokenPlan => panic!("a broken plan"),
        };
        let risk = if text_arg(args, "text").contains("HIGH") { Risk::High } else { self.spec.risk };
        Ok(CallPlan {
            summary,
            preview,
            risk,
            access,
            basis,
            undo: Undo::None,
            effect: co_engine::tool::Effect::OfTool,
            question: None,
            needs_person: None,
        })
    }

    async fn done(&self, args: &Value, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let path = text_arg(args, "path");
        if !self.spec.side_effect.is_none() {
            self.world.began.lock().unwrap().push(cx.call.clone());
        }
        match self.kind {
            Kind::Slow | Kind::SlowWrite => {
                tokio::select! {
                    () = self.gate.pass("slow") => {}
                    () = cx.cancel.cancelled() => {
                        self.world.note(format!("{} {path} stopped", self.spec.name));
                        return Err(ToolError::Terminal("stopped half-way".to_owned()));
                    }
                }
            }
            Kind::Stubborn => std::future::pending().await,
            Kind::Broken => panic!("a broken tool"),
            Kind::Look
            | Kind::Write
            | Kind::Shell
            | Kind::Danger
            | Kind::Count
            | Kind::Empty
            | Kind::Tally
            | Kind::BrokenPlan => {}
        }
        self.world.note(format!("{} {args}", self.spec.name));
        let tally = cx.state.as_ref().and_then(Value::as_u64).unwrap_or(0) + 1;
        let state = (self.kind == Kind::Tally).then(|| json!(tally));
        let text = match self.kind {
            Kind::Look | Kind::Slow => self.world.read(path).unwrap_or_default(),
            Kind::Write | Kind::SlowWrite => {
                self.world.put(path, text_arg(args, "text"));
                format!("wrote {path}")
            }
            Kind::Shell if text_arg(args, "command") == "false" => {
                return Err(ToolError::Terminal("exit 1".to_owned()));
            }
            Kind::Empty => "no results".to_owned(),
            Kind::Tally => format!("ran {tally} times"),
            Kind::Shell | Kind::Danger | Kind::Stubborn | Kind::Broken | Kind::BrokenPlan | Kind::Count => {
                format!("{} done", self.spec.name)
            }
        };
        let seen = match self.kind {
            Kind::Look | Kind::Slow | Kind::Write | Kind::SlowWrite => {
                vec![(Resource(format!("/w/{path}")), self.world.version(path))]
            }
            Kind::Shell
            | Kind::Danger
            | Kind::Stubborn
            | Kind::Broken
            | Kind::BrokenPlan
            | Kind::Count
            | Kind::Tally
            | Kind::Empty => Vec::new(),
        };
        let source = Source::Tool { name: self.spec.name.clone() };
        let content = vec![ReturnPart::Text { text }];
        Ok(ToolOutput { content, source, trust: Trust::Untrusted, seen, state })
    }
}

impl Tool for ToolDouble {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn plan<'a>(&'a self, args: &'a Value, _: &'a PlanContext) -> BoxFuture<'a, Result<CallPlan, ToolError>> {
        Box::pin(async move { self.planned(args) })
    }

    fn run<'a>(
        &'a self,
        args: &'a Value,
        cx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.done(args, cx))
    }
}
