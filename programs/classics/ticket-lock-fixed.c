// A ticket lock: draw a ticket in one step, wait until it is served.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

static atomic_int tickets, serving;
static int entries;

static void *enter(void *arg) {
    (void)arg;
    int mine = atomic_fetch_add_explicit(&tickets, 1, memory_order_relaxed);
    while (atomic_load_explicit(&serving, memory_order_acquire) != mine)
        ;
    entries++;
    atomic_store_explicit(&serving, mine + 1, memory_order_release);
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
