// Whose store comes last is seen when both threads are joined, by a plain read.
#include <assert.h>
#include <pthread.h>

static int last;

static void store(int value) {
#ifdef RACY
    last = value;
#else
    __atomic_store_n(&last, value, __ATOMIC_RELAXED);
#endif
}

static void *one(void *unused) {
    store(1);
    return unused;
}

static void *two(void *unused) {
    store(2);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, one, 0);
    pthread_create(&threads[1], 0, two, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    assert(last == 2); // <-
    return 0;
}
