//! The overlay on a directory of its own: the originals stay as they are.

use super::*;
use alloc::format;
use std::{
    fs,
    path::{Path, PathBuf},
    process,
    string::String,
};

/// A directory with originals, and an overlay of it. Both are removed at the end of a test.
struct Place {
    root: PathBuf,
    disk: Overlay,
}

impl Place {
    /// With the files `one` (`first`) and `inner/two` (`second`).
    fn new(name: &str) -> Place {
        let root = std::env::temp_dir().join(format!("reweave-overlay-{}-{name}", process::id()));
        fs::create_dir_all(root.join("originals/inner")).expect("there is room");
        fs::write(root.join("originals/one"), "first").expect("there is room");
        fs::write(root.join("originals/inner/two"), "second").expect("there is room");
        let mut disk = Overlay::new();
        disk.set_root(root.join("copies").to_str().expect("plain letters"));
        Place { root, disk }
    }

    fn real(&self, name: &str) -> RealPath {
        let path = self.root.join("originals").join(name);
        path.to_str().expect("plain letters").as_bytes().into()
    }

    fn read(&self, name: &str) -> Option<String> {
        let place = self.disk.place(&self.real(name));
        fs::read_to_string(as_path(&place)).ok()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn as_path(path: &[u8]) -> &Path {
    Path::new(core::str::from_utf8(path).expect("plain letters"))
}

#[test]
fn a_copy_takes_the_writes_and_the_original_stays() {
    let mut place = Place::new("copy");
    let real = place.real("one");
    assert!(place.disk.find(&real) == Where::Original && !place.disk.is_used());
    place.disk.copy(&real, true);
    assert!(place.disk.find(&real) == Where::Copy && !place.disk.has_failed());
    assert_eq!(place.read("one").as_deref(), Some("first"));
    fs::write(as_path(&place.disk.place(&real)), "changed").expect("the copy is the test's own");
    assert_eq!(place.read("one").as_deref(), Some("changed"));
    assert_eq!(
        fs::read_to_string(as_path(&real)).expect("it is there"),
        "first"
    );
    assert_eq!(place.disk.original_of(&place.disk.copy_of(&real)), real);
}

#[test]
fn without_its_content_a_copy_is_empty() {
    let mut place = Place::new("empty");
    place.disk.copy(&place.real("one"), false);
    assert_eq!(place.read("one").as_deref(), Some(""));
}

#[test]
fn what_was_removed_is_nowhere_with_all_beneath() {
    let mut place = Place::new("gone");
    let directory = place.real("inner");
    place.disk.note_removed(&directory);
    assert!(place.disk.find(&directory) == Where::Nowhere);
    assert!(place.disk.find(&place.real("inner/two")) == Where::Nowhere);
    assert!(place.disk.find(&place.real("one")) == Where::Original);
    assert!(place.disk.stat(&directory).is_none());
}

#[test]
fn a_listed_directory_has_placeholders_for_what_was_not_copied() {
    let mut place = Place::new("placeholders");
    let (directory, one) = (place.real(""), place.real("one"));
    let directory = directory.strip_suffix(b"/").unwrap_or(&directory).to_vec();
    place.disk.copy(&directory, true);
    place.disk.complete_listing(&directory);
    let mut listed = os_files::names(&place.disk.place(&directory));
    listed.sort();
    assert_eq!(listed, [b"inner".to_vec(), b"one".to_vec()]);
    assert!(
        place.disk.find(&one) == Where::Original,
        "a placeholder is not a copy"
    );
    assert_eq!(place.read("one").as_deref(), Some("first"));
    place.disk.copy(&one, true);
    assert!(place.disk.find(&one) == Where::Copy);
}

#[test]
fn the_next_run_finds_everything_as_it_was() {
    let mut place = Place::new("forget");
    let (one, inner) = (place.real("one"), place.real("inner"));
    place.disk.copy(&one, true);
    place.disk.copy_tree(&inner);
    assert!(place.disk.find(&place.real("inner/two")) == Where::Copy);
    place.disk.note_removed(&one);
    place.disk.clear();
    assert!(!place.disk.is_used());
    assert!(place.disk.find(&one) == Where::Original);
    assert!(
        os_files::names(
            place
                .root
                .join("copies")
                .to_str()
                .expect("plain letters")
                .as_bytes()
        )
        .is_empty()
    );
}

fn rooted() -> Overlay {
    let mut overlay = Overlay::new();
    overlay.set_root("/no/such/overlay");
    overlay
}

#[test]
fn copies_lie_below_the_root() {
    let overlay = rooted();
    assert_eq!(overlay.copy_of(b"/a/b"), b"/no/such/overlay/a/b");
    assert_eq!(overlay.original_of(b"/no/such/overlay/a/b"), b"/a/b");
    assert_eq!(overlay.original_of(b"/a/b"), b"/a/b");
    assert_eq!(overlay.original_of(b"/"), b"");
    assert_eq!(
        overlay.original_of(b"/no/such/overlayed"),
        b"/no/such/overlayed"
    );
}

#[test]
fn an_unused_overlay_shows_originals() {
    let overlay = rooted();
    assert!(overlay.find(b"/etc") == Where::Original);
    assert_eq!(overlay.place(b"/etc"), b"/etc");
    assert!(!overlay.holds(b"/no/such/overlay/etc"));
}

#[test]
fn paths_are_resolved_component_by_component() {
    let overlay = rooted();
    let resolve = |path: &[u8]| overlay.resolve(libc::AT_FDCWD, path, true);
    assert_eq!(
        resolve(b"/proc/.././usr//").ok().as_deref(),
        Some(&b"/usr"[..])
    );
    assert_eq!(resolve(b"/").ok().as_deref(), Some(&b""[..]));
    assert_eq!(
        resolve(b"").err().map(|dead| dead.error),
        Some(libc::ENOENT)
    );
    let dead = resolve(b"/dev/null/x").err();
    assert_eq!(
        dead.map(|dead| (dead.at, dead.error)),
        Some((b"/dev/null".to_vec(), libc::ENOTDIR))
    );
    let missing = resolve(b"/no-such-directory/x").err();
    assert_eq!(missing.map(|dead| dead.error), Some(libc::ENOENT));
    // What is yet to be made has a path already.
    assert_eq!(
        resolve(b"/no-such-file").ok().as_deref(),
        Some(&b"/no-such-file"[..])
    );
}
