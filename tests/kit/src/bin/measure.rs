//! `co-measure`: the size and structure of the shipped code: lines of code, import cycles, names of types.
#![expect(clippy::print_stdout, reason = "a tool for the command line")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kit::source::{self, Source};

/// How many definitions one type name may have.
const MOST_MEANINGS: usize = 3;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sources: Vec<Source> =
        source::read(&root).into_iter().filter(|source| source.path.starts_with("src/")).collect();
    let code: usize = sources.iter().map(code_lines).sum();
    println!("code lines without tests and comments: {code}");
    for (module, lines) in by_module(&sources) {
        println!("  {module:<12} {lines:>6}");
    }
    let tests: usize = sources.iter().map(|source| filled(&source.tests)).sum();
    println!("lines of tests in src: {tests}");
    let circles = circles(&sources);
    println!("import circles: {}", circles.len());
    for circle in circles {
        println!("  {}", circle.join(" "));
    }
    let named = names_of_types(&sources);
    let many: Vec<_> = named.iter().filter(|(_, places)| places.len() > MOST_MEANINGS).collect();
    println!("type names with more than {MOST_MEANINGS} meanings: {}", many.len());
    for (name, places) in many {
        println!("  {name}: {}", places.join(" "));
    }
}

fn filled(code: &str) -> usize {
    code.lines().filter(|line| !line.trim().is_empty()).count()
}

fn code_lines(source: &Source) -> usize {
    filled(&source.code)
}

fn by_module(sources: &[Source]) -> BTreeMap<String, usize> {
    let mut modules = BTreeMap::new();
    for source in sources {
        let top = source.module.split('/').next().unwrap_or_default().to_owned();
        *modules.entry(top).or_insert(0) += code_lines(source);
    }
    modules
}

/// Returns the names of shipped types, each with the modules that define it.
fn names_of_types(sources: &[Source]) -> BTreeMap<String, Vec<&str>> {
    let mut names: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for source in sources {
        for line in source.code.lines() {
            let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
            let mut word = words.next();
            // `pub(in a::b)` has no blanks except the one after `in`.
            if word.is_some_and(|word| word.ends_with(')')) {
                word = words.next();
            }
            if matches!(word, Some("struct" | "enum" | "trait" | "type"))
                && !line.starts_with("    type ")
                && let Some(name) = words.next()
            {
                let name: String = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                names.entry(name).or_default().push(&source.module);
            }
        }
    }
    names
}

/// Returns groups of files that import each other; a name belongs to the file that defines it.
fn circles(sources: &[Source]) -> Vec<Vec<String>> {
    let modules: BTreeSet<&str> =
        sources.iter().map(|source| source.module.as_str()).filter(|module| !module.is_empty()).collect();
    let shipped: Vec<&Source> =
        sources.iter().filter(|source| modules.contains(source.module.as_str())).collect();
    let handed_on = handed_on(&shipped, &modules);
    let mut arrows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for source in &shipped {
        for named in source::names(&source.code) {
            let Some(place) = source::place(source, &named.segments) else { continue };
            // `pub(super)` and `pub(in crate::agent)` define visibility; they import nothing.
            let is_visibility = source.module == place || source.module.starts_with(&format!("{place}/"));
            let Some(target) = defining(&place, &modules, &handed_on) else { continue };
            if target != source.module && !named.is_handed_on && !is_visibility {
                arrows.entry(&source.module).or_default().insert(target);
            }
        }
    }
    components(&modules, &arrows)
}

/// Returns what modules re-export with `pub use`: the path there, and the original path.
fn handed_on(sources: &[&Source], modules: &BTreeSet<&str>) -> BTreeMap<String, String> {
    let mut handed = BTreeMap::new();
    for source in sources {
        for named in source::names(&source.code).into_iter().filter(|named| named.is_handed_on) {
            let below = source::place(source, &named.segments).or_else(|| {
                let path = format!("{}/{}", source.module, named.segments.join("/"));
                let child = format!("{}/{}", source.module, named.segments.first()?);
                modules.contains(child.as_str()).then_some(path)
            });
            if let (Some(below), Some(name)) = (below, named.segments.last()) {
                handed.insert(format!("{}/{name}", source.module), below);
            }
        }
    }
    handed
}

/// Returns the module that defines what a path names.
fn defining<'a>(
    path: &str,
    modules: &BTreeSet<&'a str>,
    handed_on: &BTreeMap<String, String>,
) -> Option<&'a str> {
    let mut path = path.to_owned();
    for _ in 0..8 {
        let parts: Vec<&str> = path.split('/').collect();
        let known = (1..=parts.len()).rev().find(|end| modules.contains(parts[..*end].join("/").as_str()))?;
        let module = parts[..known].join("/");
        let item = parts.get(known).map(|name| format!("{module}/{name}"));
        match item.and_then(|item| handed_on.get(&item)) {
            Some(below) => path.clone_from(below),
            None => return modules.get(module.as_str()).copied(),
        }
    }
    None
}

/// Returns the components of more than one file in the graph, by reachability.
fn components(modules: &BTreeSet<&str>, arrows: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<Vec<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        modules.iter().map(|from| (*from, reached(from, arrows))).collect();
    let mut found: Vec<Vec<String>> = Vec::new();
    let mut placed: BTreeSet<&str> = BTreeSet::new();
    for from in modules {
        if placed.contains(from) || !reached[from].contains(from) {
            continue;
        }
        let circle: Vec<&str> =
            reached[from].iter().copied().filter(|other| reached[other].contains(from)).collect();
        placed.extend(&circle);
        if circle.len() > 1 {
            found.push(circle.into_iter().map(str::to_owned).collect());
        }
    }
    found
}

fn reached<'a>(from: &str, arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&str> = vec![from];
    while let Some(here) = open.pop() {
        for next in arrows.get(here).into_iter().flatten() {
            if seen.insert(*next) {
                open.push(next);
            }
        }
    }
    seen
}
