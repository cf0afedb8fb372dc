// Waits in a loop that only reads memory, without any operation in it: for a counter, for a variable on its own stack, or by way of a pointer.
#include <assert.h>
#include <pthread.h>

struct pool {
    pthread_mutex_t lock;
    volatile int alive;
    volatile int *ends;
};

static struct pool pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *work(void *unused) {
    (void)unused;
    pthread_mutex_lock(&pool.lock);
    pool.alive++; // <-
    pthread_mutex_unlock(&pool.lock);
    pthread_mutex_lock(&pool.lock);
    if (pool.ends)
        ++*pool.ends;
    pthread_mutex_unlock(&pool.lock);
    return 0;
}

int main(void) {
    volatile int ends = 0;
    pool.ends = &ends;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, 0);
#if POINTER
    struct pool *volatile self = &pool;
    while (*self->ends != 2) {}
#elif STACK
    while (ends != 2) {}
#elif NEVER
    while (pool.alive != 3) {} // <-
#else
    while (pool.alive != 2) {} // <-
#endif
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(ends == 2);
    return 0;
}
