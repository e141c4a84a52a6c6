//! Setting up a service: the list, the form, the model. What is entered goes to the owner, which tries and keeps it.

use super::flash;
use crate::config::checked_url;
use crate::frontend::protocol::{
    ClientRequest, Consent, LoginNeed, LoginTrouble, LoginWhy, ModelLine, ServiceLine,
};
use crate::tui::keys::{LoginKey, TextEdit};
use crate::tui::login::{Login, LoginStage};
use crate::tui::model::{Focus, Model, Overlay};
use crate::tui::msg::Cmd;
use crate::tui::pick::{List, Pick, Purpose};

/// Opens the list of services. What was not asked for comes only where it is in nobody's way.
pub fn services(model: &mut Model, services: Vec<ServiceLine>, why: LoginWhy) {
    let busy =
        model.overlay != Overlay::None || !model.composer.is_empty() || model.cards.current().is_some();
    if why == LoginWhy::First && (busy || model.turn.is_some()) {
        return;
    }
    model.completion.close();
    model.focus = Focus::Composer;
    model.overlay = Overlay::Pick(Box::new(Pick::services(services, why)));
}

/// Opens the list of models to switch to.
pub fn models(model: &mut Model, models: Vec<ModelLine>) {
    model.completion.close();
    model.focus = Focus::Composer;
    model.overlay = Overlay::Pick(Box::new(Pick::models(models, Purpose::Switch)));
}

/// A service was picked: what it needs is asked for, else it is tried at once.
pub fn picked(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let Overlay::Pick(pick) = &model.overlay else { return };
    let Some(service) = pick.service().cloned() else { return };
    let login = Login::new(service, (**pick).clone());
    let tries = login.stage == LoginStage::Trying;
    model.overlay = Overlay::Login(Box::new(login));
    if tries {
        send(model, Consent::NotAsked, cmds);
    }
}

pub fn act(model: &mut Model, key: LoginKey, cmds: &mut Vec<Cmd>) {
    let Overlay::Login(login) = &mut model.overlay else { return };
    match (key, login.stage) {
        // Only its own key agrees.
        (_, LoginStage::Trying | LoginStage::Consent) => {}
        (LoginKey::Turn, LoginStage::Address) if login.has_key() => login.stage = LoginStage::Key,
        (LoginKey::Turn, LoginStage::Key) if login.has_address() => login.stage = LoginStage::Address,
        (LoginKey::Turn, LoginStage::Address | LoginStage::Key) => {}
        (LoginKey::Next, LoginStage::Address | LoginStage::Key) if wrong_address(login).is_some() => {
            login.trouble = wrong_address(login);
            login.stage = LoginStage::Address;
        }
        (LoginKey::Next, LoginStage::Address) if login.has_key() => {
            login.trouble = None;
            login.stage = LoginStage::Key;
        }
        (LoginKey::Next, LoginStage::Key)
            if login.key.is_empty() && login.service.key == LoginNeed::Needed =>
        {
            login.trouble = Some("A key is needed; paste it here.".to_owned());
        }
        (LoginKey::Next, LoginStage::Address | LoginStage::Key) => send(model, Consent::NotAsked, cmds),
    }
}

/// What is wrong with the address. It is told before the key is sent along, because then the key would be lost.
fn wrong_address(login: &Login) -> Option<String> {
    if !login.has_address() {
        return None;
    }
    let address = login.address.text();
    if address.trim().is_empty() {
        return Some("An address is needed, e.g. http://localhost:8000/v1.".to_owned());
    }
    checked_url(&address).err().map(|wrong| format!("The address is {wrong}."))
}

/// Hands what was entered to the owner.
fn send(model: &mut Model, unencrypted: Consent, cmds: &mut Vec<Cmd>) {
    let Overlay::Login(login) = &mut model.overlay else { return };
    login.stage = LoginStage::Trying;
    login.trouble = None;
    let address = login.address.text();
    let base_url = login.has_address().then(|| address.trim().to_owned());
    let service = login.service.name.clone();
    cmds.push(Cmd::Send(ClientRequest::Login { service, base_url, key: login.key.typed(), unencrypted }));
}

/// What became of the try.
pub fn tried(model: &mut Model, service: &str, outcome: Result<Vec<ModelLine>, LoginTrouble>) {
    let Overlay::Login(login) = &mut model.overlay else { return };
    if login.service.name != service || login.stage != LoginStage::Trying {
        return;
    }
    match outcome {
        Ok(models) => {
            let pick = Pick::models(models, Purpose::Keep { service: service.to_owned() });
            model.overlay = Overlay::Pick(Box::new(pick));
        }
        Err(LoginTrouble::Unencrypted(warning)) => {
            login.trouble = Some(warning);
            login.stage = LoginStage::Consent;
        }
        Err(LoginTrouble::Failed(trouble)) => {
            login.key.clear();
            login.trouble = Some(trouble);
            login.stage = match (login.has_address(), login.has_key()) {
                (_, true) => LoginStage::Key,
                (true, false) => LoginStage::Address,
                (false, false) => {
                    // There is nothing to enter: the sentence is read in the list.
                    let trouble = login.trouble.take();
                    let mut list = (*login.list).clone();
                    list.trouble = trouble;
                    model.overlay = Overlay::Pick(Box::new(list));
                    return;
                }
            };
        }
    }
}

/// A model was picked, or typed where the service names none.
pub fn model_picked(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let Overlay::Pick(pick) = &model.overlay else { return };
    let List::Models { purpose, .. } = &pick.list else { return };
    let typed = pick.query.text().trim().to_owned();
    let name = match (pick.model(), purpose) {
        (Some(line), _) => line.name.clone(),
        (None, Purpose::Keep { service }) if !typed.is_empty() => format!("{service}/{typed}"),
        (None, Purpose::Switch) if !typed.is_empty() => typed,
        (None, Purpose::Keep { .. } | Purpose::Switch) => return,
    };
    let keep = *purpose != Purpose::Switch;
    model.overlay = Overlay::None;
    cmds.push(Cmd::Send(if keep {
        ClientRequest::KeepModel { name }
    } else {
        ClientRequest::SwitchModel { name }
    }));
}

/// Esc: from the form back to the list; from the list of a first run for good.
pub fn escape(model: &mut Model, cmds: &mut Vec<Cmd>) {
    match &model.overlay {
        Overlay::Login(login) => model.overlay = Overlay::Pick(login.list.clone()),
        Overlay::Pick(pick) => {
            let skips = matches!(pick.list, List::Services { why: LoginWhy::First, .. });
            model.overlay = Overlay::None;
            if skips {
                cmds.push(Cmd::Send(ClientRequest::SkipLogin));
                flash(model, "not asked again: /login sets up a service");
            }
        }
        Overlay::Inbox(_) | Overlay::Help(_) | Overlay::None => {}
    }
}

/// The key takes this change; whether it does.
pub fn edit(model: &mut Model, edit: TextEdit) -> bool {
    let Overlay::Login(login) = &mut model.overlay else { return false };
    if login.stage != LoginStage::Key {
        return matches!(login.stage, LoginStage::Trying | LoginStage::Consent);
    }
    match edit {
        TextEdit::Backspace => login.key.backspace(),
        TextEdit::KillToStart | TextEdit::KillWordBack | TextEdit::KillPartBack => login.key.clear(),
        TextEdit::Newline
        | TextEdit::Delete
        | TextEdit::KillToEnd
        | TextEdit::KillWordForward
        | TextEdit::Yank
        | TextEdit::YankOlder
        | TextEdit::Undo
        | TextEdit::Redo => {}
    }
    true
}

/// A typed character goes to the key, where that is being entered, or agrees that it travels unencrypted; whether it
/// does.
pub fn typed(model: &mut Model, c: char, cmds: &mut Vec<Cmd>) -> bool {
    let Overlay::Login(login) = &mut model.overlay else { return false };
    match login.stage {
        LoginStage::Key => login.key.push(c),
        LoginStage::Address => return false,
        LoginStage::Consent if c == 'y' => send(model, Consent::Given, cmds),
        LoginStage::Trying | LoginStage::Consent => {}
    }
    true
}

/// The same for a paste.
pub fn paste(model: &mut Model, text: &str) -> bool {
    let Overlay::Login(login) = &mut model.overlay else { return false };
    match login.stage {
        LoginStage::Key => login.key.paste(text),
        LoginStage::Address => login.address.insert(text.trim().lines().next().unwrap_or_default()),
        LoginStage::Trying | LoginStage::Consent => {}
    }
    true
}

/// Takes what is chosen in a list of services or models; whether it was one of these.
pub fn accept(model: &mut Model, cmds: &mut Vec<Cmd>) -> bool {
    let Overlay::Pick(pick) = &model.overlay else { return false };
    match &pick.list {
        List::Services { .. } => picked(model, cmds),
        List::Models { .. } => model_picked(model, cmds),
        List::Earlier(_) | List::Sessions { .. } => return false,
    }
    true
}
