//! The keys of a rule being chosen or written at a card, the owner's checks of its text, and its round trip through the
//! user's editor.
//!
//! Saving a rule approves the request, so it needs a request that was shown whole, a text that was checked as good, and
//! for high risk a second key.

use crate::approval::RequestId;
use crate::approval::rules::RuleScope;
use crate::frontend::dialogue::ApprovalEffect;
use crate::frontend::protocol::{ClientQuery, ClientRequest, RuleCheck};
use crate::stdx::text::size;
use crate::tui::cards::{Card, CardStage};
use crate::tui::form::{self, LONGEST};
use crate::tui::keys::{Action, Move, Nav, RuleKey};
use crate::tui::model::{Focus, Model};
use crate::tui::msg::Cmd;
use crate::tui::rule::draw::text_width;
use crate::tui::rule::{RuleForm, RuleStatus};
use crate::tui::update::advice::{advise, only_once, propose, unseen};

/// Opens the rule form of the current card, for a rule of this scope.
pub fn open(model: &mut Model, scope: RuleScope, cmds: &mut Vec<Cmd>) {
    let keymap = &model.keymap;
    let Some(card) = model.cards.current_mut() else { return };
    if !card.is_seen() {
        card.advice = Some(unseen("read all of it before allowing more", card, keymap));
    } else if card.hunks.skipped_count() > 0 {
        card.advice = Some(only_once(keymap));
    } else if card.request.plan.question.is_some() {
        card.advice = Some("questions are answered each time: no rule possible".to_owned());
    } else if card.open_rule(scope) {
        cmds.push(Cmd::Ask(ClientQuery::DraftRule { request: card.request.id.clone() }));
    }
}

pub fn act(model: &mut Model, key: RuleKey, cmds: &mut Vec<Cmd>) {
    if key != RuleKey::Save {
        model.dialogue.withdraw();
    }
    let Some(card) = model.cards.current_mut() else { return };
    card.advice = None;
    let CardStage::Rule(rule) = &mut card.stage else { return };
    if let RuleStatus::Saving(_) = rule.status {
        return;
    }
    match key {
        RuleKey::Width(number) => rule.choose(usize::from(number).saturating_sub(1)),
        RuleKey::Write if rule.status == RuleStatus::Drafting => {}
        RuleKey::Write => rule.is_written = true,
        RuleKey::Scope => rule.next_scope(),
        RuleKey::Reset if rule.status == RuleStatus::Drafting => {}
        RuleKey::Reset => {
            rule.reset();
            on_change(rule, cmds);
        }
        RuleKey::Save => save(model, cmds),
    }
}

fn save(model: &mut Model, cmds: &mut Vec<Cmd>) {
    let Some(card) = model.cards.current_mut() else { return };
    let CardStage::Rule(rule) = &card.stage else { return };
    let past = match &rule.status {
        RuleStatus::Good(past) => *past,
        RuleStatus::Wrong(_) => {
            card.advice = Some("not saved: fix the error first".to_owned());
            return;
        }
        RuleStatus::Unchecked | RuleStatus::Drafting => {
            card.advice = Some("not saved: still checking".to_owned());
            return;
        }
        RuleStatus::Saving(_) => return,
    };
    let (text, scope) = (rule.text.text(), rule.scope);
    let context = rule.context();
    match propose(model, None, |card| ClientRequest::SaveRule {
        request: card.request.id.clone(),
        text,
        scope,
    }) {
        ApprovalEffect::Send(ask) => {
            if let Some(rule) = model.cards.current_mut().and_then(Card::rule_mut) {
                rule.status = RuleStatus::Saving(past);
            }
            cmds.push(Cmd::Send(ask));
        }
        ApprovalEffect::Once => {
            let again = [(context, Action::Rule(RuleKey::Save), "again to save and approve")];
            let words = model.keymap.with_hints("HIGH", &again);
            advise(model, &words);
        }
        ApprovalEffect::TooSoon | ApprovalEffect::Unseen => {}
    }
}

/// Requests a check of the changed text.
pub fn on_change(rule: &mut RuleForm, cmds: &mut Vec<Cmd>) {
    if let Some(text) = rule.on_change() {
        cmds.push(Cmd::Ask(ClientQuery::CheckRule { text }));
    }
}

/// Tells something to the rule of a request, if it has one.
pub fn tell(model: &mut Model, request: &RequestId, tell: impl FnOnce(&mut RuleForm)) {
    if let Some(rule) = model.cards.find_mut(request).and_then(Card::rule_mut) {
        tell(rule);
    }
}

/// Moves from width to width.
pub fn step(model: &mut Model, nav: Nav) {
    let Some(Card { stage: CardStage::Rule(rule), .. }) = model.cards.current_mut() else { return };
    let at = match nav {
        Nav::Up => rule.chosen.saturating_sub(1),
        Nav::Down => rule.chosen + 1,
        Nav::PageUp | Nav::PageDown | Nav::LineUp | Nav::LineDown => return,
    };
    if !rule.is_written {
        act(model, RuleKey::Width(u8::try_from(at + 1).unwrap_or(u8::MAX)), &mut Vec::new());
    }
}

/// Takes the check of a text, in every rule form that has this text.
pub fn on_check(model: &mut Model, text: &str, check: &RuleCheck, cmds: &mut Vec<Cmd>) {
    for rule in model.cards.all_mut().filter_map(Card::rule_mut) {
        if let Some(next) = rule.on_check(text, check.clone()) {
            cmds.push(Cmd::Ask(ClientQuery::CheckRule { text: next }));
        }
    }
}

/// Moves a row up or down in the text. Returns false if no rule form has the keys.
pub fn go(model: &mut Model, to: Move) -> bool {
    let width = text_width(model.context().width);
    if model.focus != Focus::Card || !matches!(to, Move::Up | Move::Down) {
        return false;
    }
    let Some(Card { stage: CardStage::Rule(rule), .. }) = model.cards.current_mut() else { return false };
    if let Some(editor) = rule.editor_mut() {
        editor.step(to, width);
    }
    true
}

/// Takes the rule back from the user's editor.
pub fn take(model: &mut Model, id: &RequestId, text: &str, cmds: &mut Vec<Cmd>) {
    model.dialogue.withdraw();
    let Some(card) = form::keys::edited_card(model, id) else { return };
    card.advice = None;
    if text.len() > LONGEST {
        card.advice = Some(format!("{} is too long for a rule: unchanged", size(text.len())));
        return;
    }
    let Some(rule) = card.rule_mut() else { return };
    if let Some(editor) = rule.editor_mut() {
        editor.replace(text.trim_end_matches('\n'));
        on_change(rule, cmds);
    }
}

/// Notes where the rule of a request was saved, for the row of its call.
pub fn on_save(model: &mut Model, request: &RequestId, file: String) {
    let Some(call) = model.cards.find(request).map(|card| card.request.call.clone()) else { return };
    if let Some(row) = model.transcript.call_mut(&call) {
        row.rule_file = Some(file);
    }
}
