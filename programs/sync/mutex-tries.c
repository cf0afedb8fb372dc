// One thread takes a mutex, another one tries to: once, or (TIMED) for some time, or (PATIENT) until it has got it.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

#ifndef TIMED
#define TIMED 0
#endif
#ifndef PATIENT
#define PATIENT 0
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *take(void *unused) {
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    return unused;
}

static int attempt(void) {
    struct timespec until;
    if (!TIMED)
        return pthread_mutex_trylock(&lock);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    int result = pthread_mutex_timedlock(&lock, &until);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    // The time is up, or it was not needed.
    assert(result == 0 || (result == ETIMEDOUT && now.tv_sec >= until.tv_sec));
    return result;
}

static void *try(void *unused) {
    int result = attempt();
    while (PATIENT && result != 0)
        result = attempt();
    assert(result == 0 || result == (TIMED ? ETIMEDOUT : EBUSY));
    if (result == 0) {
        count++;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, take, NULL);
    pthread_create(&two, NULL, try, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    struct timespec never = {.tv_sec = 0, .tv_nsec = -1};
    // Not a time, which matters only to one that waits.
    assert(pthread_mutex_timedlock(&lock, &never) == 0);
    assert(pthread_mutex_timedlock(&lock, &never) == EINVAL);
    assert(pthread_mutex_unlock(&lock) == 0);
    return 0;
}
