//! A session that another process owns: read-only, except that its requests can be decided.

use super::client::{ClientHandler, OwnerAction, SessionView};
use super::{AppError, SessionExit};
use crate::agent::port::Op;
use crate::command::{Notice, SessionChange};
use crate::frontend::protocol::{ClientRequest, ServerMessage};
use crate::history::History;
use crate::message::images;
use crate::session::Session;

/// Runs until the front end closes or another session is opened.
pub(super) async fn run(
    client: &mut ClientHandler,
    history: History,
    holder: String,
) -> Result<SessionExit, AppError> {
    client.read_only = Some(holder.clone());
    let mut history = history;
    show(client, &history).await;
    let text =
        format!("This session is open in another co ({holder}). You can read it and decide its requests.");
    client.say(Notice::warning("read only", text)).await;
    let mut listener = client.app.store.change_listener();
    let left = loop {
        client.tell_idle().await;
        tokio::select! {
            ask = client.asks.recv() => {
                let action = client.handle(ask.unwrap_or(ClientRequest::Close), SessionView::Here(&history)).await;
                let opened = match action {
                    OwnerAction::Op(Op::Close) => break SessionExit::Closed(Vec::new()),
                    OwnerAction::Open(session) => client.get(&session).await,
                    OwnerAction::Change(SessionChange::Fork { message }) => client.fork(&history, message).await,
                    OwnerAction::Change(SessionChange::Clear) => client.open_new().await,
                    OwnerAction::Op(Op::Decide { decisions }) => {
                        client.decide(&decisions).await;
                        None
                    }
                    OwnerAction::Change(_)
                    | OwnerAction::Op(Op::Steer { .. } | Op::TakeBack { .. } | Op::Revoke { .. }) => {
                        let text = format!("Only {holder} can continue it. `co` without `-c` starts a new session.");
                        client.say(Notice::warning("read only", text)).await;
                        if let OwnerAction::Op(Op::Steer { parts }) = action {
                            // The text goes back to the composer.
                            client.tell(ServerMessage::Draft { text: images::typed_text(&parts) }).await;
                        }
                        None
                    }
                    // Nothing runs here, and only the owner stores drafts.
                    OwnerAction::Answered
                    | OwnerAction::Op(Op::Interrupt
                        | Op::Defer
                        | Op::RetryNow
                        | Op::Cap { .. }
                        | Op::Draft { .. }
                        | Op::Noted { .. },
                    ) => None,
                };
                if let Some(opened) = opened {
                    break SessionExit::SwitchTo(Box::new(opened));
                }
            }
            () = listener.changed() => {
                history = Session::read(&client.app.store, &client.session).await?;
                show(client, &history).await;
            }
            event = client.shell.next() => client.on_shell(event).await,
            happened = client.background.next() => client.on_background(happened).await,
        }
    };
    client.stop_shell().await;
    // Only the owner could store them.
    client.notes.clear();
    Ok(left)
}

async fn show(client: &mut ClientHandler, history: &History) {
    client.header(history).await;
    client.transcript(history, None).await;
    client.send_pending_requests().await;
}
