// R threads read and W write under a read-write lock; PREFER_WRITER makes readers wait behind writers.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#ifndef R
#define R 2
#endif
#ifndef W
#define W 1
#endif
#ifndef PREFER_WRITER
#define PREFER_WRITER 0
#endif

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int value;

static void *look(void *unused) {
    assert(pthread_rwlock_rdlock(&lock) == 0);
    int seen = value;
    assert(seen >= 0 && seen <= W);
    assert(pthread_rwlock_unlock(&lock) == 0);
    return unused;
}

static void *change(void *unused) {
    assert(pthread_rwlock_wrlock(&lock) == 0);
    value++;
    assert(pthread_rwlock_unlock(&lock) == 0);
    return unused;
}

int main(void) {
    pthread_t threads[R + W];
    if (PREFER_WRITER) {
        pthread_rwlockattr_t attributes;
        pthread_rwlockattr_init(&attributes);
        pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
        assert(pthread_rwlock_init(&lock, &attributes) == 0);
        pthread_rwlockattr_destroy(&attributes);
    }
    for (int i = 0; i < R + W; i++)
        pthread_create(&threads[i], NULL, i < R ? look : change, NULL);
    for (int i = 0; i < R + W; i++)
        pthread_join(threads[i], NULL);
    assert(value == W);
    assert(pthread_rwlock_destroy(&lock) == 0);
    return 0;
}
