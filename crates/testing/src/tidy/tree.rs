//! The files of the tree that are not made by a build or a run.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A file of Rust.
pub struct Source {
    /// From the root: `crates/model/src/lib.rs`.
    pub path: String,
    pub text: String,
}

impl Source {
    /// The crate that it belongs to: `model`.
    pub fn package(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// Whether it is a part of the crate itself, not of its tests or examples.
    pub fn is_library(&self) -> bool {
        self.path.split('/').nth(2) == Some("src")
    }

    pub fn parse(&self) -> syn::File {
        syn::parse_file(&self.text).unwrap_or_else(|error| panic!("{}: {error}", self.path))
    }
}

pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2);
    root.expect("crates/testing is two below").into()
}

/// All files, sorted: their paths from the root, and whole.
pub fn files() -> Vec<(String, PathBuf)> {
    fn walk(dir: &Path, root: &Path, found: &mut Vec<(String, PathBuf)>) {
        for entry in fs::read_dir(dir).expect("the tree can be read") {
            let path = entry.expect("the tree can be read").path();
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.unwrap_or_default();
            if path.is_dir() {
                let made = name.starts_with("target") || name == ".git" || name == "reweave-out";
                if !made {
                    walk(&path, root, found);
                }
            } else if name != ".git" {
                let inside = path.strip_prefix(root).expect("found below the root");
                found.push((inside.to_string_lossy().into_owned(), path));
            }
        }
    }
    let mut found = Vec::new();
    walk(&root(), &root(), &mut found);
    found.sort();
    found
}

fn ending(end: &str) -> Vec<Source> {
    let files = files().into_iter().filter(|(name, _)| name.ends_with(end));
    let read = |(name, path): (String, PathBuf)| Source {
        text: fs::read_to_string(path).expect("the tree is UTF-8"),
        path: name,
    };
    files.map(read).collect()
}

pub fn sources() -> Vec<Source> {
    ending(".rs")
}

/// Documents.
pub fn pages() -> Vec<Source> {
    ending(".md")
}

pub fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}
