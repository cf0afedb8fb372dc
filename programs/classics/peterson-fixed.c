// Peterson's lock: show the wish, give the turn away, wait until the other does not want in or has given the turn back. What it
// protects is a plain variable.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef ROUNDS
#define ROUNDS 1
#endif

static atomic_bool wants[2];
static atomic_int turn;
static int entries;

static void *enter(void *arg) {
    int self = (int)(intptr_t)arg, other = 1 - self;
    for (int i = 0; i < ROUNDS; i++) {
        atomic_store(&wants[self], true);
        atomic_store(&turn, other);
        while (atomic_load(&wants[other]) && atomic_load(&turn) == other)
            ;
        entries++;
        atomic_store(&wants[self], false);
    }
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, enter, (void *)(intptr_t)0);
    pthread_create(&b, NULL, enter, (void *)(intptr_t)1);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(entries == 2 * ROUNDS);
    return 0;
}
