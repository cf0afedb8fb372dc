// A barrier between two phases: what all wrote in the first, each reads in the second. One of them, whichever, is told so.
#define _POSIX_C_SOURCE 200809L

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 2
#endif

static pthread_barrier_t barrier;
static int part[N];
static atomic_int serial;

static void *work(void *arg) {
    int self = (int)(intptr_t)arg;
    part[self] = self + 1;
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
        atomic_fetch_add(&serial, 1);
    int sum = 0;
    for (int i = 0; i < N; i++)
        sum += part[i];
    assert(sum == N * (N + 1) / 2);
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    pthread_barrier_init(&barrier, NULL, N);
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    assert(atomic_load(&serial) == 1);
    pthread_barrier_destroy(&barrier);
    return 0;
}
