// race-parametric: two threads store to one variable and read it back, N times each, after 42 rounds of the same on a variable that
// nobody else touches. From the RF-SMC paper, Table 1.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 2
#endif

enum { THREADS = 2, ROUNDS = 42 };

static atomic_int shared;
static atomic_int private[THREADS];

static void *contend(void *arg) {
    int self = (int)(intptr_t)arg;
    for (int i = 0; i < ROUNDS; i++) {
        atomic_store(&private[self], i);
        (void)atomic_load(&private[self]);
    }
    for (int i = 0; i < N; i++) {
        atomic_store(&shared, self);
        (void)atomic_load(&shared);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, contend, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
