//! `co approvals list`: lists waiting requests by session, oldest first; decided ones on demand, newest
//! first.

use globset::{Glob, GlobMatcher};

use super::typed::ListArgs;
use super::{CommandContext, request_row};
use crate::cli::console;
use crate::cli::error::{CliError, Result};
use crate::cli::table::table;
use crate::stdx::clock::system_zone;
use crate::stdx::moment::{age, deadline};
use crate::stdx::text::{sanitize_line, truncate};
use crate::store::{RequestFilter, RequestRow, RequestState, StoredRequest};

/// Maximum number of requests listed.
const LISTED: usize = 20_000;

/// Width of a call's summary, in cells; a mark may follow.
const WHAT: usize = 44;

pub(super) async fn run(context: &CommandContext<'_>, wanted: ListArgs) -> Result<()> {
    let filter = Filter::of(&wanted)?;
    let undecided = !wanted.all && wanted.state.is_none_or(RequestState::is_undecided);
    if wanted.json {
        let of = if undecided { RequestFilter::Undecided } else { RequestFilter::All };
        let found = context.store.requests(of, LISTED).await?;
        let kept: Vec<_> = found.iter().filter(|one| filter.keeps(&row(one))).map(request_row).collect();
        return console::json(&kept);
    }
    let rows = if undecided {
        context.store.undecided_rows(LISTED).await?
    } else {
        let found = context.store.requests(RequestFilter::All, LISTED).await?;
        by_session(found.iter().map(row).collect())
    };
    let cut = rows.len() == LISTED;
    let kept: Vec<RequestRow> = rows.into_iter().filter(|row| filter.keeps(row)).collect();
    if kept.is_empty() {
        return console::out(if filter.is_any() && undecided {
            "No requests are waiting for your approval.\n"
        } else {
            "No matching requests.\n"
        });
    }
    console::out(&as_text(context, &kept, undecided))?;
    if cut {
        let which = if undecided { "first" } else { "newest" };
        console::note(&format!("co: only the {which} {LISTED} requests were searched"));
    }
    console::note("co approvals show|yes|no|edit|later ID");
    Ok(())
}

fn as_text(context: &CommandContext<'_>, rows: &[RequestRow], undecided: bool) -> String {
    let (now, zone) = (context.store.clock().now(), system_zone());
    let cells = |row: &RequestRow| {
        let what = truncate(&sanitize_line(&row.summary), WHAT);
        [
            row.id.to_string(),
            row.risk.word().to_owned(),
            age(row.created, now),
            row.tool.to_string(),
            if row.tainted { format!("{what} ▲") } else { what },
            row.title.clone().unwrap_or_else(|| row.session.to_string()),
            row.expires.map_or_else(String::new, |at| deadline(at, now, &zone)),
        ]
    };
    if undecided {
        let heads = ["ID", "RISK", "AGE", "TOOL", "WHAT", "SESSION", "EXPIRES"];
        return table(heads, rows.iter().map(cells));
    }
    let stated = |row: &RequestRow| {
        let [id, risk, age, tool, what, session, expires] = cells(row);
        [id, row.state.to_string(), risk, age, tool, what, session, expires]
    };
    let heads = ["ID", "STATE", "RISK", "AGE", "TOOL", "WHAT", "SESSION", "EXPIRES"];
    table(heads, rows.iter().map(stated))
}

/// Groups the rows by session, in the order of each session's first row.
fn by_session(rows: Vec<RequestRow>) -> Vec<RequestRow> {
    let mut order = std::collections::HashMap::new();
    for row in &rows {
        let next = order.len();
        order.entry(row.session.clone()).or_insert(next);
    }
    let mut rows = rows;
    rows.sort_by_key(|row| order.get(&row.session).copied());
    rows
}

fn row(one: &StoredRequest) -> RequestRow {
    RequestRow {
        id: one.id().clone(),
        session: one.session.clone(),
        title: one.title.clone(),
        workspace: one.workspace.clone(),
        risk: one.request.risk,
        tool: one.request.tool.clone(),
        summary: one.request.plan.summary.clone(),
        tainted: !one.request.taint.is_empty(),
        state: one.state,
        timing: one.timing,
        created: one.created,
        expires: one.request.expires,
    }
}

/// Selects the requests to list.
struct Filter<'a> {
    wanted: &'a ListArgs,
    tool: Option<GlobMatcher>,
}

impl<'a> Filter<'a> {
    fn of(wanted: &'a ListArgs) -> Result<Self> {
        let tool = wanted.tool.as_deref().map(Glob::new).transpose().map_err(|_| {
            let tool = sanitize_line(wanted.tool.as_deref().unwrap_or_default()).into_owned();
            let error = CliError::usage(format!("`--tool {tool}` is not a tool name"));
            error.hint("e.g. `--tool write_file`, or `--tool 'mail_*'`")
        })?;
        Ok(Self { wanted, tool: tool.map(|glob| glob.compile_matcher()) })
    }

    fn is_any(&self) -> bool {
        let ListArgs { session, tool, risk, state, .. } = self.wanted;
        session.is_none() && tool.is_none() && risk.is_none() && state.is_none()
    }

    fn keeps(&self, row: &RequestRow) -> bool {
        let ListArgs { session, risk, state, .. } = self.wanted;
        let session = session.as_ref().map(|session| session.to_ascii_lowercase());
        session.is_none_or(|session| row.session.0.starts_with(&session))
            && self.tool.as_ref().is_none_or(|tool| tool.is_match(row.tool.as_str()))
            && risk.is_none_or(|risk| row.risk == risk)
            && state.is_none_or(|state| row.state == state)
    }
}
