// A spin lock that is looked at before it is taken by a compare-exchange.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 3
#endif

static atomic_int held;

static void take(void) {
    int expected;
    do {
        while (atomic_load_explicit(&held, memory_order_relaxed))
            ;
        expected = 0;
    } while (!atomic_compare_exchange_strong_explicit(&held, &expected, 1, memory_order_acquire,
                                                      memory_order_relaxed));
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
