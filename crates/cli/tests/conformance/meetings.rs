//! Meetings: steps of all threads of a program that wait for each other. A program has one at most, or two could wait for each other crosswise.
//!
//! The steps have the placeholders of `families.rs`. The first role is that of one thread, chosen at random; the others have the second.

pub struct Meeting {
    pub name: &'static str,
    pub cxx: bool,
    pub globals: &'static str,
    pub setup: &'static str,
    pub teardown: &'static str,
    /// Of one thread, and of each other one. `$w` is the number of the others.
    pub roles: [&'static str; 2],
}

const BARRIER: Meeting = Meeting {
    name: "barrier",
    cxx: false,
    globals: "static pthread_barrier_t barrier;
static int serial(int r) { return r == PTHREAD_BARRIER_SERIAL_THREAD; }",
    setup: "EXPECT(pthread_barrier_init(&barrier, 0, $n));",
    teardown: "EXPECT(pthread_barrier_destroy(&barrier));",
    roles: ["REC(serial(pthread_barrier_wait(&barrier)));"; 2],
};

const BARRIER_TWICE: Meeting = Meeting {
    name: "barrier, twice",
    roles: ["REC(serial(pthread_barrier_wait(&barrier))); $i REC(serial(pthread_barrier_wait(&barrier)));";
        2],
    ..BARRIER
};

/// How often a wait wakes for nothing is not recorded: spurious wake-ups are explored on request only.
const TOKENS: Meeting = Meeting {
    name: "condition variable, signals",
    cxx: false,
    globals: "static pthread_mutex_t cm; static pthread_cond_t cv; static int tokens, turn;",
    setup: "tokens = turn = 0; EXPECT(pthread_mutex_init(&cm, 0)); init_cond(&cv, CLOCK_MONOTONIC);",
    teardown: "EXPECT(pthread_mutex_destroy(&cm)); EXPECT(pthread_cond_destroy(&cv));",
    roles: [
        "for (int w = 0; w < $w; w++) { DO(pthread_mutex_lock(&cm)); tokens++; REC(turn); DO(pthread_cond_signal(&cv)); DO(pthread_mutex_unlock(&cm)); }",
        "DO(pthread_mutex_lock(&cm)); while (!tokens) DO(pthread_cond_wait(&cv, &cm)); tokens--; REC(turn++); $i DO(pthread_mutex_unlock(&cm));",
    ],
};

const SIGNALS_OUTSIDE: Meeting = Meeting {
    name: "condition variable, signals without the mutex",
    roles: [
        "for (int w = 0; w < $w; w++) { DO(pthread_mutex_lock(&cm)); tokens++; REC(turn); DO(pthread_mutex_unlock(&cm)); DO(pthread_cond_signal(&cv)); }",
        TOKENS.roles[1],
    ],
    ..TOKENS
};

const BROADCAST: Meeting = Meeting {
    name: "condition variable, broadcast",
    roles: [
        "DO(pthread_mutex_lock(&cm)); tokens += $w; REC(turn); DO(pthread_mutex_unlock(&cm)); DO(pthread_cond_broadcast(&cv));",
        TOKENS.roles[1],
    ],
    ..TOKENS
};

const TIMED_WAIT: Meeting = Meeting {
    name: "condition variable, timed",
    setup: "tokens = turn = 0; EXPECT(pthread_mutex_init(&cm, 0)); init_cond(&cv, CLOCK_REALTIME);",
    roles: [
        "DO(pthread_mutex_lock(&cm)); tokens++; REC(turn); DO(pthread_cond_broadcast(&cv)); DO(pthread_mutex_unlock(&cm));",
        "DO(pthread_mutex_lock(&cm)); if (!tokens) REC(pthread_cond_timedwait(&cv, &cm, $d)); REC(tokens); REC(turn++); DO(pthread_mutex_unlock(&cm));",
    ],
    ..TOKENS
};

const CLOCK_WAIT: Meeting = Meeting {
    name: "condition variable, clock",
    roles: [
        TIMED_WAIT.roles[0],
        "DO(pthread_mutex_lock(&cm)); if (!tokens) REC(pthread_cond_clockwait(&cv, &cm, CLOCK_MONOTONIC, $e)); REC(tokens); REC(turn++); DO(pthread_mutex_unlock(&cm));",
    ],
    ..TIMED_WAIT
};

const C11_CONDITION: Meeting = Meeting {
    name: "C11 condition variable",
    cxx: false,
    globals: "static mtx_t cmt; static cnd_t cnd; static int tokens, turn;",
    setup: "tokens = turn = 0; EXPECT(mtx_init(&cmt, mtx_plain)); EXPECT(cnd_init(&cnd));",
    teardown: "mtx_destroy(&cmt); cnd_destroy(&cnd);",
    roles: [
        "for (int w = 0; w < $w; w++) { DO(mtx_lock(&cmt)); tokens++; REC(turn); REC($a ? cnd_signal(&cnd) : cnd_broadcast(&cnd)); DO(mtx_unlock(&cmt)); }",
        "DO(mtx_lock(&cmt)); while (!tokens) DO(cnd_wait(&cnd, &cmt)); tokens--; REC(turn++); $i DO(mtx_unlock(&cmt));",
    ],
};

const C11_TIMED: Meeting = Meeting {
    name: "C11 condition variable, timed",
    roles: [
        C11_CONDITION.roles[0],
        "DO(mtx_lock(&cmt)); if (!tokens) REC(cnd_timedwait(&cnd, &cmt, $d)); REC(tokens); REC(turn++); DO(mtx_unlock(&cmt));",
    ],
    ..C11_CONDITION
};

const CANCEL_FLAGS: &str =
    "static sem_t never; static int cleaned; static pthread_mutex_t cm; static pthread_cond_t cv;
static void clean(void *p) { __atomic_fetch_add(&cleaned, (int)(long)p, __ATOMIC_SEQ_CST); }
static void release(void *p) { clean((void *)1); pthread_mutex_unlock((pthread_mutex_t *)p); }
static pthread_key_t own;
static void *quick(void *p) { __atomic_fetch_add(&cleaned, 1000, __ATOMIC_SEQ_CST); return p; }
static void joined(void *p) { void *v; pthread_join((pthread_t)p, &v); clean((void *)5000); }
static void *victim(void *p) {
    int me = (int)(long)p;
    pthread_cleanup_push(clean, (void *)10);
    VICTIM
    pthread_cleanup_pop($a);
    return (void *)7;
}
static void cancel(int me, int row) {
    pthread_t t; void *v;
    DO(pthread_create(&t, 0, victim, (void *)(long)row));
    $i
    REC(pthread_cancel(t));
    REC(__atomic_load_n(&cleaned, __ATOMIC_SEQ_CST));
    REC(pthread_join(t, &v));
    REC(v == PTHREAD_CANCELED ? -1 : (int)(long)v);
}";

/// A thread of its own is cancelled: in a test of its own, in waits that only a cancellation ends, and where it is disabled.
const CANCEL: Meeting = Meeting {
    name: "cancellation",
    cxx: false,
    globals: CANCEL_FLAGS,
    setup: "cleaned = 0; EXPECT(pthread_key_create(&own, clean)); EXPECT(sem_init(&never, 0, 0)); EXPECT(pthread_mutex_init(&cm, 0)); EXPECT(pthread_cond_init(&cv, 0));",
    teardown: "REC(cleaned); EXPECT(pthread_key_delete(own)); EXPECT(sem_destroy(&never)); EXPECT(pthread_mutex_destroy(&cm)); EXPECT(pthread_cond_destroy(&cv));",
    roles: [
        "cancel(me, 7);",
        "REC(__atomic_load_n(&cleaned, __ATOMIC_SEQ_CST));",
    ],
};

/// What a cancelled thread may do.
pub const VICTIMS: &[&str] = &[
    "REC(1); DO(pthread_testcancel()); REC(__atomic_fetch_add(&cleaned, 100, __ATOMIC_SEQ_CST)); DO(pthread_testcancel()); REC(2);",
    "{ int old; REC(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old)); DO(pthread_testcancel()); REC(__atomic_fetch_add(&cleaned, 100, __ATOMIC_SEQ_CST)); REC(pthread_setcancelstate(old, 0)); DO(pthread_testcancel()); REC(3); }",
    "REC(__atomic_fetch_add(&cleaned, 100, __ATOMIC_SEQ_CST)); DO(sem_wait(&never)); REC(4);",
    "DO(pthread_mutex_lock(&cm)); pthread_cleanup_push(release, &cm); for (;;) DO(pthread_cond_wait(&cv, &cm)); pthread_cleanup_pop(1);",
    "{ struct timespec t = {0, 1000}; DO(nanosleep(&t, 0)); REC(5); }",
    "{ struct timespec t = {1, 0}; int r; DO(pthread_mutex_lock(&cm)); pthread_cleanup_push(release, &cm); REC(r = pthread_cond_timedwait(&cv, &cm, &t)); pthread_cleanup_pop(1); }",
    "{ pthread_t in; void *v; DO(pthread_create(&in, 0, quick, 0)); pthread_cleanup_push(joined, (void *)in); REC(6); DO(pthread_testcancel()); pthread_cleanup_pop(1); }",
    "REC(pthread_setspecific(own, (void *)200)); DO(sem_wait(&never));",
    "{ struct timespec t = {1, 0}; REC(sem_timedwait(&never, &t)); DO(pthread_testcancel()); REC(8); }",
    "REC(sem_trywait(&never)); REC(__atomic_load_n(&cleaned, __ATOMIC_SEQ_CST));",
];

pub const C: &[&Meeting] = &[
    &BARRIER,
    &BARRIER_TWICE,
    &TOKENS,
    &SIGNALS_OUTSIDE,
    &BROADCAST,
    &TIMED_WAIT,
    &CLOCK_WAIT,
    &C11_CONDITION,
    &C11_TIMED,
    &CANCEL,
];
