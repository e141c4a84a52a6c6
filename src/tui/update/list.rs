//! The keys that the lists of requests have in common. The inbox, where it is open, takes them; else the batch does.
//!
//! What a yes needs says `frontend::dialogue`. One round decides everything that is marked.

use super::{batch, inbox};
use crate::agent::port::Op;
use crate::approval::{Approval, RequestId};
use crate::frontend::dialogue::{self, Seen, Yes};
use crate::frontend::protocol::ClientRequest;
use crate::tool::Risk;
use crate::tui::cards::Card;
use crate::tui::composer::Editor;
use crate::tui::keys::{Action, BatchKey, Context, InboxKey, Nav};
use crate::tui::list::{ListStage, OpenRequest, RequestList};
use crate::tui::model::{Model, Overlay};
use crate::tui::msg::Cmd;

/// Who is asked what a key means while a reason is written.
pub const REASON: &[Context] = &[Context::Reason, Context::Text, Context::Global];

/// Where the rows come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListKind {
    /// Requests of this session.
    Batch,
    /// Requests of all sessions.
    Inbox,
}

fn kind(model: &Model) -> ListKind {
    if let Overlay::Inbox(_) = model.overlay { ListKind::Inbox } else { ListKind::Batch }
}

pub fn list(model: &mut Model) -> &mut RequestList {
    if let Overlay::Inbox(inbox) = &mut model.overlay { &mut inbox.list } else { &mut model.batch.list }
}

/// Its requests that can be decided, in the order of the list.
fn open(model: &Model) -> Vec<OpenRequest> {
    if let Overlay::Inbox(inbox) = &model.overlay {
        return inbox.requests().filter_map(|line| inbox.open(line)).collect();
    }
    model.cards.shown().filter_map(Card::open).collect()
}

/// The request with the cursor, where it can be decided.
fn chosen(model: &Model) -> Option<OpenRequest> {
    if let Overlay::Inbox(inbox) = &model.overlay {
        return inbox.chosen().and_then(|line| inbox.open(line));
    }
    model.cards.current().and_then(Card::open)
}

fn go_to(model: &mut Model, id: &RequestId) {
    if let Overlay::Inbox(inbox) = &mut model.overlay {
        inbox.go_to(id);
    } else {
        model.cards.go_to(Some(id));
    }
}

fn advise(model: &mut Model, words: String) {
    list(model).advice = Some(words);
}

/// Marks the request with the cursor, or takes its mark away.
pub fn mark(model: &mut Model) {
    if let Some(one) = chosen(model) {
        list(model).turn_mark(&one.id);
    }
}

/// Marks every LOW request and no other.
pub fn mark_low(model: &mut Model) {
    let open = open(model);
    if list(model).mark_low(&open) == 0 {
        let words = model.keymap.told("none of these is low", &[marks_one(model)]);
        advise(model, words);
    }
}

fn marks_one(model: &Model) -> (Context, Action, &'static str) {
    let (context, mark) = match kind(model) {
        ListKind::Batch => (Context::Batch, Action::Batch(BatchKey::Mark)),
        ListKind::Inbox => (Context::Inbox, Action::Inbox(InboxKey::Mark)),
    };
    (context, mark, "marks one")
}

/// Words, and the keys that show more of a request.
pub fn room(model: &Model, words: &str) -> String {
    let (scroll, context, whole) = match kind(model) {
        ListKind::Batch => (Nav::PageDown, Context::Batch, Action::Batch(BatchKey::Whole)),
        ListKind::Inbox => (Nav::LineDown, Context::Inbox, Action::Inbox(InboxKey::Open)),
    };
    let keys = [(Context::Global, Action::Nav(scroll), ""), (context, whole, "makes room")];
    model.keymap.told(words, &keys)
}

/// What is marked, or else the request with the cursor.
pub fn marked_or_chosen(model: &mut Model) -> Vec<RequestId> {
    let open = open(model);
    let mut these = list(model).marked(open);
    if these.is_empty() {
        these.extend(chosen(model));
    }
    these.into_iter().map(|one| one.id).collect()
}

/// Approves what is marked, in one round. In the inbox that is never HIGH, and with nothing marked it is the request
/// with the cursor.
pub fn yes(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let open = open(model);
    let mut these = list(model).marked(open);
    let mut left = 0;
    if kind(model) == ListKind::Inbox {
        let marked = these.len();
        these.retain(|one| one.risk != Risk::High);
        left = marked - these.len();
        if these.is_empty() {
            these.extend(chosen(model));
            left = 0;
        }
    }
    if let Some(unseen) = these.iter().find(|one| one.seen != Seen::All) {
        return show_unseen(model, &unseen.id);
    }
    let ids: Vec<RequestId> = these.iter().map(|one| one.id.clone()).collect();
    let Some(risk) = these.iter().map(|one| one.risk).max() else { return nothing_marked(model) };
    let asks = match kind(model) {
        ListKind::Inbox => asks(model, &ids, &Approval::yes()),
        ListKind::Batch => match batch::yes(model, &ids) {
            Some(asks) => asks,
            None => return,
        },
    };
    match model.dialogue.yes(asks, risk, Seen::All, model.now_ms) {
        Yes::TooSoon | Yes::Unseen | Yes::Once => {}
        Yes::Send(asks) => {
            send(model, &ids, asks, "yes", cmds);
            list(model).advice = match kind(model) {
                ListKind::Batch => batch::waits(model, &ids),
                ListKind::Inbox => inbox::left(left),
            };
        }
    }
}

fn nothing_marked(model: &mut Model) {
    model.dialogue.withdraw();
    if kind(model) == ListKind::Batch {
        let words = model.keymap.told("nothing is marked", &[marks_one(model)]);
        advise(model, words);
    }
}

/// It comes under the finger that said yes to something else: nothing counts for a moment.
fn show_unseen(model: &mut Model, id: &RequestId) {
    model.dialogue.withdraw();
    let was_chosen = chosen(model).is_some_and(|one| one.id == *id);
    go_to(model, id);
    let words = match kind(model) {
        ListKind::Batch => {
            let (number, _) = model.cards.position();
            let words = room(model, &format!("{number} was not shown whole yet, here it is"));
            let again = model.keymap.shown(Context::Batch, Action::Batch(BatchKey::Yes));
            format!("{words}, then {again} again")
        }
        ListKind::Inbox if was_chosen => room(model, "not all of it was on the screen yet"),
        ListKind::Inbox => room(model, "this one was not shown whole yet, here it is"),
    };
    advise(model, words);
    model.dialogue.show_again(model.now_ms);
}

/// Begins the no.
pub fn refuse(model: &mut Model) {
    let of = marked_or_chosen(model);
    if !of.is_empty() {
        list(model).stage = ListStage::Reason { editor: Editor::default(), of };
    }
}

/// Sends the no, with one reason for all.
pub fn send_no(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let stage = std::mem::take(&mut list(model).stage);
    let ListStage::Reason { editor, of } = stage else { return };
    decide(model, &of, &dialogue::no(&editor.text()), "no", cmds);
    match kind(model) {
        ListKind::Batch => batch::say_dropped(model, &of),
        ListKind::Inbox => inbox::follow(model, cmds),
    }
}

/// Decides all of these alike.
pub fn decide(
    model: &mut Model,
    these: &[RequestId],
    approval: &Approval,
    word: &'static str,
    cmds: &mut Vec<Cmd>,
) {
    let asks = asks(model, these, approval);
    send(model, these, asks, word, cmds);
}

/// Of this session each is decided by itself, of several all together.
fn asks(model: &Model, these: &[RequestId], approval: &Approval) -> Vec<ClientRequest> {
    match kind(model) {
        ListKind::Inbox => {
            vec![ClientRequest::DecideAll { requests: these.to_vec(), approval: approval.clone() }]
        }
        ListKind::Batch => {
            let one = |id: &RequestId| Op::Decide { request: id.clone(), approval: approval.clone() };
            these.iter().map(one).map(ClientRequest::Op).collect()
        }
    }
}

/// All decisions of a round go out together, in the order of the list.
fn send(
    model: &mut Model,
    these: &[RequestId],
    asks: Vec<ClientRequest>,
    word: &'static str,
    cmds: &mut Vec<Cmd>,
) {
    cmds.extend(asks.into_iter().map(Cmd::Send));
    these.iter().for_each(|id| list(model).unmark(id));
    if let Overlay::Inbox(inbox) = &mut model.overlay {
        inbox.send(these, word, model.now_ms);
    } else {
        model.cards.send(these, word);
    }
}
