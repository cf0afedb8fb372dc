// treiber.c put right: the top carries a version that every change moves on, so a top that went and came back is another one.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NODES = 3, NONE = 0xffff };

// The node in the low half, the version in the high half.
static _Atomic uint32_t top = 0;
static atomic_int below[NODES] = {1, 2, NONE};
static bool mine[2][NODES];

static int node_of(uint32_t versioned) { return versioned & 0xffff; }

static uint32_t next_version(uint32_t versioned, int node) { return ((versioned >> 16) + 1) << 16 | (uint32_t)node; }

static int pop(void) {
    uint32_t seen = atomic_load(&top);
    while (node_of(seen) != NONE) {
        int next = atomic_load(&below[node_of(seen)]);
        if (atomic_compare_exchange_strong(&top, &seen, next_version(seen, next)))
            break;
    }
    return node_of(seen);
}

static void push(int node) {
    uint32_t seen = atomic_load(&top);
    do
        atomic_store(&below[node], node_of(seen));
    while (!atomic_compare_exchange_strong(&top, &seen, next_version(seen, node)));
}

static void *pop_one(void *arg) {
    (void)arg;
    mine[0][pop()] = true;
    return NULL;
}

static void *pop_two_push_one(void *arg) {
    (void)arg;
    int first = pop(), second = pop();
    mine[1][second] = true;
    push(first);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, pop_one, NULL);
    pthread_create(&b, NULL, pop_two_push_one, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    int places[NODES] = {0};
    for (int node = node_of(atomic_load(&top)); node != NONE; node = atomic_load(&below[node]))
        places[node]++;
    for (int node = 0; node < NODES; node++)
        assert(places[node] + mine[0][node] + mine[1][node] == 1);
    return 0;
}
