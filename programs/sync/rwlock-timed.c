// One thread writes (or, with READ, reads) for a while; another wants to write, until some time or (RELATIVE) for some time,
// again and again until it has got the lock.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

#ifndef READ
#define READ 0
#endif
#ifndef RELATIVE
#define RELATIVE 0
#endif

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *hold(void *unused) {
    if (READ)
        pthread_rwlock_rdlock(&lock);
    else
        pthread_rwlock_wrlock(&lock);
    pthread_rwlock_unlock(&lock);
    return unused;
}

static void *want(void *unused) {
    struct timespec until;
    int result = ETIMEDOUT;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    do {
        if (RELATIVE) {
            clock_gettime(CLOCK_REALTIME, &until);
            until.tv_sec += 1;
        }
        result = pthread_rwlock_timedwrlock(&lock, &until);
        assert(result == 0 || result == ETIMEDOUT);
    } while (result != 0);
    pthread_rwlock_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, hold, NULL);
    pthread_create(&two, NULL, want, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
