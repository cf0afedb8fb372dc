//! `reweave run`: one order of synchronisation, its files, and what it says when it cannot keep them.

#[allow(dead_code)] // Not all of it is of use here.
mod bench;

use bench::{Bench, err, fine};
use std::{fs, process::Command};

/// Producers and consumers around a small queue; they compute for a time that the process's number decides, and print in which order they
/// came.
const QUEUE: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, space = PTHREAD_COND_INITIALIZER;
static int queue[4], n, done;
static unsigned long order;
static void compute(void) {
    volatile unsigned x = 1;
    for (int i = rand() % 2000; i; i--)
        x = x * 1103515245 + 12345;
}
static void *producer(void *id) {
    for (int i = 0; i < 200; i++) {
        compute();
        pthread_mutex_lock(&lock);
        while (n == 4)
            pthread_cond_wait(&space, &lock);
        queue[n++] = (long)id * 1000 + i;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
static void *consumer(void *id) {
    for (;;) {
        pthread_mutex_lock(&lock);
        while (!n && !done)
            pthread_cond_wait(&filled, &lock);
        if (!n) {
            pthread_mutex_unlock(&lock);
            return NULL;
        }
        order = order * 31 + 7 * (long)id + queue[--n];
        pthread_cond_signal(&space);
        pthread_mutex_unlock(&lock);
        compute();
    }
}
int main(void) {
    srand(getpid());
    pthread_t threads[5];
    for (long i = 0; i < 5; i++)
        pthread_create(&threads[i], NULL, i < 2 ? producer : consumer, (void *)i);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_cond_broadcast(&filled);
    pthread_mutex_unlock(&lock);
    for (int i = 2; i < 5; i++)
        pthread_join(threads[i], NULL);
    printf("%lx\n", order);
    return 0;
}
"#;

/// C++: shared locks, semaphores, barriers, timeouts, sleeps, one-time calls that throw.
const EVERYTHING: &str = r#"
#include <chrono>
#include <condition_variable>
#include <future>
#include <iostream>
#include <mutex>
#include <pthread.h>
#include <semaphore.h>
#include <shared_mutex>
#include <thread>
#include <vector>
using namespace std;
using namespace std::chrono_literals;
int main() {
    auto begun = chrono::steady_clock::now();
    mutex m; shared_mutex s; condition_variable c; once_flag once; string text; vector<thread> threads;
    pthread_barrier_t barrier; pthread_barrier_init(&barrier, nullptr, 4);
    sem_t semaphore; sem_init(&semaphore, 0, 0);
    for (int i = 0; i < 4; i++)
        threads.emplace_back([&, i] {
            for (int k = 0; k < 10; k++) {
                { lock_guard held(m); text += char('a' + i); }
                if (k % 5 == i) this_thread::sleep_for(2ms);
                pthread_barrier_wait(&barrier);
                { shared_lock held(s); }
                if (k == i) { unique_lock both(s); lock_guard held(m); text += '|'; }
            }
            sem_post(&semaphore);
        });
    for (int i = 0; i < 4; i++) sem_wait(&semaphore);
    { unique_lock held(m); text += c.wait_for(held, 50ms) == cv_status::timeout ? 'T' : 'N'; }
    text += to_string(async(launch::async, [&] { lock_guard held(m); return 5; }).get());
    try { async(launch::async, []() -> int { throw 7; }).get(); } catch (int thrown) { text += to_string(thrown); }
    try { call_once(once, [] { throw 3; }); } catch (int) { text += 'x'; }
    call_once(once, [&] { text += 'y'; });
    for (auto &thread : threads) thread.join();
    if (chrono::steady_clock::now() - begun < 54ms) text += " too early";
    cout << text << endl;
}
"#;

impl Bench {
    fn compile(&self, name: &str, text: &str, words: &[&str]) -> String {
        let file = self.file(name, text);
        let program = self.path(name).with_extension("");
        let compiler = if name.ends_with(".cc") { "c++" } else { "cc" };
        let mut command = Command::new(compiler);
        command.arg(file).arg("-o").arg(&program).args(words);
        fine(&command.arg("-lpthread").output().unwrap());
        program.display().to_string()
    }

    fn said(&self, words: &[&str]) -> (Option<i32>, String, String) {
        let output = self.run(words);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), text, err(&output))
    }
}

fn same_order(text: &str, runs: u32) -> bool {
    text.contains(&format!("the same order in {runs} of {runs} runs"))
}

#[test]
fn a_program_has_one_order() {
    let bench = Bench::new();
    let queue = bench.compile("queue.c", QUEUE, &[]);
    let (code, order, says) = bench.said(&["run", "--verify", "10", "--", &queue]);
    assert!(code == Some(0) && same_order(&says, 10), "{says}");
    let (code, again, _) = bench.said(&["run", "--", &queue]);
    assert_eq!((code, again), (Some(0), order));
}

#[test]
fn every_kind_of_object_is_scheduled() {
    let bench = Bench::new();
    let program = bench.compile("all.cc", EVERYTHING, &["-std=c++20"]);
    let (code, text, says) = bench.said(&["run", "--verify", "5", "--", &program]);
    assert!(code == Some(0) && same_order(&says, 5), "{says}");
    assert!(text.ends_with("T57xy\n"), "{text}");
    let letters = |letter| text.matches(letter).count();
    assert_eq!(['a', 'b', 'c', 'd', '|'].map(letters), [10, 10, 10, 10, 4]);
}

#[test]
fn openmp_has_one_order() {
    let bench = Bench::new();
    let text = r#"
#include <omp.h>
#include <stdio.h>
static char text[4000];
static int n;
int main(void) {
    long sum = 0;
    int by[40];
    for (int round = 0; round < 5; round++) {
#pragma omp parallel for schedule(dynamic, 3) num_threads(4) reduction(+ : sum)
        for (int i = 0; i < 40; i++) {
            volatile unsigned x = i;
            for (int k = 0; k < i * 100; k++)
                x = x * 1103515245 + 1;
            sum += i;
            by[i] = omp_get_thread_num();
#pragma omp critical
            text[n++] = 'a' + omp_get_thread_num();
        }
        for (int i = 0; i < 40; i++)
            text[n++] = '0' + by[i];
#pragma omp parallel num_threads(3)
        {
            int z;
#pragma omp single
            for (int i = 0; i < 5; i++)
#pragma omp task
#pragma omp critical(named)
                text[n++] = 'A' + omp_get_thread_num();
#pragma omp single copyprivate(z)
            z = 1 + omp_get_thread_num();
#pragma omp for ordered
            for (int i = 0; i < 6; i++)
#pragma omp ordered
                text[n++] = 'u' + z - z + i;
#pragma omp sections
            {
#pragma omp section
#pragma omp critical
                text[n++] = 'S';
#pragma omp section
#pragma omp critical
                text[n++] = 'T';
            }
        }
    }
    printf("%ld %d %s\n", sum, n, text);
}
"#;
    let program = bench.compile("omp.c", text, &["-fopenmp"]);
    let (_, first, _) = bench.said(&["run", "--", &program]);
    // 5 rounds of 40 iterations, twice; and 5 tasks, 6 ordered iterations and 2 sections.
    assert!(first.starts_with("3900 465 "), "{first}");
    for _ in 0..9 {
        assert_eq!(bench.said(&["run", "--", &program]).1, first);
    }
}

#[test]
fn an_order_is_written_and_kept() {
    let bench = Bench::new();
    let queue = bench.compile("queue.c", QUEUE, &[]);
    let (_, order, _) = bench.said(&["run", "--schedule", "order", "--", &queue]);
    let text = fs::read_to_string(bench.path("order")).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("reweave.schedule/1"));
    assert_eq!(
        lines
            .clone()
            .filter(|line| line.ends_with(" create"))
            .count(),
        5
    );
    assert_eq!(lines.filter(|line| line.ends_with(" end")).count(), 5);
    let (code, again, says) = bench.said(&["run", "--replay", "order", "--", &queue]);
    assert_eq!((code, again, says.as_str()), (Some(0), order, ""));
    // Another order of the same program: threads 2 and 3 exchange their first steps.
    let swapped = text.replacen(
        "\n2 lock\n2 unlock\n3 lock\n3 unlock\n",
        "\n3 lock\n3 unlock\n2 lock\n2 unlock\n",
        1,
    );
    if swapped != text {
        fs::write(bench.path("order"), swapped).unwrap();
        let (code, _, says) = bench.said(&["run", "--replay", "order", "--", &queue]);
        assert_eq!((code, says.as_str()), (Some(0), ""));
    }
}

#[test]
fn another_program_does_not_keep_it() {
    let bench = Bench::new();
    let queue = bench.compile("queue.c", QUEUE, &[]);
    bench.run(&["run", "--schedule", "order", "--", &queue]);
    let text = fs::read_to_string(bench.path("order")).unwrap();
    fs::write(
        bench.path("order"),
        text.replacen("1 create", "1 signal", 1),
    )
    .unwrap();
    let (code, _, says) = bench.said(&["run", "--replay", "order", "--", &queue]);
    assert_eq!(code, Some(4), "{says}");
    assert!(
        says.contains("thread 1 should signal, but does create"),
        "{says}"
    );
    // One that ends too early.
    let lines: Vec<&str> = text.lines().take(20).collect();
    fs::write(bench.path("order"), lines.join("\n") + "\n").unwrap();
    let (code, _, says) = bench.said(&["run", "--replay", "order", "--", &queue]);
    assert_eq!(code, Some(0));
    assert!(
        says.contains("goes on after the end of the schedule"),
        "{says}"
    );
}

#[test]
fn hints_change_the_order_and_nothing_else() {
    let bench = Bench::new();
    let text = r#"
#include <pthread.h>
#include <reweave.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int together, total;
static void *work(void *unused) {
    for (int i = 0; i < 50; i++) {
        reweave_soft_barrier_wait(&together);
        reweave_section_enter();
        pthread_mutex_lock(&lock);
        total++;
        pthread_mutex_unlock(&lock);
        reweave_section_exit();
    }
    return unused;
}
int main(void) {
    pthread_t threads[3];
    reweave_soft_barrier_init(4, &together, 20); /* One more than come: each wait ends by turns. */
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", total);
    return 0;
}
"#;
    let header =
        fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../toolchain/include")).unwrap();
    let include = format!("-I{}", header.display());
    let program = bench.compile("hints.c", text, &[&include]);
    let alone = Command::new(&program).output().unwrap();
    assert_eq!(alone.stdout, b"150\n", "without reweave they do nothing");
    let (code, text, says) = bench.said(&["run", "--schedule", "order", "--", &program]);
    assert_eq!((code, text.as_str(), says.as_str()), (Some(0), "150\n", ""));
    let order = fs::read_to_string(bench.path("order")).unwrap();
    let count = |what| order.lines().filter(|line| line.ends_with(what)).count();
    assert_eq!((count("enter-section"), count("exit-section")), (150, 150));
    assert!(count("timed-out") > 0);
    // Sections have an order of their own each time; a schedule keeps it.
    let (code, text, says) = bench.said(&["run", "--replay", "order", "--", &program]);
    assert_eq!((code, text.as_str(), says.as_str()), (Some(0), "150\n", ""));
}

#[test]
fn ends_of_programs_are_passed_on() {
    let bench = Bench::new();
    assert_eq!(bench.said(&["run", "--", "sh", "-c", "exit 7"]).0, Some(7));
    assert_eq!(
        bench.said(&["run", "--", "sh", "-c", "kill -9 $$"]).0,
        None,
        "the process becomes the program"
    );
    let crash = "#include <pthread.h>\nstatic void *f(void *p) { *(volatile int *)0 = 1; return p; }\n\
                 int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); }\n";
    let program = bench.compile("crash.c", crash, &[]);
    let (code, _, _) = bench.said(&["run", "--schedule", "order", "--", &program]);
    assert_eq!(code, Some(128 + 11));
    let order = fs::read_to_string(bench.path("order")).unwrap();
    // Whether the join is reached before the crash is not decided by the order of synchronisation.
    let done = order.trim_end_matches("1 join\n");
    assert_eq!(done, "reweave.schedule/1\n1 create\n");
}

#[test]
fn main_may_end_before_its_threads() {
    let bench = Bench::new();
    let text = "#include <pthread.h>\nstatic pthread_mutex_t m;\n\
                static void *f(void *p) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return p; }\n\
                int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_exit(0); }\n";
    let program = bench.compile("ends.c", text, &[]);
    let said = bench.said(&["run", "--", &program]);
    assert_eq!(said, (Some(0), String::new(), String::new()));
}

#[test]
fn processes_have_files_of_their_own() {
    let bench = Bench::new();
    let text = r#"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    if (fork() == 0) {
        pthread_create(&thread, NULL, work, NULL);
        work(NULL);
        pthread_join(thread, NULL);
        return 3;
    }
    int status;
    wait(&status);
    return WEXITSTATUS(status);
}
"#;
    let program = bench.compile("forks.c", text, &[]);
    assert_eq!(
        bench
            .said(&["run", "--schedule", "order", "--", &program])
            .0,
        Some(3)
    );
    let parent = fs::read_to_string(bench.path("order")).unwrap();
    let child = fs::read_to_string(bench.path("order.1")).unwrap();
    assert!(parent.ends_with("1 fork\n1 leave\n1 rejoin\n"), "{parent}");
    assert!(
        child.contains("1 create\n") && child.contains("2 lock\n"),
        "{child}"
    );
    let (code, _, says) = bench.said(&["run", "--verify", "5", "--", &program]);
    assert!(
        code == Some(0) && same_order(&says, 5) && says.contains("exit status 3"),
        "{says}"
    );
}

#[test]
fn cancelled_threads_end() {
    let bench = Bench::new();
    let text = r#"
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static void release(void *held) { pthread_mutex_unlock(held); }
static void *waits(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(release, &lock);
    for (;;)
        pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(1);
    return unused;
}
static void *sleeps(void *unused) { sem_wait(&semaphore); return unused; }
int main(void) {
    pthread_t threads[2];
    void *results[2];
    sem_init(&semaphore, 0, 0);
    pthread_create(&threads[0], NULL, waits, NULL);
    pthread_create(&threads[1], NULL, sleeps, NULL);
    for (int i = 0; i < 2; i++) {
        pthread_cancel(threads[i]);
        pthread_join(threads[i], &results[i]);
    }
    pthread_mutex_lock(&lock);
    printf("%d %d\n", results[0] == PTHREAD_CANCELED, results[1] == PTHREAD_CANCELED);
    return 0;
}
"#;
    let program = bench.compile("cancel.c", text, &[]);
    let (code, text, says) = bench.said(&["run", "--verify", "5", "--", &program]);
    assert!(code == Some(0) && same_order(&says, 5), "{says}");
    assert_eq!(text, "1 1\n");
}

#[test]
fn differences_are_named() {
    let bench = Bench::new();
    // The number of steps depends on the process's number.
    let text = "#include <pthread.h>\n#include <unistd.h>\nint main(void) { pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
                for (int i = getpid() % 1000; i; i--) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); } }\n";
    let program = bench.compile("pid.c", text, &[]);
    let (code, _, says) = bench.said(&["run", "--verify", "3", "--", &program]);
    assert_eq!(code, Some(4), "{says}");
    assert!(says.contains("differs from run 1: at step "), "{says}");
}

#[test]
fn bad_input_has_sentences() {
    let bench = Bench::new();
    let file = bench.file("static.c", "int main(void) { return 0; }\n");
    let program = bench.path("static");
    let mut command = Command::new("cc");
    fine(
        &command
            .arg("-static")
            .arg(file)
            .arg("-o")
            .arg(&program)
            .output()
            .unwrap(),
    );
    let cases: [(&[&str], &str); 6] = [
        (&["run", "--", "./static"], "it is linked statically"),
        (&["run", "--", "./missing"], "No such file"),
        (&["run"], "PROGRAM is missing"),
        (
            &["run", "--replay", "missing", "--", "true"],
            "missing: No such file",
        ),
        (
            &["run", "--replay", "static.c", "--", "true"],
            "it is no schedule",
        ),
        (
            &["run", "--schedule", "no/place", "--", "true"],
            "no/place: No such file",
        ),
    ];
    for (words, expected) in cases {
        let (code, _, says) = bench.said(words);
        assert_eq!(code, Some(2), "{words:?}: {says}");
        assert!(says.contains(expected), "{words:?}: {says}");
    }
}
