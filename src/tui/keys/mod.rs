//! The single table of keys: context × key → action, with its name, help and protection. Help, hints and rebinding derive
//! from it; no other file tests for a command key. `table` has the rows, except those of panels, whose files have them;
//! [`Keymap`] is the user's table.

mod action;
mod conflict;
mod context;
mod hint;
mod keymap;
mod problem;
mod table;
mod written;

pub use self::action::{
    Action, CardKey, CompleteKey, FindKey, FormKey, ListKey, Move, Nav, RuleKey, SelectKey, TextEdit,
};
pub use self::context::{Context, ContextRow, Letters};
pub use self::hint::{CHOOSE, Hint, StatusHint};
pub use self::keymap::Keymap;
pub use self::problem::{KeyProblem, Refusal};
pub use self::table::{Binding, BindingRow, HelpGroup, KeyProtection, KeyTable, Section, at, row};
pub use self::written::{WrittenKeyError, parse_key};

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;
    use crate::tui::key::{Code, Key, Mods};
    use crate::tui::panel::KEY_TABLE;

    #[test]
    fn no_key_means_two_things_in_one_context() {
        let mut seen = HashSet::new();
        for binding in KEY_TABLE.rows() {
            for key in &binding.keys {
                assert!(seen.insert((binding.context, *key)), "{key} twice in {:?}", binding.context);
            }
        }
    }

    #[test]
    fn help_fits_its_column() {
        for binding in KEY_TABLE.rows() {
            assert!(binding.help.chars().count() <= 22, "{:?}", binding.help);
        }
    }

    #[test]
    fn names_are_one_of_a_kind_and_can_be_written() {
        let mut seen = HashSet::new();
        for binding in KEY_TABLE.rows() {
            let (context, action) = (binding.context.name(), binding.name);
            assert!(seen.insert((context, action)), "{context}.{action} twice");
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(context.chars().chain(action.chars()).all(plain), "{context}.{action}");
        }
    }

    #[test]
    fn rows_of_one_action_have_one_weight() {
        let mut protections = HashMap::new();
        for row in KEY_TABLE.rows() {
            assert_eq!(
                *protections.entry(row.action).or_insert(row.protection),
                row.protection,
                "{}",
                row.path()
            );
        }
    }

    #[test]
    fn every_context_is_listed_and_asked_somewhere() {
        for context in KEY_TABLE.rows().map(|row| row.context) {
            assert!(KEY_TABLE.contexts().any(|known| known == context), "{context:?}");
            assert!(KEY_TABLE.layers().any(|layer| layer.contains(&context)), "{context:?}");
        }
        for context in KEY_TABLE.layers().flatten() {
            assert!(KEY_TABLE.contexts().any(|known| known == context), "{context:?}");
        }
    }

    #[test]
    fn no_single_key_of_a_reflex_approves() {
        let plain = [Code::Enter, Code::Esc, Code::Tab, Code::Char(' ')].map(Key::plain);
        let held = [Mods::SHIFT, Mods::ALT].map(|mods| Key::held(mods, Code::Enter));
        for key in plain.into_iter().chain(held).chain([Key::ctrl('j')]) {
            for contexts in KEY_TABLE.layers() {
                let done = Keymap::default().binding(&contexts, key);
                assert!(
                    done.is_none_or(|row| row.protection != KeyProtection::Approves),
                    "{key} in {contexts:?}"
                );
            }
            let done = Keymap::default().action(&[Context::Batch, Context::Global], key);
            assert!(!matches!(done, Some(Action::List(ListKey::Yes | ListKey::No))), "{key} in a list");
        }
    }

    #[test]
    fn letters_are_never_taken_from_the_text() {
        for letter in 'a'..='z' {
            for context in [
                Context::Composer,
                Context::Text,
                Context::Reason,
                Context::Arguments,
                Context::Rule,
                Context::Global,
            ] {
                assert_eq!(
                    Keymap::default().action(&[context], Key::char(letter)),
                    None,
                    "{letter} in {context:?}"
                );
            }
        }
    }
}
