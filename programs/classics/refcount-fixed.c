// refcount.c put right: dropping releases what was done before, and who frees acquires it.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

struct shared {
    atomic_int references;
    int value[2];
};

static void drop(struct shared *it) {
    if (atomic_fetch_sub_explicit(&it->references, 1, memory_order_acq_rel) == 1)
        free(it);
}

static void *first(void *arg) {
    struct shared *it = arg;
    it->value[0] = 1;
    drop(it);
    return NULL;
}

static void *second(void *arg) {
    struct shared *it = arg;
    it->value[1] = 1;
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
