// mpsc-ring.c put right: a place is reserved in one step and shown as filled by its own mark, which the consumer waits for while the
// producers run.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 2
#endif

static int ring[N];
static atomic_bool filled[N];
static atomic_int reserved;

static void *producer(void *arg) {
    int at = atomic_fetch_add_explicit(&reserved, 1, memory_order_relaxed);
    ring[at] = (int)(intptr_t)arg;
    atomic_store_explicit(&filled[at], true, memory_order_release);
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, producer, (void *)(intptr_t)(i + 1));
    int sum = 0;
    for (int i = 0; i < N; i++) {
        while (!atomic_load_explicit(&filled[i], memory_order_acquire))
            ;
        sum += ring[i];
    }
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    assert(sum == N * (N + 1) / 2);
    return 0;
}
