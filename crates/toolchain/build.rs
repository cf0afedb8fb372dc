//! Builds the shared objects that programs load, which are embedded in this crate: the installed command is one file.
//!
//! The runtime (no std, aborts on panic) and the object behind `reweave run` are workspaces of their own. They are always built with
//! optimisation, whatever this crate is built with, and without the flags and wrappers meant for this crate: clippy's, coverage's, sanitizers'.

use std::{
    collections::{BTreeSet, hash_map::DefaultHasher},
    env, fs,
    hash::{Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
};

const PLATFORM: &str = "x86_64-unknown-linux-gnu";

fn main() {
    let target = variable("TARGET");
    if !target.starts_with("x86_64-") || !target.contains("-linux-") {
        panic!("reweave runs on Linux on x86-64 only, not on {target}");
    }
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let headers = [
        "reweave.h",
        "mpi.h",
        "reweave-std.h",
        "std/bits/shared_ptr_atomic.h",
    ];
    let headers = headers.map(|name| here.join("include").join(name));
    let runtime = shared_object(&here, "runtime");
    let stable = shared_object(&here, "stable");
    for changes in sources(&runtime.with_extension("d"))
        .iter()
        .chain(&sources(&stable.with_extension("d")))
        .chain(&headers)
        .chain([&here.join("build.rs")])
    {
        println!("cargo::rerun-if-changed={}", changes.display());
    }
    let mut contents = DefaultHasher::new();
    read(&runtime).hash(&mut contents);
    read(&stable).hash(&mut contents);
    for header in &headers {
        read(header).hash(&mut contents);
    }
    println!("cargo::rustc-env=REWEAVE_RUNTIME={}", runtime.display());
    println!("cargo::rustc-env=REWEAVE_STABLE={}", stable.display());
    let [header, mpi, first, shared_pointers] = headers;
    println!("cargo::rustc-env=REWEAVE_MPI_HEADER={}", mpi.display());
    println!("cargo::rustc-env=REWEAVE_HEADER={}", header.display());
    println!("cargo::rustc-env=REWEAVE_FIRST={}", first.display());
    let shared_pointers = shared_pointers.display();
    println!("cargo::rustc-env=REWEAVE_SHARED_POINTERS={shared_pointers}");
    println!("cargo::rustc-env=REWEAVE_KIT={:016x}", contents.finish());
}

/// Builds the shared object of the crate beside this one, and says where it is.
fn shared_object(here: &Path, name: &str) -> PathBuf {
    let manifest = here.join("..").join(name).join("Cargo.toml");
    let directory = Path::new(&variable("OUT_DIR")).join(name);
    let mut cargo = Command::new(variable("CARGO"));
    cargo.args(["build", "--release", "--locked", "--target", PLATFORM]);
    cargo.arg("--manifest-path").arg(manifest);
    cargo.arg("--target-dir").arg(&directory);
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_for_this_crate) {
            cargo.env_remove(name);
        }
    }
    let status = cargo.status().expect("cargo runs this script");
    assert!(
        status.success(),
        "crates/{name} could not be built: {status}"
    );
    let built = directory.join(PLATFORM).join("release");
    built.join(format!("libreweave_{name}.so"))
}

/// Whether a variable says how to build this crate, and not how to build on this machine.
fn is_for_this_crate(name: &str) -> bool {
    let exact = [
        "RUSTFLAGS",
        "RUSTDOCFLAGS",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTC_LINKER",
        "CLIPPY_ARGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_TARGET_DIR",
        "CARGO_INCREMENTAL",
        "OUT_DIR",
        "TARGET",
        "PROFILE",
        "OPT_LEVEL",
        "DEBUG",
    ];
    let families = [
        "CARGO_BUILD_",
        "CARGO_CFG_",
        "CARGO_FEATURE_",
        "CARGO_MANIFEST_",
        "CARGO_PKG_",
        "CARGO_PROFILE_",
        "CARGO_TARGET_",
        "DEP_",
    ];
    exact.contains(&name) || families.iter().any(|family| name.starts_with(family))
}

/// What the runtime is made of, from the list that cargo leaves beside it, and the manifests that go with it.
fn sources(list: &Path) -> BTreeSet<PathBuf> {
    let list = String::from_utf8(read(list)).expect("cargo writes UTF-8");
    let (_, files) = list.split_once(": ").expect("`made: of these`");
    // A blank that belongs to a name has a backslash before it.
    let files = files.replace("\\ ", "\0");
    let mut found = BTreeSet::new();
    for file in files.split_whitespace() {
        let file = PathBuf::from(file.replace('\0', " "));
        let directories = file.ancestors().skip(1);
        let manifests = directories.map(|directory| directory.join("Cargo.toml"));
        let manifest = manifests.into_iter().find(|manifest| manifest.exists());
        if let Some(manifest) = manifest {
            let lock = manifest.with_extension("lock");
            found.extend([lock, manifest].into_iter().filter(|file| file.exists()));
        }
        found.insert(file);
    }
    found
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
