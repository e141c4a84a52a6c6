//! `co-measure`: the size and structure of the shipped code: lines of code, import cycles, names of types.
#![expect(clippy::print_stdout, reason = "a tool for the command line")]

use std::collections::BTreeMap;
use std::path::Path;

use kit::source::{self, Source};
use kit::structure::{MOST_MEANINGS, circles, names_of_types};

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
