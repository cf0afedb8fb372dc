// A stack of Treiber's with counted pointers: N threads push, READERS pop.
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

static atomic_ullong top;
static struct node nodes[N + 1];
static atomic_int data[N + 1];

static pointer counted(pointer node, pointer before) {
    return ((before >> 32) + 1) << 32 | (node & 0xffffffff);
}

static void push(unsigned node) {
    nodes[node].value = node;
    for (;;) {
        pointer before = atomic_load_explicit(&top, memory_order_acquire);
        atomic_store_explicit(&nodes[node].next, before, memory_order_relaxed);
        if (atomic_compare_exchange_strong_explicit(&top, &before, counted(node, before),
                                                    memory_order_release, memory_order_relaxed))
            return;
    }
}

static int pop(void) {
    for (;;) {
        pointer before = atomic_load_explicit(&top, memory_order_acquire);
        unsigned node = before & 0xffffffff;
        if (!node)
            return 0;
        pointer next = atomic_load_explicit(&nodes[node].next, memory_order_relaxed);
        if (atomic_compare_exchange_strong_explicit(&top, &before, counted(next, before),
                                                    memory_order_release, memory_order_relaxed))
            return nodes[node].value;
    }
}

static void *writer(void *arg) {
    unsigned mine = (unsigned)(size_t)arg;
    atomic_store_explicit(&data[mine], 42, memory_order_relaxed);
    push(mine);
    return NULL;
}

static void *reader(void *arg) {
    (void)arg;
    int value = pop();
    if (value)
        assert(atomic_load_explicit(&data[value], memory_order_relaxed) == 42);
    return NULL;
}

int main(void) {
    pthread_t threads[N + READERS];
    for (size_t i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, writer, (void *)(i + 1));
    for (int i = N; i < N + READERS; i++)
        pthread_create(&threads[i], NULL, reader, NULL);
    for (int i = 0; i < N + READERS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
