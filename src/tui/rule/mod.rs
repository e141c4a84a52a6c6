//! A rule being chosen or written at a card: the widths that are offered, its text, its scope, and its effect on past
//! calls. Plain data: keys are handled by `keys`, drawing by `draw`. At most one check is requested at a
//! time.

pub mod draw;
pub mod keys;

use super::composer::Editor;
use super::keys::Context;
use crate::approval::rules::RuleScope;
use crate::frontend::protocol::{OfferedRule, PastCalls, RuleCheck};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct RuleForm {
    /// From the narrowest to the widest; empty until they arrived.
    pub widths: Vec<OfferedRule>,
    /// The index of the width that `text` was taken from.
    pub chosen: usize,
    /// Its text is shown; otherwise the widths.
    pub is_written: bool,
    pub text: Editor,
    pub scope: RuleScope,
    pub status: RuleStatus,
    /// The original draft.
    draft: String,
    /// The text whose check was requested and not received yet.
    asked: Option<String>,
}

/// The state of the text.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum RuleStatus {
    /// There is no text yet: the draft was requested.
    #[default]
    Drafting,
    /// It was changed and not checked yet.
    Unchecked,
    Good(PastCalls),
    Wrong(String),
    /// It was good and was sent; it cannot be changed until that is settled.
    Saving(PastCalls),
}

impl RuleForm {
    /// Returns the text if it can be edited.
    pub fn editor_mut(&mut self) -> Option<&mut Editor> {
        let is_busy = matches!(self.status, RuleStatus::Drafting | RuleStatus::Saving(_));
        (self.is_written && !is_busy).then_some(&mut self.text)
    }

    /// Takes the widths.
    pub fn set_widths(&mut self, widths: Vec<OfferedRule>) {
        if self.status == RuleStatus::Drafting {
            self.widths = widths;
            self.choose(0);
        }
    }

    /// Chooses a width, if it exists and the rule is not being saved.
    pub fn choose(&mut self, at: usize) {
        if let (Some(width), false) = (self.widths.get(at), self.is_saving()) {
            self.chosen = at;
            self.text = Editor::plain(width.text.trim_end_matches('\n'));
            self.draft = self.text.text();
            self.status = status(width.check.clone());
        }
    }

    pub fn is_saving(&self) -> bool {
        matches!(self.status, RuleStatus::Saving(_))
    }

    /// The keys that it has.
    pub fn context(&self) -> Context {
        if self.is_written { Context::Rule } else { Context::Width }
    }

    /// Whether the text is that of the chosen width.
    pub fn is_as_drafted(&self) -> bool {
        self.text.text() == self.draft
    }

    /// Goes from an unchanged text back to the widths; returns whether it did.
    pub fn leave_text(&mut self) -> bool {
        let leaves = self.is_written && self.is_as_drafted() && !self.is_saving();
        if leaves {
            self.is_written = false;
        }
        leaves
    }

    /// Returns the calls that a saved rule covers, and for how long.
    pub fn coverage(&self) -> String {
        let long = self.scope.words();
        match self.widths.get(self.chosen) {
            Some(width) if self.is_as_drafted() => format!("{long}: {}", width.words),
            Some(_) | None => format!("{long}: what the rule says"),
        }
    }

    /// Handles a change of the text; returns it if a check is to be requested now.
    #[must_use]
    pub fn on_change(&mut self) -> Option<String> {
        self.status = RuleStatus::Unchecked;
        self.ask()
    }

    /// Takes the check of a text; returns the text to be checked next, if it changed meanwhile.
    #[must_use]
    pub fn on_check(&mut self, text: &str, check: RuleCheck) -> Option<String> {
        if self.asked.as_deref() == Some(text) {
            self.asked = None;
        }
        let is_it = self.text.text() == text;
        match (&self.status, is_it) {
            (RuleStatus::Unchecked, false) => return self.ask(),
            (RuleStatus::Unchecked | RuleStatus::Good(_) | RuleStatus::Wrong(_), true) => {
                self.status = status(check);
            }
            (RuleStatus::Drafting | RuleStatus::Good(_) | RuleStatus::Wrong(_), false)
            | (RuleStatus::Drafting, true)
            | (RuleStatus::Saving(_), _) => {}
        }
        None
    }

    /// Takes why the text was not saved: it was good when it was sent, and is not any more. A text that was changed
    /// meanwhile is checked anew.
    pub fn on_save_failure(&mut self, why: String) {
        if let RuleStatus::Saving(_) | RuleStatus::Good(_) = self.status {
            self.status = RuleStatus::Wrong(why);
        }
    }

    /// Takes that there is no draft.
    pub fn on_draft_failure(&mut self) {
        if self.status == RuleStatus::Drafting {
            self.status = RuleStatus::Wrong("no rule could be drafted".to_owned());
        }
    }

    /// Whether its draft is still to be asked for, again after a failure.
    pub fn wants_draft(&self) -> bool {
        self.widths.is_empty() && self.text.is_empty() && self.status != RuleStatus::Drafting
    }

    fn ask(&mut self) -> Option<String> {
        if self.asked.is_some() {
            return None;
        }
        self.asked = Some(self.text.text());
        self.asked.clone()
    }

    /// Restores the draft.
    pub fn reset(&mut self) {
        self.text.replace(&self.draft);
    }

    pub fn next_scope(&mut self) {
        self.scope = match self.scope {
            RuleScope::Session => RuleScope::Project,
            RuleScope::Project => RuleScope::User,
            RuleScope::User => RuleScope::Session,
        };
    }

    /// Allows sending again after a failure or when the rule is left.
    pub fn unsave(&mut self) {
        if let RuleStatus::Saving(past) = self.status {
            self.status = RuleStatus::Good(past);
        }
    }
}

fn status(check: RuleCheck) -> RuleStatus {
    match check.past {
        Ok(past) => RuleStatus::Good(past),
        Err(wrong) => RuleStatus::Wrong(wrong),
    }
}

/// Describes the scope of a rule.
pub fn scope_words(scope: RuleScope) -> &'static str {
    match scope {
        RuleScope::Session => "this session",
        RuleScope::Project => "this folder",
        RuleScope::User => "everywhere",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good(matched: usize) -> RuleCheck {
        RuleCheck { past: Ok(PastCalls { matched, of: 10, denied: 0 }) }
    }

    fn drafted() -> RuleForm {
        let mut form = RuleForm::default();
        let width = |text: &str, matched| OfferedRule {
            words: "w".to_owned(),
            text: text.to_owned(),
            check: good(matched),
        };
        form.set_widths(vec![width("a\n", 1), width("b\n", 2)]);
        form.is_written = true;
        form
    }

    #[test]
    fn one_text_is_asked_about_at_a_time() {
        let mut form = drafted();
        let write = |form: &mut RuleForm, text: &str| {
            form.text.insert(text);
            form.on_change()
        };
        form.text.line_end();
        assert_eq!(write(&mut form, "b").as_deref(), Some("ab"));
        assert_eq!(write(&mut form, "c"), None, "one is out already");
        assert_eq!(write(&mut form, "d"), None);
        assert_eq!(form.on_check("ab", good(2)).as_deref(), Some("abcd"), "only the latest");
        assert_eq!(form.status, RuleStatus::Unchecked);
        assert_eq!(form.on_check("abcd", good(3)), None);
        assert_eq!(form.status, RuleStatus::Good(PastCalls { matched: 3, of: 10, denied: 0 }));
        assert_eq!(form.on_check("of another card", good(4)), None);
        assert_eq!(form.status, RuleStatus::Good(PastCalls { matched: 3, of: 10, denied: 0 }));
    }

    #[test]
    fn what_is_refused_can_be_written_again() {
        let mut form = drafted();
        form.status = RuleStatus::Saving(PastCalls::default());
        assert!(form.editor_mut().is_none());
        assert_eq!(form.on_check("a", good(1)), None);
        assert_eq!(form.status, RuleStatus::Saving(PastCalls::default()), "a late word on it");
        form.on_save_failure("the file is read-only".to_owned());
        assert_eq!(form.status, RuleStatus::Wrong("the file is read-only".to_owned()));
        assert!(form.editor_mut().is_some());
    }
}
