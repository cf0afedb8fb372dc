// Atomics of 16 bytes: both halves change at once.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef WRONG
#define WRONG 0
#endif

typedef unsigned __int128 wide;

static const wide one = ((wide)1 << 64) | 1;
static _Atomic wide cell;

static void *adder(void *argument) {
    if (WRONG) {
        wide seen = atomic_load(&cell);
        atomic_store(&cell, seen + one);
    } else {
        atomic_fetch_add(&cell, one);
    }
    return argument;
}

int main(void) {
    pthread_t thread[2];
    wide expected = 5;
    assert(!atomic_compare_exchange_strong(&cell, &expected, 1));
    assert(expected == 0);
    assert(atomic_exchange(&cell, one) == 0);
    for (int i = 0; i < 2; i++) {
        assert(pthread_create(&thread[i], NULL, adder, NULL) == 0);
    }
    wide seen = atomic_load(&cell);
    assert((unsigned long)seen == (unsigned long)(seen >> 64));
    for (int i = 0; i < 2; i++) {
        assert(pthread_join(thread[i], NULL) == 0);
    }
    seen = atomic_load(&cell);
    assert(seen == 3 * one); // <- one of two additions is lost
    return 0;
}
