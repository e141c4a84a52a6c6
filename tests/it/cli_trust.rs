//! `co trust`: what a folder brings is shown, the list is kept in the person's own file, and a word is said once.

use crate::cli_hooks::told_by_audit;
use crate::co::{Co, Service, Wire};

const PROJECT: &str = "model = 'x'\ntheme = 'dark'\n";
const HOOKS: &str = "[[hook]]\nname = 'no-prod'\nevent = 'PreToolUse'\ncommand = './check.sh'\n";
const BRINGS: &str = "[HOME]/work\n  setting  model\n  hook     no-prod at PreToolUse: ./check.sh (runs once `co hooks trust no-prod` was said too)\n";

fn co() -> Co {
    Co::new().file("work/.co/config.toml", PROJECT).file("work/.co/hooks.toml", HOOKS)
}

fn settings(co: &Co) -> String {
    std::fs::read_to_string(co.home().join(".config/co/config.toml")).unwrap_or_default()
}

#[test]
fn a_folder_is_trusted_and_trusted_no_more() {
    let mine = "# mine\nverbose = true # so\n\n[shell]\ntimeout = 5\n";
    let co = co().file(".config/co/config.toml", mine);
    co.run(&["trust", "--list"]).check(0, "No folder is trusted.\n", "");
    let nobody = "co: error: nobody is at the terminal to say yes, so nothing was changed\n    with `--yes` it is done without asking\n";
    co.run(&["trust"]).check(2, BRINGS, nobody);
    assert_eq!(settings(&co), mine);
    let row = |co: &Co| {
        let listed = co.run(&["hooks", "list", "--json"]).json();
        listed[0]["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(row(&co), "folder_not_trusted");
    co.run(&["hooks", "trust", "no-prod", "--yes"]).check(
        1,
        "",
        "co: error: hook no-prod is of this folder, which you do not trust\n    `co trust` trusts the folder first\n",
    );
    let says = "[HOME]/work is trusted; [HOME]/.config/co/config.toml says so.\n";
    co.run(&["trust", "--yes"]).check(0, &format!("{BRINGS}{says}"), "");
    let list = format!("trusted_folders = [\"{}\"]\n", co.workspace().display());
    assert_eq!(settings(&co), format!("# mine\nverbose = true # so\n{list}\n[shell]\ntimeout = 5\n"));
    assert_eq!(row(&co), "new");
    co.run(&["trust", "--list"]).check(0, "[HOME]/work\n", "");
    co.run(&["trust", "."]).check(0, "[HOME]/work is trusted already, by [HOME]/work.\n", "");
    co.run(&["trust", "--revoke"]).check(
        0,
        "[HOME]/work is not trusted any more. A co that runs there keeps to it until it ends.\n",
        "",
    );
    assert_eq!(settings(&co), mine);
    co.run(&["trust", "--revoke"]).check(0, "[HOME]/work was not trusted.\n", "");
    let what = "trusted the folder [HOME]/work\nuntrusted the folder [HOME]/work";
    assert_eq!(told_by_audit(&co), what);
}

#[test]
fn what_cannot_be_trusted_is_said() {
    let co = co();
    let too_much =
        "holds everything else, and trusting it would trust all of that; name the folder of a project";
    for (args, code, err) in [
        (&["trust", "/", "--yes"][..], 2, format!("co: error: / {too_much}\n")),
        (&["trust", "..", "--yes"], 2, format!("co: error: [HOME] {too_much}\n")),
        (
            &["trust", "nowhere", "--yes"],
            2,
            "co: error: [HOME]/work/nowhere is no folder that can be opened: No such file or directory (os error 2)\n".to_owned(),
        ),
        (
            &["trust", ".co/config.toml", "--yes"],
            2,
            "co: error: [HOME]/work/.co/config.toml is no folder that can be opened: it is a file\n".to_owned(),
        ),
    ] {
        co.run(args).check(code, "", &err);
    }
    assert_eq!(settings(&co), "");
    let co = co.env("CO_TRUSTED_FOLDERS", "/elsewhere");
    let ran = co.run(&["trust", "--yes"]);
    let note = "co: CO_TRUSTED_FOLDERS or a flag goes before that file, so it is not in effect here\n";
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), note));
    let above = co.home().display().to_string();
    let co = co.env("CO_TRUSTED_FOLDERS", above);
    co.run(&["trust", "--revoke"]).check(
        1,
        "",
        "co: error: [HOME]/work is still trusted, by [HOME]\n    take that one back: co trust --revoke FOLDER, or change CO_TRUSTED_FOLDERS\n",
    );
}

/// What does not count is told once, and again when it is something else.
#[test]
fn a_folder_is_spoken_of_once() {
    let service = Service::new("reply\n  text 1\nreply\n  text 2\nreply\n  text 3\nreply\n  text 4");
    let co = Co::new().with(&service, Wire::Anthropic);
    let co = co.file("work/.co/config.toml", PROJECT).file("work/.co/hooks.toml", HOOKS);
    let told = |settings: &str| {
        format!(
            "co: This folder has settings ({settings}) and hooks (`no-prod`) of its own, which do not count, because you do \
             not trust it. Look at `.co` first; `/trust` or `co trust` lets them count. This is not said again until they \
             change.\n"
        )
    };
    co.run(&["-p", "a"]).check(0, "1\n", &told("`model`"));
    co.run(&["-p", "a"]).check(0, "2\n", "");
    let co = co.file("work/.co/config.toml", format!("{PROJECT}max_requests = 3\n"));
    co.run(&["-p", "a"]).check(0, "3\n", &told("`model`, `max_requests`"));
    co.run(&["-p", "a"]).check(0, "4\n", "");
}
