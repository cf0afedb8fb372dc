//! What programs are made of: for each family of calls its objects and the steps that threads do with them. `generate.rs` chooses among them.
//!
//! Every step ends in any state that other steps can leave, so no program deadlocks; it uses its objects correctly, so nothing is an error;
//! and it records only what calls returned, never times, addresses or numbers of threads.
//!
//! In a step, `$a` is the number of one of the family's two objects, `$k` a small number, `$d` a deadline on the realtime clock, `$e` one on
//! the monotonic clock, `$s` and `$t` are such ones that soon expire, `$i` a step that may stand inside, `$n` the number of threads.

/// When a step may be chosen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Waits for nothing: it may also stand inside of another step.
    Anywhere,
    /// At the outermost level only.
    Outside,
    /// The thread ends here.
    Last,
}

pub struct Family {
    pub name: &'static str,
    /// Whether it needs C++.
    pub cxx: bool,
    pub globals: &'static str,
    pub setup: &'static str,
    pub teardown: &'static str,
    pub steps: &'static [(Place, &'static str)],
}

use Place::{Anywhere, Last, Outside};

/// In every program: sequentially consistent atomics, of two sizes. Weaker orders are not explored. Atomic accesses of different sizes to one
/// place are refused.
pub const ATOMICS: Family = Family {
    name: "atomics",
    cxx: false,
    globals: "static int x[2]; static unsigned char bytes[2];",
    setup: "x[0] = x[1] = 0; bytes[0] = bytes[1] = 0;",
    teardown: "",
    steps: &[
        (
            Anywhere,
            "REC(__atomic_fetch_add(&x[$a], $k, __ATOMIC_SEQ_CST));",
        ),
        (Anywhere, "REC(__atomic_load_n(&x[$a], __ATOMIC_SEQ_CST));"),
        (
            Anywhere,
            "DO(__atomic_store_n(&x[$a], $k, __ATOMIC_SEQ_CST));",
        ),
        (
            Anywhere,
            "REC(__atomic_exchange_n(&x[$a], $k, __ATOMIC_SEQ_CST));",
        ),
        (
            Anywhere,
            "{ int old = 0; REC(__atomic_compare_exchange_n(&x[$a], &old, $k, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); REC(old); }",
        ),
        (
            Anywhere,
            "DO(__atomic_store_n(&bytes[$a], $k, __ATOMIC_SEQ_CST));",
        ),
        (
            Anywhere,
            "REC(__atomic_fetch_sub(&bytes[$a], $k, __ATOMIC_SEQ_CST));",
        ),
    ],
};

const MUTEX: Family = Family {
    name: "mutexes",
    cxx: false,
    globals: "static pthread_mutex_t m[2]; static int under[2];
struct __attribute__((packed)) Packed { char c; int i; short s; };
static struct Packed packed;",
    setup: "under[0] = under[1] = 0; memset(&packed, 0, sizeof packed);
init_mutex(&m[0], PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
init_mutex(&m[1], PTHREAD_MUTEX_DEFAULT, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);",
    teardown: "EXPECT(pthread_mutex_destroy(&m[0])); EXPECT(pthread_mutex_destroy(&m[1]));",
    steps: &[
        (
            Outside,
            "REC(pthread_mutex_lock(&m[$a])); REC(under[$a]++); $i REC(pthread_mutex_unlock(&m[$a]));",
        ),
        (
            Outside,
            "DO(pthread_mutex_lock(&m[0])); REC(under[0]++); DO(pthread_mutex_lock(&m[1])); REC(under[1]++); DO(pthread_mutex_unlock(&m[$a])); DO(pthread_mutex_unlock(&m[1 - $a]));",
        ),
        (
            Anywhere,
            "{ int r; REC(r = pthread_mutex_trylock(&m[$a])); if (!r) { REC(under[$a]++); DO(pthread_mutex_unlock(&m[$a])); } }",
        ),
        (
            Outside,
            "{ int r; REC(r = pthread_mutex_timedlock(&m[$a], $d)); if (!r) { REC(under[$a]++); $i DO(pthread_mutex_unlock(&m[$a])); } }",
        ),
        (
            Outside,
            "{ int r; REC(r = pthread_mutex_clocklock(&m[0], CLOCK_MONOTONIC, $e)); if (!r) { REC(under[0]++); $i DO(pthread_mutex_unlock(&m[0])); } }",
        ),
        (
            Outside,
            "DO(pthread_mutex_lock(&m[0])); packed.i += $k; packed.s = (short)(packed.i * 3); REC(packed.s); packed.c++; DO(pthread_mutex_unlock(&m[0]));",
        ),
    ],
};

const MUTEX_KINDS: Family = Family {
    name: "mutex kinds",
    cxx: false,
    globals: "static pthread_mutex_t rec, err; static int kept;",
    setup: "kept = 0;
init_mutex(&rec, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
init_mutex(&err, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);",
    teardown: "EXPECT(pthread_mutex_destroy(&rec)); EXPECT(pthread_mutex_destroy(&err));",
    steps: &[
        (
            Outside,
            "DO(pthread_mutex_lock(&rec)); REC(pthread_mutex_lock(&rec)); REC(kept++); REC(pthread_mutex_unlock(&rec)); $i REC(pthread_mutex_unlock(&rec));",
        ),
        (
            Outside,
            "DO(pthread_mutex_lock(&rec)); REC(pthread_mutex_trylock(&rec)); REC(kept++); DO(pthread_mutex_unlock(&rec)); DO(pthread_mutex_unlock(&rec));",
        ),
        (
            Anywhere,
            "{ int r; REC(r = pthread_mutex_trylock(&rec)); if (!r) { REC(kept++); DO(pthread_mutex_unlock(&rec)); } }",
        ),
        (
            Outside,
            "DO(pthread_mutex_lock(&err)); REC(pthread_mutex_lock(&err)); REC(pthread_mutex_trylock(&err)); $i REC(pthread_mutex_unlock(&err));",
        ),
        (
            Outside,
            "REC(pthread_mutex_lock(&err)); $i REC(pthread_mutex_unlock(&err)); REC(pthread_mutex_unlock(&err));",
        ),
        (
            Anywhere,
            "{ int r; REC(r = pthread_mutex_trylock(&err)); if (!r) DO(pthread_mutex_unlock(&err)); }",
        ),
        (
            Outside,
            "{ int r; REC(r = pthread_mutex_timedlock(&rec, $d)); if (!r) { REC(kept++); DO(pthread_mutex_unlock(&rec)); } }",
        ),
        (
            Outside,
            "{ int r; REC(r = pthread_mutex_timedlock(&err, $d)); if (!r) DO(pthread_mutex_unlock(&err)); }",
        ),
    ],
};

const ROBUST: Family = Family {
    name: "robust mutexes",
    cxx: false,
    globals: "static pthread_mutex_t rob; static int robs;
static void robust(int me, int r, int repair) {
    if (r && r != EOWNERDEAD) return;
    REC(robs++);
    if (r && repair) REC(pthread_mutex_consistent(&rob));
    REC(pthread_mutex_unlock(&rob));
}",
    setup: "robs = 0; init_mutex(&rob, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);",
    teardown: "EXPECT(pthread_mutex_destroy(&rob));",
    steps: &[
        (
            Outside,
            "{ int r; REC(r = pthread_mutex_lock(&rob)); robust(me, r, 1); }",
        ),
        (
            Outside,
            "{ int r; REC(r = pthread_mutex_trylock(&rob)); robust(me, r, $a); }",
        ),
        (
            Outside,
            "{ int r; REC(r = pthread_mutex_timedlock(&rob, $d)); robust(me, r, 1); }",
        ),
        (Last, "REC(pthread_mutex_lock(&rob));"),
        (Last, "REC(pthread_mutex_trylock(&rob));"),
    ],
};

const RWLOCK: Family = Family {
    name: "read-write locks",
    cxx: false,
    globals: "static pthread_rwlock_t rw[2]; static int shared[2];",
    setup:
        "shared[0] = shared[1] = 0; { pthread_rwlockattr_t a; EXPECT(pthread_rwlockattr_init(&a));
EXPECT(pthread_rwlock_init(&rw[0], &a));
EXPECT(pthread_rwlockattr_setkind_np(&a, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP));
EXPECT(pthread_rwlock_init(&rw[1], &a)); EXPECT(pthread_rwlockattr_destroy(&a)); }",
    teardown: "EXPECT(pthread_rwlock_destroy(&rw[0])); EXPECT(pthread_rwlock_destroy(&rw[1]));",
    steps: &[
        (
            Outside,
            "REC(pthread_rwlock_rdlock(&rw[$a])); REC(shared[$a]); $i REC(shared[$a]); REC(pthread_rwlock_unlock(&rw[$a]));",
        ),
        (
            Outside,
            "REC(pthread_rwlock_wrlock(&rw[$a])); REC(shared[$a]++); $i REC(pthread_rwlock_unlock(&rw[$a]));",
        ),
        (
            Anywhere,
            "{ int r; REC(r = pthread_rwlock_trywrlock(&rw[$a])); if (!r) { REC(shared[$a]++); DO(pthread_rwlock_unlock(&rw[$a])); } }",
        ),
        (
            Anywhere,
            "{ int r; REC(r = pthread_rwlock_tryrdlock(&rw[$a])); if (!r) { REC(shared[$a]); DO(pthread_rwlock_unlock(&rw[$a])); } }",
        ),
        (
            Outside,
            "{ int r; REC(r = pthread_rwlock_timedrdlock(&rw[$a], $d)); if (!r) { REC(shared[$a]); DO(pthread_rwlock_unlock(&rw[$a])); } }",
        ),
        (
            Outside,
            "{ int r; REC(r = pthread_rwlock_timedwrlock(&rw[$a], $d)); if (!r) { REC(shared[$a]++); DO(pthread_rwlock_unlock(&rw[$a])); } }",
        ),
        (
            Outside,
            "{ int r; REC(r = pthread_rwlock_clockrdlock(&rw[$a], CLOCK_MONOTONIC, $e)); if (!r) { REC(shared[$a]); DO(pthread_rwlock_unlock(&rw[$a])); } }",
        ),
        (
            Outside,
            "{ int r; REC(r = pthread_rwlock_clockwrlock(&rw[$a], CLOCK_MONOTONIC, $e)); if (!r) { REC(shared[$a]++); DO(pthread_rwlock_unlock(&rw[$a])); } }",
        ),
    ],
};

const SPIN: Family = Family {
    name: "spin locks",
    cxx: false,
    globals: "static pthread_spinlock_t s[2]; static int spun[2];",
    setup: "spun[0] = spun[1] = 0; EXPECT(pthread_spin_init(&s[0], 0)); EXPECT(pthread_spin_init(&s[1], 0));",
    teardown: "EXPECT(pthread_spin_destroy(&s[0])); EXPECT(pthread_spin_destroy(&s[1]));",
    steps: &[
        (
            Outside,
            "REC(pthread_spin_lock(&s[$a])); REC(spun[$a]++); $i REC(pthread_spin_unlock(&s[$a]));",
        ),
        (
            Anywhere,
            "{ int r; REC(r = pthread_spin_trylock(&s[$a])); if (!r) { REC(spun[$a]++); DO(pthread_spin_unlock(&s[$a])); } }",
        ),
    ],
};

/// A wait has its own post before it, and what is taken by a try is given back: no wait is for ever.
const SEMAPHORE: Family = Family {
    name: "semaphores",
    cxx: false,
    globals: "static sem_t sem[2]; static sem_t *named;
static int sem_failed(int r) { return r ? errno : 0; }
static int sem_value(sem_t *s) { int v = -1; sem_getvalue(s, &v); return v; }",
    setup: "EXPECT(sem_init(&sem[0], 0, 0)); EXPECT(sem_init(&sem[1], 0, 1));
{ char name[64]; snprintf(name, sizeof name, \"/conformance-%d\", (int)getpid());
named = sem_open(name, O_CREAT | O_EXCL, 0600, 1); EXPECT(named == SEM_FAILED); EXPECT(sem_unlink(name)); }",
    teardown: "EXPECT(sem_destroy(&sem[0])); EXPECT(sem_destroy(&sem[1])); EXPECT(sem_close(named));",
    steps: &[
        (Anywhere, "REC(sem_failed(sem_post(&sem[$a])));"),
        (Anywhere, "REC(sem_value(&sem[$a]));"),
        (Anywhere, "{ int r; REC(r = sem_failed(sem_trywait(&sem[$a]))); if (!r) DO(sem_post(&sem[$a])); }"),
        (Outside, "DO(sem_post(&sem[$a])); $i REC(sem_failed(sem_wait(&sem[$a])));"),
        (Outside, "{ int r; REC(r = sem_failed(sem_timedwait(&sem[$a], $s))); if (!r) { $i DO(sem_post(&sem[$a])); } }"),
        (Outside, "{ int r; REC(r = sem_failed(sem_clockwait(&sem[$a], CLOCK_MONOTONIC, $t))); if (!r) { $i DO(sem_post(&sem[$a])); } }"),
        (Outside, "REC(sem_failed(sem_wait(named))); $i REC(sem_failed(sem_post(named)));"),
        (Anywhere, "{ int r; REC(r = sem_failed(sem_trywait(named))); if (!r) DO(sem_post(named)); }"),
    ],
};

const ONCE: Family = Family {
    name: "once",
    cxx: false,
    globals: "static pthread_once_t once[2]; static int begun[2];
static void first0(void) { __atomic_fetch_add(&begun[0], 1, __ATOMIC_SEQ_CST); delay(); }
static void first1(void) { __atomic_fetch_add(&begun[1], 1, __ATOMIC_SEQ_CST); pthread_once(&once[0], first0); }",
    setup: "begun[0] = begun[1] = 0; { pthread_once_t fresh = PTHREAD_ONCE_INIT; once[0] = once[1] = fresh; }",
    teardown: "",
    steps: &[
        (Outside, "REC(pthread_once(&once[$a], $a ? first1 : first0)); REC(__atomic_load_n(&begun[0], __ATOMIC_SEQ_CST));"),
        (Anywhere, "REC(__atomic_load_n(&begun[$a], __ATOMIC_SEQ_CST));"),
    ],
};

const KEYS: Family = Family {
    name: "thread-specific data",
    cxx: false,
    globals: "static pthread_key_t key[2]; static int dropped;
static void drop(void *p) { __atomic_fetch_add(&dropped, (int)(long)p, __ATOMIC_SEQ_CST); }
static void again(void *p) { if ((long)p < 3) pthread_setspecific(key[1], (void *)((long)p + 1)); drop(p); }",
    setup: "dropped = 0; EXPECT(pthread_key_create(&key[0], drop)); EXPECT(pthread_key_create(&key[1], again));",
    teardown: "EXPECT(pthread_key_delete(key[0])); EXPECT(pthread_key_delete(key[1]));",
    steps: &[
        (Anywhere, "REC((int)(long)pthread_getspecific(key[$a]));"),
        (Anywhere, "REC(pthread_setspecific(key[$a], (void *)$k)); REC((int)(long)pthread_getspecific(key[$a]));"),
        (Anywhere, "REC(__atomic_load_n(&dropped, __ATOMIC_SEQ_CST));"),
        (Outside, "{ pthread_key_t own; REC(pthread_key_create(&own, drop)); DO(pthread_setspecific(own, (void *)$k)); $i REC((int)(long)pthread_getspecific(own)); REC(pthread_key_delete(own)); }"),
        (Last, "DO(pthread_setspecific(key[1], (void *)$k)); DO(pthread_exit(0));"),
    ],
};

const THREADS: Family = Family {
    name: "threads",
    cxx: false,
    globals: "static int born; static sem_t gone;
static void *child(void *p) { long old = __atomic_fetch_add(&born, (int)(long)p, __ATOMIC_SEQ_CST); delay(); if (old & 1) pthread_exit((void *)old); return (void *)(old + 100); }
static void *alone(void *p) { __atomic_fetch_add(&born, (int)(long)p, __ATOMIC_SEQ_CST); delay(); sem_post(&gone); return 0; }",
    setup: "born = 0; EXPECT(sem_init(&gone, 0, 0));",
    teardown: "EXPECT(sem_destroy(&gone));",
    steps: &[
        (Outside, "{ pthread_t t; void *v; REC(pthread_create(&t, 0, child, (void *)$k)); $i REC(pthread_join(t, &v)); REC((int)(long)v); }"),
        (Outside, "{ pthread_t t; void *v = 0; int r; DO(pthread_create(&t, 0, child, (void *)$k)); REC(r = pthread_tryjoin_np(t, &v)); if (r) DO(pthread_join(t, &v)); REC((int)(long)v); }"),
        (Outside, "{ pthread_t t; void *v = 0; int r; DO(pthread_create(&t, 0, child, (void *)$k)); REC(r = pthread_timedjoin_np(t, &v, $d)); if (r) DO(pthread_join(t, &v)); REC((int)(long)v); }"),
        (Outside, "{ pthread_t t; void *v = 0; int r; DO(pthread_create(&t, 0, child, (void *)$k)); REC(r = pthread_clockjoin_np(t, &v, CLOCK_MONOTONIC, $e)); if (r) DO(pthread_join(t, &v)); REC((int)(long)v); }"),
        (Outside, "{ pthread_t t; DO(pthread_create(&t, 0, alone, (void *)$k)); REC(pthread_detach(t)); $i DO(sem_wait(&gone)); }"),
        (Outside, "{ pthread_t t; pthread_attr_t a; int state; EXPECT(pthread_attr_init(&a)); EXPECT(pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED)); EXPECT(pthread_attr_setstacksize(&a, 1 << 18)); EXPECT(pthread_attr_getdetachstate(&a, &state)); REC(state); REC(pthread_create(&t, &a, alone, (void *)$k)); EXPECT(pthread_attr_destroy(&a)); DO(sem_wait(&gone)); }"),
        (Anywhere, "REC(__atomic_load_n(&born, __ATOMIC_SEQ_CST));"),
        (Anywhere, "REC(pthread_equal(pthread_self(), pthread_self()) != 0);"),
        (Last, "$i DO(pthread_exit(0));"),
    ],
};

const C11: Family = Family {
    name: "C11 threads",
    cxx: false,
    globals: "static mtx_t mt[2]; static int mts[2]; static once_flag flag; static int called; static tss_t tss; static int tssd;
static void call(void) { __atomic_fetch_add(&called, 1, __ATOMIC_SEQ_CST); delay(); }
static void tss_drop(void *p) { __atomic_fetch_add(&tssd, (int)(long)p, __ATOMIC_SEQ_CST); }
static int kid(void *p) { if ((long)p == 2) thrd_exit(5); return __atomic_fetch_add(&called, 10, __ATOMIC_SEQ_CST); }",
    setup: "mts[0] = mts[1] = called = tssd = 0; { once_flag fresh = ONCE_FLAG_INIT; flag = fresh; }
EXPECT(mtx_init(&mt[0], mtx_timed)); EXPECT(mtx_init(&mt[1], mtx_timed | mtx_recursive)); EXPECT(tss_create(&tss, tss_drop));",
    teardown: "mtx_destroy(&mt[0]); mtx_destroy(&mt[1]); tss_delete(tss);",
    steps: &[
        (Outside, "REC(mtx_lock(&mt[$a])); REC(mts[$a]++); $i REC(mtx_unlock(&mt[$a]));"),
        (Anywhere, "{ int r; REC(r = mtx_trylock(&mt[$a])); if (r == thrd_success) { REC(mts[$a]++); DO(mtx_unlock(&mt[$a])); } }"),
        (Outside, "{ int r; REC(r = mtx_timedlock(&mt[$a], $d)); if (r == thrd_success) { REC(mts[$a]++); $i DO(mtx_unlock(&mt[$a])); } }"),
        (Outside, "DO(mtx_lock(&mt[1])); REC(mtx_lock(&mt[1])); REC(mts[1]++); DO(mtx_unlock(&mt[1])); DO(mtx_unlock(&mt[1]));"),
        (Outside, "DO(call_once(&flag, call)); REC(__atomic_load_n(&called, __ATOMIC_SEQ_CST));"),
        (Anywhere, "REC(tss_set(tss, (void *)$k)); REC((int)(long)tss_get(tss));"),
        (Anywhere, "REC(__atomic_load_n(&tssd, __ATOMIC_SEQ_CST));"),
        (Outside, "{ thrd_t t; int v = -1; REC(thrd_create(&t, kid, (void *)$k)); $i REC(thrd_join(t, &v)); REC(v); }"),
        (Outside, "REC(thrd_equal(thrd_current(), thrd_current()) != 0); DO(thrd_yield()); { struct timespec t = {0, 1000}; REC(thrd_sleep(&t, 0)); }"),
    ],
};

const STREAMS: Family = Family {
    name: "streams",
    cxx: false,
    globals: "static FILE *stream;",
    setup: "stream = tmpfile(); EXPECT(!stream);",
    teardown: "rewind(stream); { int c; while ((c = getc(stream)) != EOF) text[length++] = (char)c; text[length] = 0; } fclose(stream);",
    steps: &[
        (Anywhere, "DO(fprintf(stream, \"(%d)\", me));"),
        (
            Anywhere,
            "DO(fputs(\"+\", stream)); DO(putc('a' + me, stream));",
        ),
        (
            Outside,
            "DO(flockfile(stream)); DO(putc_unlocked('<', stream)); $i DO(putc_unlocked('>', stream)); DO(funlockfile(stream));",
        ),
        (
            Anywhere,
            "{ int r; REC(r = ftrylockfile(stream) != 0); if (!r) { DO(putc_unlocked('!', stream)); DO(funlockfile(stream)); } }",
        ),
        (Anywhere, "REC(fflush(stream));"),
    ],
};

const HEAP: Family = Family {
    name: "heap",
    cxx: false,
    globals: "struct Node { struct Node *next; int value; };
static struct Node *top, *list; static pthread_mutex_t heap;
static struct Node *node(int value, struct Node *next) { struct Node *n = (struct Node *)malloc(sizeof *n); n->value = value; n->next = next; return n; }
static int sum(struct Node *n) { int all = 0; while (n) { struct Node *next = n->next; all = all * 4 + n->value; free(n); n = next; } return all; }",
    setup: "top = list = 0; EXPECT(pthread_mutex_init(&heap, 0));",
    teardown: "REC(sum(top)); REC(sum(list)); EXPECT(pthread_mutex_destroy(&heap));",
    steps: &[
        (Anywhere, "{ struct Node *n = node($k, __atomic_load_n(&top, __ATOMIC_SEQ_CST)); delay(); while (!__atomic_compare_exchange_n(&top, &n->next, n, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) delay(); }"),
        (Anywhere, "REC(sum(__atomic_exchange_n(&top, (struct Node *)0, __ATOMIC_SEQ_CST)));"),
        (Outside, "DO(pthread_mutex_lock(&heap)); list = node($k, list); $i DO(pthread_mutex_unlock(&heap));"),
        (Outside, "{ struct Node *n; DO(pthread_mutex_lock(&heap)); n = list; if (n) list = n->next; DO(pthread_mutex_unlock(&heap)); REC(n ? n->value : 0); free(n); }"),
    ],
};

/// Every family of C, in the order in which programs take them.
pub const C: &[&Family] = &[
    &MUTEX,
    &MUTEX_KINDS,
    &ROBUST,
    &RWLOCK,
    &SPIN,
    &SEMAPHORE,
    &ONCE,
    &KEYS,
    &THREADS,
    &C11,
    &STREAMS,
    &HEAP,
];
