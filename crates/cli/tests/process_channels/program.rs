//! The programs, and how they are written in C.

use super::harness::Random;
use std::fmt::{self, Display, Formatter, Write};

/// A program: some pipes, and processes. The first process forks the others and waits for all of them at its end.
#[derive(Clone, Debug)]
pub struct Program {
    pub pipes: usize,
    /// Bytes of a unit: the capacity of a pipe is a few large ones, or more small ones than are ever written.
    pub unit: usize,
    /// The steps of each process; the first one is that of `main`.
    pub processes: Vec<Vec<Step>>,
}

/// Units that a pipe has room for, if they are large.
pub const LARGE: usize = 32_768;
pub const ROOM: usize = 65_536 / LARGE;

/// A step of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Writes so many units.
    Write(usize, usize),
    /// Reads at most so many units.
    Read(usize, usize),
    CloseReader(usize),
    CloseWriter(usize),
    /// Asks what there is to read, without waiting.
    Ask(usize),
    /// Copies a writer over the one of another pipe.
    Replace(usize, usize),
    Fork(usize),
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} pipes, units of {}", self.pipes, self.unit)?;
        for (number, steps) in self.processes.iter().enumerate() {
            writeln!(f, "{number}: {steps:?}")?;
        }
        Ok(())
    }
}

/// A program of its own for each seed.
pub fn random(seed: u64) -> Program {
    let mut random = Random(seed);
    let pipes = 1 + random.below(2);
    let children = 1 + random.below(2);
    let unit = if random.below(3) == 0 { LARGE } else { 1 };
    let mut processes: Vec<Vec<Step>> = Vec::new();
    for process in 0..=children {
        let most = if process == 0 { 5 } else { 4 };
        let count = 1 + random.below(most);
        processes.push((0..count).map(|_| step(&mut random, pipes)).collect());
    }
    // The second child is sometimes forked by the first.
    for child in 1..=children {
        let nested = child == 2 && random.below(3) == 0;
        let parent = if nested { 1 } else { 0 };
        let after = processes[parent]
            .iter()
            .rposition(|step| matches!(step, Step::Fork(_)))
            .map_or(0, |at| at + 1);
        let last = processes[parent].len().min(after + 2);
        let at = after + random.below(last - after + 1);
        processes[parent].insert(at, Step::Fork(child));
    }
    Program {
        pipes,
        unit,
        processes,
    }
}

fn step(random: &mut Random, pipes: usize) -> Step {
    let pipe = random.below(pipes);
    match random.below(16) {
        0..5 => Step::Read(pipe, 1 + random.below(3)),
        5..10 => Step::Write(pipe, 1 + random.below(2)),
        10..12 => Step::CloseReader(pipe),
        12..14 => Step::CloseWriter(pipe),
        14 if pipes == 2 => Step::Replace(pipe, 1 - pipe),
        _ => Step::Ask(pipe),
    }
}

const HEAD: &str = r#"#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNITS 3
#define FOLD(x) (acc = acc * 31 + (uint64_t)(x) + 1)

static int readers[2], writers[2];
static uint64_t *out;
static _Atomic(uint64_t) result;
static char block[UNITS * 32768];

static uint64_t puts_units(int pipe, int count, int unit, char letter) {
    memset(block, letter, count * unit);
    ssize_t put = write(writers[pipe], block, count * unit);
    return put < 0 ? 100 + errno : put / unit;
}

static uint64_t gets_units(int pipe, int count, int unit) {
    ssize_t got = read(readers[pipe], block, count * unit);
    if (got < 0) return 100 + errno;
    uint64_t acc = got / unit;
    for (ssize_t at = 0; at < got; at += unit) FOLD(block[at]);
    return acc;
}

static uint64_t asks(int pipe) {
    struct pollfd one = {readers[pipe], POLLIN, 0};
    poll(&one, 1, 0);
    return one.revents;
}
"#;

/// The source of some programs; an argument says which is to run.
pub fn source(programs: &[&Program]) -> String {
    let mut out = String::from(HEAD);
    for (index, program) in programs.iter().enumerate() {
        for (number, _) in program.processes.iter().enumerate().rev() {
            process(&mut out, index, program, number);
        }
    }
    out.push_str("\nint main(int argc, char **argv) {\n    signal(SIGPIPE, SIG_IGN);\n");
    out.push_str(
        "    out = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);\n",
    );
    out.push_str("    uint64_t all = 0;\n    switch (atoi(argv[1])) {\n");
    for (index, program) in programs.iter().enumerate() {
        writeln!(out, "    case {index}:").unwrap();
        for pipe in 0..program.pipes {
            writeln!(
                out,
                "        {{ int ends[2]; pipe(ends); readers[{pipe}] = ends[0]; writers[{pipe}] = ends[1]; }}"
            )
            .unwrap();
        }
        writeln!(out, "        all = p{index}_0();\n        break;").unwrap();
    }
    out.push_str("    }\n    FINISH(all);\n}\n");
    out
}

/// A process: what it folds, with what those that it has forked have folded, whom it waits for at its end.
fn process(out: &mut String, index: usize, program: &Program, number: usize) {
    let unit = program.unit;
    let letter = letter(number);
    writeln!(out, "\nstatic uint64_t p{index}_{number}(void) {{").unwrap();
    writeln!(out, "    uint64_t acc = 0;").unwrap();
    let mut children = Vec::new();
    for step in &program.processes[number] {
        match *step {
            Step::Write(pipe, count) => {
                writeln!(out, "    FOLD(puts_units({pipe}, {count}, {unit}, {letter}));")
            }
            Step::Read(pipe, count) => {
                writeln!(out, "    FOLD(gets_units({pipe}, {count}, {unit}));")
            }
            Step::CloseReader(pipe) => writeln!(out, "    FOLD(close(readers[{pipe}]) != 0);"),
            Step::CloseWriter(pipe) => writeln!(out, "    FOLD(close(writers[{pipe}]) != 0);"),
            Step::Ask(pipe) => writeln!(out, "    FOLD(asks({pipe}));"),
            Step::Replace(from, to) => {
                writeln!(out, "    FOLD(dup2(writers[{from}], writers[{to}]) < 0);")
            }
            Step::Fork(child) => {
                children.push(child);
                writeln!(
                    out,
                    "    pid_t h{child} = fork();\n    if (h{child} == 0) {{ out[{child}] = p{index}_{child}(); _exit(0); }}"
                )
            }
        }
        .unwrap();
    }
    for child in children {
        writeln!(
            out,
            "    waitpid(h{child}, NULL, 0);\n    FOLD(out[{child}]);"
        )
        .unwrap();
    }
    out.push_str("    return acc;\n}\n");
}

/// What a process writes.
pub fn letter(process: usize) -> u64 {
    65 + process as u64
}
