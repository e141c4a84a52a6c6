//! Where a tool, a command, a setting, a codec and a panel are registered: one example of each, found by its names.

/// What is registered, the folder or file of its own, its names in code, and the other files that must know it.
type Registration = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

const REGISTRATIONS: &[Registration] = &[
    (
        "tool",
        "src/engine/tool/builtin/search_text",
        &["search_text", "SearchText"],
        &["src/engine/tool/builtin/mod.rs"],
    ),
    ("command", "src/command/cost", &["mod cost", "cost::decide"], &["src/command/mod.rs"]),
    // A row and a field; where it is used is no registration.
    (
        "setting",
        "src/base/config/settings.rs",
        &["tool_output_limit = v", "pub tool_output_limit"],
        &["src/base/config/typed.rs"],
    ),
    (
        "codec",
        "src/engine/provider/gemini",
        &["Codec::Gemini", "Gemini = ", "mod gemini", "provider::gemini"],
        &[
            "src/accounts/offers.rs",
            "src/accounts/services/connect.rs",
            "src/base/config/choices.rs",
            "src/engine/provider/catalog/presets.rs",
            "src/engine/provider/mod.rs",
        ],
    ),
    ("panel", "src/tui/panel/help", &["mod help;", "Help(Help)"], &["src/tui/panel/mod.rs"]),
];

/// The most places, the file or folder of its own included.
const MOST: &[(&str, usize)] = &[("tool", 2), ("command", 2), ("setting", 2), ("codec", 6), ("panel", 2)];

#[test]
fn each_part_is_registered_in_few_places() {
    let sources = &super::TREE.sources;
    for (what, own, names, elsewhere) in REGISTRATIONS {
        let room = own.split('/').take(2).collect::<Vec<_>>().join("/");
        let knows = |one: &&kit::source::Source| {
            // Where a panel is opened and which commands there are for it is the business of its room.
            let is_near = *what != "panel" && *what != "command" || one.path.starts_with(&room);
            !one.is_test && is_near && names.iter().any(|name| one.code.contains(name))
        };
        let mut found: Vec<&str> = sources.iter().filter(knows).map(|one| one.path.as_str()).collect();
        assert!(sources.iter().any(|one| one.path.starts_with(own)), "{what}: there is no {own}");
        found.retain(|path| !path.starts_with(own));
        assert_eq!(found, *elsewhere, "a {what}");
        let most = MOST.iter().find(|(name, _)| name == what).map(|(_, most)| *most);
        assert!(most.is_some_and(|most| found.len() < most), "a {what} is registered in {found:?} too");
    }
}
