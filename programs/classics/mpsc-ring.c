// A ring for several producers and one consumer whose producers reserve a place by a load and a store: two may get the same one, and an
// element is lost. Here the consumer looks at the end.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 2
#endif

static atomic_int ring[N];
static atomic_int reserved;

static void *producer(void *arg) {
    int at = atomic_load(&reserved);
    atomic_store(&reserved, at + 1);
    atomic_store(&ring[at], (int)(intptr_t)arg);
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, producer, (void *)(intptr_t)(i + 1));
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    int sum = 0;
    for (int i = 0; i < N; i++)
        sum += atomic_load(&ring[i]);
    assert(sum == N * (N + 1) / 2); // <- one was overwritten
    return 0;
}
