// A block is replaced by another one, which may have the address of the first: then the compare-exchange cannot tell them apart.
#include <pthread.h>
#include <reweave.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#ifndef ALLOCATE
#define ALLOCATE malloc(24)
#endif

static _Atomic(void *) slot;
static atomic_int replaced;

static void *replace(void *unused) {
    void *old = atomic_exchange(&slot, 0);
    if (old) {
        free(old);
        replaced = 1;
        slot = ALLOCATE;
    }
    return unused;
}

static void *take(void *unused) {
    void *seen = slot;
    int before = replaced;
    void *expected = seen;
    if (seen && atomic_compare_exchange_strong(&slot, &expected, 0)) {
        reweave_check(replaced == before, "took another block than it saw"); // <- assertion
        free(seen);
    }
    return unused;
}

int main(void) {
    slot = ALLOCATE;
    pthread_t one, two;
    pthread_create(&one, 0, replace, 0);
    pthread_create(&two, 0, take, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    free(slot);
}
