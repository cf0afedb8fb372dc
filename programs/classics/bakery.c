// Lamport's bakery without the sign "choosing": a thread that is still choosing its number looks as if it had none, and may then come
// up with a number that goes before that of somebody who is already inside.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { THREADS = 2 };

static atomic_int number[THREADS];
static atomic_int inside;

static void lock(int self) {
    int highest = 0;
    for (int i = 0; i < THREADS; i++) {
        int theirs = atomic_load(&number[i]);
        highest = theirs > highest ? theirs : highest;
    }
    int mine = highest + 1;
    atomic_store(&number[self], mine);
    for (int i = 0; i < THREADS; i++) {
        if (i == self)
            continue;
        for (;;) {
            int theirs = atomic_load(&number[i]);
            if (theirs == 0 || theirs > mine || (theirs == mine && i > self))
                break;
        }
    }
}

static void *enter(void *arg) {
    int self = (int)(intptr_t)arg;
    lock(self);
    assert(atomic_fetch_add(&inside, 1) == 0); // <- the other chose the same number in the meantime
    atomic_fetch_sub(&inside, 1);
    atomic_store(&number[self], 0);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, enter, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
