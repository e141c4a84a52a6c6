//! Folders of the user, by their environment. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// The user's settings file: `$XDG_CONFIG_HOME/co/config.toml`, otherwise below `~/.config`. `None` without a
/// home folder.
#[must_use]
pub fn user_file(env: &BTreeMap<String, String>) -> Option<PathBuf> {
    Some(xdg(env, "XDG_CONFIG_HOME", ".config")?.join("co/config.toml"))
}

/// The data folder if no setting names one: `$XDG_DATA_HOME/co`, otherwise below `~/.local/share`. `None` without a home
/// folder.
#[must_use]
pub fn default_data_dir(env: &BTreeMap<String, String>) -> Option<PathBuf> {
    Some(xdg(env, "XDG_DATA_HOME", ".local/share")?.join("co"))
}

/// An absolute path from the environment; the XDG specification says that relative paths are ignored.
fn absolute(env: &BTreeMap<String, String>, name: &str) -> Option<PathBuf> {
    env.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The user's home folder.
pub(super) fn home(env: &BTreeMap<String, String>) -> Option<PathBuf> {
    absolute(env, "HOME")
}

/// A folder of the XDG specification: as the variable says, otherwise below the home folder.
pub(super) fn xdg(env: &BTreeMap<String, String>, name: &str, below_home: &str) -> Option<PathBuf> {
    absolute(env, name).or_else(|| Some(home(env)?.join(below_home)))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_user_file_follows_xdg() {
        let below_home = Some("/h/.config/co/config.toml");
        for (home, xdg, expected) in [
            ("", "", None),
            ("/h", "", below_home),
            ("/h", "/x", Some("/x/co/config.toml")),
            ("/h", "x", below_home),
        ] {
            let env = [("HOME", home), ("XDG_CONFIG_HOME", xdg)];
            let env = env.map(|(name, text)| (name.to_owned(), text.to_owned())).into_iter().collect();
            assert_eq!(user_file(&env).as_deref(), expected.map(Path::new));
        }
    }
}
