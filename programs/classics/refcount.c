// A reference count that is dropped with relaxed order: who drops the last reference frees what the other may still have been writing,
// as far as the memory order says.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

struct shared {
    atomic_int references;
    int value[2];
};

static void drop(struct shared *it) {
    if (atomic_fetch_sub_explicit(&it->references, 1, memory_order_relaxed) == 1) // <- even the count itself goes
        free(it); // <- is not ordered after the other's use
}

static void *first(void *arg) {
    struct shared *it = arg;
    it->value[0] = 1; // <- this one
    drop(it);
    return NULL;
}

static void *second(void *arg) {
    struct shared *it = arg;
    it->value[1] = 1; // <- or this one
    drop(it);
    return NULL;
}

int main(void) {
    struct shared *it = malloc(sizeof *it);
    atomic_init(&it->references, 2);
    pthread_t a, b;
    pthread_create(&a, NULL, first, it);
    pthread_create(&b, NULL, second, it);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
