//! `find_definition`: where a function, type or constant is defined, by a table of patterns for common languages.
//!
//! It reads lines, not programs: a definition in an unusual form is missed, and search_text finds that.

use std::path::Path;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

use super::grep::{outcome, search};
use super::place::ToolPath;
use super::typed::{RunContext, TypedTool};
use super::work::{misuse, read_plan};
use crate::tool::{CallPlan, Category, SeenVersions, ToolError, ToolOutput};

/// A language: the endings of its files, and what begins a definition of `NAME`.
const LANGUAGES: &[(&[&str], &str)] = &[
    (
        &["rs"],
        r#"^\s*(pub(\([^)]*\))?\s+)?((async|const|unsafe|default|extern(\s+"[^"]*")?)\s+)*(fn|struct|enum|trait|type|union|mod|const|static(\s+mut)?)\s+NAME\b|^\s*macro_rules!\s+NAME\b"#,
    ),
    (&["py", "pyi"], r"^\s*(async\s+)?(def|class)\s+NAME\b|^NAME\s*(:[^=]+)?=[^=]"),
    (
        &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"],
        r"^\s*(export\s+)?(default\s+)?(declare\s+)?(abstract\s+)?(async\s+)?(function\s*\*?|class|interface|enum|type|namespace)\s+NAME\b|^\s*(export\s+)?(declare\s+)?(const|let|var)\s+NAME\b|^\s+((public|private|protected|static|async|get|set|readonly|override)\s+)*NAME\s*(<[^>]*>)?\([^;]*\)\s*(:[^{;]+)?\{",
    ),
    (&["go"], r"^func\s+(\([^)]*\)\s*)?NAME\b|^\s*type\s+NAME\b|^\s*(var|const)\s+NAME\b"),
    (
        &["java", "cs", "scala", "groovy"],
        r"\b(class|interface|enum|record|struct|object|trait|@interface)\s+NAME\b|^\s*((public|private|protected|internal|static|final|abstract|override|virtual|async|synchronized|sealed|partial|readonly|native|default)\s+)+([\w<>\[\],.?]+\s+)*NAME\s*[(=;{]|^\s*((override|private|protected|implicit|final)\s+)*def\s+NAME\b",
    ),
    (
        &["kt", "kts", "swift"],
        r"\b(class|interface|enum|struct|object|protocol|actor|extension|typealias)\s+NAME\b|\b(fun|func)\s+(<[^>]*>\s*)?([\w<>?]+\.)?NAME\b|^\s*((public|private|internal|protected|static|const|override|lateinit|open|lazy)\s+)*(val|var|let)\s+NAME\b",
    ),
    (
        &["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "ino", "m", "mm"],
        r"^\s*#\s*define\s+NAME\b|\b(struct|class|union|enum|enum\s+class|namespace)\s+NAME\b[^;]*$|^\s*typedef\b.*\bNAME\s*;|^\s*using\s+NAME\s*=|^[A-Za-z_][\w\s*&:<>,~]*[\s*&:]NAME\s*\([^;]*$",
    ),
    (&["rb", "rake"], r"^\s*(def\s+(self\.)?|class\s+|module\s+)(\w+::)*NAME\b|^\s*NAME\s*=[^=]"),
    (
        &["php"],
        r#"\bfunction\s+&?NAME\b|\b(class|interface|trait|enum)\s+NAME\b|\bconst\s+NAME\b|\bdefine\(\s*['"]NAME['"]"#,
    ),
    (
        &["sh", "bash", "zsh"],
        r"^\s*(function\s+)?NAME\s*\(\)|^\s*function\s+NAME\b|^\s*(export\s+|readonly\s+)?NAME=",
    ),
];

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindDefinitionArgs {
    /// The name alone, as it is written in the code.
    name: String,
    /// A file or folder to look in; the whole workspace when absent.
    path: Option<String>,
}

/// Finds definitions.
pub struct FindDefinition;

impl TypedTool for FindDefinition {
    const NAME: &'static str = "find_definition";
    const ABOUT: &'static str = "Finds where a function, type, constant or macro is defined, by its name; \
         returns `path:line: text`. It knows Rust, Python, JavaScript, TypeScript, Go, Java, C#, Kotlin, \
         Swift, C, C++, Ruby, PHP and shell.";
    const CATEGORY: Category = Category::Search;

    type Args = FindDefinitionArgs;

    fn plan(
        &self,
        args: FindDefinitionArgs,
        place: &ToolPath,
        _: &SeenVersions,
    ) -> Result<CallPlan, ToolError> {
        check(&args.name)?;
        let path = place.readable_or_all(args.path.as_deref())?;
        let summary = format!("find the definition of {} in {}", args.name, place.display(&path));
        Ok(read_plan(place, summary, path))
    }

    async fn run(&self, args: FindDefinitionArgs, cx: RunContext) -> Result<ToolOutput, ToolError> {
        cx.read(move |cx| {
            let root = cx.place.readable_or_all(args.path.as_deref())?;
            let matchers = matchers(&args.name)?;
            let pick = |path: &Path| {
                let ending = path.extension()?.to_str()?.to_lowercase();
                let found = matchers.iter().find(|(endings, _)| endings.contains(&ending.as_str()));
                found.map(|(_, matcher)| matcher)
            };
            Ok(cx.output_from(&root, search(&cx.place, &root, &pick, &cx.cancel)?))
        })
        .await
    }

    fn outcome(text: &str) -> String {
        outcome(text, ("definition", "definitions"))
    }
}

fn check(name: &str) -> Result<(), ToolError> {
    let is_name = |c: char| c.is_alphanumeric() || "_$?!".contains(c);
    if name.is_empty() || name.len() > 200 || !name.chars().all(is_name) {
        return Err(misuse(format!(
            "{name:?} is no name; give it alone, without its type, module or brackets"
        )));
    }
    Ok(())
}

fn matchers(name: &str) -> Result<Vec<(&'static [&'static str], RegexMatcher)>, ToolError> {
    check(name)?;
    let one = |(endings, pattern): &(&'static [&'static str], &str)| {
        let built =
            RegexMatcherBuilder::new().line_terminator(Some(b'\n')).build(&name_pattern(pattern, name));
        Ok((*endings, built.map_err(|error| misuse(format!("{name:?} cannot be looked for: {error}")))?))
    };
    LANGUAGES.iter().map(one).collect()
}

/// Returns the pattern for a name.
fn name_pattern(pattern: &str, name: &str) -> String {
    // After `?` and `!` no word ends.
    let is_plain = name.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let pattern = if is_plain { pattern.to_owned() } else { pattern.replace(r"NAME\b", "NAME") };
    pattern.replace("NAME", &regex::escape(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(ending: &str, name: &str) -> regex::Regex {
        let (_, pattern) = LANGUAGES.iter().find(|(endings, _)| endings.contains(&ending)).unwrap();
        regex::Regex::new(&name_pattern(pattern, name)).unwrap()
    }

    #[test]
    fn definitions_are_told_from_uses() {
        for (ending, line, defines) in [
            ("rs", "pub(crate) async fn thing<T>(a: T) {", true),
            ("rs", "    const thing: u8 = 1;", true),
            ("rs", "macro_rules! thing {", true),
            ("rs", "    thing(1);", false),
            ("rs", "fn thing_else() {}", false),
            ("py", "    async def thing(self):", true),
            ("py", "thing: int = 3", true),
            ("py", "if thing == 3:", false),
            ("ts", "export default async function thing() {", true),
            ("ts", "export const thing = () => {", true),
            ("ts", "  private async thing(a: string): Promise<void> {", true),
            ("ts", "  thing(a);", false),
            ("tsx", "type thing = {", true),
            ("go", "func (s *Server) thing(w io.Writer) error {", true),
            ("go", "type thing struct {", true),
            ("go", "\tthing()", false),
            ("java", "    public static List<String> thing(int a) {", true),
            ("java", "class thing extends Other {", true),
            ("java", "    return thing(a);", false),
            ("cs", "    protected override async Task<int> thing() {", true),
            ("kt", "fun String.thing(): Int = 1", true),
            ("swift", "    static let thing = 1", true),
            ("c", "static int *thing(const char *a)", true),
            ("c", "#define thing 1", true),
            ("c", "    thing(a);", false),
            ("h", "int thing(void);", false),
            ("cpp", "void Server::thing(int a) const {", true),
            ("cpp", "enum class thing {", true),
            ("rb", "  def self.thing(a)", true),
            ("rb", "module A::thing", true),
            ("php", "    public function thing($a)", true),
            ("sh", "thing() {", true),
            ("sh", "thing --flag", false),
        ] {
            assert_eq!(pattern(ending, "thing").is_match(line), defines, "{ending}: {line}");
        }
        assert!(pattern("rb", "empty?").is_match("  def empty?"));
        assert!(matchers("thing").is_ok());
        for name in ["", "a b", "a::b", "f()", "(x"] {
            assert!(check(name).is_err(), "{name}");
        }
    }
}
