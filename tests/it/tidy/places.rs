//! Where a tool, a command, a setting, a codec and a panel are registered: one example of each, found by its names.

/// A kind of part, the folder or file of its own, its names in code, and the other files that must know it.
type Registration = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

const REGISTRATIONS: &[Registration] = &[
    (
        "tool",
        "src/engine/tool/builtin/apply_patch",
        &["\"apply_patch\"", "mod apply_patch;", "ApplyPatch,"],
        &["src/engine/tool/builtin/mod.rs"],
    ),
    ("command", "src/command/tasks", &["mod tasks;", "tasks::decide"], &["src/command/mod.rs"]),
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
        &["Codec::Gemini", "Gemini = ", "mod gemini", "provider::gemini", "ListForm::Gemini"],
        &[
            "src/accounts/services/connect.rs",
            "src/base/config/choices.rs",
            "src/engine/provider/catalog/listing.rs",
            "src/engine/provider/catalog/presets.rs",
            "src/engine/provider/mod.rs",
        ],
    ),
    // A panel with keys of its own.
    (
        "panel",
        "src/tui/panel/login",
        &["mod login;", "Login(Login)", "login::KEYS", "LOGIN_KEYS"],
        &["src/tui/panel/mod.rs"],
    ),
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

/// The offline tour is a scripted model, which calls tools by their names.
const MAY_NAME_TOOLS: &[&str] =
    &["src/engine/tool/builtin/", "src/engine/tool/mod.rs", "src/engine/provider/offline/"];

#[test]
fn the_name_of_a_tool_stands_in_its_file_only() {
    let sources = || super::TREE.shipped();
    let names = sources().filter(|one| one.path.starts_with(MAY_NAME_TOOLS[0])).flat_map(|one| {
        let is_name = |line: usize| {
            one.code.lines().nth(line - 1).is_some_and(|code| code.contains("const NAME: &'static str"))
        };
        one.literals.iter().filter(move |(line, _)| is_name(*line)).map(|(_, name)| name.as_str())
    });
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 20, "{names:?}");
    for source in sources().filter(|one| !MAY_NAME_TOOLS.iter().any(|path| one.path.starts_with(path))) {
        let named: Vec<_> =
            source.literals.iter().filter(|(_, text)| names.contains(&text.as_str())).collect();
        assert!(named.is_empty(), "{} names {named:?}", source.path);
    }
}
