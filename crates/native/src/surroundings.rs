//! What a program's behaviour depends on beside the program: its libraries, the working directory, and environment variables.
//!
//! *Decides:* whether a stored search or verdict is of the program as it is today. *Called by:* `session`, and the command's
//! cache of verdicts. *Owns:* nothing.
//!
//! A verdict holds only if all variables are the same, but for those that a shell changes by itself, and if the loader finds the
//! same libraries. A search that is continued is compared by less, so that it can go on in another shell: by variables whose names
//! are strings of the program or of a library. *May miss* there: names that the program composes, and libraries that it opens while
//! it runs.

use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::OsString,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::MetadataExt,
    },
    path::Path,
    process::Command,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// All of it at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Surroundings {
    libraries: Vec<String>,
    digest: String,
}

impl Surroundings {
    /// Of a program with these libraries, as they have been since then; `None`: a file has changed.
    pub(crate) fn new(
        program: &Path,
        libraries: Vec<String>,
        since: SystemTime,
    ) -> Option<Surroundings> {
        // Times of files lag behind by a tick of the kernel's clock.
        const TICK: Duration = Duration::from_millis(20);
        // The kernel's own library is no file.
        let mut files = libraries.iter().filter(|path| path.contains('/'));
        let changed = changed_after(program, since)
            || files.any(|path| changed_after(Path::new(path), since - TICK));
        let digest = whole(program, &libraries);
        (!changed).then_some(Surroundings { libraries, digest })
    }

    /// Whether they are still the same.
    pub fn hold(&self, program: &Path) -> bool {
        whole(program, &self.libraries) == self.digest
    }
}

fn changed_after(file: &Path, moment: SystemTime) -> bool {
    let Ok(about) = fs::metadata(file) else {
        return true;
    };
    let seconds = Duration::from_secs(about.ctime().unsigned_abs());
    let changed = UNIX_EPOCH + seconds + Duration::from_nanos(about.ctime_nsec().unsigned_abs());
    changed > moment
}

/// A number for all that a verdict depends on.
fn whole(program: &Path, libraries: &[String]) -> String {
    // What a shell changes by itself.
    const BOOKKEEPING: [&str; 3] = ["_", "OLDPWD", "SHLVL"];
    let mut hasher = DefaultHasher::new();
    for library in libraries.iter().filter(|path| !path.is_empty()) {
        (library, fs::read(library).unwrap_or_default()).hash(&mut hasher);
    }
    let variables = env::vars_os().filter(|(name, _)| !BOOKKEEPING.iter().any(|own| name == own));
    let variables: BTreeMap<OsString, OsString> = variables.collect();
    variables.hash(&mut hasher);
    env::current_dir().unwrap_or_default().hash(&mut hasher);
    found_by_loader(program).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Which libraries the loader would start the program with. It runs none of their code.
fn found_by_loader(program: &Path) -> Vec<String> {
    const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
    let program = fs::canonicalize(program).unwrap_or_default();
    let listed = Command::new(LOADER).arg("--list").arg(program).output();
    let text = listed.map_or_else(|_| Vec::new(), |output| output.stdout);
    let text = String::from_utf8_lossy(&text).into_owned();
    // Each line ends with an address, another one each time.
    let path = |line: &str| line.split(" (0x").next().unwrap_or_default().to_owned();
    text.lines().map(path).collect()
}

/// A number for what a search that is continued depends on; `libraries` are the paths of those that are loaded when the program starts.
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
