//! A running turn: it owns the session; everything else is handled concurrently.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio_util::sync::CancellationToken;

use super::client::{ClientHandler, OwnerAction, SessionView};
use super::{
    AppError, AutomaticWork, LoopControl, SessionRuntime, TURN_SETTLED, UnsavedPrompt, give_back_code_after,
};
use crate::agent::driver::{self, FallbackModel};
use crate::agent::port::{Frontend, Op};
use crate::command::{Notice, STOP_FIRST, TURN_RUNS};
use crate::frontend::channel::ChannelFrontend;
use crate::frontend::protocol::ClientRequest;
use crate::history::{Limit, TurnEnd};
use crate::message::images;
use crate::runtime::headless::CLOSING;
use crate::store::StoreError;

/// The capacity of a turn's channel of operations; the turn takes each within an event.
const OPS: usize = 64;

impl SessionRuntime<'_> {
    /// Runs the work while handling the user's requests.
    pub(super) async fn turn(&mut self, work: AutomaticWork) -> Result<LoopControl, AppError> {
        self.give_up_title();
        self.keep_notes().await?;
        self.client.refresh_rules().await;
        let (app, folder) = (Arc::clone(&self.client.app), self.client.folder.clone());
        app.permissions.refresh(&mut self.env).await;
        app.refresh_prompt(&mut self.env).await;
        self.client.tell_of_prompt().await;
        if let AutomaticWork::Prompt(prompt) = &work {
            self.client.name_found_server().await;
            self.client.header_with(self.session.history(), prompt).await;
        }
        self.client.tell_busy().await;
        // Applies the fallback set up or learned since the last turn.
        let before = self.env.fallback.take();
        let fallback = app.models.fallback();
        self.env.fallback = fallback.map(|model| FallbackModel::renew(model, before));
        let (words, ops) = mpsc::channel(OPS);
        // Operations that found the channel full, in order, so that none is lost.
        let mut outbox = VecDeque::new();
        let frontend = ChannelFrontend::new(self.client.updates.clone(), ops, Arc::clone(&self.client.spent));
        let cancel = CancellationToken::new();
        let is_late = matches!(work, AutomaticWork::LateCalls);
        let mut control = LoopControl::Continue;
        let messages = self.session.history().whole_conversation().count();
        let grants = self.session.watch_grants();
        let end = {
            let mut keeping = Box::pin(app.permissions.keep_rules(&folder));
            let turn = drive(&mut self.session, &self.env, &frontend, work, cancel.clone());
            tokio::pin!(turn);
            loop {
                tokio::select! {
                    biased;
                    result = &mut turn => break Some(result?),
                    room = words.reserve(), if !outbox.is_empty() => {
                        if let Ok(room) = room && let Some(op) = outbox.pop_front() {
                            room.send(op);
                        }
                    }
                    ask = self.client.asks.recv(), if outbox.len() < OPS => {
                        let known = SessionView::InTheStore { grants: &grants };
                        let action = self.client.handle(ask.unwrap_or(ClientRequest::Close), known).await;
                        match &action {
                            OwnerAction::Op(Op::Steer { parts }) => {
                                self.unsaved.push(UnsavedPrompt { text: images::typed_text(parts), messages });
                            }
                            OwnerAction::Op(Op::TakeBack { parts }) => {
                                self.unsaved.retain(|prompt| prompt.text != images::typed_text(parts));
                            }
                            _ => {}
                        }
                        if let LoopControl::Close = self.client.pass_on(action, &words, &mut outbox).await {
                            control = LoopControl::Close;
                            self.closing = true;
                            cancel.cancel();
                            // At the timeout it is dropped: what it committed is safe, and nothing more can be recorded.
                            break tokio::time::timeout(CLOSING, &mut turn).await.ok().transpose()?;
                        }
                    }
                    event = self.client.pending.next() => {
                        let action = self.client.on_pending(event).await;
                        if let OwnerAction::Op(Op::Steer { parts }) = &action {
                            self.unsaved.push(UnsavedPrompt { text: images::typed_text(parts), messages });
                        }
                        // Prompts passed by hooks never close the session.
                        let _on = self.client.pass_on(action, &words, &mut outbox).await;
                    }
                    event = self.client.shell.next() => {
                        self.client.on_shell(event).await;
                        self.client.hand_notes(&words);
                    }
                    never = &mut keeping => match never {},
                    happened = self.client.background.next() => self.client.on_background(happened).await,
                }
            }
        };
        let Some((end, mut unhandled)) = end else { return Ok(LoopControl::Close) };
        if let Some(TurnEnd::Failed { .. } | TurnEnd::LimitReached { limit: Limit::Cap(_) }) = end {
            self.holds_queue = true;
        }
        unhandled.extend(frontend.unhandled_ops());
        unhandled.extend(outbox);
        let interrupted = match end {
            None => is_late && unhandled.contains(&Op::Interrupt),
            Some(TurnEnd::Interrupted) => driver::can_settle_late(&self.session),
            Some(_) => false,
        };
        if interrupted {
            self.holds_late = true;
            let text = "Stopped. Calls approved in the meantime run with your next prompt or decision.";
            self.client.say(Notice::warning("stopped", text)).await;
        }
        if let LoopControl::Close = self.take_unhandled(unhandled).await? {
            control = LoopControl::Close;
        }
        self.after_turn().await?;
        Ok(control)
    }

    async fn after_turn(&mut self) -> Result<(), AppError> {
        self.keep_notes().await?;
        if let Some(text) = self.client.draft.take() {
            self.draft(text).await?;
        }
        self.client.header(self.session.history()).await;
        self.client.send_pending_requests().await;
        give_back_code_after(TURN_SETTLED);
        Ok(())
    }
}

/// Runs the work as one future; returns the end of a turn, if one ran, and the operations that it did not process.
async fn drive(
    session: &mut crate::session::Session,
    env: &driver::AgentEnv,
    frontend: &dyn Frontend,
    work: AutomaticWork,
    cancel: CancellationToken,
) -> Result<(Option<TurnEnd>, Vec<Op>), StoreError> {
    let result = match work {
        AutomaticWork::Prompt(parts) => Some(driver::run_turn(session, parts, env, frontend, cancel).await?),
        AutomaticWork::Resume => driver::resume_turn(session, env, frontend, cancel).await?,
        AutomaticWork::Compaction { focus } => {
            return Ok((None, driver::compact(session, focus, env, frontend, cancel).await?));
        }
        AutomaticWork::LateCalls => {
            return Ok((None, driver::run_late_calls(session, env, frontend, cancel).await?));
        }
    };
    Ok(result.map(|result| (Some(result.end), result.unhandled)).unwrap_or_default())
}

impl ClientHandler {
    /// Passes operations to the turn.
    async fn pass_on(
        &mut self,
        action: OwnerAction,
        words: &mpsc::Sender<Op>,
        outbox: &mut VecDeque<Op>,
    ) -> LoopControl {
        let op = match action {
            OwnerAction::Answered => return LoopControl::Continue,
            OwnerAction::Op(Op::Draft { text }) => {
                if words.try_send(Op::Draft { text: text.clone() }).is_err() {
                    self.draft = Some(text);
                }
                return LoopControl::Continue;
            }
            OwnerAction::Change(_) | OwnerAction::Open(_) => {
                let title = if let OwnerAction::Open(_) = action { "resume" } else { "turn" };
                let text = format!("{TURN_RUNS} {STOP_FIRST}. Nothing was changed.");
                self.say(Notice::warning(title, text)).await;
                return LoopControl::Continue;
            }
            OwnerAction::Op(Op::Close) => return LoopControl::Close,
            OwnerAction::Op(Op::TakeBack { parts })
                if self.pending.take_back(&images::typed_text(&parts)) =>
            {
                return LoopControl::Continue;
            }
            OwnerAction::Op(op) => {
                if op == Op::Interrupt {
                    self.pending.stop();
                }
                op
            }
        };
        outbox.push_back(op);
        while let Some(op) = outbox.pop_front() {
            if let Err(TrySendError::Full(op) | TrySendError::Closed(op)) = words.try_send(op) {
                outbox.push_front(op);
                break;
            }
        }
        LoopControl::Continue
    }
}
