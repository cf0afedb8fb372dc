// The queue of Michael and Scott with counted pointers: N threads enqueue, READERS dequeue.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

#ifndef READERS
#define READERS 1
#endif

typedef unsigned long long pointer;

struct node {
    atomic_ullong next;
    int value;
};

static struct node nodes[N + 2];
static atomic_ullong head = 1, tail = 1;

static unsigned node_of(pointer it) { return it & 0xffffffff; }

static pointer counted(unsigned node, pointer before) {
    return ((before >> 32) + 1) << 32 | node;
}

static int exchange(atomic_ullong *at, pointer expected, unsigned node) {
    return atomic_compare_exchange_strong_explicit(at, &expected, counted(node, expected),
                                                   memory_order_release, memory_order_relaxed);
}

static void enqueue(unsigned node) {
    nodes[node].value = 10 * node;
    atomic_store_explicit(&nodes[node].next, 0, memory_order_relaxed);
    for (;;) {
        pointer last = atomic_load_explicit(&tail, memory_order_acquire);
        pointer next = atomic_load_explicit(&nodes[node_of(last)].next, memory_order_acquire);
        if (last != atomic_load_explicit(&tail, memory_order_relaxed))
            continue;
        if (node_of(next)) {
            exchange(&tail, last, node_of(next));
        } else if (exchange(&nodes[node_of(last)].next, next, node)) {
            exchange(&tail, last, node);
            return;
        }
    }
}

static int dequeue(void) {
    for (;;) {
        pointer first = atomic_load_explicit(&head, memory_order_acquire);
        pointer last = atomic_load_explicit(&tail, memory_order_acquire);
        pointer next = atomic_load_explicit(&nodes[node_of(first)].next, memory_order_acquire);
        if (first != atomic_load_explicit(&head, memory_order_relaxed))
            continue;
        if (node_of(first) != node_of(last)) {
            int value = nodes[node_of(next)].value;
            if (exchange(&head, first, node_of(next)))
                return value;
        } else if (!node_of(next)) {
            return 0;
        } else {
            exchange(&tail, last, node_of(next));
        }
    }
}

static void *writer(void *arg) {
    enqueue((unsigned)(size_t)arg);
    return NULL;
}

static void *reader(void *arg) {
    (void)arg;
    int value = dequeue();
    assert(value % 10 == 0);
    return NULL;
}

int main(void) {
    pthread_t threads[N + READERS];
    for (size_t i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, writer, (void *)(i + 2));
    for (int i = N; i < N + READERS; i++)
        pthread_create(&threads[i], NULL, reader, NULL);
    for (int i = 0; i < N + READERS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
