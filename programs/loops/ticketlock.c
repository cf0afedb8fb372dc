// A ticket lock.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 3
#endif

static atomic_uint tickets, served;

static void take(void) {
    unsigned mine = atomic_fetch_add_explicit(&tickets, 1, memory_order_relaxed);
    while (atomic_load_explicit(&served, memory_order_acquire) != mine)
        ;
}

static void give(void) {
    unsigned mine = atomic_load_explicit(&served, memory_order_relaxed);
    atomic_store_explicit(&served, mine + 1, memory_order_release);
}

static int entries;

static void *enter(void *arg) {
    (void)arg;
    take();
    entries++;
    give();
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, enter, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    assert(entries == N);
    return 0;
}
