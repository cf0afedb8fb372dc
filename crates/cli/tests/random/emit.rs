//! Programs as C. Several of them make one file, and an argument says which one is to run: compiling is what takes time.

use super::{
    language::{
        Block, Ending, How, Kind, Objects, Program, Stmt, Storage, Strength, Test, Value, each,
    },
    machine::cut,
};
use reweave_model::RmwKind;
use std::fmt::Write;

const HEAD: &str = r#"#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <reweave.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a call returned, in one number whatever its habits. */
#define CODE(call) ((call) == 0 ? 0 : errno)
#define FOLD(x) (acc = acc * 31 + (uint64_t)(x) + 1)
#define GOT(x) (v = (uint64_t)(x), FOLD(v))

static const struct timespec soon = {0, 0};

/* Memory that forked processes share. */
static void *shared(size_t bytes) {
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}
"#;

/// The source of some programs.
pub fn source(programs: &[&Program]) -> String {
    let mut out = String::from(HEAD);
    for (index, program) in programs.iter().enumerate() {
        Writer::new(index, program, &mut out).program();
    }
    out.push_str("\nint main(int argc, char **argv) {\n");
    out.push_str("    switch (argc > 1 ? atoi(argv[1]) : 0) {\n");
    for index in 0..programs.len() {
        writeln!(out, "    case {index}: return p{index}_main();").unwrap();
    }
    out.push_str("    }\n    return 2;\n}\n");
    out
}

struct Writer<'a> {
    /// Before all names of the program.
    name: String,
    program: &'a Program,
    out: &'a mut String,
    indent: usize,
    /// Functions for one-time initialisers, and how many there are.
    functions: String,
    initialisers: usize,
    /// Of the function that is being written.
    kept: usize,
    loops: usize,
    /// The thread that it is for; `None`: the first one.
    thread: Option<usize>,
    /// How many threads leave a result.
    results: usize,
}

macro_rules! line {
    ($writer:expr, $($text:tt)*) => {{
        let indent = 4 * $writer.indent;
        writeln!($writer.out, "{:indent$}{}", "", format!($($text)*)).unwrap();
    }};
}

impl<'a> Writer<'a> {
    fn new(index: usize, program: &'a Program, out: &'a mut String) -> Writer<'a> {
        Writer {
            name: format!("p{index}"),
            program,
            out,
            indent: 0,
            functions: String::new(),
            initialisers: 0,
            kept: 0,
            loops: 0,
            thread: None,
            results: 0,
        }
    }

    fn program(&mut self) {
        let program = self.program;
        self.objects(&program.objects);
        let threads = program.threads();
        for (number, block) in threads.iter().rev() {
            let name = format!("static void *{}_t{number}(void *unused)", self.name);
            self.thread = Some(*number);
            self.function(&name, block, |_| {}, |writer| writer.leave(Ending::Return));
        }
        self.thread = None;
        let main = format!("static int {}_main(void)", self.name);
        self.function(&main, &program.main, Writer::prepare, |writer| {
            if program.joins_all() {
                line!(writer, "{}_result = acc;", writer.name);
            }
            writer.leave(program.ending);
        });
    }

    fn objects(&mut self, objects: &Objects) {
        let name = self.name.clone();
        let threads = self.program.threads();
        let most = threads.iter().map(|(number, _)| number + 1).max();
        self.out.push('\n');
        let mut fields = Vec::new();
        for (index, (bits, first)) in objects.atomics.iter().enumerate() {
            let sort = format!("_Atomic(uint{bits}_t)");
            fields.push((sort, format!("x{index}"), first.to_string()));
        }
        let mut field = |sort: &str, letter: char, index: usize, first: &str| {
            fields.push((sort.into(), format!("{letter}{index}"), first.into()));
        };
        for (index, kind) in objects.mutexes.iter().enumerate() {
            let (sort, first) = match kind {
                Kind::Normal => ("pthread_mutex_t", "PTHREAD_MUTEX_INITIALIZER"),
                Kind::Recursive => ("pthread_mutex_t", "PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP"),
                Kind::Checking => ("pthread_mutex_t", "PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP"),
                Kind::Spin => ("pthread_spinlock_t", "0"),
            };
            field(sort, 'm', index, first);
        }
        for (index, writers_first) in objects.rwlocks.iter().enumerate() {
            let first = match writers_first {
                true => "PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP",
                false => "PTHREAD_RWLOCK_INITIALIZER",
            };
            field("pthread_rwlock_t", 'l', index, first);
        }
        for index in 0..objects.condvars.len() {
            field("pthread_cond_t", 'c', index, "PTHREAD_COND_INITIALIZER");
        }
        for index in 0..objects.plains.len() {
            field("uint32_t", 'g', index, "0");
        }
        for index in 0..objects.onces {
            field("pthread_once_t", 'o', index, "PTHREAD_ONCE_INIT");
        }
        for index in 0..objects.semaphores.len() {
            field("sem_t", 's', index, "");
        }
        for index in 0..objects.barriers.len() {
            field("pthread_barrier_t", 'b', index, "");
        }
        line!(self, "struct {name} {{");
        for (sort, field, _) in &fields {
            line!(self, "    {sort} {field};");
        }
        line!(self, "}};");
        // Not static: what nobody reads must be written all the same.
        match self.program.storage {
            Storage::Static => line!(self, "struct {name} {name} = {{"),
            _ => line!(self, "static const struct {name} {name}_first = {{"),
        }
        for (_, field, first) in fields.iter().filter(|(_, _, first)| !first.is_empty()) {
            line!(self, "    .{field} = {first},");
        }
        line!(self, "}};");
        match self.program.storage {
            Storage::Static => line!(self, "static struct {name} *const {name}_at = &{name};"),
            _ => line!(self, "static struct {name} *{name}_at;"),
        }
        for (_, field, _) in &fields {
            line!(self, "#define {name}_{field} {name}_at->{field}");
        }
        self.results(most.unwrap_or(1));
    }

    /// What objects need before they are used.
    fn prepare(&mut self) {
        let name = self.name.clone();
        let objects = &self.program.objects;
        match self.program.storage {
            Storage::Static => {}
            Storage::Heap => line!(self, "{name}_at = malloc(sizeof(struct {name}));"),
            Storage::Stack => {
                line!(self, "struct {name} here;");
                line!(self, "{name}_at = &here;");
            }
            Storage::Shared => {
                line!(self, "{name}_at = shared(sizeof(struct {name}));");
                line!(
                    self,
                    "{name}_out = shared({} * sizeof(uint64_t));",
                    self.results
                );
            }
        }
        if self.program.storage != Storage::Static {
            // New objects may be copied.
            line!(
                self,
                "memcpy({name}_at, &{name}_first, sizeof(struct {name}));"
            );
        }
        for (index, kind) in objects.mutexes.iter().enumerate() {
            if *kind == Kind::Spin {
                let sharing = match self.program.storage {
                    Storage::Shared => "PTHREAD_PROCESS_SHARED",
                    _ => "PTHREAD_PROCESS_PRIVATE",
                };
                line!(self, "pthread_spin_init(&{name}_m{index}, {sharing});");
            }
        }
        for (index, first) in objects.semaphores.iter().enumerate() {
            let shared = u8::from(self.program.storage == Storage::Shared);
            line!(self, "sem_init(&{name}_s{index}, {shared}, {first});");
        }
        for (index, size) in objects.barriers.iter().enumerate() {
            let barrier = format!("{name}_b{index}");
            line!(self, "pthread_barrier_init(&{barrier}, NULL, {size});");
        }
    }

    /// A function with the variables of a thread. Initialisers that it needs come before it.
    fn function(
        &mut self,
        head: &str,
        block: &Block,
        begin: impl FnOnce(&mut Self),
        end: impl FnOnce(&mut Self),
    ) {
        let before = std::mem::take(self.out);
        (self.kept, self.loops) = (0, 0);
        self.indent = 1;
        begin(self);
        self.block(block);
        end(self);
        self.indent = 0;
        let body = std::mem::replace(self.out, before);
        let functions = std::mem::take(&mut self.functions);
        self.out.push_str(&functions);
        writeln!(self.out, "\n{head} {{").unwrap();
        self.out.push_str("    uint64_t v = 0, acc = 0;\n");
        for slot in 0..self.kept {
            writeln!(self.out, "    volatile uint64_t k{slot} = 0;").unwrap();
        }
        for stmt in block {
            if let Stmt::Spawn(number, _) = stmt {
                let sort = match self.program.storage {
                    Storage::Shared => "pid_t",
                    _ => "pthread_t",
                };
                writeln!(self.out, "    {sort} h{number};").unwrap();
            }
        }
        self.out.push_str(&body);
        self.out.push_str("}\n");
    }

    /// A function for a one-time initialiser; its name.
    fn initialiser(&mut self, block: &Block) -> String {
        let name = format!("{}_i{}", self.name, self.initialisers);
        self.initialisers += 1;
        let outer = std::mem::take(self.out);
        let functions = std::mem::take(&mut self.functions);
        let before = (self.kept, self.loops, self.indent);
        self.function(&format!("static void {name}(void)"), block, |_| {}, |_| {});
        let written = std::mem::replace(self.out, outer);
        self.functions = functions + &written;
        (self.kept, self.loops, self.indent) = before;
        name
    }

    fn block(&mut self, block: &Block) {
        for stmt in block {
            self.stmt(stmt);
        }
    }

    fn inside(&mut self, block: &Block) {
        self.indent += 1;
        self.block(block);
        self.indent -= 1;
    }

    fn atomic(&self, x: usize) -> String {
        format!("{}_x{x}", self.name)
    }

    /// A call that waits, tries, has a time limit or is made until it succeeds; then what is done inside, and the way out.
    fn section(&mut self, how: How, calls: [&str; 4], object: &str, block: &Block) {
        let [wait, attempt, timed, undo] = calls;
        match how {
            How::Wait => line!(self, "GOT(pthread_{wait}(&{object}));"),
            How::Try => line!(self, "GOT(pthread_{attempt}(&{object}));"),
            How::Timed => line!(self, "GOT(pthread_{timed}(&{object}, &soon));"),
            How::Spin => {
                line!(self, "while (pthread_{attempt}(&{object}) != 0) ;");
                line!(self, "GOT(0);");
            }
        }
        line!(self, "if (v == 0) {{");
        self.inside(block);
        line!(self, "    pthread_{undo}(&{object});");
        line!(self, "}}");
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let name = self.name.clone();
        match stmt {
            Stmt::Load(x, strength) => {
                let x = self.atomic(*x);
                let order = load_order(*strength);
                line!(self, "GOT(atomic_load_explicit(&{x}, {order}));");
            }
            Stmt::Store(x, value, strength) => {
                let bits = self.program.objects.atomics[*x].0;
                let (x, value) = (self.atomic(*x), written(*value, bits));
                let order = store_order(*strength);
                line!(self, "atomic_store_explicit(&{x}, {value}, {order});");
            }
            Stmt::Modify(x, kind, operand, strength) => {
                let x = self.atomic(*x);
                let order = any_order(*strength);
                let call = match kind {
                    RmwKind::Swap => "exchange",
                    RmwKind::Add => "fetch_add",
                    RmwKind::Sub => "fetch_sub",
                    RmwKind::And => "fetch_and",
                    RmwKind::Or => "fetch_or",
                    _ => "fetch_xor",
                };
                line!(
                    self,
                    "GOT(atomic_{call}_explicit(&{x}, {operand}, {order}));"
                );
            }
            Stmt::Compare {
                atomic,
                expected,
                new,
                weak,
                strength,
            } => {
                let bits = self.program.objects.atomics[*atomic].0;
                let x = self.atomic(*atomic);
                let kind = if *weak { "weak" } else { "strong" };
                let (order, failure) = (any_order(*strength), load_order(*strength));
                line!(self, "{{");
                line!(self, "    uint{bits}_t e = {expected};");
                line!(
                    self,
                    "    bool done = atomic_compare_exchange_{kind}_explicit(&{x}, &e, {new}, {order}, {failure});"
                );
                line!(self, "    FOLD(e);");
                line!(self, "    GOT(done);");
                line!(self, "}}");
            }
            Stmt::Nothing(0) => line!(self, "sched_yield();"),
            Stmt::Nothing(1) => line!(self, "usleep(10);"),
            Stmt::Nothing(2) => line!(self, "atomic_thread_fence(memory_order_acq_rel);"),
            Stmt::Nothing(_) => {
                line!(self, "{{");
                line!(self, "    uint64_t volatile *block = malloc(24);");
                line!(self, "    *block = 1;");
                line!(self, "    free((void *)block);");
                line!(self, "}}");
            }
            Stmt::Locked(m, how, block) => {
                let calls = match self.program.objects.mutexes[*m] {
                    Kind::Spin => ["spin_lock", "spin_trylock", "", "spin_unlock"],
                    _ => [
                        "mutex_lock",
                        "mutex_trylock",
                        "mutex_timedlock",
                        "mutex_unlock",
                    ],
                };
                self.section(*how, calls, &format!("{name}_m{m}"), block);
            }
            Stmt::Reading(l, how, block) => {
                let calls = [
                    "rwlock_rdlock",
                    "rwlock_tryrdlock",
                    "rwlock_timedrdlock",
                    "rwlock_unlock",
                ];
                self.section(*how, calls, &format!("{name}_l{l}"), block);
            }
            Stmt::Writing(l, how, block) => {
                let calls = [
                    "rwlock_wrlock",
                    "rwlock_trywrlock",
                    "rwlock_timedwrlock",
                    "rwlock_unlock",
                ];
                self.section(*how, calls, &format!("{name}_l{l}"), block);
            }
            Stmt::Set(plain, value) => {
                line!(self, "{name}_g{plain} = {};", written(*value, 32));
            }
            Stmt::Get(plain) => line!(self, "GOT({name}_g{plain});"),
            Stmt::Wait { condvar, timed } => {
                let call = self.wait(*condvar, *timed);
                line!(self, "GOT({call});");
            }
            Stmt::WaitUntil { .. } | Stmt::WaitOn { .. } => self.wait_loop(stmt, &name),
            Stmt::Signal(condvar) => line!(self, "pthread_cond_signal(&{name}_c{condvar});"),
            Stmt::Broadcast(condvar) => {
                line!(self, "pthread_cond_broadcast(&{name}_c{condvar});");
            }
            Stmt::Down(s, how) => match how {
                How::Wait => line!(self, "GOT(CODE(sem_wait(&{name}_s{s})));"),
                How::Try => line!(self, "GOT(CODE(sem_trywait(&{name}_s{s})));"),
                How::Timed => line!(self, "GOT(CODE(sem_timedwait(&{name}_s{s}, &soon)));"),
                How::Spin => {
                    line!(self, "while (sem_trywait(&{name}_s{s}) != 0) ;");
                    line!(self, "GOT(0);");
                }
            },
            Stmt::DownOn(s) => {
                line!(self, "while (sem_timedwait(&{name}_s{s}, &soon) != 0) ;");
            }
            Stmt::Up(s) => line!(self, "sem_post(&{name}_s{s});"),
            Stmt::Count(s) => {
                line!(self, "{{");
                line!(self, "    int count;");
                line!(self, "    sem_getvalue(&{name}_s{s}, &count);");
                line!(self, "    GOT(count);");
                line!(self, "}}");
            }
            Stmt::Arrive(b) => {
                let leads = "== PTHREAD_BARRIER_SERIAL_THREAD";
                line!(self, "GOT(pthread_barrier_wait(&{name}_b{b}) {leads});");
            }
            Stmt::Once(o, block) => {
                let function = self.initialiser(block);
                line!(self, "pthread_once(&{name}_o{o}, {function});");
            }
            Stmt::Any(n) => line!(self, "GOT(reweave_any({n}));"),
            Stmt::Assume(test) => line!(self, "reweave_assume({});", tested(*test)),
            Stmt::SpinUntil {
                atomic,
                value,
                kept,
            } => {
                let x = self.atomic(*atomic);
                let look = format!("__atomic_load_n(&{x}, __ATOMIC_SEQ_CST)");
                if *kept {
                    let slot = self.keep();
                    line!(self, "while ((k{slot} = {look}) != {value}) ;");
                } else {
                    line!(self, "while ({look} != {value}) ;");
                }
                line!(self, "GOT({value});");
            }
            Stmt::SpinSwap(x, value) => {
                let x = self.atomic(*x);
                line!(self, "do v = atomic_exchange(&{x}, {value});");
                line!(self, "while (v == {value});");
                line!(self, "GOT(v);");
            }
            Stmt::SpinCompare(x, expected, new) => {
                let bits = self.program.objects.atomics[*x].0;
                let x = self.atomic(*x);
                line!(self, "{{");
                line!(self, "    uint{bits}_t e;");
                line!(self, "    do e = {expected};");
                line!(
                    self,
                    "    while (!atomic_compare_exchange_strong(&{x}, &e, {new}));"
                );
                line!(self, "    GOT(1);");
                line!(self, "}}");
            }
            Stmt::Poll(plain, value) => {
                let mutex = self.program.objects.plains[*plain];
                let slot = self.keep();
                let kind = match self.program.objects.mutexes[mutex] {
                    Kind::Spin => "spin",
                    _ => "mutex",
                };
                line!(self, "do {{");
                line!(self, "    pthread_{kind}_lock(&{name}_m{mutex});");
                line!(self, "    k{slot} = {name}_g{plain};");
                line!(self, "    pthread_{kind}_unlock(&{name}_m{mutex});");
                line!(self, "}} while (k{slot} != {value});");
                line!(self, "GOT({value});");
            }
            Stmt::Watch(first, second, value) => {
                let look = |x: &usize| {
                    let x = self.atomic(*x);
                    format!("__atomic_load_n(&{x}, __ATOMIC_SEQ_CST)")
                };
                let (first, second) = (look(first), look(second));
                line!(self, "while ({first} != {value} && {second} != {value}) ;");
                line!(self, "GOT({value});");
            }
            Stmt::If(test, block) => {
                line!(self, "if ({}) {{", tested(*test));
                self.inside(block);
                line!(self, "}}");
            }
            Stmt::Repeat(times, block) => {
                let slot = self.loops;
                self.loops += 1;
                // What is known by its place must have one: such a loop is never unrolled.
                let int = match rolled(block) {
                    true => "volatile int",
                    false => "int",
                };
                line!(
                    self,
                    "for ({int} i{slot} = 0; i{slot} < {times}; i{slot}++) {{"
                );
                self.inside(block);
                line!(self, "}}");
            }
            Stmt::Spawn(number, _) => {
                self.spawn(*number, &format!("{name}_t{number}"));
            }
            Stmt::Join(number) => {
                self.join(*number);
                line!(self, "FOLD({name}_out[{number}]);");
            }
            Stmt::Leave(ending) => self.leave(*ending),
        }
    }

    /// A thread begins, or a process in its place.
    fn spawn(&mut self, number: usize, start: &str) {
        if self.program.storage != Storage::Shared {
            return line!(self, "pthread_create(&h{number}, NULL, {start}, NULL);");
        }
        line!(self, "h{number} = fork();");
        line!(self, "if (h{number} == 0) {{");
        line!(self, "    {start}(NULL);");
        line!(self, "    _exit({number});");
        line!(self, "}}");
    }

    fn join(&mut self, number: usize) {
        if self.program.storage != Storage::Shared {
            return line!(self, "pthread_join(h{number}, NULL);");
        }
        line!(self, "{{");
        line!(self, "    int status;");
        line!(self, "    pid_t ended = waitpid(h{number}, &status, 0);");
        line!(
            self,
            "    if (ended != h{number} || status != {number} << 8) abort();"
        );
        line!(self, "}}");
    }

    /// Where threads leave what they have folded.
    fn results(&mut self, most: usize) {
        let name = self.name.clone();
        match self.program.storage {
            Storage::Shared => line!(self, "static uint64_t *{name}_out;"),
            _ => line!(self, "static uint64_t {name}_out[{most}];"),
        }
        self.results = most;
        if self.program.joins_all() {
            line!(self, "static _Atomic(uint64_t) {name}_result;");
        }
    }

    /// The thread that is being written ends.
    fn leave(&mut self, ending: Ending) {
        if let Some(number) = self.thread {
            line!(self, "{}_out[{number}] = acc;", self.name);
        }
        match (ending, self.thread) {
            (Ending::Exit, _) => line!(self, "pthread_exit(NULL);"),
            (Ending::Quit, _) => line!(self, "exit(0);"),
            (Ending::Return, None) => line!(self, "return 0;"),
            (Ending::Return, Some(_)) => line!(self, "return unused;"),
        }
    }

    fn keep(&mut self) -> usize {
        self.kept += 1;
        self.kept - 1
    }

    fn wait_loop(&mut self, stmt: &Stmt, name: &str) {
        match *stmt {
            Stmt::WaitUntil {
                condvar,
                plain,
                value,
                timed,
            } => {
                let call = self.wait(condvar, timed);
                line!(self, "while ({name}_g{plain} != {value}) {{");
                line!(self, "    GOT({call});");
                line!(self, "    if (v != 0) break;");
                line!(self, "}}");
            }
            Stmt::WaitOn {
                condvar,
                plain,
                value,
            } => {
                let call = self.wait(condvar, true);
                line!(self, "while ({name}_g{plain} != {value}) {call};");
            }
            _ => unreachable!("no such loop"),
        }
    }

    fn wait(&self, condvar: usize, timed: bool) -> String {
        let name = &self.name;
        let mutex = self.program.objects.condvars[condvar];
        let objects = format!("&{name}_c{condvar}, &{name}_m{mutex}");
        match timed {
            true => format!("pthread_cond_timedwait({objects}, &soon)"),
            false => format!("pthread_cond_wait({objects})"),
        }
    }
}

/// Whether there are operations whose place matters: those with a time limit, locks, and loops that wait.
fn rolled(block: &Block) -> bool {
    let mut found = false;
    each(block, &mut |stmt| {
        found |= match stmt {
            Stmt::Locked(..) | Stmt::Reading(..) | Stmt::Writing(..) => true,
            Stmt::Wait { timed, .. } | Stmt::WaitUntil { timed, .. } => *timed,
            Stmt::WaitOn { .. } | Stmt::DownOn(_) => true,
            Stmt::Down(_, how) => matches!(how, How::Timed | How::Spin),
            Stmt::SpinUntil { .. } | Stmt::SpinSwap(..) | Stmt::SpinCompare(..) => true,
            Stmt::Poll(..) | Stmt::Watch(..) => true,
            _ => false,
        };
    });
    found
}

fn written(value: Value, bits: u8) -> String {
    match value {
        Value::Const(value) => cut(value, bits).to_string(),
        Value::Last(more) => format!("(uint{bits}_t)(v + {more})"),
    }
}

fn tested(test: Test) -> String {
    match test {
        Test::Is(value) => format!("v == {value}"),
        Test::IsNot(value) => format!("v != {value}"),
    }
}

fn load_order(strength: Strength) -> &'static str {
    [
        "memory_order_relaxed",
        "memory_order_acquire",
        "memory_order_seq_cst",
    ][usize::from(strength) % 3]
}

fn store_order(strength: Strength) -> &'static str {
    [
        "memory_order_relaxed",
        "memory_order_release",
        "memory_order_seq_cst",
    ][usize::from(strength) % 3]
}

fn any_order(strength: Strength) -> &'static str {
    [
        "memory_order_relaxed",
        "memory_order_acquire",
        "memory_order_release",
        "memory_order_acq_rel",
        "memory_order_seq_cst",
    ][usize::from(strength) % 5]
}
