// A ring for one producer and one consumer whose producer shows a place as filled before it has filled it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

enum { SIZE = 2 };

static int ring[SIZE];
static atomic_uint head, tail; // counts of all that was ever put and taken

static void *producer(void *arg) {
    (void)arg;
    for (int i = 1; i <= N; i++) {
        unsigned at = atomic_load_explicit(&head, memory_order_relaxed);
        while (at - atomic_load_explicit(&tail, memory_order_acquire) == SIZE)
            ;
        atomic_store_explicit(&head, at + 1, memory_order_release);
        ring[at % SIZE] = i; // <- too late
    }
    return NULL;
}

static void *consumer(void *arg) {
    (void)arg;
    for (int i = 1; i <= N; i++) {
        unsigned at = atomic_load_explicit(&tail, memory_order_relaxed);
        while (atomic_load_explicit(&head, memory_order_acquire) == at)
            ;
        assert(ring[at % SIZE] == i); // <- may already be read here
        atomic_store_explicit(&tail, at + 1, memory_order_release);
    }
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, producer, NULL);
    pthread_create(&b, NULL, consumer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
