//! A session that another process owns: it can be read, and its requests decided; nothing else.

use super::desk::{Desk, Heard, SessionView};
use super::{AppError, Left};
use crate::agent::port::Op;
use crate::command::Say;
use crate::frontend::link::{Ask, Notice};
use crate::history::History;
use crate::message::images;
use crate::session::Session;
use crate::store::DecideOutcome;

/// Until the face closes.
pub(super) async fn run(desk: &mut Desk, history: History, holder: String) -> Result<Left, AppError> {
    desk.read_only = Some(holder.clone());
    let mut history = history;
    show(desk, &history).await;
    let text =
        format!("This session is open in another co ({holder}). You can read it and decide its requests.");
    desk.say(Say::warning("read only", text)).await;
    let mut wakeups = desk.app.store.wakeups();
    let left = loop {
        desk.tell_idle().await;
        tokio::select! {
            ask = desk.asks.recv() => {
                let heard = desk.hear(ask.unwrap_or(Ask::Close), SessionView::Here(&history)).await;
                match heard {
                    Heard::Close | Heard::Op(Op::Close) => break Left::Closed(Vec::new()),
                    Heard::Open(session) => {
                        if let Some(opened) = desk.get(&session).await {
                            break Left::For(Box::new(opened));
                        }
                    }
                    Heard::Op(Op::Decide { request, approval }) => {
                        let outcome = desk.app.store.decide(&request, approval, desk.decider.clone()).await?;
                        if outcome != DecideOutcome::Recorded {
                            desk.say(Say::warning("approvals", outcome.to_string())).await;
                        }
                        desk.waiting().await;
                    }
                    Heard::Prompt(parts) => {
                        let text = format!("Only {holder} can go on here. `co` without `-c` starts a session of its own.");
                        desk.say(Say::warning("read only", text)).await;
                        // What was typed goes back to where it was written.
                        desk.tell(Notice::Draft { text: images::words(&parts) }).await;
                    }
                    Heard::Clear | Heard::Op(Op::Steer { .. } | Op::TakeBack { .. }) => {
                        let text = format!("Only {holder} can go on here. `co` without `-c` starts a session of its own.");
                        desk.say(Say::warning("read only", text)).await;
                    }
                    Heard::Answered
                    | Heard::Draft(_)
                    | Heard::Op(Op::Interrupt
                        | Op::Defer
                        | Op::RetryNow
                        | Op::Cap { .. }
                        | Op::Draft { .. }
                        | Op::Noted { .. },
                    ) => {}
                }
            }
            () = wakeups.changed() => {
                history = Session::read(&desk.app.store, &desk.session).await?;
                show(desk, &history).await;
            }
            event = desk.shell.next() => desk.on_shell(event).await,
            happened = desk.beside.next() => desk.on_beside(happened).await,
        }
    };
    desk.stop_shell().await;
    // Only the owner could store them.
    desk.notes.clear();
    Ok(left)
}

async fn show(desk: &mut Desk, history: &History) {
    desk.header(history).await;
    desk.tell(Notice::Transcript { messages: history.messages().cloned().collect() }).await;
    desk.waiting().await;
}
