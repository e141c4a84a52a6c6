//! Merges the layers of settings: from sources to settings with their origins. Pure.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::check::{self, Kind, Raw, RawEntry, SectionsOf};
use super::file::{self, SourceFile};
use super::inert::INERT;
use super::models;
use super::places::{default_data_dir, home, user_file};
use super::problem::{ConfigError, ConfigWarning, Source, ValueProblem, path_line};
use super::providers;
use super::servers;
use super::settings::{self, ProjectTrust, SETTINGS, SettingRow};
use super::trust::{Contents, FolderTrust, changed_names, is_as_trusted, names_folder};
use super::typed::Settings;
use super::value::{Key, SectionEntry, TableEntry, Value};
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

/// Valid settings, and where their values come from.
pub struct LoadedSettings {
    pub settings: Settings,
    pub trust: FolderTrust,
    /// Every setting, in the order of the table.
    pub values: Vec<ValueWithSource>,
    /// Settings that were set but have no effect.
    pub without_effect: Vec<(&'static SettingRow, Source)>,
    pub warnings: Vec<ConfigWarning>,
    /// The flags among the sources, to load the settings again.
    pub flags: Vec<(String, String)>,
}

/// A value in effect.
pub struct ValueWithSource {
    pub row: &'static SettingRow,
    pub value: Value,
    pub source: Source,
}

/// Merges the layers. On failure returns all errors, not only the first.
pub fn load(sources: &Sources) -> Result<LoadedSettings, Vec<ConfigError>> {
    let mut loading = SettingsLoader::new(sources);
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
    let SettingsLoader { without_effect, warnings, .. } = loading;
    Ok(LoadedSettings { settings, trust, values, without_effect, warnings, flags: sources.flags.clone() })
}

/// Returns the value if no project's file may set it.
fn refused_value(row: &SettingRow, raw: &Raw) -> Option<&'static str> {
    let Raw::Text(text) = raw else { return None };
    row.refused.iter().copied().find(|value| value.eq_ignore_ascii_case(text.trim()))
}

/// The values that one layer sets, by the row's key.
type Layer = BTreeMap<&'static str, (Value, Source)>;

/// Puts a value over an existing one. Sections with free keys are merged entry by entry.
fn put(layer: &mut Layer, key: &'static str, value: Value, source: Source) {
    let value = match (layer.remove(key), value) {
        (Some((Value::Table(below), _)), Value::Table(above)) => {
            Value::Table(laid_over(below, above, |one, other| one.name == other.name))
        }
        // The variable of the servers holds all of them.
        (Some(_), Value::Sections(above))
            if key == SERVERS && matches!(source, Source::Environment { .. }) =>
        {
            Value::Sections(above)
        }
        (Some((Value::Sections(below), _)), Value::Sections(above)) => {
            let same = |one: &SectionEntry, other: &SectionEntry| {
                (&one.section, &one.field) == (&other.section, &other.field)
            };
            Value::Sections(laid_over(below, above, same))
        }
        (_, value) => value,
    };
    layer.insert(key, (value, source));
}

/// The upper entries, and those of the lower ones that they do not replace.
fn laid_over<T>(mut below: Vec<T>, above: Vec<T>, same: impl Fn(&T, &T) -> bool) -> Vec<T> {
    below.retain(|entry| above.iter().all(|other| !same(entry, other)));
    below.extend(above);
    below
}

struct SettingsLoader<'a> {
    sources: &'a Sources,
    home: Option<PathBuf>,
    errors: Vec<ConfigError>,
    warnings: Vec<ConfigWarning>,
    without_effect: Vec<(&'static SettingRow, Source)>,
}

impl<'a> SettingsLoader<'a> {
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
        self.file(file, &Source::UserFile { path: file.path.clone(), line: 1 }, None)
    }

    fn project(&mut self, file: &SourceFile, trust: FolderTrust) -> Layer {
        self.file(file, &Source::ProjectFile { path: file.path.clone(), line: 1 }, Some(trust))
    }

    /// Takes what a file sets; of a project's file, what this trust in its folder allows.
    fn file(&mut self, file: &SourceFile, source: &Source, trust: Option<FolderTrust>) -> Layer {
        let (entries, errors) = file::entries(file, source);
        self.errors.extend(errors);
        let mut layer = Layer::new();
        for entry in entries {
            match trust.and_then(|trust| self.withheld(&entry, trust)) {
                Some(warning) => self.warnings.push(warning),
                None => self.assign(&mut layer, entry.row, entry.key, entry.raw, entry.source),
            }
        }
        layer
    }

    /// Says why a project's file may not set this; `None` if it may.
    fn withheld(&self, entry: &file::Entry, trust: FolderTrust) -> Option<ConfigWarning> {
        let file::Entry { row, key, raw, source } = entry;
        let (source_of, key) = (source.clone(), key.clone());
        match (row.project, trust, refused_value(row, raw)) {
            _ if row.no_effect().is_some() => None,
            (ProjectTrust::Never, _, _) => {
                Some(ConfigWarning::NotForProjects { source_of, key, user_file: self.user_file_in_words() })
            }
            (ProjectTrust::WhenTrusted, FolderTrust::Untrusted, _) => {
                let folder = self.sources.workspace.clone();
                Some(ConfigWarning::NotTrusted { source_of, key, folder })
            }
            (ProjectTrust::Always | ProjectTrust::WhenTrusted, _, refused) => {
                let (value, user_file) = (refused?.to_owned(), self.user_file_in_words());
                Some(ConfigWarning::ValueNotForProjects { source_of, key, value, user_file })
            }
        }
    }

    fn environment(&mut self) -> Layer {
        let mut layer = Layer::new();
        let set = |name: &&&'static str| self.sources.env.get(**name).is_some_and(|text| !text.is_empty());
        for row in SETTINGS.iter().chain(INERT) {
            let Some(name) = row.env.iter().find(set) else { continue };
            let raw = check::from_text(row.kind, &self.sources.env[*name]);
            let source = Source::Environment { name: (*name).to_owned() };
            self.assign(&mut layer, row, row.key.to_owned(), raw, source);
        }
        self.mistyped_environment();
        layer
    }

    /// Warns about misspelled names of `co`'s own variables. Other variables may belong to other programs.
    fn mistyped_environment(&mut self) {
        let known = settings::env_names;
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
            match (row, SettingRow::around(name)) {
                (Some(row), _) => {
                    let raw = check::from_text(row.kind, text);
                    self.assign(&mut layer, row, row.key.to_owned(), raw, source);
                }
                (None, Some((row, inner))) => {
                    let entry =
                        RawEntry { name: file::key_line(inner), raw: Raw::Text(text.clone()), line: 0 };
                    self.assign(&mut layer, row, row.key.to_owned(), Raw::Table(vec![entry]), source);
                }
                (None, None) => self.errors.push(file::unknown(source, name.trim_start_matches('-'))),
            }
        }
        layer
    }

    fn assign(
        &mut self,
        layer: &mut Layer,
        row: &'static SettingRow,
        key: String,
        raw: Raw,
        source_of: Source,
    ) {
        if let Some(why) = row.no_effect() {
            self.without_effect.push((row, source_of.clone()));
            return self.warnings.push(ConfigWarning::NoEffect { source_of, key, why });
        }
        match self.check_value(row, &key, raw, &source_of) {
            Ok(value) => put(layer, row.key, value, source_of),
            Err(wrong) => self.errors.push(wrong.of(key, source_of)),
        }
    }

    fn check_value(
        &mut self,
        row: &SettingRow,
        key: &str,
        raw: Raw,
        source_of: &Source,
    ) -> Result<Value, ValueProblem> {
        match (row.kind, raw) {
            (Kind::Table, Raw::Table(entries)) => Ok(Value::Table(self.table(key, entries, source_of))),
            (Kind::Sections(of), Raw::Table(entries)) => {
                Ok(Value::Sections(self.sections(of, key, entries, source_of)))
            }
            (kind, raw) => {
                let is_section = matches!(raw, Raw::Other("a section"));
                let checked = check::check(kind, raw, self.home.as_deref(), source_of);
                checked.map(|value| self.looked_up(value)).map_err(|wrong| match row.key {
                    PROVIDER if is_section => wrong.advised("your own service is a section [providers.NAME]"),
                    _ => wrong,
                })
            }
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

    /// Returns the valid entries of a section with free keys; warns about the others.
    fn table(&mut self, key: &str, entries: Vec<RawEntry>, source_of: &Source) -> Vec<TableEntry> {
        let mut table = Vec::new();
        for RawEntry { name, raw, line } in entries {
            let source = source_of.at_line(line);
            match check::texts(raw) {
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
    fn sections(
        &mut self,
        of: SectionsOf,
        key: &str,
        entries: Vec<RawEntry>,
        source_of: &Source,
    ) -> Vec<SectionEntry> {
        let mut sections = Vec::new();
        for RawEntry { name, raw, line } in entries {
            let source = source_of.at_line(line);
            let place = match of {
                SectionsOf::Providers => providers::place(key, &name, &check::describe_raw(&raw), &source),
                SectionsOf::Servers => servers::place(key, &name, &check::describe_raw(&raw), &source),
                SectionsOf::Models => models::place(key, &name, &source),
            };
            let checked = place.and_then(|place| {
                let is_text = of == SectionsOf::Providers || matches!(source, Source::Flag { .. });
                let raw = if is_text { check::convert_text(place.kind, raw) } else { raw };
                match check::check(place.kind, raw, self.home.as_deref(), &source) {
                    // Not shown: it may be a token, or contain one.
                    Ok(Value::Text(text))
                        if of == SectionsOf::Servers && servers::is_secret(&place.field) =>
                    {
                        Ok((place.section, place.field, Value::Secret(Key::literal(&text))))
                    }
                    Ok(value) => Ok((place.section, place.field, self.looked_up(value))),
                    Err(wrong) => Err(wrong.of(place.key, source.clone())),
                }
            });
            match checked {
                Ok((section, field, value)) => sections.push(SectionEntry { section, field, value, source }),
                Err(error) => self.errors.push(error),
            }
        }
        sections
    }

    fn values(&mut self, mut layers: Layer) -> Vec<ValueWithSource> {
        let mut values = Vec::new();
        for row in SETTINGS {
            let (mut value, mut source) =
                layers.remove(row.key).unwrap_or_else(|| (row.default_value(), Source::Default));
            match row.kind {
                Kind::Sections(SectionsOf::Models) => {
                    self.errors.extend(models::incomplete(value.sections()));
                }
                Kind::Sections(SectionsOf::Servers) => {
                    self.errors.extend(servers::incomplete(value.sections()));
                }
                _ => {}
            }
            if row.key == DATA_DIR && matches!(value, Value::Unset) {
                source = Source::Default;
                match default_data_dir(&self.sources.env) {
                    Some(folder) => value = Value::Path(folder),
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
            let files = text::sanitize_line(&changed_names(before, contents).join(", ")).into_owned();
            let folder = workspace.clone();
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
        let sections = layers.get(PROVIDERS).map(|(value, _)| value.sections()).unwrap_or_default();
        let moves = |entry: &&SectionEntry| [BASE_URL, PRESET].contains(&entry.field.as_str());
        let by_section = sections.iter().filter(moves).filter(|entry| is_projects(&entry.source));
        moved.extend(by_section.map(|entry| entry.section.clone()));
        for name in &moved {
            let key = if name.is_empty() { API_KEY.to_owned() } else { format!("{name}.{API_KEY}") };
            let kept = layers.get(key.as_str()).filter(|(_, source)| !is_projects(source));
            if let Some(source_of) = kept.map(|(_, source)| source.clone()) {
                layers.remove(key.as_str());
                self.warnings.push(ConfigWarning::KeyWithheld { source_of, key });
            }
        }
        if let Some((Value::Sections(entries), _)) = layers.get_mut(PROVIDERS) {
            let withheld = |entry: &mut SectionEntry| {
                moved.contains(&entry.section) && providers::is_secret(entry) && !is_projects(&entry.source)
            };
            let withheld: Vec<SectionEntry> = entries.extract_if(.., withheld).collect();
            for entry in withheld {
                let key = format!("{PROVIDERS}.{}.{}", entry.section, entry.field);
                self.warnings.push(ConfigWarning::KeyWithheld { source_of: entry.source, key });
            }
        }
        moved
    }

    fn user_file_in_words(&self) -> String {
        let path = user_file(&self.sources.env);
        path.map_or_else(|| "your own config.toml".to_owned(), |path| path_line(&path))
    }
}

fn is_projects(source: &Source) -> bool {
    matches!(source, Source::ProjectFile { .. })
}

const DATA_DIR: &str = "data_dir";
const SERVERS: &str = "mcp_servers";
const TRUSTED_FOLDERS: &str = "trusted_folders";
const BASE_URL: &str = "base_url";
const API_KEY: &str = "api_key";
const OLLAMA_HOST: &str = "ollama.host";
const PRESET: &str = "preset";
const PROVIDER: &str = "provider";
const PROVIDERS: &str = "providers";

fn settings(values: &[ValueWithSource]) -> Settings {
    let mut settings = Settings::blank();
    for ValueWithSource { row, value, .. } in values {
        row.write(&mut settings, value.clone());
    }
    settings.shell.timeout = settings.shell.timeout.min(settings.shell.max_timeout);
    settings
}

/// The part of an environment name after the prefix of `co`.
fn stem(name: &str) -> Option<&str> {
    name.strip_prefix("CO_CLI_").or_else(|| name.strip_prefix("CO_"))
}
