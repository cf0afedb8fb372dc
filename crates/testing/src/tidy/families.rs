//! The graph of the runtime's parts: the rooms `core`, `run`, `hooks`, `kernel`, `shared`, and the families of calls.
//!
//! Each part imports only what `BELOW` lists for it. A family imports rooms and no other family. An import that breaks this is counted, an edge at a time.

use super::{crates::Graph, limits::Found, tree::Source};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::Visit;

const SOURCES: &str = "crates/runtime/src/";

/// The rooms of the runtime, and what each may import.
const BELOW: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("run", &["core"]),
    ("hooks", &["core", "run"]),
    ("shared", &["core", "run"]),
    ("kernel", &["core", "run", "shared"]),
    ("calls", &["core", "run", "hooks", "kernel", "shared"]),
];

/// One import, or one path in the code.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Import {
    pub from: String,
    pub to: String,
    /// As `file:line`.
    pub place: String,
}

/// The modules of the runtime by path, and the names that `calls/mod.rs` passes on.
struct Layout {
    families: BTreeSet<String>,
    passed_on: BTreeMap<String, Vec<String>>,
}

/// The path of the module in a file: `calls/files/copies.rs` is `calls::files::copies`.
fn module(path: &str) -> Option<Vec<String>> {
    let inside = path.strip_prefix(SOURCES)?.strip_suffix(".rs")?;
    let mut parts: Vec<String> = inside.split('/').map(String::from).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib")) {
        parts.pop();
    }
    Some(parts)
}

impl Layout {
    fn of(sources: &[Source]) -> Layout {
        let modules = sources.iter().filter_map(|source| module(&source.path));
        let family = |module: Vec<String>| match &module[..] {
            [calls, family, ..] if calls == "calls" => Some(family.clone()),
            _ => None,
        };
        let families = modules.filter_map(family).collect();
        let top = format!("{SOURCES}calls/mod.rs");
        let top = sources.iter().find(|source| source.path == top);
        let mut passed_on = BTreeMap::new();
        if let Some(source) = top {
            for (name, target, _) in uses(source, &["calls".into()]) {
                passed_on.insert(name, target);
            }
        }
        Layout {
            families,
            passed_on,
        }
    }

    /// The part that a module belongs to.
    fn part(&self, path: &[String]) -> Option<String> {
        match path {
            [calls, name, ..] if calls == "calls" => match self.passed_on.get(name) {
                _ if self.families.contains(name) => Some(format!("calls/{name}")),
                Some(target) if target[..] != path[..] => self.part(target),
                _ => Some("calls".into()),
            },
            [first, ..] if BELOW.iter().any(|(room, _)| room == first) => Some(first.clone()),
            _ => None,
        }
    }
}

/// Where a path leads, seen from a module; `None`: out of the crate.
fn resolve(path: &[String], here: &[String], children: &BTreeSet<String>) -> Option<Vec<String>> {
    let mut rest = path;
    let mut base = match path.first()?.as_str() {
        "crate" => Vec::new(),
        "self" | "super" => here.to_vec(),
        first if children.contains(first) => [here, path].concat(),
        _ => return None,
    };
    if path.first().is_some_and(|first| children.contains(first)) {
        return Some(base);
    }
    while let Some(first) = rest.first() {
        match first.as_str() {
            "crate" | "self" => {}
            "super" => drop(base.pop()),
            _ => break,
        }
        rest = &rest[1..];
    }
    base.extend_from_slice(rest);
    Some(base)
}

struct Uses<'a> {
    here: &'a [String],
    children: BTreeSet<String>,
    /// The name, where it leads, and the line.
    found: Vec<(String, Vec<String>, usize)>,
}

impl Uses<'_> {
    fn tree(&mut self, tree: &syn::UseTree, front: &mut Vec<String>) {
        let mut leaf = |name: &syn::Ident, last: &syn::Ident, front: &[String]| {
            let last = last.to_string();
            let path = match last.as_str() {
                "self" => front.to_vec(),
                _ => [front, &[last]].concat(),
            };
            let line = name.span().start().line;
            if let Some(target) = resolve(&path, self.here, &self.children) {
                self.found.push((name.to_string(), target, line));
            }
        };
        match tree {
            syn::UseTree::Path(path) => {
                front.push(path.ident.to_string());
                self.tree(&path.tree, front);
                front.pop();
            }
            syn::UseTree::Name(name) => leaf(&name.ident, &name.ident, front),
            syn::UseTree::Rename(name) => leaf(&name.rename, &name.ident, front),
            syn::UseTree::Glob(glob) => {
                let line = glob.star_token.spans[0].start().line;
                if let Some(target) = resolve(front, self.here, &self.children) {
                    self.found.push(("*".into(), target, line));
                }
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.tree(tree, front);
                }
            }
        }
    }
}

impl<'ast> Visit<'ast> for Uses<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        // `::core` is the language's own.
        if item.leading_colon.is_none() {
            self.tree(&item.tree, &mut Vec::new());
        }
    }
}

/// Imports by `use`.
fn uses(source: &Source, here: &[String]) -> Vec<(String, Vec<String>, usize)> {
    let file = source.parse();
    let child = |item: &syn::Item| match item {
        syn::Item::Mod(module) => Some(module.ident.to_string()),
        _ => None,
    };
    let mut uses = Uses {
        here,
        children: file.items.iter().filter_map(child).collect(),
        found: Vec::new(),
    };
    uses.visit_file(&file);
    uses.found
}

/// Paths in the code that begin with `crate`, `self` or `super`, also inside of macros.
fn paths(tokens: TokenStream, found: &mut Vec<(Vec<String>, usize)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Group(group) => paths(group.stream(), found),
            TokenTree::Ident(first)
                if ["crate", "self", "super"].contains(&&*first.to_string()) =>
            {
                let mut path = vec![first.to_string()];
                while colon(at + 1) && colon(at + 2) {
                    let Some(TokenTree::Ident(next)) = tokens.get(at + 3) else {
                        break;
                    };
                    path.push(next.to_string());
                    at += 3;
                }
                if path.len() > 1 {
                    found.push((path, first.span().start().line));
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// What parts of the runtime import from each other.
pub fn imports(sources: &[Source]) -> BTreeSet<Import> {
    let layout = Layout::of(sources);
    let mut found = BTreeSet::new();
    for source in sources {
        let Some(here) = module(&source.path) else {
            continue;
        };
        let from = layout.part(&here).unwrap_or_else(|| "lib".into());
        let mut targets: Vec<(Vec<String>, usize)> = uses(source, &here)
            .into_iter()
            .map(|(_, target, line)| (target, line))
            .collect();
        let tokens: TokenStream = source.text.parse().expect("it was parsed as Rust");
        let mut inline = Vec::new();
        paths(tokens, &mut inline);
        let none = BTreeSet::new();
        targets.extend(
            inline
                .into_iter()
                .filter_map(|(path, line)| Some((resolve(&path, &here, &none)?, line))),
        );
        for (target, line) in targets {
            let place = format!("{}:{line}", source.path);
            if let Some(to) = layout.part(&target).filter(|to| *to != from) {
                let from = from.clone();
                found.insert(Import { from, to, place });
            }
        }
    }
    found
}

pub fn graph(imports: &BTreeSet<Import>) -> Graph {
    let mut graph = Graph::new();
    for import in imports {
        graph.entry(import.to.clone()).or_default();
        let to = graph.entry(import.from.clone()).or_default();
        to.insert(import.to.clone());
    }
    graph
}

/// Imports of parts that are not below. Only `calls/mod.rs` and `lib.rs`, which list all families, may have them.
pub fn exceptions(imports: &BTreeSet<Import>) -> Vec<Found> {
    let wrong = |import: &&Import| {
        let room = import.from.split('/').next().unwrap_or_default();
        let below = BELOW.iter().find(|(name, _)| *name == room);
        let lists = import.from == "calls" || import.from == "lib";
        let allowed = below.is_some_and(|(_, below)| below.contains(&import.to.as_str()));
        !lists && !allowed
    };
    let wrong = imports.iter().filter(wrong);
    wrong
        .map(|import| Found {
            rule: "family-import",
            key: format!("{}->{}", import.from, import.to),
            number: 1,
            place: import.place.clone(),
        })
        .collect()
}

#[test]
fn imports_are_found_in_every_form() {
    let source = |path: &str, text: &str| Source {
        path: format!("{SOURCES}{path}"),
        text: text.into(),
    };
    let sources = [
        source("lib.rs", "mod calls; mod core; use calls::files::FAMILY;"),
        source(
            "calls/mod.rs",
            "pub mod files; pub mod sync; pub use sync::locks::erase; pub struct Own;",
        ),
        source(
            "calls/files/mod.rs",
            "pub mod names; use super::Own; use self::names::a; use std::fs;",
        ),
        source(
            "calls/files/names.rs",
            "use crate::{calls::{erase, files::x, sync::{self, locks as l}}, core::cell};\n\
             use super::super::sync::Health;\nfn f() { make! { g(crate::calls::sync::h::<u8>()) } }\n",
        ),
        source(
            "calls/sync/mod.rs",
            "pub mod locks; use crate::kernel::table;",
        ),
        source(
            "calls/sync/locks.rs",
            "use ::core::fmt; fn f() { super::super::files::g() }",
        ),
        source(
            "core/cell.rs",
            "fn f() -> crate::calls::Own { crate::calls::erase() }",
        ),
    ];
    let imports = imports(&sources);
    let edges: BTreeSet<String> = imports
        .iter()
        .map(|import| format!("{}->{}", import.from, import.to))
        .collect();
    let expected = [
        "calls->calls/sync",
        "calls/files->calls",
        "calls/files->calls/sync",
        "calls/files->core",
        "calls/sync->calls/files",
        "calls/sync->kernel",
        "core->calls",
        "core->calls/sync",
        "lib->calls/files",
    ];
    assert_eq!(
        edges.iter().map(String::as_str).collect::<Vec<_>>(),
        expected
    );
    let lines: BTreeSet<&str> = imports
        .iter()
        .filter(|import| import.from == "calls/files" && import.to == "calls/sync")
        .map(|import| import.place.rsplit(':').next().unwrap_or_default())
        .collect();
    assert_eq!(lines.into_iter().collect::<Vec<_>>(), ["1", "2", "3"]);
    assert_eq!(exceptions(&imports).len(), 7);
}
