//! The programs, and how they are written in C.

use crate::harness::Random;
use std::fmt::{self, Display, Formatter, Write};

/// Some pipes that an epoll watches, and threads.
#[derive(Clone, Debug)]
pub struct Program {
    /// How each pipe is watched.
    pub pipes: Vec<How>,
    pub threads: Vec<Vec<Step>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Level,
    Edge,
    Once,
}

/// A step of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Writes a letter.
    Write(usize),
    /// Reads a letter, without waiting.
    Read(usize),
    /// Waits for at most so many events; `true`: does not wait.
    Wait(usize, bool),
    /// Watches a pipe as before, again.
    Arm(usize),
    /// Closes the end that is written to.
    Close(usize),
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}", self.pipes)?;
        for (number, steps) in self.threads.iter().enumerate() {
            writeln!(f, "{number}: {steps:?}")?;
        }
        Ok(())
    }
}

/// A program of its own for each seed.
pub fn random(seed: u64) -> Program {
    let mut random = Random(seed);
    let pipes = 1 + random.below(2);
    let threads = 2 + random.below(4) / 3;
    let how = |random: &mut Random| match random.below(4) {
        0 => How::Level,
        1 => How::Once,
        _ => How::Edge,
    };
    let pipes: Vec<How> = (0..pipes).map(|_| how(&mut random)).collect();
    let mut all: Vec<Vec<Step>> = Vec::new();
    let mut closed = false;
    for _ in 0..threads {
        let count = 1 + random.below(3);
        let steps = (0..count).map(|_| step(&mut random, pipes.len(), &mut closed));
        all.push(steps.collect());
    }
    // A close beside a write of another thread takes effect when that is over, which the oracle does not know.
    let writes = |steps: &[Step], pipe| steps.contains(&Step::Write(pipe));
    for thread in 0..all.len() {
        for at in 0..all[thread].len() {
            let Step::Close(pipe) = all[thread][at] else {
                continue;
            };
            let mut others = (0..all.len()).filter(|other| *other != thread);
            if others.any(|other| writes(&all[other], pipe)) {
                all[thread][at] = Step::Arm(pipe);
            }
        }
    }
    Program {
        pipes,
        threads: all,
    }
}

fn step(random: &mut Random, pipes: usize, closed: &mut bool) -> Step {
    let pipe = random.below(pipes);
    match random.below(16) {
        0..5 => Step::Write(pipe),
        5..8 => Step::Read(pipe),
        8..12 => Step::Wait(1 + random.below(2), false),
        12 => Step::Wait(1 + random.below(2), true),
        13 if !*closed => {
            *closed = true;
            Step::Close(pipe)
        }
        _ => Step::Arm(pipe),
    }
}

const HEAD: &str = r#"#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#define FOLD(x) (acc = acc * 31 + (uint64_t)(x) + 1)

static int epfd, ends[2][2];
static unsigned how[2];
static uint64_t out[3];
static _Atomic(uint64_t) result;

static int arms(int operation, int pipe) {
    struct epoll_event event = {.events = EPOLLIN | how[pipe], .data.u32 = pipe};
    return epoll_ctl(epfd, operation, ends[pipe][0], &event) != 0;
}

static void watches(int pipe, unsigned flags) {
    pipe2(ends[pipe], O_NONBLOCK);
    how[pipe] = flags;
    arms(EPOLL_CTL_ADD, pipe);
}

static uint64_t puts_letter(int pipe, unsigned char letter) {
    return write(ends[pipe][1], &letter, 1) < 0 ? 100 + errno : 1;
}

static uint64_t gets_letter(int pipe) {
    unsigned char letter;
    ssize_t got = read(ends[pipe][0], &letter, 1);
    return got < 0 ? 100 + errno : got == 0 ? 0 : letter;
}

static uint64_t waits(int most, int limit) {
    struct epoll_event events[2];
    int count = epoll_wait(epfd, events, most, limit);
    uint64_t acc = count;
    for (int at = 0; at < count; at++) FOLD(events[at].data.u32 * 64 + events[at].events);
    return acc;
}
"#;

/// The source of some programs; an argument says which is to run.
pub fn source(programs: &[&Program]) -> String {
    let mut out = String::from(HEAD);
    for (index, program) in programs.iter().enumerate() {
        for (number, steps) in program.threads.iter().enumerate() {
            thread(&mut out, index, number, steps);
        }
    }
    out.push_str("\nint main(int argc, char **argv) {\n    signal(SIGPIPE, SIG_IGN);\n");
    out.push_str(
        "    epfd = epoll_create1(0);\n    uint64_t acc = 0;\n    pthread_t handles[3];\n",
    );
    out.push_str("    switch (atoi(argv[1])) {\n");
    for (index, program) in programs.iter().enumerate() {
        writeln!(out, "    case {index}:").unwrap();
        for (pipe, how) in program.pipes.iter().enumerate() {
            let flags = match how {
                How::Level => "0",
                How::Edge => "EPOLLET",
                How::Once => "EPOLLONESHOT",
            };
            writeln!(out, "        watches({pipe}, {flags});").unwrap();
        }
        for number in 0..program.threads.len() {
            writeln!(
                out,
                "        pthread_create(&handles[{number}], 0, p{index}_{number}, 0);"
            )
            .unwrap();
        }
        for number in 0..program.threads.len() {
            writeln!(
                out,
                "        pthread_join(handles[{number}], 0);\n        FOLD(out[{number}]);"
            )
            .unwrap();
        }
        out.push_str("        break;\n");
    }
    out.push_str("    }\n    FINISH(acc);\n}\n");
    out
}

fn thread(out: &mut String, index: usize, number: usize, steps: &[Step]) {
    writeln!(out, "\nstatic void *p{index}_{number}(void *unused) {{").unwrap();
    writeln!(out, "    uint64_t acc = 0;").unwrap();
    for step in steps {
        match *step {
            Step::Write(pipe) => {
                writeln!(out, "    FOLD(puts_letter({pipe}, {}));", letter(number))
            }
            Step::Read(pipe) => writeln!(out, "    FOLD(gets_letter({pipe}));"),
            Step::Wait(most, tries) => {
                writeln!(
                    out,
                    "    FOLD(waits({most}, {}));",
                    if tries { 0 } else { -1 }
                )
            }
            Step::Arm(pipe) => writeln!(out, "    FOLD(arms(EPOLL_CTL_MOD, {pipe}));"),
            Step::Close(pipe) => writeln!(out, "    FOLD(close(ends[{pipe}][1]) != 0);"),
        }
        .unwrap();
    }
    writeln!(out, "    out[{number}] = acc;\n    return unused;\n}}").unwrap();
}

/// What a thread writes.
pub fn letter(thread: usize) -> u64 {
    65 + thread as u64
}
