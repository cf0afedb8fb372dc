// A test-and-set lock that is looked at before it is taken.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 3
#endif

static atomic_int held;

static void take(void) {
    do {
        while (atomic_load_explicit(&held, memory_order_relaxed))
            ;
    } while (atomic_exchange_explicit(&held, 1, memory_order_acquire));
}

static void give(void) { atomic_store_explicit(&held, 0, memory_order_release); }

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
