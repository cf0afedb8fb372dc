// What a read-write lock answers to those who cannot have it.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static pthread_rwlock_t *lock;
static struct timespec never = {.tv_nsec = -1};

static struct timespec soon(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_sec += 1;
    return time;
}

static void *beside_writer(void *unused) {
    struct timespec real = soon(CLOCK_REALTIME), steady = soon(CLOCK_MONOTONIC);
    assert(pthread_rwlock_tryrdlock(lock) == EBUSY);
    assert(pthread_rwlock_trywrlock(lock) == EBUSY);
    assert(pthread_rwlock_timedrdlock(lock, &real) == ETIMEDOUT);
    assert(pthread_rwlock_timedwrlock(lock, &real) == ETIMEDOUT);
    assert(pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &steady) == ETIMEDOUT);
    assert(pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &steady) == ETIMEDOUT);
    return unused;
}

static void *beside_reader(void *unused) {
    struct timespec real = soon(CLOCK_REALTIME);
    assert(pthread_rwlock_trywrlock(lock) == EBUSY);
    assert(pthread_rwlock_timedwrlock(lock, &real) == ETIMEDOUT);
    assert(pthread_rwlock_tryrdlock(lock) == 0);
    assert(pthread_rwlock_timedrdlock(lock, &real) == 0);
    assert(pthread_rwlock_unlock(lock) == 0);
    assert(pthread_rwlock_unlock(lock) == 0);
    return unused;
}

static void beside(void *(*body)(void *)) {
    pthread_t thread;
    pthread_create(&thread, NULL, body, NULL);
    pthread_join(thread, NULL);
}

int main(void) {
    lock = malloc(sizeof *lock);
    assert(pthread_rwlock_init(lock, NULL) == 0);
    assert(pthread_rwlock_wrlock(lock) == 0);
    assert(pthread_rwlock_wrlock(lock) == EDEADLK);
    assert(pthread_rwlock_rdlock(lock) == EDEADLK);
    assert(pthread_rwlock_timedrdlock(lock, &never) == EINVAL);
    assert(pthread_rwlock_timedwrlock(lock, &never) == EINVAL);
    beside(beside_writer);
    assert(pthread_rwlock_unlock(lock) == 0);
    assert(pthread_rwlock_rdlock(lock) == 0);
    assert(pthread_rwlock_rdlock(lock) == 0);
    beside(beside_reader);
    assert(pthread_rwlock_unlock(lock) == 0);
    assert(pthread_rwlock_unlock(lock) == 0);
    assert(pthread_rwlock_trywrlock(lock) == 0);
    assert(pthread_rwlock_unlock(lock) == 0);
    assert(pthread_rwlock_destroy(lock) == 0);
    free(lock);
    return 0;
}
