// A structure of atomics is passed by value after the join: the program looks at both, and whether they agree depends on the order of the stores.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct pair {
    atomic_long first, second;
};

static struct pair pair;

static __attribute__((noinline)) long differs(struct pair given) {
    return given.first != given.second;
}

static void *one(void *unused) {
    atomic_store(&pair.first, 1);
    atomic_store(&pair.second, 1);
    return unused;
}

static void *two(void *unused) {
    atomic_store(&pair.first, 2);
    atomic_store(&pair.second, 2);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, one, NULL);
    pthread_create(&threads[1], NULL, two, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert(!differs(pair)); // <-
    return 0;
}
