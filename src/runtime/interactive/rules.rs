//! Rules written at a card: drafts, checks, saving. Saving a rule approves the request in the usual way. An invalid
//! text is returned with the error, and the request stays pending.

use std::sync::Arc;

use super::client::{ClientHandler, OwnerAction};
use crate::agent::port::Op;
use crate::approval::rules::{Fit, RuleEffect, RuleScope, RuleSet, RuleSource, RuleWidth, Subject, widths};
use crate::approval::{Approval, Remember, RequestId};
use crate::command::{Notice, code};
use crate::frontend::protocol::{OfferedRule, PastCalls, RuleCheck, ServerMessage};
use crate::store::{AuditNote, StoredRequest};
use crate::tool::Origin;
use crate::workspace::rules::{SavedRule, count_past_calls, one_rule, save_rule};

/// Past calls on which a rule is tried.
const TRIED: usize = 200;

impl ClientHandler {
    /// Reloads the rule files, and reports errors in them.
    pub(super) async fn refresh_rules(&self) {
        self.app.permissions.refresh_rules(&self.folder).await;
        for text in self.app.permissions.rules.take_news() {
            self.say(Notice::warning("rules", text)).await;
        }
    }

    /// Returns the rules that would allow the request, the narrowest first; `None` after an error, which is already
    /// reported.
    pub(super) async fn rule_widths(&self, request: &RequestId) -> Option<Vec<OfferedRule>> {
        let one = self.or_say("rules", self.app.store.find_request(&request.0).await).await?;
        let asked = &one.request;
        let access = &asked.plan.access;
        let mut offered = Vec::new();
        for width in widths(&asked.tool, &asked.args, access, asked.risk, &one.workspace) {
            let RuleWidth { words, text } = width;
            let check = RuleCheck { past: self.effect_on_past(&text).await };
            offered.push(OfferedRule { words, text, check });
        }
        Some(offered)
    }

    /// Returns the effect of a text on past calls, or what is wrong with it.
    pub(super) async fn effect_on_past(&self, text: &str) -> Result<PastCalls, String> {
        let rule =
            one_rule(text, self.app.permissions.rules.home()).map_err(|trouble| trouble.to_string())?;
        let past = self.app.store.past_calls(TRIED).await.map_err(|error| error.to_string())?;
        Ok(count_past_calls(&[rule], &past, &self.app.tools.registry))
    }

    /// Saves a rule, then approves its request.
    pub(super) async fn save_rule(&self, request: RequestId, text: String, scope: RuleScope) -> OwnerAction {
        let saved = match self.write_rule(&request, &text, scope).await {
            Ok(saved) => saved,
            Err(what) => {
                self.tell(ServerMessage::RuleNotSaved { request, why: what }).await;
                return OwnerAction::Answered;
            }
        };
        // An allow rule applies once the request is approved; otherwise it would answer the request before the user.
        if saved.rule.effect != RuleEffect::Allow {
            self.refresh_rules().await;
            let text = format!("{} is saved. It approves nothing.", code(&saved.rule.id));
            self.say(Notice::plain("rules", text)).await;
            self.tell(ServerMessage::RuleAllowsNothing { request }).await;
            return OwnerAction::Answered;
        }
        let (remember, rule) = match scope {
            RuleScope::Session => (Remember::Session, Some(saved.text)),
            RuleScope::Project | RuleScope::User => {
                let file = self.app.permissions.rules.user_file();
                let file = file.map_or(String::new(), |file| file.display().to_string());
                let request = request.clone();
                self.tell(ServerMessage::RuleSaved { request, file }).await;
                (Remember::Rule, None)
            }
        };
        let approval = Approval::Approve { instead: None, remember, note: None, rule };
        OwnerAction::Op(Op::decide(request, approval))
    }

    async fn write_rule(
        &self,
        request: &RequestId,
        text: &str,
        scope: RuleScope,
    ) -> Result<SavedRule, String> {
        let one = self.app.store.find_request(&request.0).await.map_err(|error| error.to_string())?;
        self.is_about(text, &one)?;
        let book = Arc::clone(&self.app.permissions.rules);
        let (text, folder) = (text.to_owned(), one.workspace);
        let saving = tokio::task::spawn_blocking(move || save_rule(&book, &text, scope, &folder));
        let saved =
            saving.await.map_err(|error| error.to_string())?.map_err(|trouble| trouble.to_string())?;
        let note = AuditNote::RuleSaved { rule: saved.rule.id.clone(), text: saved.text.clone() };
        let noted = self.app.store.note(note).await;
        noted.map_err(|error| format!("it is saved, but not in the audit: {error}"))?;
        Ok(saved)
    }

    /// Checks that an allow rule allows this very call, so that the approval covers no more than the rule.
    fn is_about(&self, text: &str, one: &StoredRequest) -> Result<(), String> {
        let rules = RuleSet::parse(text, &RuleSource::Session, self.app.permissions.rules.home());
        let Ok(rules) = rules else { return Ok(()) };
        let asked = &one.request;
        let tool = self.app.tools.registry.get(&asked.tool);
        let origin = tool.as_ref().map_or(&Origin::Builtin, |tool| &tool.spec().origin);
        let subject = Subject {
            tool: &asked.tool,
            origin,
            args: &asked.args,
            folder: &one.workspace,
            access: &asked.plan.access,
        };
        for rule in rules.iter().filter(|rule| rule.effect == RuleEffect::Allow) {
            let why = match rule.fit(&subject) {
                Fit::Applies | Fit::AppliesInDoubt(_) => match rule.falls_short(asked.risk) {
                    Some(why) => format!("{why}; change it, or answer with y"),
                    None => continue,
                },
                Fit::Elsewhere => "it does not apply to this call; change it, or approve with y".to_owned(),
                Fit::Not(because) => {
                    format!("it does not match this call ({because}); change it, or approve with y")
                }
            };
            return Err(why);
        }
        Ok(())
    }
}
