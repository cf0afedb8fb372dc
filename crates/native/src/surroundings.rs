//! What a program's behaviour depends on beside the program: its libraries, the working directory, and environment variables.
//!
//! *Decides:* whether a stored search or verdict is of the program as it is today. *Called by:* `session`, and the command's
//! cache of verdicts. *Owns:* nothing.
//!
//! A variable counts if its name is a string of the program or of a library, so that variables of a shell or of a build server do not
//! matter. *May miss:* names that the program composes, and libraries that it opens while it runs.

use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    hash::{DefaultHasher, Hash, Hasher},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::Path,
};

/// All of it at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Surroundings {
    libraries: Vec<String>,
    digest: String,
}

impl Surroundings {
    /// Of a program with these libraries, as it is now.
    pub(crate) fn new(program: &Path, libraries: Vec<String>) -> Surroundings {
        let digest = digest(program, &libraries);
        Surroundings { libraries, digest }
    }

    /// Whether they are still the same.
    pub fn hold(&self, program: &Path) -> bool {
        digest(program, &self.libraries) == self.digest
    }
}

/// A number for all of it; `libraries` are the paths of those that are loaded when the program starts.
pub(crate) fn digest(program: &Path, libraries: &[String]) -> String {
    let variables: BTreeMap<Vec<u8>, Vec<u8>> = env::vars_os()
        .map(|(name, value)| (name.into_vec(), value.into_vec()))
        .collect();
    let mut hasher = DefaultHasher::new();
    let mut named = names_in(&fs::read(program).unwrap_or_default(), &variables);
    for library in libraries.iter().filter(|path| !path.is_empty()) {
        let bytes = fs::read(library).unwrap_or_default();
        (library, &bytes).hash(&mut hasher);
        named.extend(names_in(&bytes, &variables));
    }
    let named: Vec<(&Vec<u8>, &Vec<u8>)> = variables
        .iter()
        .filter(|(name, _)| named.contains(name.as_slice()))
        .collect();
    named.hash(&mut hasher);
    let directory = env::current_dir().unwrap_or_default();
    directory.as_os_str().as_bytes().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The variables whose names are strings of a file, or ends of strings: compilers merge those.
fn names_in<'a>(bytes: &[u8], variables: &'a BTreeMap<Vec<u8>, Vec<u8>>) -> BTreeSet<&'a [u8]> {
    let lengths: BTreeSet<usize> = variables.keys().map(Vec::len).collect();
    let strings = bytes.split(|byte| *byte == 0);
    let ends = strings.flat_map(|string| {
        let lengths = lengths
            .iter()
            .take_while(move |length| **length <= string.len());
        lengths.map(move |length| &string[string.len() - length..])
    });
    let known = ends.filter_map(|end| variables.get_key_value(end));
    known.map(|(name, _)| name.as_slice()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_count_by_their_names() {
        let variables: BTreeMap<Vec<u8>, Vec<u8>> = ["MODE", "HOME", "PATH"]
            .map(|name| (name.into(), Vec::new()))
            .into();
        let found = names_in(b"\0\0XMODE\0PATHS\0HOME", &variables);
        assert_eq!(found, BTreeSet::from([&b"MODE"[..], b"HOME"]));
    }
}
