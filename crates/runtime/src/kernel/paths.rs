//! Paths as text: no system calls, no state.
//!
//! A [`RealPath`] is absolute and has no links, no `.` and no `..`: a slash stands before each component, and the root is empty.

use crate::shared::process_identity::process;
use alloc::{format, vec::Vec};

/// See the module.
pub type RealPath = Vec<u8>;

/// The path with a nul behind it, as the operating system wants it; the root becomes `/`.
pub fn terminated(path: &[u8]) -> Vec<u8> {
    let mut path = path.to_vec();
    if path.is_empty() {
        path.push(b'/');
    }
    path.push(0);
    path
}

/// The components of a path as a stack: the first component is on top.
pub fn components(path: &[u8]) -> Vec<Vec<u8>> {
    path.rsplit(|byte| *byte == b'/')
        .map(<[u8]>::to_vec)
        .collect()
}

/// The directory of a real path; that of the root is the root.
pub fn parent(path: &[u8]) -> &[u8] {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    &path[..slash.unwrap_or(0)]
}

/// The path of an entry of a directory.
pub fn entry(directory: &[u8], name: &[u8]) -> RealPath {
    [directory, b"/", name].concat()
}

/// Whether a path equals another one or lies beneath it.
pub fn beneath(path: &[u8], other: &[u8]) -> bool {
    path.strip_prefix(other)
        .is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

/// How a path ends, which decides what `unlink`, `rmdir` and `rename` say to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    Name,
    /// A name and a slash: only a directory can be called so.
    Slash,
    /// `.`
    Current,
    /// `..`
    Parent,
}

impl Ending {
    pub fn of(path: &[u8]) -> Ending {
        let end = path.iter().rposition(|byte| *byte != b'/');
        let name = &path[..end.map_or(0, |end| end + 1)];
        match name.rsplit(|byte| *byte == b'/').next() {
            Some(b".") => Ending::Current,
            Some(b"..") => Ending::Parent,
            _ if name.len() < path.len() => Ending::Slash,
            _ => Ending::Name,
        }
    }
}

/// The descriptor that a path such as `/proc/7/fd/3` names.
pub fn descriptor_in_proc(path: &[u8]) -> Option<i32> {
    let directory = parent(path);
    let number = path.strip_prefix(directory)?.strip_prefix(b"/")?;
    let within = directory.ends_with(b"/fd") && beneath(path, b"/proc");
    let number = core::str::from_utf8(number).ok().filter(|_| within);
    number?.parse().ok()
}

/// A path that names the process by the number that the program knows, by the one that the operating system knows.
pub fn of_own_process(path: &[u8]) -> Option<Vec<u8>> {
    let rest = path.strip_prefix(b"/proc/")?;
    let rest = rest.strip_prefix(format!("{}", process()).as_bytes())?;
    let whole = rest.is_empty() || rest.starts_with(b"/");
    whole.then(|| [b"/proc/self", rest].concat())
}

/// Whether a path leads to what the operating system shows as files: devices, processes. Shared memory is made of ordinary files.
pub fn is_system(path: &[u8]) -> bool {
    let system: [&[u8]; 3] = [b"/proc", b"/sys", b"/dev"];
    system.iter().any(|system| beneath(path, system)) && !beneath(path, b"/dev/shm")
}

/// A number for a text (FNV-1a, with the upper bits folded into those that objects use).
pub fn hash(text: &[u8]) -> usize {
    let hash = text.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    (hash ^ hash >> 44) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn parents_end_at_the_root() {
        assert_eq!(parent(b"/a/b"), b"/a");
        assert_eq!(parent(b"/a"), b"");
        assert_eq!(parent(b""), b"");
    }

    #[test]
    fn beneath_compares_whole_components() {
        assert!(beneath(b"/a/b", b"/a"));
        assert!(beneath(b"/a", b"/a"));
        assert!(beneath(b"/a", b""));
        assert!(!beneath(b"/ab", b"/a"));
        assert!(!beneath(b"/a", b"/a/b"));
    }

    #[test]
    fn components_come_first_one_last() {
        let expected = vec![b"c".to_vec(), b"".to_vec(), b"a".to_vec(), b"".to_vec()];
        assert_eq!(components(b"/a//c"), expected);
    }

    #[test]
    fn the_root_gets_a_slash() {
        assert_eq!(terminated(b""), b"/\0");
        assert_eq!(terminated(b"/a"), b"/a\0");
    }

    #[test]
    fn the_process_has_two_numbers() {
        let own = |path: &[u8]| of_own_process(path);
        assert_eq!(
            own(b"/proc/1000/fd/1").as_deref(),
            Some(&b"/proc/self/fd/1"[..])
        );
        assert_eq!(own(b"/proc/1000").as_deref(), Some(&b"/proc/self"[..]));
        assert_eq!(own(b"/proc/10001"), None);
        assert_eq!(own(b"/proc/self/fd"), None);
    }

    #[test]
    fn endings() {
        assert_eq!(Ending::of(b"a"), Ending::Name);
        assert_eq!(Ending::of(b"a/"), Ending::Slash);
        assert_eq!(Ending::of(b"a/."), Ending::Current);
        assert_eq!(Ending::of(b"a/.."), Ending::Parent);
        assert_eq!(Ending::of(b"a/../"), Ending::Parent);
        assert_eq!(Ending::of(b"a/..b"), Ending::Name);
    }

    #[test]
    fn descriptors_are_found_below_proc_only() {
        assert_eq!(descriptor_in_proc(b"/proc/self/fd/12"), Some(12));
        assert_eq!(descriptor_in_proc(b"/proc/self/fd/x"), None);
        assert_eq!(descriptor_in_proc(b"/tmp/fd/12"), None);
        assert_eq!(descriptor_in_proc(b"/proc/self/fdinfo/12"), None);
    }

    #[test]
    fn shared_memory_is_no_device() {
        assert!(is_system(b"/dev/null"));
        assert!(is_system(b"/proc"));
        assert!(!is_system(b"/dev/shm/x"));
        assert!(!is_system(b"/device"));
    }
}
