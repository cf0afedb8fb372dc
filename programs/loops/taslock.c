// A test-and-set lock.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 3
#endif

static atomic_flag held = ATOMIC_FLAG_INIT;

static void take(void) {
    while (atomic_flag_test_and_set_explicit(&held, memory_order_acquire))
        ;
}

static void give(void) { atomic_flag_clear_explicit(&held, memory_order_release); }

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
