//! Merges the layers of settings: from sources to settings with their origins. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::file;
use super::models;
use super::problem::{ConfigError, ConfigWarning, Source, Wrong, shown};
use super::providers::{self, Misfit, ProviderEntry};
use super::settings::{Field, Kind, ProjectTrust, SETTINGS, SettingRow, Status};
use super::trust::{Contents, PROJECT_FILES, is_as_trusted, names_folder};
use super::typed::{Key, Settings};
use super::value::{self, Raw, RawEntry, RecordEntry, TableEntry, Value};
use crate::stdx::text;

/// Everything that settings are computed from.
pub struct Sources {
    /// The folder in which `co` works, absolute.
    pub workspace: PathBuf,
    pub user: Option<SourceFile>,
    pub project: Option<SourceFile>,
    /// The whole environment; an empty value counts as unset.
    pub env: BTreeMap<String, String>,
    /// The content of the folder's `.co` files: now, and (`trusted`) when the user trusted the folder.
    pub contents: Contents,
    pub trusted: Option<Contents>,
    /// Problems with files of the folder that could not be read.
    pub unread: Vec<String>,
    /// Pairs of a flag (`--theme`) or a key (`theme`) and its value. The last one for a row counts.
    pub flags: Vec<(String, String)>,
}

/// A settings file that exists.
pub struct SourceFile {
    pub path: PathBuf,
    pub text: String,
}

/// Whether the user trusts the folder in which `co` works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderTrust {
    Trusted,
    Untrusted,
}

/// Valid settings, and where their values come from.
pub struct Loaded {
    pub settings: Settings,
    pub trust: FolderTrust,
    /// Every implemented setting, in the order of the table.
    pub values: Vec<ValueWithSource>,
    /// Settings that were set but have no effect yet.
    pub without_effect: Vec<(&'static SettingRow, Source)>,
    pub warnings: Vec<ConfigWarning>,
}

/// A value in effect.
pub struct ValueWithSource {
    pub row: &'static SettingRow,
    pub value: Value,
    pub source: Source,
}

/// Merges the layers. On failure returns all errors, not only the first.
pub fn load(sources: &Sources) -> Result<Loaded, Vec<ConfigError>> {
    let mut loading = Loading::new(sources);
    let user = sources.user.as_ref().map(|file| loading.user(file)).unwrap_or_default();
    let environment = loading.environment();
    let flags = loading.flags();
    let trust = loading.trust([&flags, &environment, &user]);
    let own_errors = loading.errors.len();
    let project = sources.project.as_ref().map(|file| loading.project(file, trust)).unwrap_or_default();
    loading.project_errors_to_warnings(own_errors);

    let mut layers = user;
    for layer in [project, environment, flags] {
        for (key, (value, source)) in layer {
            put(&mut layers, key, value, source);
        }
    }
    let moved = loading.withhold_keys(&mut layers);
    let values = loading.values(layers);
    if !loading.errors.is_empty() {
        return Err(loading.errors);
    }
    let mut settings = settings(&values);
    let general = values.iter().find(|value| value.row.key == API_KEY);
    settings.endpoint.is_projects_key = general.is_some_and(|key| is_projects(&key.source));
    for name in moved {
        match name.as_str() {
            "" => settings.endpoint.moved_by_project = true,
            name => settings.own(name).moved_by_project = true,
        }
    }
    Ok(Loaded { settings, trust, values, without_effect: loading.without_effect, warnings: loading.warnings })
}

/// The user's settings file: `$XDG_CONFIG_HOME/co/config.toml`, otherwise below `~/.config`. `None` without a
/// home folder.
#[must_use]
pub fn user_file(env: &BTreeMap<String, String>) -> Option<PathBuf> {
    Some(xdg(env, "XDG_CONFIG_HOME", ".config")?.join("co/config.toml"))
}

/// Returns the value if no project's file may set it.
fn refused(row: &SettingRow, raw: &Raw) -> Option<&'static str> {
    let Raw::Text(text) = raw else { return None };
    row.refused.iter().copied().find(|value| value.eq_ignore_ascii_case(text.trim()))
}

/// The values that one layer sets, by the row's key.
type Layer = BTreeMap<&'static str, (Value, Source)>;

/// Puts a value over an existing one. Sections with free keys are merged entry by entry.
fn put(layer: &mut Layer, key: &'static str, value: Value, source: Source) {
    let value = match (layer.remove(key), value) {
        (Some((Value::Table(mut entries), _)), Value::Table(above)) => {
            entries.retain(|entry| above.iter().all(|other| other.name != entry.name));
            entries.extend(above);
            Value::Table(entries)
        }
        (Some((Value::Records(mut entries), _)), Value::Records(above)) => {
            let same =
                |one: &RecordEntry, other: &RecordEntry| one.name == other.name && one.field == other.field;
            entries.retain(|entry| above.iter().all(|other| !same(entry, other)));
            entries.extend(above);
            Value::Records(entries)
        }
        (Some((Value::Providers(mut entries), _)), Value::Providers(above)) => {
            let same = |one: &ProviderEntry, other: &ProviderEntry| {
                (&one.provider, &one.field) == (&other.provider, &other.field)
            };
            entries.retain(|entry| above.iter().all(|other| !same(entry, other)));
            entries.extend(above);
            Value::Providers(entries)
        }
        (_, value) => value,
    };
    layer.insert(key, (value, source));
}

struct Loading<'a> {
    sources: &'a Sources,
    home: Option<PathBuf>,
    errors: Vec<ConfigError>,
    warnings: Vec<ConfigWarning>,
    without_effect: Vec<(&'static SettingRow, Source)>,
}

impl<'a> Loading<'a> {
    fn new(sources: &'a Sources) -> Self {
        Self {
            sources,
            home: home(&sources.env),
            errors: Vec::new(),
            warnings: Vec::new(),
            without_effect: Vec::new(),
        }
    }

    fn user(&mut self, file: &SourceFile) -> Layer {
        let source_at = |line| Source::UserFile { path: file.path.clone(), line };
        let mut layer = Layer::new();
        for entry in self.entries(file, &source_at) {
            self.assign(&mut layer, entry.row, entry.key, entry.raw, source_at(entry.line));
        }
        layer
    }

    fn project(&mut self, file: &SourceFile, trust: FolderTrust) -> Layer {
        let source_at = |line| Source::ProjectFile { path: file.path.clone(), line };
        let mut layer = Layer::new();
        for entry in self.entries(file, &source_at) {
            let source_of = source_at(entry.line);
            let has_effect = matches!(entry.row.status, Status::Built(_));
            match (entry.row.project, trust) {
                (ProjectTrust::Never, _) if has_effect => {
                    let user_file = self.user_file_in_words();
                    self.warnings.push(ConfigWarning::NotForProjects {
                        source_of,
                        key: entry.key,
                        user_file,
                    });
                }
                (ProjectTrust::WhenTrusted, FolderTrust::Untrusted) if has_effect => {
                    let folder = self.sources.workspace.clone();
                    self.warnings.push(ConfigWarning::NotTrusted { source_of, key: entry.key, folder });
                }
                _ if refused(entry.row, &entry.raw).is_some() => {
                    let value = refused(entry.row, &entry.raw).unwrap_or_default();
                    let user_file = self.user_file_in_words();
                    let (key, value) = (entry.key, value.to_owned());
                    self.warnings.push(ConfigWarning::ValueNotForProjects {
                        source_of,
                        key,
                        value,
                        user_file,
                    });
                }
                (ProjectTrust::Always | ProjectTrust::WhenTrusted | ProjectTrust::Never, _) => {
                    self.assign(&mut layer, entry.row, entry.key, entry.raw, source_of);
                }
            }
        }
        layer
    }

    fn environment(&mut self) -> Layer {
        let mut layer = Layer::new();
        for row in SETTINGS {
            let set = |name: &&&str| self.sources.env.get(**name).is_some_and(|text| !text.is_empty());
            let Some(name) = row.env.iter().find(set) else { continue };
            let raw = value::from_text(row.kind, &self.sources.env[*name]);
            let source = Source::Environment { name: (*name).to_owned() };
            self.assign(&mut layer, row, row.key.to_owned(), raw, source);
        }
        self.mistyped_environment();
        layer
    }

    /// Warns about misspelled names of `co`'s own variables. Other variables may belong to other programs.
    fn mistyped_environment(&mut self) {
        let known = || SETTINGS.iter().flat_map(|row| row.env.iter().copied());
        for (name, _) in self.sources.env.iter().filter(|(_, text)| !text.is_empty()) {
            let Some(stem) = stem(name) else { continue };
            if known().any(|known| known == name) {
                continue;
            }
            let meant = text::nearest(stem, known().filter_map(self::stem));
            if let Some(nearest) =
                meant.and_then(|meant| known().find(|known| self::stem(known) == Some(meant)))
            {
                let name = text::sanitize_line(name).into_owned();
                self.warnings.push(ConfigWarning::UnknownEnvironment { name, nearest });
            }
        }
    }

    fn flags(&mut self) -> Layer {
        let mut layer = Layer::new();
        for (name, text) in &self.sources.flags {
            let source = Source::Flag { name: text::sanitize_line(name).into_owned() };
            let row = SETTINGS.iter().find(|row| row.flag == Some(name)).or_else(|| SettingRow::find(name));
            match row {
                Some(row) => {
                    let raw = value::from_text(row.kind, text);
                    self.assign(&mut layer, row, row.key.to_owned(), raw, source);
                }
                None => match SettingRow::around(name) {
                    Some((row, inner)) => {
                        let entry =
                            RawEntry { name: file::shown(inner), raw: Raw::Text(text.clone()), line: 0 };
                        self.assign(&mut layer, row, row.key.to_owned(), Raw::Table(vec![entry]), source);
                    }
                    None => self.errors.push(file::unknown(source, name.trim_start_matches('-'))),
                },
            }
        }
        layer
    }

    fn entries(&mut self, file: &SourceFile, source_at: &dyn Fn(usize) -> Source) -> Vec<file::Entry> {
        let (entries, errors) = file::entries(&file.text, &file.path, source_at);
        self.errors.extend(errors);
        entries
    }

    fn assign(
        &mut self,
        layer: &mut Layer,
        row: &'static SettingRow,
        key: String,
        raw: Raw,
        source_of: Source,
    ) {
        match row.status {
            Status::Built(_) => match self.checked(row, &key, raw, &source_of) {
                Ok(value) => put(layer, row.key, value, source_of),
                Err(wrong) => {
                    self.errors.push(ConfigError::BadValue { source_of, key, wrong: Box::new(wrong) });
                }
            },
            Status::Later { with, meanwhile } => {
                self.without_effect.push((row, source_of.clone()));
                self.warnings.push(ConfigWarning::Later { source_of, key, with, meanwhile });
            }
            Status::Replaced(instead) => {
                self.without_effect.push((row, source_of.clone()));
                self.warnings.push(ConfigWarning::Replaced { source_of, key, instead });
            }
        }
    }

    fn checked(&mut self, row: &SettingRow, key: &str, raw: Raw, source_of: &Source) -> Result<Value, Wrong> {
        match (row.kind, raw) {
            (Kind::Table, Raw::Table(entries)) => Ok(Value::Table(self.table(key, entries, source_of))),
            (Kind::Records(fields), Raw::Table(entries)) => {
                Ok(Value::Records(self.records(key, fields, entries, source_of)))
            }
            (Kind::Providers, Raw::Table(entries)) => {
                Ok(Value::Providers(self.providers(key, entries, source_of)))
            }
            (Kind::Text, raw @ Raw::Other("a section")) if row.key == "provider" => {
                let wrong = value::check_from(row.kind, raw, self.home.as_deref(), source_of);
                let advice = Some("a service of your own is a section [providers.NAME]".to_owned());
                wrong.map_err(|wrong| Wrong { advice, ..wrong })
            }
            (kind, raw) => value::check_from(kind, raw, self.home.as_deref(), source_of)
                .map(|value| self.looked_up(value)),
        }
    }

    /// Replaces a key that names a variable by the variable's value, if it is set.
    fn looked_up(&self, value: Value) -> Value {
        let Value::Secret(Key::Missing { variable }) = &value else { return value };
        match self.sources.env.get(variable).map(|text| text.trim()).filter(|text| !text.is_empty()) {
            Some(text) => Value::Secret(Key::literal(text)),
            None => value,
        }
    }

    /// Checks the entries of the providers' sections and returns the valid ones.
    fn providers(&mut self, key: &str, entries: Vec<RawEntry>, source_of: &Source) -> Vec<ProviderEntry> {
        let mut checked = Vec::new();
        for RawEntry { name, raw, line } in entries {
            let source_of = source_of.at_line(line);
            let key = format!("{key}.{name}");
            match providers::entry(&name, raw, source_of.clone()) {
                Ok(entry) => {
                    let value = self.looked_up(entry.value);
                    checked.push(ProviderEntry { value, ..entry });
                }
                Err(Misfit::Wrong(wrong)) => {
                    self.errors.push(ConfigError::BadValue { source_of, key, wrong: Box::new(wrong) });
                }
                Err(Misfit::Unknown { nearest }) => {
                    self.errors.push(ConfigError::UnknownKey { source_of, key, nearest });
                }
            }
        }
        checked
    }

    /// Returns the valid entries of a section with free keys; warns about the others.
    fn table(&mut self, key: &str, entries: Vec<RawEntry>, source_of: &Source) -> Vec<TableEntry> {
        let mut table = Vec::new();
        for RawEntry { name, raw, line } in entries {
            let source = source_of.at_line(line);
            match value::texts(raw) {
                Ok(texts) => table.push(TableEntry { name, texts, source }),
                Err(wrong) => self.warnings.push(ConfigWarning::BadEntry {
                    source_of: source,
                    key: format!("{key}.{name}"),
                    wrong: Box::new(wrong),
                }),
            }
        }
        table
    }

    /// Checks the fields of named sections. Any problem is an error, because an ignored misspelled price
    /// would be worse than none.
    fn records(
        &mut self,
        key: &str,
        fields: &'static [Field],
        entries: Vec<RawEntry>,
        source_of: &Source,
    ) -> Vec<RecordEntry> {
        let mut records = Vec::new();
        for RawEntry { name: dotted, raw, line } in entries {
            let source_of = source_of.at_line(line);
            // Names may contain dots (`gpt-5.1`), fields may not. In a flag the name may be quoted.
            let Some((name, field)) = dotted.rsplit_once('.') else {
                let inner = "\"NAME\".window";
                self.errors.push(ConfigError::Section { source_of, key: key.to_owned(), inner });
                continue;
            };
            let name = name.trim_matches('"');
            let Some(known) = fields.iter().find(|known| known.name == field) else {
                let nearest = text::nearest(field, fields.iter().map(|known| known.name));
                let key = format!("{key}.\"{name}\".{field}");
                self.errors.push(ConfigError::UnknownKey { source_of, key, nearest });
                continue;
            };
            let raw = match raw {
                Raw::Text(text) if matches!(source_of, Source::Flag { .. }) => {
                    value::from_text(known.kind, &text)
                }
                raw => raw,
            };
            match value::check(known.kind, raw, self.home.as_deref()) {
                Ok(value) => {
                    records.push(RecordEntry {
                        name: name.to_owned(),
                        field: known.name,
                        value,
                        source: source_of,
                    });
                }
                Err(wrong) => {
                    let key = format!("{key}.\"{name}\".{field}");
                    self.errors.push(ConfigError::BadValue { source_of, key, wrong: Box::new(wrong) });
                }
            }
        }
        records
    }

    fn values(&mut self, mut layers: Layer) -> Vec<ValueWithSource> {
        let mut values = Vec::new();
        for row in SETTINGS.iter().filter(|row| matches!(row.status, Status::Built(_))) {
            let (mut value, mut source) =
                layers.remove(row.key).unwrap_or_else(|| (value::default_of(row), Source::Default));
            if let Value::Records(entries) = &value {
                self.errors.extend(models::incomplete(entries));
            }
            if row.key == DATA_DIR && matches!(value, Value::Unset) {
                source = Source::Default;
                match xdg(&self.sources.env, "XDG_DATA_HOME", ".local/share") {
                    Some(folder) => value = Value::Path(folder.join("co")),
                    None => self.errors.push(ConfigError::NoDataDir),
                }
            }
            values.push(ValueWithSource { row, value, source });
        }
        values
    }

    /// Whether the folder is trusted. Only the user decides that, for the content at that time; project files
    /// have no influence. `layers` are ordered strongest first.
    fn trust(&mut self, layers: [&Layer; 3]) -> FolderTrust {
        let Sources { workspace, contents, trusted, unread, .. } = self.sources;
        for problem in unread {
            self.warnings.push(ConfigWarning::ProjectFileUnreadable {
                folder: workspace.clone(),
                problem: problem.clone(),
            });
        }
        let folders = layers.into_iter().find_map(|layer| layer.get(TRUSTED_FOLDERS));
        let is_listed =
            matches!(folders, Some((Value::Paths(folders), _)) if names_folder(folders, workspace));
        let nothing = Contents::new();
        let before = trusted.as_ref().unwrap_or(&nothing);
        let agrees = is_as_trusted(contents, before);
        if is_listed && trusted.is_none() && !agrees {
            self.warnings.push(ConfigWarning::TrustUnconfirmed { folder: workspace.clone() });
        } else if is_listed && !agrees {
            let changed = |name: &&str| contents.get(*name) != before.get(*name);
            let files: Vec<&str> = PROJECT_FILES.into_iter().filter(changed).collect();
            let (folder, files) = (workspace.clone(), files.join(", "));
            self.warnings.push(ConfigWarning::TrustSuspended { folder, files });
        }
        if is_listed && agrees { FolderTrust::Trusted } else { FolderTrust::Untrusted }
    }

    /// Turns errors in a project's file into warnings: a folder's author must not stop the user's commands.
    fn project_errors_to_warnings(&mut self, from: usize) {
        let wrong = self.errors.split_off(from);
        self.warnings
            .extend(wrong.iter().map(|error| ConfigWarning::ProjectError { why: error.to_string() }));
    }

    /// Removes keys whose address is set only by the project's file: a key must be sent only to the address
    /// it was set for. Returns the providers with such an address; `""` means the chosen provider.
    fn withhold_keys(&mut self, layers: &mut Layer) -> Vec<String> {
        let set = layers.iter().filter(|(_, (_, source))| is_projects(source));
        let mut moved: Vec<String> = set
            .filter_map(|(key, _)| match key.strip_suffix(BASE_URL) {
                Some(service) => Some(service.trim_end_matches('.').to_owned()),
                None => (*key == OLLAMA_HOST).then(|| "ollama".to_owned()),
            })
            .collect();
        if let Some((Value::Providers(entries), _)) = layers.get(PROVIDERS) {
            let moves = |entry: &&ProviderEntry| [BASE_URL, PRESET].contains(&entry.field.as_str());
            let named = entries.iter().filter(moves).filter(|entry| is_projects(&entry.source));
            moved.extend(named.map(|entry| entry.provider.clone()));
        }
        for name in &moved {
            let key = if name.is_empty() { API_KEY.to_owned() } else { format!("{name}.{API_KEY}") };
            let kept = layers.get(key.as_str()).filter(|(_, source)| !is_projects(source));
            if let Some(source_of) = kept.map(|(_, source)| source.clone()) {
                layers.remove(key.as_str());
                self.warnings.push(ConfigWarning::KeyWithheld { source_of, key });
            }
        }
        if let Some((Value::Providers(entries), _)) = layers.get_mut(PROVIDERS) {
            let withheld = |entry: &mut ProviderEntry| {
                moved.contains(&entry.provider) && entry.is_secret() && !is_projects(&entry.source)
            };
            let withheld: Vec<ProviderEntry> = entries.extract_if(.., withheld).collect();
            for entry in withheld {
                let key = format!("{PROVIDERS}.{}.{}", entry.provider, entry.field);
                self.warnings.push(ConfigWarning::KeyWithheld { source_of: entry.source, key });
            }
        }
        moved
    }

    fn user_file_in_words(&self) -> String {
        let path = user_file(&self.sources.env);
        path.map_or_else(|| "your own config.toml".to_owned(), |path| shown(&path))
    }
}

fn is_projects(source: &Source) -> bool {
    matches!(source, Source::ProjectFile { .. })
}

const DATA_DIR: &str = "data_dir";
const TRUSTED_FOLDERS: &str = "trusted_folders";
const BASE_URL: &str = "base_url";
const API_KEY: &str = "api_key";
const OLLAMA_HOST: &str = "ollama.host";
const PRESET: &str = "preset";
const PROVIDERS: &str = "providers";

fn settings(values: &[ValueWithSource]) -> Settings {
    let mut settings = Settings::unwritten();
    for ValueWithSource { row, value, .. } in values {
        if let Status::Built(set) = row.status {
            set(&mut settings, value.clone());
        }
    }
    settings.shell.timeout = settings.shell.timeout.min(settings.shell.max_timeout);
    settings
}

/// The part of an environment name after the prefix of `co`.
fn stem(name: &str) -> Option<&str> {
    name.strip_prefix("CO_CLI_").or_else(|| name.strip_prefix("CO_"))
}

/// An absolute path from the environment; the XDG specification says that relative paths are ignored.
fn absolute(env: &BTreeMap<String, String>, name: &str) -> Option<PathBuf> {
    env.get(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

fn home(env: &BTreeMap<String, String>) -> Option<PathBuf> {
    absolute(env, "HOME")
}

fn xdg(env: &BTreeMap<String, String>, name: &str, below_home: &str) -> Option<PathBuf> {
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
