//! The lower end of a card: the input of its stage, and the keys.

use super::sheet::{NARROW, Sheet, advice};
use crate::tool::Question;
use crate::tui::cards::{Card, CardStage};
use crate::tui::composer::Rows;
use crate::tui::keys::{Action, CardKey, Context, Hint, Keymap, Nav};
use crate::tui::line::Line;
use crate::tui::screen::CardFocus;
use crate::tui::theme::Role;

/// Most rows shown of the reason of a denial.
const REASON: usize = 4;

impl Sheet<'_> {
    /// Returns the lines above the keys.
    pub(super) fn foot(&self, card: &Card) -> Vec<Line> {
        let mut lines = Vec::new();
        match &card.stage {
            CardStage::Asking if self.screen.approved_once => {
                let again = (Context::Card, Action::Card(CardKey::Yes), "again to approve");
                let asked = [again, (Context::Global, Action::Escape, "back")];
                lines.push(Line::of(self.screen.keymap.with_hints("HIGH", &asked), Role::High));
            }
            CardStage::Reason(editor) => {
                lines.push(Line::of("deny: reason for the model (optional)", Role::Text));
                let rows = Rows::of(editor, self.inner - 4);
                for row in (self.reason_from(&rows)..rows.height()).take(self.reason_rows()) {
                    let mark = if row == 0 { "> " } else { "  " };
                    lines.push(Line::of(mark, Role::Waiting).joined(rows.line(editor, row)));
                }
            }
            CardStage::Deciding(sent) => lines.push(Line::of(sent.sending(), Role::Waiting)),
            CardStage::Asking | CardStage::Editing(_) | CardStage::Rule(_) => {}
        }
        lines.extend(card.advice.iter().flat_map(|words| advice(words, self.inner)));
        lines
    }

    pub(super) fn keys(&self, card: &Card) -> Line {
        let (keymap, dot) = (self.screen.keymap, self.screen.context.glyphs.dot);
        if self.screen.focus == CardFocus::Nothing {
            return keys_line(&decide(keymap), dot);
        }
        let mut keys = match &card.stage {
            CardStage::Reason(_) => keymap.hints(&[
                (Context::Reason, Action::Card(CardKey::SendNo), "deny"),
                (Context::Text, Action::EditOutside, "$EDITOR"),
                (Context::Global, Action::Escape, "back"),
            ]),
            CardStage::Deciding(_) => {
                keymap.hints(&[(Context::Global, Action::ToggleFocus, "back to prompt")])
            }
            CardStage::Asking | CardStage::Editing(_) | CardStage::Rule(_)
                if self.screen.focus == CardFocus::KeysByItself =>
            {
                by_itself(card, self.escape(card), keymap)
            }
            CardStage::Asking | CardStage::Editing(_) | CardStage::Rule(_) => {
                card_hints(card, self.escape(card), keymap)
            }
        };
        let room = self.keys_room();
        let long = keys_line(&keys, dot);
        if long.width() <= room {
            return long;
        }
        if self.width < NARROW {
            keys.iter_mut().filter(|hint| hint.action != Action::Escape).for_each(|hint| hint.words.clear());
            if keys_line(&keys, dot).width() > room
                && let Some(last) = keys.last_mut()
            {
                last.words.clear();
            }
        }
        fitting(keys, dot, room)
    }

    /// Returns the rows for the reason of a denial.
    fn reason_rows(&self) -> usize {
        REASON.min(self.screen.rows / 4).max(1)
    }

    /// Returns the first shown row of a reason, so that the cursor's row is visible.
    pub(super) fn reason_from(&self, rows: &Rows) -> usize {
        (rows.cursor.row + 1).saturating_sub(self.reason_rows())
    }

    /// Returns what Esc does: cancel the first approval, return to the list, or postpone.
    fn escape(&self, card: &Card) -> &'static str {
        let (_, of) = self.screen.position;
        let is_back = of > 1 || (self.screen.approved_once && card.stage == CardStage::Asking);
        if is_back { "back" } else { "later" }
    }
}

/// Returns the keys of a card that asks.
fn card_hints(card: &Card, escape: &str, keymap: &Keymap) -> Vec<Hint> {
    if let Some(question) = &card.request.plan.question {
        return question_hints(card, question, escape, keymap);
    }
    let (context, yes) = (Context::Card, Action::Card(CardKey::Yes));
    let mut keys = keymap.hints(&[
        (context, yes, &yes_words(card, keymap)),
        (context, Action::Card(CardKey::No), "no…"),
        (context, Action::Card(CardKey::Edit), "edit"),
    ]);
    if card.request.only_once().is_none() {
        keys.extend(keymap.hints(&[(context, Action::Card(CardKey::Always), "session…")]));
    }
    keys.extend(skips(card, keymap));
    keys.extend(keymap.hints(&[
        (context, Action::Card(CardKey::Rule), "rule…"),
        (context, Action::Card(CardKey::Why), "why"),
        (context, Action::Card(CardKey::Whole), "view"),
        (Context::Global, Action::Escape, escape),
    ]));
    keys
}

/// Returns the keys of a question of the model.
fn question_hints(card: &Card, question: &Question, escape: &str, keymap: &Keymap) -> Vec<Hint> {
    let context = Context::Card;
    let mut keys: Vec<Hint> = skips(card, keymap).into_iter().collect();
    if question.many || question.options.is_empty() {
        keys.extend(keymap.hints(&[(context, Action::Card(CardKey::Yes), "answer")]));
    }
    keys.extend(keymap.hints(&[
        (context, Action::Card(CardKey::Edit), "write"),
        (context, Action::Card(CardKey::No), "no…"),
        (context, Action::Card(CardKey::Why), "why"),
        (context, Action::Card(CardKey::Whole), "view"),
        (Context::Global, Action::Escape, escape),
    ]));
    keys
}

/// Returns the keys of a card that took the keys by itself.
fn by_itself(card: &Card, escape: &str, keymap: &Keymap) -> Vec<Hint> {
    if card.request.plan.question.is_some() {
        return keymap.hints(&[
            (Context::Global, Action::ToggleFocus, "answer"),
            (Context::Card, Action::Card(CardKey::No), "no…"),
            (Context::Card, Action::Card(CardKey::Whole), "view"),
            (Context::Global, Action::Escape, escape),
        ]);
    }
    keymap.hints(&[
        (Context::Card, Action::Card(CardKey::Yes), &yes_words(card, keymap)),
        (Context::Card, Action::Card(CardKey::No), "no…"),
        (Context::Card, Action::Card(CardKey::Whole), "view"),
        (Context::Global, Action::ToggleFocus, "more keys"),
        (Context::Global, Action::Escape, escape),
    ])
}

/// Returns the words for the key that approves.
fn yes_words(card: &Card, keymap: &Keymap) -> String {
    let yes = keymap.key_label(Context::Card, Action::Card(CardKey::Yes));
    if card.is_high() { format!("{yes} yes") } else { "yes".to_owned() }
}

/// Returns the keys that skip hunks, as one hint.
fn skips(card: &Card, keymap: &Keymap) -> Option<Hint> {
    let action = |hunk| Action::Card(CardKey::Hunk(hunk));
    let keys: Vec<String> = (1..=9).map(|hunk| keymap.key_label(Context::Card, action(hunk))).collect();
    let are_digits = keys.iter().zip(1..).all(|(key, hunk)| *key == hunk.to_string());
    let options = card.request.plan.question.as_ref().map_or(0, |question| question.options.len());
    if options > 0 && are_digits {
        let key = if options == 1 { "1".to_owned() } else { format!("1-{options}") };
        return Some(Hint { action: action(1), key, words: "choose".to_owned() });
    }
    let key = match card.hunks.count() {
        0 => return None,
        _ if are_digits => "1-9".to_owned(),
        count => {
            let bound = keys.into_iter().take(count).filter(|key| !key.is_empty());
            bound.collect::<Vec<_>>().join(" ")
        }
    };
    (!key.is_empty()).then(|| Hint { action: action(1), key, words: "skip".to_owned() })
}

/// Returns the keys that focus what is pending.
pub fn decide(keymap: &Keymap) -> Vec<Hint> {
    let mut keys = keymap.hints(&[
        (Context::Global, Action::ToggleFocus, "decide"),
        (Context::Global, Action::FocusCard, "decide"),
    ]);
    if let [first, other] = &mut keys[..] {
        first.words = format!("or {}: decide", other.key);
    }
    keys.truncate(1);
    keys
}

/// Joins hints into one line.
pub fn keys_line(keys: &[Hint], dot: &str) -> Line {
    let mut line = Line::new();
    for (index, hint) in keys.iter().enumerate() {
        if index > 0 {
            line = line.with(format!(" {dot} "), Role::Dim);
        }
        line = line.with(&hint.key, Role::Key);
        if !hint.words.is_empty() {
            line = line.with(format!(" {}", hint.words), Role::Dim);
        }
    }
    line
}

/// Joins hints in `room` cells, dropping from the end but keeping the last.
pub fn fitting(mut keys: Vec<Hint>, dot: &str, room: usize) -> Line {
    while keys.len() > 2 && keys_line(&keys, dot).width() > room {
        keys.remove(keys.len() - 2);
    }
    keys_line(&keys, dot)
}

/// Returns the keys that show more of a body.
pub fn more(keymap: &Keymap, context: Context, whole: Action) -> String {
    keymap.row(&[(Context::Global, Action::Nav(Nav::PageDown), ""), (context, whole, "view")])
}
