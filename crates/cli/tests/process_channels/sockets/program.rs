//! The programs, and how they are written in C.

use crate::harness::Random;
use std::fmt::{self, Display, Formatter, Write};

/// Some sockets that listen, and processes. The first process forks the others and waits for all of them at its end.
#[derive(Clone, Debug)]
pub struct Program {
    pub listening: usize,
    /// So many connections and one more have room in a backlog.
    pub backlog: usize,
    /// The steps of each process; the first one is that of `main`.
    pub processes: Vec<Vec<Step>>,
}

/// A step of a process. Each has at most one connection that it made, and one that it accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Connects, and sends a letter.
    Connect(usize),
    /// Accepts a connection, reads a letter and sends it back.
    Accept(usize),
    /// Reads a letter from the connection that it made.
    Answer,
    /// Closes that connection.
    HangUp,
    /// Does not listen any more.
    Close(usize),
    /// Asks whether there is a connection, without waiting.
    Ask(usize),
    Fork(usize),
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} listening, backlog {}", self.listening, self.backlog)?;
        for (number, steps) in self.processes.iter().enumerate() {
            writeln!(f, "{number}: {steps:?}")?;
        }
        Ok(())
    }
}

/// A program of its own for each seed.
pub fn random(seed: u64) -> Program {
    let mut random = Random(seed);
    let listening = 1 + random.below(3) / 2;
    let children = 1 + random.below(4) / 3;
    let backlog = 2 * random.below(2);
    let mut processes: Vec<Vec<Step>> = Vec::new();
    for _ in 0..=children {
        let count = 1 + random.below(3);
        processes.push((0..count).map(|_| step(&mut random, listening)).collect());
    }
    for child in 1..=children {
        let last = processes[0]
            .iter()
            .rposition(|step| matches!(step, Step::Fork(_)));
        let at = last.map_or(0, |at| at + 1);
        let at = at + random.below(2.min(processes[0].len() - at) + 1);
        processes[0].insert(at, Step::Fork(child));
    }
    Program {
        listening,
        backlog,
        processes,
    }
}

fn step(random: &mut Random, listening: usize) -> Step {
    let socket = random.below(listening);
    match random.below(16) {
        0..5 => Step::Connect(socket),
        5..10 => Step::Accept(socket),
        10..12 => Step::Answer,
        12 => Step::HangUp,
        13 => Step::Close(socket),
        _ => Step::Ask(socket),
    }
}

const HEAD: &str = r#"#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOLD(x) (acc = acc * 31 + (uint64_t)(x) + 1)

static int listening[2], made = -1, taken = -1;
static uint64_t *out;
static _Atomic(uint64_t) result;

static struct sockaddr_un address_of(int which) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    address.sun_path[1] = 'a' + which;
    return address;
}

static void listens(int which, int backlog) {
    struct sockaddr_un address = address_of(which);
    listening[which] = socket(AF_UNIX, SOCK_STREAM, 0);
    bind(listening[which], (void *)&address, offsetof(struct sockaddr_un, sun_path) + 2);
    listen(listening[which], backlog);
}

static uint64_t gets_letter(int fd) {
    unsigned char letter;
    ssize_t got = read(fd, &letter, 1);
    return got < 0 ? 100 + errno : got == 0 ? 0 : letter;
}

static uint64_t puts_letter(int fd, unsigned char letter) {
    return write(fd, &letter, 1) < 0 ? 100 + errno : 1;
}

static uint64_t connects(int which, unsigned char letter) {
    struct sockaddr_un address = address_of(which);
    if (made >= 0) close(made);
    made = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(made, (void *)&address, offsetof(struct sockaddr_un, sun_path) + 2) < 0) {
        uint64_t failed = 100 + errno;
        close(made);
        made = -1;
        return failed;
    }
    return puts_letter(made, letter);
}

static uint64_t accepts(int which) {
    if (taken >= 0) close(taken);
    taken = accept(listening[which], NULL, NULL);
    if (taken < 0) return 100 + errno;
    uint64_t got = gets_letter(taken);
    return got == 0 || got > 100 ? got : got * 200 + puts_letter(taken, got);
}

static uint64_t hangs_up(void) {
    if (made < 0) return 1;
    close(made);
    made = -1;
    return 0;
}

static uint64_t closes(int which) {
    int failed = close(listening[which]) != 0;
    listening[which] = -1;
    return failed;
}

static uint64_t asks(int which) {
    struct pollfd one = {listening[which], POLLIN, 0};
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
        for socket in 0..program.listening {
            writeln!(out, "        listens({socket}, {});", program.backlog).unwrap();
        }
        writeln!(out, "        all = p{index}_0();\n        break;").unwrap();
    }
    out.push_str("    }\n    FINISH(all);\n}\n");
    out
}

/// A process: what it folds, with what those that it has forked have folded.
fn process(out: &mut String, index: usize, program: &Program, number: usize) {
    let letter = letter(number);
    writeln!(out, "\nstatic uint64_t p{index}_{number}(void) {{").unwrap();
    writeln!(out, "    uint64_t acc = 0;").unwrap();
    let mut children = Vec::new();
    for step in &program.processes[number] {
        match *step {
            Step::Connect(socket) => writeln!(out, "    FOLD(connects({socket}, {letter}));"),
            Step::Accept(socket) => writeln!(out, "    FOLD(accepts({socket}));"),
            Step::Answer => writeln!(out, "    FOLD(gets_letter(made));"),
            Step::HangUp => writeln!(out, "    FOLD(hangs_up());"),
            Step::Close(socket) => writeln!(out, "    FOLD(closes({socket}));"),
            Step::Ask(socket) => writeln!(out, "    FOLD(asks({socket}));"),
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

/// What a process sends.
pub fn letter(process: usize) -> u64 {
    65 + process as u64
}
