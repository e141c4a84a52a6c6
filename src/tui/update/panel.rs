//! Passes keys and messages to the open panel, and executes the results.

use crate::approval::RequestId;
use crate::frontend::protocol::{
    ClientRequest, LoginReason, ModelLine, ServerList, ServerMessage, ServiceLine, SessionLine,
};
use crate::history::SessionId;
use crate::tui::batch::Question;
use crate::tui::cards::SentDecision;
use crate::tui::keys::{Action, Context};
use crate::tui::model::{Focus, Model};
use crate::tui::msg::Cmd;
use crate::tui::panel::{
    Pager, Panel, PanelContext, PanelEffect, PanelState, Picker, Purpose, Screen, ToolServers,
};

/// Opens a panel in place of the one that is open.
pub fn open(model: &mut Model, panel: Panel, cmds: &mut Vec<Cmd>) {
    model.completion.close();
    model.panel = Some(panel);
    with(model, cmds, |panel, cx| panel.on_open(cx));
}

/// Opens the list of services. A list that the user did not ask for opens only if nothing else is in progress.
pub fn services(model: &mut Model, services: Vec<ServiceLine>, why: LoginReason, cmds: &mut Vec<Cmd>) {
    let busy = model.panel.is_some() || !model.composer.is_empty() || model.cards.current().is_some();
    if why == LoginReason::First && (busy || model.turn.is_some()) {
        return;
    }
    model.focus = Focus::Composer;
    open(model, Panel::Pick(Box::new(Picker::services(services, why))), cmds);
}

pub fn models(model: &mut Model, models: Vec<ModelLine>, cmds: &mut Vec<Cmd>) {
    model.focus = Focus::Composer;
    open(model, Panel::Pick(Box::new(Picker::models(models, Purpose::Switch))), cmds);
}

pub fn servers(model: &mut Model, servers: ServerList, cmds: &mut Vec<Cmd>) {
    model.focus = Focus::Composer;
    open(model, Panel::Servers(Box::new(ToolServers::new(servers))), cmds);
}

pub fn sessions(model: &mut Model, sessions: Vec<SessionLine>, query: &str, cmds: &mut Vec<Cmd>) {
    model.focus = Focus::Composer;
    model.known.sessions.clone_from(&sessions);
    open(model, Panel::Pick(Box::new(Picker::sessions(sessions, query))), cmds);
}

/// Opens the search in the input history.
pub fn search(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let pick = Picker::earlier(model.composer.history());
    open(model, Panel::Pick(Box::new(pick)), cmds);
}

/// Performs an action on the open panel; returns the action that is still to be done behind it.
pub fn act(model: &mut Model, action: Action, cmds: &mut Vec<Cmd>) -> Option<Action> {
    let act = |panel: &mut dyn PanelState, cx: &mut PanelContext<'_>| {
        if panel.write(action, cx) { Some(PanelEffect::Stay) } else { panel.act(action, cx) }
    };
    match with(model, cmds, act).flatten() {
        None => Some(action),
        Some(then) => follow(model, then, cmds),
    }
}

pub fn tell(model: &mut Model, message: ServerMessage, cmds: &mut Vec<Cmd>) {
    if let Some(then) = with(model, cmds, |panel, cx| panel.tell(message, cx)) {
        follow(model, then, cmds);
    }
}

pub fn lay_out(model: &mut Model) {
    if let Some(mut panel) = model.panel.take() {
        let mut cards = std::mem::take(&mut model.cards);
        panel.state_mut().lay_out(&model.screen(model.areas().pane), &mut cards);
        model.cards = cards;
        model.panel = Some(panel);
    }
}

/// Opens the pager over the shown requests: the current card, or all rows of the list.
pub fn page(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let of: Vec<RequestId> = match model.question() {
        Question::Card(id) => vec![id],
        Question::List(ids) => ids,
        Question::Nothing | Question::Cap(_) | Question::Inbox => return,
    };
    model.auto_focus.is_on = false;
    open(model, Panel::Pager(Box::new(Pager::new(of))), cmds);
}

/// Closes the pager once all of its requests are decided.
pub fn settle(model: &mut Model) {
    if let Some(Panel::Pager(pager)) = &mut model.panel
        && !pager.retain(&model.cards)
    {
        model.panel = None;
        model.flash("the request was decided elsewhere");
    }
}

/// Calls the open panel, if there is one.
pub fn with<T>(
    model: &mut Model,
    cmds: &mut Vec<Cmd>,
    act: impl FnOnce(&mut dyn PanelState, &mut PanelContext<'_>) -> T,
) -> Option<T> {
    let mut panel = model.panel.take()?;
    let approved_once = model.dialogue.is_approved_once();
    let mut dialogue = std::mem::take(&mut model.dialogue);
    let mut cx = PanelContext {
        screen: Screen { approved_once, ..model.screen(model.areas().pane) },
        now_ms: model.now_ms,
        turn_runs: model.turn.is_some(),
        cards: &model.cards,
        dialogue: &mut dialogue,
        flash: None,
        cmds,
    };
    let done = act(panel.state_mut(), &mut cx);
    let flash = cx.flash;
    model.dialogue = dialogue;
    if let Some(words) = flash {
        model.flash(&words);
    }
    model.panel = Some(panel);
    Some(done)
}

/// Opens another session in place of the current one, after the draft is kept.
pub fn open_session(model: &mut Model, session: SessionId, cmds: &mut Vec<Cmd>) {
    model.save_draft(cmds);
    cmds.push(Cmd::Send(ClientRequest::Open { session }));
}

fn follow(model: &mut Model, then: PanelEffect, cmds: &mut Vec<Cmd>) -> Option<Action> {
    if let PanelEffect::Stay = then {
        return None;
    }
    model.panel = None;
    match then {
        PanelEffect::Stay | PanelEffect::Close => {}
        PanelEffect::Replace(panel) => open(model, panel, cmds),
        PanelEffect::Run(context, action) => {
            if context == Context::Composer {
                model.focus = Focus::Composer;
            }
            return Some(action);
        }
        PanelEffect::Write(text) => {
            model.composer.editor.replace(&text);
            model.composer.on_edit(model.now_ms);
            // The restored line is complete, so there is nothing to complete in it.
            model.completion.close();
            model.completion.seen = model.composer.revision;
        }
        PanelEffect::OpenSession(session) => open_session(model, session, cmds),
        PanelEffect::ToCard(id) => {
            model.cards.bring_back();
            model.cards.go_to(Some(&id));
            model.batch.opened = Some(id);
            model.focus = Focus::Card;
        }
        PanelEffect::Approved(ids) => {
            model.cards.send(&ids, SentDecision::Approve);
            model.batch.opened = None;
        }
    }
    None
}
