// The queue lock of Mellor-Crummey and Scott: each thread waits at a node of its own.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 3
#endif

struct node {
    _Atomic(struct node *) next;
    atomic_int go;
};

static _Atomic(struct node *) last;
static int entries;

static void take(struct node *mine) {
    atomic_store_explicit(&mine->go, 0, memory_order_relaxed);
    atomic_store_explicit(&mine->next, NULL, memory_order_relaxed);
    struct node *before = atomic_exchange_explicit(&last, mine, memory_order_acq_rel);
    if (!before)
        return;
    atomic_store_explicit(&before->next, mine, memory_order_release);
    while (!atomic_load_explicit(&mine->go, memory_order_acquire))
        ;
}

static void give(struct node *mine) {
    struct node *next = atomic_load_explicit(&mine->next, memory_order_acquire);
    if (!next) {
        struct node *expected = mine;
        if (atomic_compare_exchange_strong_explicit(&last, &expected, NULL, memory_order_release,
                                                    memory_order_relaxed))
            return;
        while (!(next = atomic_load_explicit(&mine->next, memory_order_acquire)))
            ;
    }
    atomic_store_explicit(&next->go, 1, memory_order_release);
}

static void *enter(void *arg) {
    take(arg);
    entries++;
    give(arg);
    return NULL;
}

int main(void) {
    static struct node nodes[N];
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, enter, &nodes[i]);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    assert(entries == N);
    return 0;
}
