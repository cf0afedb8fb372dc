// A read-write lock in one word: N readers subtract 1, a writer all.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

#define ALL 0x100000

static atomic_int word = ALL;
static int data;

static void take(int share, int least) {
    while (atomic_fetch_sub_explicit(&word, share, memory_order_acquire) < least) {
        atomic_fetch_add_explicit(&word, share, memory_order_relaxed);
        while (atomic_load_explicit(&word, memory_order_relaxed) < least)
            ;
    }
}

static void give(int share) { atomic_fetch_add_explicit(&word, share, memory_order_release); }

static void *reader(void *arg) {
    (void)arg;
    take(1, 1);
    assert(data == 0 || data == 42);
    give(1);
    return NULL;
}

static void *writer(void *arg) {
    (void)arg;
    take(ALL, ALL);
    data = 42;
    give(ALL);
    return NULL;
}

int main(void) {
    pthread_t threads[N + 1];
    pthread_create(&threads[0], NULL, writer, NULL);
    for (int i = 1; i <= N; i++)
        pthread_create(&threads[i], NULL, reader, NULL);
    for (int i = 0; i <= N; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
