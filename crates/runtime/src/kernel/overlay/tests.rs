//! The overlay on a directory of its own: the originals stay as they are.

use super::*;
use std::{
    fs,
    path::{Path, PathBuf},
    process,
    string::String,
};

/// A directory with originals, and an overlay of it. Both go at the end of a test.
struct Place {
    root: PathBuf,
    disk: Disk,
}

impl Place {
    /// With the files `one` (`first`) and `inner/two` (`second`).
    fn new(name: &str) -> Place {
        let root = std::env::temp_dir().join(format!("reweave-overlay-{}-{name}", process::id()));
        fs::create_dir_all(root.join("originals/inner")).expect("there is room");
        fs::write(root.join("originals/one"), "first").expect("there is room");
        fs::write(root.join("originals/inner/two"), "second").expect("there is room");
        let mut disk = Disk::default();
        disk.at(root.join("copies").to_str().expect("plain letters"));
        Place { root, disk }
    }

    fn real(&self, name: &str) -> Real {
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
fn paths_are_taken_apart() {
    assert_eq!(parent(b"/a/b"), b"/a");
    assert_eq!(parent(b"/a"), b"");
    assert!(beneath(b"/a/b", b"/a") && beneath(b"/a", b"/a"));
    assert!(!beneath(b"/ab", b"/a"), "a name that begins like another");
    assert_eq!(terminated(b""), b"/\0");
    assert_eq!(parts(b"a/b"), [b"b".to_vec(), b"a".to_vec()]);
}

#[test]
fn a_copy_takes_the_writes_and_the_original_stays() {
    let mut place = Place::new("copy");
    let real = place.real("one");
    assert!(place.disk.find(&real) == Where::Original && !place.disk.used());
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
fn what_was_taken_away_is_nowhere_with_all_beneath() {
    let mut place = Place::new("gone");
    let directory = place.real("inner");
    place.disk.took(&directory);
    assert!(place.disk.find(&directory) == Where::Nowhere);
    assert!(place.disk.find(&place.real("inner/two")) == Where::Nowhere);
    assert!(place.disk.find(&place.real("one")) == Where::Original);
    assert!(place.disk.stat(&directory).is_none());
}

#[test]
fn a_listed_directory_has_blanks_for_what_was_not_copied() {
    let mut place = Place::new("blanks");
    let (directory, one) = (place.real(""), place.real("one"));
    let directory = directory.strip_suffix(b"/").unwrap_or(&directory).to_vec();
    place.disk.copy(&directory, true);
    place.disk.list(&directory);
    let mut listed = names(&place.disk.place(&directory));
    listed.sort();
    assert_eq!(listed, [b"inner".to_vec(), b"one".to_vec()]);
    assert!(
        place.disk.find(&one) == Where::Original,
        "a blank is not a copy"
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
    place.disk.copy_all(&inner);
    assert!(place.disk.find(&place.real("inner/two")) == Where::Copy);
    place.disk.took(&one);
    place.disk.forget();
    assert!(!place.disk.used());
    assert!(place.disk.find(&one) == Where::Original);
    assert!(
        names(
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
