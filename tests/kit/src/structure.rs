//! The structure of the shipped code: import circles and the names of types. For `co-measure` and the tidy test.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{self, Source};

/// How many definitions one type name may have.
pub const MOST_MEANINGS: usize = 3;

/// Returns the names of shipped types, each with the modules that define it.
pub fn names_of_types(sources: &[Source]) -> BTreeMap<String, Vec<&str>> {
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
pub fn circles(sources: &[Source]) -> Vec<Vec<String>> {
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
