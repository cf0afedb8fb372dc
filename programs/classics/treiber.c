// A Treiber stack of numbered nodes, with the ABA problem: one thread is about to replace the top 0 by its successor 1. The other pops
// 0 and 1 and pushes 0 again. The top is 0 as before, the exchange succeeds, and 1 is in the stack although it was popped.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { NODES = 3, NONE = -1 };

static atomic_int top = 0;
static atomic_int below[NODES] = {1, 2, NONE};
static bool mine[2][NODES]; // which nodes a thread has popped and not pushed

static int pop(void) {
    int seen = atomic_load(&top);
    while (seen != NONE) {
        int next = atomic_load(&below[seen]);
        if (atomic_compare_exchange_strong(&top, &seen, next))
            break;
    }
    return seen;
}

static void push(int node) {
    int seen = atomic_load(&top);
    do
        atomic_store(&below[node], seen);
    while (!atomic_compare_exchange_strong(&top, &seen, node));
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
    for (int node = atomic_load(&top); node != NONE; node = atomic_load(&below[node]))
        places[node]++;
    for (int node = 0; node < NODES; node++)
        assert(places[node] + mine[0][node] + mine[1][node] == 1); // <- in two places at once
    return 0;
}
