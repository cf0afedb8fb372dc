//! The graph of crates: their manifests beside the table of ARCHITECTURE.md, and no cycles.
//!
//! The table has a row for each crate, which begins with `` | `crates/model` | ``. If it has a column `depends on`, that must name exactly the own crates that the
//! manifest depends on (in backquotes; dev-dependencies do not count).

use super::tree::{read, root};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

pub type Graph = BTreeMap<String, BTreeSet<String>>;

/// Names of the normal and build dependencies in a manifest; own crates by their short names.
pub fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut inside = false;
    let mut names = BTreeSet::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(section) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            let dotted = section.rsplit_once("dependencies.");
            inside = section.ends_with("dependencies") && !section.contains("dev-");
            if let (Some((front, name)), true) = (dotted, !section.contains("dev-")) {
                if front.is_empty() || front.ends_with(['.', '-']) {
                    names.insert(name.to_owned());
                }
            }
            continue;
        }
        let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
        if inside && !name.is_empty() && !name.starts_with('#') {
            names.insert(name.trim_matches('"').to_owned());
        }
    }
    let short = |name: String| {
        name.strip_prefix("reweave-")
            .map(String::from)
            .unwrap_or(name)
    };
    names.into_iter().map(short).collect()
}

/// Every crate, and the own crates that it depends on.
pub fn graph() -> Graph {
    let entries = fs::read_dir(root().join("crates")).expect("the tree can be read");
    let names = entries.flatten().map(|entry| entry.file_name());
    let names: BTreeSet<String> = names
        .filter_map(|name| name.into_string().ok())
        .filter(|name| root().join(format!("crates/{name}/Cargo.toml")).exists())
        .collect();
    let of = |name: &String| {
        let all = dependencies(&read(&format!("crates/{name}/Cargo.toml")));
        (name.clone(), all.intersection(&names).cloned().collect())
    };
    names.iter().map(of).collect()
}

/// A way from a node back to itself, if there is one.
pub fn cycle(graph: &Graph) -> Option<Vec<String>> {
    fn walk(node: &str, graph: &Graph, way: &mut Vec<String>, done: &mut BTreeSet<String>) -> bool {
        if let Some(at) = way.iter().position(|known| known == node) {
            way.drain(..at);
            way.push(node.into());
            return true;
        }
        if !done.insert(node.into()) {
            return false;
        }
        way.push(node.into());
        for next in graph.get(node).into_iter().flatten() {
            if walk(next, graph, way, done) {
                return true;
            }
        }
        way.pop();
        false
    }
    let mut done = BTreeSet::new();
    graph.keys().find_map(|node| {
        let mut way = Vec::new();
        walk(node, graph, &mut way, &mut done).then_some(way)
    })
}

/// What the table says: each crate, and what it depends on if there is such a column.
fn table(text: &str) -> BTreeMap<String, Option<BTreeSet<String>>> {
    let cells = |line: &str| -> Vec<String> {
        let inner = line.trim().trim_matches('|');
        inner
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect()
    };
    let mut column = None;
    let mut rows = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with('|')) {
        let cells = cells(line);
        if cells[0] == "crate" {
            column = cells.iter().position(|cell| cell == "depends on");
        }
        let name = cells[0].strip_prefix("`crates/");
        if let Some(name) = name.and_then(|name| name.strip_suffix('`')) {
            let quoted = |cell: &String| {
                cell.split('`')
                    .skip(1)
                    .step_by(2)
                    .map(String::from)
                    .collect()
            };
            let needs = column.and_then(|column| cells.get(column)).map(quoted);
            rows.insert(name.to_owned(), needs);
        }
    }
    rows
}

/// Where the table and the manifests differ.
pub fn differences() -> Vec<String> {
    compare(&table(&read("ARCHITECTURE.md")), &graph())
}

fn compare(table: &BTreeMap<String, Option<BTreeSet<String>>>, graph: &Graph) -> Vec<String> {
    let mut wrong = Vec::new();
    for name in table.keys().filter(|name| !graph.contains_key(*name)) {
        wrong.push(format!("the table names {name}, which is not there"));
    }
    for (name, needs) in graph {
        match table.get(name) {
            None => wrong.push(format!("the table lacks {name}")),
            Some(Some(drawn)) if drawn != needs => wrong.push(format!(
                "{name} depends on {needs:?}, and the table says {drawn:?}"
            )),
            Some(_) => {}
        }
    }
    wrong
}

#[test]
fn dependencies_are_found_in_every_form() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\na.workspace = true\nb = \"1\"\n# c = \"1\"\n\
                    [dev-dependencies]\nd = \"1\"\n[target.'cfg(unix)'.dependencies]\nreweave-e = { path = \"e\" }\n\
                    [dependencies.f]\nversion = \"1\"\n[lints]\nworkspace = true\n";
    let found: Vec<String> = dependencies(manifest).into_iter().collect();
    assert_eq!(found, ["a", "b", "e", "f"]);
}

#[test]
fn cycles_and_differences_are_found() {
    let graph = |edges: &[(&str, &[&str])]| -> Graph {
        let one = |(from, to): &(&str, &[&str])| {
            let to = to.iter().map(|name| (*name).to_owned()).collect();
            ((*from).to_owned(), to)
        };
        edges.iter().map(one).collect()
    };
    let straight = graph(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])]);
    assert_eq!(cycle(&straight), None);
    let round = graph(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"])]);
    assert_eq!(
        cycle(&round),
        Some(vec!["b".into(), "c".into(), "b".into()])
    );
    let text = "| crate | holds | depends on |\n| --- | --- | --- |\n| `crates/a` | x | `b`, `c` |\n| `crates/b` | y | |\n| `crates/d` | z | |\n";
    let wrong = compare(&table(text), &straight);
    assert_eq!(wrong.len(), 3, "{wrong:?}");
}
