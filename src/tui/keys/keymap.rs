//! The user's key table: the default rows, with the keys from the settings in their place.
//!
//! The rules for all keymaps are enforced here only: reflex keys never approve, letters are never taken from a text,
//! and interrupt and Escape keep a key in every place that has one by default. An entry that breaks a rule is reported
//! and its action keeps the default.

use super::conflict::{self, Owners};
use super::{
    Action, Binding, BindingRow, Context, KeyProblem, KeyProtection, KeyTable, Letters, Refusal, parse_key,
};
use crate::config::TableEntry;
use crate::stdx::text::nearest;
use crate::tui::key::{Code, Key, Mods};

/// The keys of all actions.
#[derive(Debug, Clone, PartialEq)]
pub struct Keymap {
    table: &'static KeyTable,
    rows: Vec<BindingRow>,
    /// The same rows, for the lookup at every key press.
    owners: Owners,
}

impl Keymap {
    /// Creates the keymap of the default keys.
    pub fn of(table: &'static KeyTable) -> Self {
        Self::of_rows(table, table.rows().map(BindingRow::default_of).collect())
    }

    /// Applies these entries to the default keys; returns the errors too. The keymap is always complete.
    pub fn with(table: &'static KeyTable, entries: &[TableEntry]) -> (Self, Vec<KeyProblem>) {
        if entries.is_empty() {
            return (Self::of(table), Vec::new());
        }
        let mut bound: Vec<BindingRow> = table.rows().map(BindingRow::default_of).collect();
        let mut problems = Vec::new();
        for entry in entries {
            match read(table, entry) {
                Ok((binding, keys)) => {
                    let row = bound.iter_mut().find(|row| row.binding == binding);
                    let row = row.expect("an entry is read to a row of the table");
                    (row.keys, row.source) = (keys, entry.source.clone());
                }
                Err(problem) => problems.push(*problem),
            }
        }
        keep_ways_out(table, &mut bound, &mut problems);
        problems.extend(conflict::twice(&bound));
        (Self::of_rows(table, bound), problems)
    }

    /// Returns the row of `key` in the first of `contexts` that binds it.
    pub fn binding(&self, contexts: &[Context], key: Key) -> Option<&'static Binding> {
        conflict::first(&self.owners, contexts, key)
    }

    /// Returns the action of `key` there.
    pub fn action(&self, contexts: &[Context], key: Key) -> Option<Action> {
        self.binding(contexts, key).map(|row| row.action)
    }

    /// Returns every row, in the order of the table.
    pub fn rows(&self) -> &[BindingRow] {
        &self.rows
    }

    /// Returns every row, in the order in which lists show the contexts.
    pub fn by_context(&self) -> impl Iterator<Item = &BindingRow> {
        let of = |context| self.rows.iter().filter(move |row| row.binding.context == context);
        self.table.contexts().flat_map(of)
    }

    /// Returns the keys of an action there.
    pub fn keys(&self, context: Context, action: Action) -> &[Key] {
        let row = self.rows.iter().find(|row| row.binding.context == context && row.binding.action == action);
        row.map_or(&[], |row| &row.keys)
    }

    /// Returns the first key of an action there, as hints show it; empty if there is none.
    pub fn key_label(&self, context: Context, action: Action) -> String {
        self.first(context, action).map(|key| key.to_string()).unwrap_or_default()
    }

    pub fn first(&self, context: Context, action: Action) -> Option<Key> {
        self.keys(context, action).first().copied()
    }

    /// Returns likely mistakes: each key of the user that takes the last one of another action.
    pub fn conflicts(&self) -> Vec<KeyProblem> {
        let mut found = conflict::lost_keys(&self.rows);
        found.extend(conflict::shadowed_actions(self.table, &self.rows));
        found
    }

    /// Of two rows of one context with the same key, the one that the user set gets it.
    fn of_rows(table: &'static KeyTable, mut rows: Vec<BindingRow>) -> Self {
        let owners = conflict::owners(&rows);
        for BindingRow { binding, keys, .. } in &mut rows {
            keys.retain(|key| owners.get(&(binding.context, *key)) == Some(binding));
        }
        Self { table, rows, owners }
    }
}

/// Returns the row and the keys of a valid entry.
fn read(
    table: &'static KeyTable,
    entry: &TableEntry,
) -> Result<(&'static Binding, Vec<Key>), Box<KeyProblem>> {
    let binding = binding_of(table, entry)?;
    let mut keys = Vec::new();
    for text in &entry.texts {
        let key = parse_key(text).map_err(|error| {
            let (place, name) = (entry.source.clone(), entry.name.clone());
            Box::new(KeyProblem::BadKey { place, name, error })
        })?;
        if let Some(why) = refusal(binding, key) {
            return Err(Box::new(KeyProblem::Refused { place: entry.source.clone(), binding, key, why }));
        }
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    Ok((binding, keys))
}

/// Returns the row that an entry names.
fn binding_of(table: &'static KeyTable, entry: &TableEntry) -> Result<&'static Binding, Box<KeyProblem>> {
    let place = entry.source.clone();
    let name = entry.name.clone();
    let Some((context, action)) = entry.name.split_once('.') else {
        return Err(Box::new(KeyProblem::NoAction { place, name }));
    };
    let Some(known) = table.contexts().find(|known| known.name() == context) else {
        let nearest = nearest(context, table.contexts().map(Context::name)).map(str::to_owned);
        let context = context.to_owned();
        return Err(Box::new(KeyProblem::UnknownContext { place, name, context, nearest }));
    };
    let here = || table.rows().filter(|row| row.context == known);
    if let Some(binding) = here().find(|row| row.name == action) {
        return Ok(binding);
    }
    // The right action in the wrong context is more likely than another action.
    let elsewhere = table.rows().find(|row| row.name == action).map(Binding::path);
    let near = || nearest(action, here().map(|row| row.name));
    let nearest = elsewhere.or_else(|| near().map(|action| format!("{context}.{action}")));
    Err(Box::new(KeyProblem::UnknownAction { place, name, nearest }))
}

/// Returns why this key must not have this action, regardless of others.
fn refusal(binding: &Binding, key: Key) -> Option<Refusal> {
    if binding.keys.contains(&key) {
        return None;
    }
    if binding.protection == KeyProtection::Approves && is_reflex(key) {
        return Some(Refusal::Reflex);
    }
    if binding.context.letters() == Letters::AreText && key.typed_char().is_some() {
        return Some(Refusal::IsText);
    }
    None
}

/// Whether it is Enter, Space, Esc or Tab, with any modifiers, or what some terminals send for them.
pub fn is_reflex(key: Key) -> bool {
    let sends_one = matches!(key.code, Code::Char('j' | 'm' | 'i' | '[' | '@'));
    matches!(key.code, Code::Enter | Code::Tab | Code::Esc | Code::Char(' '))
        || (sends_one && key.mods.has(Mods::CTRL))
}

/// Reverts entries that leave interrupt or Escape without a key in a place that has one by default.
fn keep_ways_out(table: &'static KeyTable, bound: &mut [BindingRow], problems: &mut Vec<KeyProblem>) {
    while let Some(lost) = lost_way_out(table, bound) {
        let taken_back = take_back(bound, lost);
        // Without entries every place has its key, so there was one to revert; return rather than loop forever.
        if taken_back.is_empty() {
            return;
        }
        problems.extend(taken_back);
    }
}

/// Reverts the keys set for such an action, and those set to one of its default keys.
fn take_back(bound: &mut [BindingRow], lost: &'static Binding) -> Vec<KeyProblem> {
    let mut problems = Vec::new();
    for row in bound.iter_mut().filter(|row| row.is_set()) {
        let (place, binding) = (row.source.clone(), row.binding);
        if binding == lost {
            problems.push(KeyProblem::WayOut { place, binding });
        } else if let Some(key) = row.keys.iter().find(|key| lost.keys.contains(key)) {
            problems.push(KeyProblem::Refused { place, binding, key: *key, why: Refusal::IsWayOut });
        } else {
            continue;
        }
        *row = BindingRow::default_of(binding);
    }
    problems
}

fn lost_way_out(table: &'static KeyTable, bound: &[BindingRow]) -> Option<&'static Binding> {
    let (now, usual) = (conflict::owners(bound), conflict::usual(table));
    let mut ways_out =
        table.rows().filter(|row| row.context == Context::Global && row.protection == KeyProtection::WayOut);
    ways_out.find(|row| {
        table.layers().any(|layer| {
            conflict::reaches(&usual, &layer, row.action) && !conflict::reaches(&now, &layer, row.action)
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::Source;
    use crate::tui::keys::{CardKey, TextEdit};
    use crate::tui::panel::KEY_TABLE;

    fn entry(name: &str, texts: &[&str]) -> TableEntry {
        let source = Source::Flag { name: "f".to_owned() };
        TableEntry {
            name: name.to_owned(),
            texts: texts.iter().map(|text| (*text).to_owned()).collect(),
            source,
        }
    }

    fn with(entries: &[(&str, &[&str])]) -> (Keymap, Vec<String>) {
        let entries: Vec<TableEntry> = entries.iter().map(|(name, texts)| entry(name, texts)).collect();
        let (keymap, problems) = Keymap::with(&KEY_TABLE, &entries);
        (keymap, problems.iter().map(ToString::to_string).collect())
    }

    /// Returns the keys of an action, by its full name.
    fn keys(keymap: &Keymap, name: &str) -> String {
        let row = keymap.rows().iter().find(|row| row.binding.path() == name).unwrap();
        row.keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn nothing_set_is_the_default() {
        assert_eq!(Keymap::with(&KEY_TABLE, &[]), (Keymap::default(), Vec::new()));
        let defaults: Vec<BindingRow> = KEY_TABLE.rows().map(BindingRow::default_of).collect();
        assert_eq!(conflict::twice(&defaults), Vec::new());
        assert_eq!(Keymap::default().conflicts(), Vec::new());
        for binding in KEY_TABLE.rows() {
            assert_eq!(Keymap::default().keys(binding.context, binding.action), binding.keys);
        }
    }

    #[test]
    fn keys_are_set_added_and_taken_away() {
        let (keymap, problems) = with(&[
            ("composer.find-open", &["Ctrl+F", "F3"]),
            ("card.why", &["?"]),
            ("text.undo", &[]),
            ("global.interrupt", &["Ctrl+Q"]),
        ]);
        assert_eq!(problems, [""; 0]);
        for (name, expected) in [
            ("composer.find-open", "Ctrl+F F3"),
            ("card.why", "?"),
            ("text.undo", ""),
            ("global.interrupt", "Ctrl+Q"),
            ("text.redo", "Alt+_ Alt+/"),
        ] {
            assert_eq!(keys(&keymap, name), expected, "{name}");
        }
        let card = &[Context::Card, Context::Global];
        assert_eq!(keymap.action(card, Key::char('?')), Some(Action::Card(CardKey::Why)));
        assert_eq!(keymap.action(card, Key::char('w')), None);
        assert_eq!(keymap.action(card, Key::ctrl('c')), None);
        assert_eq!(keymap.action(card, Key::ctrl('q')), Some(Action::Interrupt));
        assert_eq!(keymap.key_label(Context::Card, Action::Card(CardKey::Why)), "?");
        assert_eq!(keymap.key_label(Context::Text, Action::Edit(TextEdit::Undo)), "");
    }

    #[test]
    fn the_key_that_was_set_wins_over_the_default_one() {
        let (keymap, problems) = with(&[("composer.search-history", &["Ctrl+F"])]);
        assert_eq!(problems, [""; 0]);
        assert_eq!(keys(&keymap, "composer.search-history"), "Ctrl+F");
        assert_eq!(keys(&keymap, "composer.find-open"), "");
        let said: Vec<String> = keymap.conflicts().iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "Ctrl+F now does `composer.search-history` (flag f), and `composer.find-open`, which had it by default, \
              has no key. Give `composer.find-open` another key, or []."
            ]
        );
    }

    #[test]
    fn what_is_wrong_is_told_and_leaves_the_default() {
        let safe = "is too easy to press by accident and never approves";
        let text = "types text there; use a key with Ctrl or Alt, or one such as F2";
        let cases: &[(&str, &[&str], String)] = &[
            (
                "find",
                &["F3"],
                "is not an action; write it as `keys.context.action`; `co keys` lists them".into(),
            ),
            ("compser.send", &["F3"], "there is no context `compser` (did you mean `composer`?)".into()),
            ("card.yess", &["j"], "`keys.card.yess` is not an action (did you mean `card.yes`?)".into()),
            (
                "text.send",
                &["F3"],
                "`keys.text.send` is not an action (did you mean `composer.send`?)".into(),
            ),
            ("card.why", &["Ctrl+Entr"], "`Ctrl+Entr` is not a key (did you mean `Ctrl+Enter`?)".into()),
            ("card.yes", &["Enter"], format!("Enter {safe}")),
            ("card.yes", &["x", "Ctrl+Space"], format!("Ctrl+Space {safe}")),
            ("width.save", &["Esc"], format!("Esc {safe}")),
            ("batch.yes", &["Alt+Enter"], format!("Alt+Enter {safe}")),
            ("arguments.approve-edited", &["Ctrl+J"], format!("Ctrl+J {safe}")),
            ("arguments.approve-edited", &["Shift+Tab"], format!("Shift+Tab {safe}")),
            ("composer.stash", &["s"], format!("s {text}")),
            ("global.redraw", &["Space"], format!("Space {text}")),
            ("card.no", &["Esc"], "Esc always interrupts or closes".into()),
            ("composer.stash", &["Ctrl+C"], "Ctrl+C always interrupts or closes".into()),
            ("global.interrupt", &[], "it needs a key in every context".into()),
            ("global.escape", &[], "it needs a key in every context".into()),
            ("global.interrupt", &["Ctrl+D"], "it needs a key in every context".into()),
            // It begins a chord in every text.
            ("global.interrupt", &["Ctrl+X"], "it needs a key in every context".into()),
            ("chord.edit-outside", &["Ctrl+C"], "Ctrl+C always interrupts or closes".into()),
            ("global.interrupt", &["Esc"], "Esc always interrupts or closes".into()),
        ];
        for (name, texts, words) in cases {
            let (keymap, problems) = with(&[(name, texts)]);
            assert_eq!(problems.len(), 1, "{name} {texts:?}: {problems:?}");
            assert!(problems[0].starts_with("flag f: `keys.") && problems[0].contains(words), "{problems:?}");
            assert_eq!(keymap, Keymap::default(), "{name} {texts:?}");
        }
    }

    #[test]
    fn two_keys_that_get_into_each_others_way_are_told() {
        let (keymap, problems) = with(&[("card.why", &["q"]), ("card.no", &["q"])]);
        assert_eq!(
            problems,
            [
                "q is set for both `card.no` and `card.why` (flag f); `card.no` applies. Give one of them another key."
            ]
        );
        assert_eq!(keys(&keymap, "card.why"), "");
        let (keymap, problems) = with(&[("card.why", &["Alt+A"])]);
        assert_eq!(problems, [""; 0]);
        let said: Vec<String> = keymap.conflicts().iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            ["Alt+A does `card.why` on a focused card, so `global.focus-card` cannot be reached there. \
              Give one of them another key."]
        );
    }

    fn written() -> impl Strategy<Value = String> {
        let held = prop::sample::subsequence(vec!["Ctrl", "Alt", "Shift"], 0..=3);
        let plain = prop::sample::select(vec![
            "Enter",
            "Esc",
            "Tab",
            "Space",
            "a",
            "y",
            "j",
            "?",
            "Up",
            "F2",
            "Backspace",
            "PgDn",
            "_",
            "é",
        ]);
        let human = (held, plain).prop_map(|(held, plain)| [held, vec![plain]].concat().join("+"));
        let string = prop::sample::select(vec![
            "<ret>", "<esc>", "<c-ret>", "<space>", "<c-c>", "<a-a>", "<tab>", "x",
        ]);
        prop_oneof![human, string.prop_map(str::to_owned)]
    }

    fn set() -> impl Strategy<Value = Vec<(String, Vec<String>)>> {
        let names: Vec<String> = KEY_TABLE.rows().map(Binding::path).collect();
        prop::collection::vec((prop::sample::select(names), prop::collection::vec(written(), 0..3)), 0..12)
    }

    proptest! {
        /// For any settings: no reflex key approves, no letter is taken from a text, interrupt and Escape keep their
        /// keys.
        #[test]
        fn no_keymap_breaks_a_rule(set in set()) {
            let entries: Vec<TableEntry> = set.iter().map(|(name, texts)| {
                entry(name, &texts.iter().map(String::as_str).collect::<Vec<_>>())
            }).collect();
            let (keymap, _) = Keymap::with(&KEY_TABLE, &entries);
            for row in keymap.rows() {
                for key in &row.keys {
                    let approves = row.binding.protection == KeyProtection::Approves;
                    prop_assert!(!(approves && is_reflex(*key)), "{key} does {}", row.binding.path());
                    let is_default = row.binding.keys.contains(key);
                    let is_text = row.binding.context.letters() == Letters::AreText && key.typed_char().is_some();
                    prop_assert!(is_default || !is_text, "{key} does {}", row.binding.path());
                    prop_assert_eq!(keymap.action(&[row.binding.context], *key), Some(row.binding.action));
                }
            }
            let (now, usual) = (conflict::owners(keymap.rows()), conflict::usual(&KEY_TABLE));
            for action in [Action::Interrupt, Action::Escape] {
                for layer in KEY_TABLE.layers() {
                    prop_assert!(
                        conflict::reaches(&now, &layer, action) || !conflict::reaches(&usual, &layer, action),
                        "nothing reaches {action:?} in {layer:?}"
                    );
                }
            }
        }
    }
}
