//! Names of files that hold secrets: one list, used for command lines and for file tools.
//!
//! Pure, and based on names alone. It knows the usual locations of keys, passwords and tokens; it cannot know
//! a file's actual content.

/// Names of files and folders that hold secrets, in lower case.
const NAMES: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".htpasswd",
    ".vault-token",
    "credentials",
    "credentials.json",
    "secrets",
    "shadow",
    ".password-store",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    ".boto",
    ".s3cfg",
    "keyring",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".mysql_history",
    ".yarnrc.yml",
    ".terraformrc",
    ".rclone.conf",
    "rclone.conf",
    "terraform.tfstate",
    "terraform.tfvars",
    "kubeconfig",
    "auth.json",
    "wallet.dat",
    "cookies.sqlite",
    "login data",
];

/// Prefixes and suffixes of names that hold secrets.
const STARTS: &[&str] = &[".env", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "secrets.", "credentials."];
const ENDS: &[&str] =
    &[".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".env", ".ppk", ".tfstate", ".tfvars"];

/// Names that match the patterns for secrets but are templates without values.
const TEMPLATES: &[&str] = &[".env.example", ".env.sample", ".env.template", ".env.dist"];

/// Extensions that no secret file is expected to have.
const PLAIN: &[&str] = &[
    "rs", "py", "js", "mjs", "ts", "tsx", "jsx", "go", "c", "h", "cc", "cpp", "hpp", "java", "kt", "swift",
    "rb", "php", "lua", "pl", "sh", "bash", "zig", "hs", "scala", "md", "rst", "tex", "html", "css", "scss",
    "svg", "png", "jpg", "log", "lock",
];

/// Files in `.git`, and in its modules and worktrees, that may hold addresses with tokens.
const GIT: (&str, [&str; 2]) = (".git", ["config", "config.worktree"]);

/// Names of secret files that are also ordinary English words, in lower case.
const WORDS: &[&str] = &["credentials", "secrets", "shadow", "keyring"];

/// Whether a text is exactly such a name: it may be a word of a message rather than a file.
#[must_use]
pub fn is_common_word(text: &str) -> bool {
    WORDS.contains(&text.to_lowercase().as_str())
}

/// Whether a path, judged by its text, names something that may hold secrets. `:` and `=` separate names as
/// well, as they do in command arguments.
#[must_use]
pub fn may_hold_secrets(path: &str) -> bool {
    let parts: Vec<String> = path.split(['/', ':', '=']).map(str::to_lowercase).collect();
    parts.iter().any(|part| is_secret(part))
        || parts.iter().skip_while(|part| *part != GIT.0).skip(1).any(|part| GIT.1.contains(&part.as_str()))
}

/// Whether a single name is that of a secret. `name` is in lower case.
fn is_secret(name: &str) -> bool {
    !TEMPLATES.contains(&name)
        && !name.ends_with(".pub")
        && (NAMES.contains(&name)
            || STARTS.iter().any(|start| name.starts_with(start))
            || ENDS.iter().any(|end| name.ends_with(end)))
}

/// Whether a shell pattern (`*`, `?`, `[…]`) may match such a path. It returns false only if each part that
/// is a pattern has a fixed prefix or suffix which no secret's name has.
#[must_use]
pub fn may_match_secrets(pattern: &str) -> bool {
    let is_open = |part: &str| part.contains(['*', '?', '[']);
    // Programs interpret escapes and braces differently.
    if pattern.contains(['\\', '{', '}']) {
        return true;
    }
    let last = pattern.rsplit('/').next().unwrap_or(pattern);
    // The folder of a bare name is unknown: it may be `.git`.
    may_hold_secrets(pattern)
        || GIT.1.contains(&last.to_lowercase().as_str())
        || pattern.split('/').filter(|part| is_open(part)).any(part_may_match)
}

fn part_may_match(part: &str) -> bool {
    let part = part.to_lowercase();
    let begins: &str = part.split(['*', '?', '[']).next().unwrap_or_default();
    let ends: &str = part.rsplit(['*', '?', ']']).next().unwrap_or_default();
    let may_begin = |name: &str| name.starts_with(begins) || begins.starts_with(name);
    let may_end = |name: &str| name.ends_with(ends) || ends.ends_with(name);
    // An extension of source or text files, as in `*.rs`. Other extensions also end names of secrets:
    // `.env.local`, `secrets.yml`.
    let ends_otherwise = ends.strip_prefix('.').is_some_and(|extension| PLAIN.contains(&extension));
    // A prefix and a suffix that no secret's name has.
    let begins_otherwise = !begins.is_empty()
        && !NAMES.iter().chain(STARTS).any(|name| may_begin(name))
        && !ENDS.iter().any(|end| may_end(end));
    !(ends_otherwise && (begins.is_empty() || !STARTS.iter().any(|start| may_begin(start))))
        && !begins_otherwise
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_by_any_spelling() {
        for (path, secret) in [
            (".env", true),
            ("sub/.env.local", true),
            (".env.example", false),
            ("id_rsa", true),
            ("id_rsa.pub", false),
            ("certs/x.PEM", true),
            ("a/.ssh/config", true),
            (".git/config", true),
            ("sub/.GIT/config", true),
            (".git/HEAD", false),
            (".git/modules/x/config", true),
            (".git/config.worktree", true),
            (".git/refs/heads/main", false),
            ("infra/terraform.tfstate", true),
            ("config/auth.json", true),
            ("config", false),
            ("HEAD:.env", true),
            ("--file=.netrc", true),
            (".aws/credentials", true),
            ("src/keyboard.rs", false),
            ("environment.md", false),
            ("secretary.txt", false),
        ] {
            assert_eq!(may_hold_secrets(path), secret, "{path}");
        }
    }

    #[test]
    fn patterns_that_may_stand_for_secrets_are_known() {
        for (pattern, secret) in [
            ("*.rs", false),
            ("src/*.rs", false),
            ("./*.md", false),
            ("test_*.py", false),
            ("notes-?.txt", false),
            ("*", true),
            ("./*", true),
            ("*.pe?", true),
            ("*.key", true),
            ("id_rs?", true),
            (".en*", true),
            (".git/confi?", true),
            ("*.json", true),
            ("*.yml", true),
            ("*.toml", true),
            ("*.csv", true),
            ("*.local", true),
            ("config", true),
            ("secrets.*", true),
            ("c*", true),
            ("x[.]pem", true),
            (".e\\nv", true),
            ("{.env,a}", true),
            ("p*{.rs,.env}", true),
        ] {
            assert_eq!(may_match_secrets(pattern), secret, "{pattern}");
        }
    }
}
