//! Programs that a worker cannot or must not explore: it says why, and stays up.

use crate::{Broker, Worker, checked, program};
use reweave_cluster::{
    Coordination, Coordinator, Credentials, Desk, Ending, Fleet, Home, Limits, Manifest,
    ManifestFile, Pace, SearchId, Sentence,
};
use reweave_explore::Options;
use reweave_toolchain::Kit;
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

/// A search of one piece that nobody can explore.
struct OnePiece {
    dealt: bool,
}

impl Home for OnePiece {
    fn deal(&mut self, _: usize) -> Vec<Vec<u8>> {
        let first = !std::mem::replace(&mut self.dealt, true);
        first.then(|| b"a piece".to_vec()).into_iter().collect()
    }

    fn absorb(&mut self, _: &[u8]) -> Result<(), Sentence> {
        Err("it was explored".into())
    }

    fn restart(&mut self, _: &[u8]) -> Result<(), Sentence> {
        Err("it was explored".into())
    }

    fn store(&mut self) -> Vec<u8> {
        Vec::new()
    }

    fn runs(&self) -> u64 {
        0
    }

    fn is_over(&self) -> bool {
        false
    }
}

/// Stops the search when a worker has refused it.
struct Waits {
    begun: Instant,
    refused: Option<String>,
}

impl Desk<OnePiece> for Waits {
    fn begin(&mut self, _: &mut OnePiece) -> Result<(), Sentence> {
        Ok(())
    }

    fn wants_stop(&self) -> bool {
        self.refused.is_some() || self.begun.elapsed() > Duration::from_secs(30)
    }

    fn look(&mut self, _: &OnePiece, fleet: &Fleet) {
        let first = fleet.refused.values().next();
        self.refused = self.refused.take().or(first.cloned());
    }
}

/// As the command writes it, for a program that was never built by it.
fn manifest(contents: &[u8]) -> Manifest {
    let version = env!("CARGO_PKG_VERSION");
    Manifest {
        build: format!("{version} ({})", Kit::FINGERPRINT),
        machine: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        name: "other".into(),
        files: vec![ManifestFile::of("program", contents)],
        launch: serde_json::json!({
            "words": ["--", "program"],
            "options": Options::default(),
            "keep_going": false,
            "every_race": true,
            "beyond_races": false,
            "races_cut": true,
            "restart": "auto",
            "stdin": null,
        }),
    }
}

/// What a worker says of a search; its program is stored with these contents.
fn refusal(broker: &Broker, manifest: &Manifest, stored: &[u8]) -> String {
    let none = Credentials::default();
    let connected = reweave_cluster::Broker::connect(&broker.url, &none);
    let connected = connected.unwrap_or_else(|error| panic!("{error}"));
    let uploaded = connected.upload(&manifest.files[0], stored);
    uploaded.unwrap_or_else(|error| panic!("{error}"));
    static NUMBER: AtomicU64 = AtomicU64::new(0xabc);
    let search = SearchId::new(NUMBER.fetch_add(1, Relaxed));
    let home = OnePiece { dealt: false };
    let mut machine = Coordinator::new(home, search.clone(), Pace::default(), Limits::default(), 1);
    let sealed = manifest.seal(&none);
    let begun = Coordination::begin(&connected, &search, &mut machine, &sealed);
    let mut coordination = begun.unwrap_or_else(|error| panic!("{error}"));
    let mut desk = Waits {
        begun: Instant::now(),
        refused: None,
    };
    let ended = coordination.run(&mut machine, false, &mut desk);
    let ended = ended.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(ended, Ending::Stopped);
    let forgotten = connected.forget(&search);
    forgotten.unwrap_or_else(|error| panic!("{error}"));
    desk.refused.expect("the worker refuses it")
}

#[test]
fn what_cannot_be_explored_is_refused_with_a_sentence() {
    let broker = Broker::start();
    let place = tempfile::tempdir().expect("a temporary directory");
    let place = place.path();
    let mut worker = Worker::start(&broker, place);
    let script = b"#!/bin/sh\nexit 0\n";

    let mut other = manifest(script);
    other.build = "0.0.1 (0)".into();
    let said = refusal(&broker, &other, script);
    assert!(
        said.contains("it is of reweave 0.0.1 (0), and this worker is"),
        "{said}"
    );

    let mut other = manifest(script);
    other.machine = "vax-vms".into();
    let said = refusal(&broker, &other, script);
    assert!(
        said.contains("it is for vax-vms, and this machine is"),
        "{said}"
    );

    // What has been stored under a hash is not stored again, so these contents have not been there.
    let said = refusal(&broker, &manifest(b"a program"), b"another program");
    assert!(
        said.contains("its hash is not the one of its manifest"),
        "{said}"
    );

    let said = refusal(&broker, &manifest(script), script);
    assert!(said.contains("cannot be started: it is a script"), "{said}");

    let mut other = manifest(script);
    other.launch = serde_json::json!({"words": 3});
    let said = refusal(&broker, &other, script);
    assert!(said.contains("does not say how it is run"), "{said}");

    let mut large = manifest(script);
    large.files[0].bytes = 1 << 30;
    large.files.extend_from_within(..);
    large.files.extend_from_within(..);
    large.files.extend_from_within(..);
    let said = refusal(&broker, &large, script);
    assert!(
        said.contains("of the 4294967296 that programs can have on this worker"),
        "{said}"
    );

    // The same worker explores what it can.
    let ended = worker.0.try_wait().expect("it was started here");
    assert!(ended.is_none(), "{ended:?}");
    let file = program("papers/lastzero.c");
    let words = ["--cluster", &broker.url, "--first", "5", "-DN=8", &file];
    let (document, code) = checked(place, &words);
    assert_eq!(
        (document["executions"].as_u64(), code),
        (Some(704), 0),
        "{document}"
    );
}

/// The limits of a program's process, as the kernel has them.
fn limits_of(worker: u32) -> Option<String> {
    let children = format!("/proc/{worker}/task");
    let tasks = std::fs::read_dir(children).ok()?;
    let lists = tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let children: Vec<String> = lists.collect();
    let first = children
        .iter()
        .flat_map(|list| list.split_whitespace())
        .next()?;
    std::fs::read_to_string(format!("/proc/{first}/limits")).ok()
}

#[test]
fn programs_on_workers_have_limits() {
    let broker = Broker::start();
    let place = tempfile::tempdir().expect("a temporary directory");
    let place = place.path();
    let words = ["worker", "--cluster", &broker.url, "--workers", "1"];
    let words = [
        &words[..],
        &["--max-file", "64M", "--max-processes", "3000"],
    ]
    .concat();
    let worker = Worker(
        crate::reweave(place, &words)
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("the command can be started"),
    );
    let file = program("papers/lastzero.c");
    let check = [
        "check",
        "--cluster",
        &broker.url,
        "--first",
        "5",
        "-DN=14",
        &file,
    ];
    let mut check = crate::reweave(place, &check)
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the command can be started");
    let begun = Instant::now();
    let line = |limits: &str, name: &str| {
        let line = limits.lines().find(|line| line.starts_with(name));
        line.unwrap_or_default()
            .split_whitespace()
            .rev()
            .nth(1)
            .map(str::to_owned)
    };
    let limits = loop {
        let found = limits_of(worker.0.id());
        // Between fork and exec it has the worker's own.
        if let Some(limits) =
            found.filter(|it| line(it, "Max file size").as_deref() == Some("67108864"))
        {
            break limits;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "no such process");
        assert!(
            check.try_wait().expect("it was started here").is_none(),
            "it was too fast"
        );
    };
    assert_eq!(
        line(&limits, "Max processes").as_deref(),
        Some("3000"),
        "{limits}"
    );
    assert_eq!(
        line(&limits, "Max core file size").as_deref(),
        Some("0"),
        "{limits}"
    );
    check.wait().expect("it was started here");
}
