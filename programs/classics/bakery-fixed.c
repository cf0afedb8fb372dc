// Lamport's bakery: take a number above all others, then wait for everybody who is choosing and for everybody with a lower one.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 2
#endif

static atomic_bool choosing[N];
static atomic_int number[N];
static int entries;

static void lock(int self) {
    atomic_store(&choosing[self], true);
    int highest = 0;
    for (int i = 0; i < N; i++) {
        int theirs = atomic_load(&number[i]);
        highest = theirs > highest ? theirs : highest;
    }
    int mine = highest + 1;
    atomic_store(&number[self], mine);
    atomic_store(&choosing[self], false);
    for (int i = 0; i < N; i++) {
        if (i == self)
            continue;
        while (atomic_load(&choosing[i]))
            ;
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
    entries++;
    atomic_store(&number[self], 0);
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, enter, (void *)(intptr_t)i);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    assert(entries == N);
    return 0;
}
