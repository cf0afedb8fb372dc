//! Loops that wait or retry, in C programs.

mod bench;

use bench::{Bench, err};
use serde_json::Value;

/// The result of a check that ends with this code.
fn check(bench: &Bench, line: &[&str], code: i32) -> Value {
    let output = bench.run(&[&["check", "--format", "json"], line].concat());
    assert_eq!(output.status.code(), Some(code), "{}", err(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Threads that take a lock by a compare-exchange: n! orders, however often they try. The lock orders what it protects.
#[test]
fn rounds_of_a_lock_that_fail_are_no_classes() {
    let lock = r"
        #include <pthread.h>
        #include <stdatomic.h>
        static atomic_int lock;
        static int count;
        static void *body(void *unused) {
            int free = 0;
            while (!atomic_compare_exchange_strong(&lock, &free, 1))
                free = 0;
            count++;
            atomic_store(&lock, 0);
            return unused;
        }
        int main(void) {
            pthread_t threads[N];
            for (int i = 0; i < N; i++)
                pthread_create(&threads[i], 0, body, 0);
            for (int i = 0; i < N; i++)
                pthread_join(threads[i], 0);
            return count != N;
        }";
    let bench = Bench::new();
    bench.file("lock.c", lock);
    let mut orders = 1;
    for threads in 2..5 {
        orders *= threads;
        let define = format!("-DN={threads}");
        let result = check(&bench, &["--algorithm", "rf", &define, "lock.c"], 0);
        assert_eq!(result["executions"], orders);
        assert_eq!(result["equivalence"], "reads-from-exits");
    }
}

/// A thread waits for a value that another one may overwrite unseen. And what a failed round has read orders nothing: the race behind
/// the loop is there though the first round may have read from the release.
#[test]
fn loops_that_nobody_ends_and_races_behind_loops_are_found() {
    let missed = r"
        #include <pthread.h>
        #include <stdatomic.h>
        static atomic_int flag;
        static void *one(void *unused) { atomic_store(&flag, 1); return unused; }
        static void *two(void *unused) { atomic_store(&flag, 2); return unused; }
        int main(void) {
            pthread_t a, b;
            pthread_create(&a, 0, one, 0);
            pthread_create(&b, 0, two, 0);
            while (atomic_load(&flag) != 1)
                ;
            pthread_join(a, 0);
            pthread_join(b, 0);
        }";
    let race = r"
        #include <pthread.h>
        #include <stdatomic.h>
        static atomic_int flag;
        static int data;
        static void *one(void *unused) { data = 1; atomic_store_explicit(&flag, 1, memory_order_release); return unused; }
        static void *two(void *unused) { atomic_store_explicit(&flag, 2, memory_order_relaxed); return unused; }
        int main(void) {
            pthread_t a, b;
            pthread_create(&a, 0, one, 0);
            pthread_create(&b, 0, two, 0);
            while (atomic_load_explicit(&flag, memory_order_acquire) != 2)
                ;
            int seen = data;
            pthread_join(a, 0);
            pthread_join(b, 0);
            return seen > 1;
        }";
    let bench = Bench::new();
    bench.file("missed.c", missed);
    bench.file("race.c", race);
    for (source, kind) in [("missed.c", "livelock"), ("race.c", "data-race")] {
        for algorithm in ["rf", "optimal"] {
            let line = ["--algorithm", algorithm, "--keep-going", source];
            let result = check(&bench, &line, 1);
            let errors = result["errors"].as_array().unwrap();
            assert!(errors.iter().any(|it| it["kind"] == kind), "{source}");
        }
    }
}
