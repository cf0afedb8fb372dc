// parker: a thread that parks itself at most N times until told to stop, and one that unparks it, tells it, and unparks it again. The
// permit is a counter; whoever changes it in earnest holds a lock that two flags make. Waiting, for the lock or for a wake-up, is
// an assumption, so runs that would wait end as blocked. The bug that this comes from (a wake-up lost in a virtual machine's park)
// needs weak memory: here the assertion holds. From the RF-SMC paper, Table 1.
#include <assert.h>
#include <pthread.h>
#include <reweave.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#ifndef N
#define N 4
#endif

static atomic_bool parker_in, unparker_in; // the lock
static atomic_int permit;
static atomic_bool waiting;
static atomic_bool stop, unparker_done;

static void lock(atomic_bool *mine, atomic_bool *other) {
    atomic_store(mine, true);
    reweave_assume(!atomic_load(other));
}

static bool try_lock(atomic_bool *mine, atomic_bool *other) {
    atomic_store(mine, true);
    if (!atomic_load(other))
        return true;
    atomic_store(mine, false);
    return false;
}

static void park(void) {
    if (atomic_load(&permit) > 0) {
        atomic_store(&permit, 0);
        return;
    }
    if (!try_lock(&parker_in, &unparker_in))
        return;
    if (atomic_load(&permit) == 0) {
        atomic_store(&waiting, true);
        atomic_store(&parker_in, false);
        if (atomic_load(&unparker_done))
            assert(!atomic_load(&waiting));
        reweave_assume(!atomic_load(&waiting));
        lock(&parker_in, &unparker_in);
    }
    atomic_store(&permit, 0);
    atomic_store(&parker_in, false);
}

static void unpark(void) {
    lock(&unparker_in, &parker_in);
    int before = atomic_load(&permit);
    atomic_store(&permit, 1);
    atomic_store(&unparker_in, false);
    if (before < 1)
        atomic_store(&waiting, false);
}

static void *parker(void *unused) {
    (void)unused;
    for (int times = 0; !atomic_load(&stop); times++) {
        reweave_assume(times < N);
        park();
    }
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, parker, NULL);
    unpark();
    atomic_store(&stop, true);
    unpark();
    atomic_store(&unparker_done, true);
    pthread_join(thread, NULL);
    return 0;
}
