//! A rule being written at a card: its text, its scope, and its effect on past calls. Plain data: keys are handled by
//! `update::rule`, drawing by `cells::rule`. At most one check is requested at a time.

use super::composer::Editor;
use crate::approval::rules::RuleScope;
use crate::frontend::protocol::{PastCalls, RuleCheck};

#[derive(Debug, Clone, PartialEq)]
pub struct RuleForm {
    pub text: Editor,
    pub scope: RuleScope,
    pub standing: RuleStanding,
    /// The original draft.
    draft: String,
    /// The text whose check was requested and not received yet.
    asked: Option<String>,
}

/// The state of the text.
#[derive(Debug, Clone, PartialEq)]
pub enum RuleStanding {
    /// There is no text yet: the draft was requested.
    Drafting,
    /// It was changed and not checked yet.
    Unchecked,
    Good(PastCalls),
    Wrong(String),
    /// It was good and was sent; it cannot be changed until that is settled.
    Saving(PastCalls),
}

impl Default for RuleForm {
    fn default() -> Self {
        Self {
            text: Editor::default(),
            scope: RuleScope::Session,
            standing: RuleStanding::Drafting,
            draft: String::new(),
            asked: None,
        }
    }
}

impl RuleForm {
    /// Returns the text if it can be edited.
    pub fn editor_mut(&mut self) -> Option<&mut Editor> {
        match self.standing {
            RuleStanding::Drafting | RuleStanding::Saving(_) => None,
            RuleStanding::Unchecked | RuleStanding::Good(_) | RuleStanding::Wrong(_) => Some(&mut self.text),
        }
    }

    /// Takes the draft.
    pub fn drafted(&mut self, text: &str, check: RuleCheck) {
        if self.standing == RuleStanding::Drafting {
            self.text = Editor::plain(text.trim_end_matches('\n'));
            self.draft = self.text.text();
            self.standing = standing(check);
        }
    }

    /// Handles a change of the text; returns it if a check is to be requested now.
    #[must_use]
    pub fn changed(&mut self) -> Option<String> {
        self.standing = RuleStanding::Unchecked;
        self.ask()
    }

    /// Takes the check of a text; returns the text to be checked next, if it changed meanwhile.
    #[must_use]
    pub fn checked(&mut self, text: &str, check: RuleCheck) -> Option<String> {
        if self.asked.as_deref() == Some(text) {
            self.asked = None;
        }
        let is_it = self.text.text() == text;
        match (&self.standing, is_it) {
            (RuleStanding::Unchecked, false) => return self.ask(),
            // It was good when it was sent; now it is not, and was not saved.
            (RuleStanding::Saving(_), true) if check.past.is_err() => self.standing = standing(check),
            (RuleStanding::Unchecked | RuleStanding::Good(_) | RuleStanding::Wrong(_), true) => {
                self.standing = standing(check);
            }
            (RuleStanding::Drafting | RuleStanding::Good(_) | RuleStanding::Wrong(_), false)
            | (RuleStanding::Drafting, true)
            | (RuleStanding::Saving(_), _) => {}
        }
        None
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
        if let RuleStanding::Saving(past) = self.standing {
            self.standing = RuleStanding::Good(past);
        }
    }
}

fn standing(check: RuleCheck) -> RuleStanding {
    match check.past {
        Ok(past) => RuleStanding::Good(past),
        Err(wrong) => RuleStanding::Wrong(wrong),
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
        form.drafted("a\n", good(1));
        form
    }

    #[test]
    fn one_text_is_asked_about_at_a_time() {
        let mut form = drafted();
        let write = |form: &mut RuleForm, text: &str| {
            form.text.insert(text);
            form.changed()
        };
        form.text.line_end();
        assert_eq!(write(&mut form, "b").as_deref(), Some("ab"));
        assert_eq!(write(&mut form, "c"), None, "one is out already");
        assert_eq!(write(&mut form, "d"), None);
        assert_eq!(form.checked("ab", good(2)).as_deref(), Some("abcd"), "only the latest");
        assert_eq!(form.standing, RuleStanding::Unchecked);
        assert_eq!(form.checked("abcd", good(3)), None);
        assert_eq!(form.standing, RuleStanding::Good(PastCalls { matched: 3, of: 10, denied: 0 }));
        assert_eq!(form.checked("of another card", good(4)), None);
        assert_eq!(form.standing, RuleStanding::Good(PastCalls { matched: 3, of: 10, denied: 0 }));
    }

    #[test]
    fn what_is_refused_can_be_written_again() {
        let mut form = drafted();
        form.standing = RuleStanding::Saving(PastCalls::default());
        assert!(form.editor_mut().is_none());
        assert_eq!(form.checked("a", good(1)), None);
        assert_eq!(form.standing, RuleStanding::Saving(PastCalls::default()), "a late word on it");
        assert_eq!(form.checked("a", RuleCheck { past: Err("the file is read-only".to_owned()) }), None);
        assert_eq!(form.standing, RuleStanding::Wrong("the file is read-only".to_owned()));
        assert!(form.editor_mut().is_some());
    }
}
