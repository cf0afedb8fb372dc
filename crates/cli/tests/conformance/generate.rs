//! Random programs from the tables of `families.rs` and `meetings.rs`. `main.rs` compiles and compares them.

use super::{
    cxx, descriptors, families,
    families::{Family, Place},
    meetings::{self, Meeting},
    memory,
};
use std::fmt::Write;

/// Timed calls in one thread.
const TIMED_CALLS: usize = 2;

/// How many places a program can fail at, one for each value of the hash of its outcome.
pub const BUCKETS: u32 = 128;

/// The same numbers on every machine (splitmix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

pub struct Program {
    pub text: String,
    pub cxx: bool,
    /// The names of what it is made of.
    pub about: String,
}

struct Writer {
    random: Random,
    families: Vec<&'static Family>,
    /// Threads besides the main one.
    threads: usize,
    /// Timed calls that the thread at hand may still make.
    timed: usize,
}

pub fn program(seed: u64) -> Program {
    let mut random = Random::new(seed);
    let cxx = random.one_in(4);
    let mut chosen = vec![&families::ATOMICS];
    let (of, at) = if cxx {
        (cxx::FAMILIES.to_vec(), cxx::MEETINGS.to_vec())
    } else {
        let of = [families::C, memory::C, descriptors::FAMILIES].concat();
        (of, [meetings::C, descriptors::MEETINGS].concat())
    };
    for _ in 0..random.of(&[1, 1, 2]) {
        let family = random.of(&of);
        if chosen.iter().all(|other| other.name != family.name) {
            chosen.push(family);
        }
    }
    let meeting = random.one_in(2).then(|| random.of(&at));
    let threads = random.of(&[2, 2, 2, 3]);
    let mut writer = Writer {
        random,
        families: chosen,
        threads,
        timed: 0,
    };
    let text = writer.whole(meeting);
    let names = writer.families.iter().map(|family| family.name);
    let names = names.chain(meeting.map(|meeting| meeting.name));
    let about = names.collect::<Vec<_>>().join(", ");
    Program { text, cxx, about }
}

impl Writer {
    fn whole(&mut self, meeting: Option<&Meeting>) -> String {
        let mut text = String::from(include_str!("prelude.h"));
        let [mut setup, mut teardown] = [String::new(), String::new()];
        if self.families.iter().any(|family| family.cxx)
            || meeting.is_some_and(|meeting| meeting.cxx)
        {
            text.push_str(cxx::INCLUDES);
        }
        text.push_str(descriptors::INCLUDES);
        for family in self.families.clone() {
            let _ = writeln!(text, "{}", family.globals);
            let _ = writeln!(setup, "    {}", family.setup);
            let _ = writeln!(teardown, "    {}", family.teardown);
        }
        if let Some(meeting) = meeting {
            let victim = self.random.of(meetings::VICTIMS);
            let globals = self.fill(&meeting.globals.replace("VICTIM", victim), true);
            let _ = writeln!(text, "{globals}");
            let _ = writeln!(setup, "    {}", self.fill(meeting.setup, false));
            let _ = writeln!(teardown, "    {}", meeting.teardown);
        }
        let leader = self.random.below(self.threads);
        for thread in 0..self.threads {
            let role = meeting.map(|meeting| meeting.roles[usize::from(thread != leader)]);
            let body = self.body(role);
            let me = thread + 1;
            let _ = writeln!(
                text,
                "static void *thread{me}(void *unused) {{\n    const int me = {me};\n    (void)me;\n{body}    return unused;\n}}"
            );
        }
        self.round(&mut text, &setup, &teardown);
        places(&mut text);
        text
    }

    /// One round: makes every object, starts the threads, and joins them in the end.
    fn round(&mut self, text: &mut String, setup: &str, teardown: &str) {
        let _ = writeln!(
            text,
            "static void round_once(void) {{\n    const int me = 0;\n    (void)me;\n{setup}    pthread_t id[{}];",
            self.threads
        );
        for thread in 1..=self.threads {
            let _ = writeln!(
                text,
                "    DO(pthread_create(&id[{}], 0, thread{thread}, 0));",
                thread - 1
            );
        }
        self.timed = TIMED_CALLS;
        if self.random.one_in(3) {
            let step = self.step(false);
            let _ = writeln!(text, "    {step}");
        }
        for thread in 0..self.threads {
            let _ = writeln!(text, "    DO(pthread_join(id[{thread}], 0));");
        }
        let _ = writeln!(text, "{teardown}}}");
    }

    /// What a thread does, its role in the meeting included.
    fn body(&mut self, role: Option<&str>) -> String {
        self.timed = if role.is_some_and(is_timed) {
            0
        } else {
            TIMED_CALLS
        };
        let fewer = usize::from(role.is_some()) + usize::from(self.threads > 2);
        let steps = self.random.of(&[1, 2, 2, 3]) - fewer.min(1);
        let at = self.random.below(steps + 1);
        let mut lines = Vec::new();
        for number in 0..=steps {
            if number == at
                && let Some(role) = role
            {
                lines.push(self.fill(role, true));
            }
            if number < steps {
                let last = number + 1 == steps && number >= at && self.random.one_in(3);
                lines.push(self.step(last));
            }
        }
        lines.iter().fold(String::new(), |mut body, line| {
            let _ = writeln!(body, "    {line}");
            body
        })
    }

    /// A step at the outermost level, and the last one of its thread if so wished and possible.
    fn step(&mut self, last: bool) -> String {
        loop {
            // The atomics are there to be seen inside of other steps.
            let mut family = self.random.of(&self.families);
            if family.name == families::ATOMICS.name && self.random.one_in(2) {
                family = self.random.of(&self.families);
            }
            let (place, text) = self.random.of(family.steps);
            if place == Place::Last && !last || is_timed(text) && self.timed == 0 {
                continue;
            }
            self.timed -= usize::from(is_timed(text));
            return self.fill(text, true);
        }
    }

    /// A step that waits for nothing.
    fn inner(&mut self) -> String {
        loop {
            let family = self.random.of(&self.families);
            let (place, text) = self.random.of(family.steps);
            if place == Place::Anywhere {
                return self.fill(text, false);
            }
        }
    }

    /// Chooses for every placeholder.
    fn fill(&mut self, text: &str, inside: bool) -> String {
        let inner = if text.contains("$i") && inside && self.random.one_in(2) {
            self.inner()
        } else {
            String::new()
        };
        let object = self.random.below(2).to_string();
        let small = (1 + self.random.below(2)).to_string();
        let ns = self.random.of(&["0", "20000", "3600000000000"]);
        text.replace("$a", &object)
            .replace("$k", &small)
            .replace("$d", &format!("deadline(CLOCK_REALTIME, {ns})"))
            .replace("$e", &format!("deadline(CLOCK_MONOTONIC, {ns})"))
            .replace("$s", "deadline(CLOCK_REALTIME, 20000)")
            .replace("$t", "deadline(CLOCK_MONOTONIC, 20000)")
            .replace("$ns", ns)
            .replace("$n", &self.threads.to_string())
            .replace("$w", &(self.threads - 1).to_string())
            .replace("$i", &inner)
    }
}

fn is_timed(text: &str) -> bool {
    ["$d", "$e", "$s", "$t", "$ns"]
        .iter()
        .any(|time| text.contains(time))
}

/// Each outcome's hash has a place of its own, as `--keep-going` tells errors apart by places.
fn places(text: &mut String) {
    text.push_str("#ifndef NATIVE\n");
    for bucket in 0..BUCKETS {
        let _ = writeln!(
            text,
            "static __attribute__((noinline)) void outcome{bucket}(void) {{ assert(!\"outcome {bucket}\"); }}"
        );
    }
    text.push_str("static void told(unsigned bucket) {\n    switch (bucket) {\n");
    for bucket in 0..BUCKETS {
        let _ = writeln!(text, "    case {bucket}: outcome{bucket}(); break;");
    }
    text.push_str("    }\n}\n#endif\n");
}

/// The bucket of an outcome, as the program computes it.
pub fn bucket(outcome: &str, salt: u32) -> u32 {
    let hash = outcome.bytes().fold(salt, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(16_777_619)
    });
    (hash >> 13) % BUCKETS
}
