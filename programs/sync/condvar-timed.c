// A thread waits for a flag: until it gets impatient, or (PATIENT) again and again. CLOCK is the clock of the limit.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

#ifndef PATIENT
#define PATIENT 0
#endif
#ifndef CLOCK
#define CLOCK CLOCK_REALTIME
#endif
#ifndef EXPLICIT
#define EXPLICIT 0
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static int ready;

static void *await(void *unused) {
    struct timespec until, now;
    int result = 0;
    pthread_mutex_lock(&lock);
    while (!ready && (PATIENT || result == 0)) {
        clock_gettime(CLOCK, &until);
        until.tv_sec += 1;
        if (EXPLICIT)
            result = pthread_cond_clockwait(&changed, &lock, CLOCK, &until);
        else
            result = pthread_cond_timedwait(&changed, &lock, &until);
        clock_gettime(CLOCK, &now);
        assert(result == 0 || (result == ETIMEDOUT && now.tv_sec >= until.tv_sec));
    }
    assert(ready || !PATIENT);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_condattr_t attributes;
    assert(pthread_condattr_init(&attributes) == 0);
    assert(pthread_condattr_setclock(&attributes, EXPLICIT ? CLOCK_REALTIME : CLOCK) == 0);
    assert(pthread_cond_init(&changed, &attributes) == 0);
    assert(pthread_condattr_destroy(&attributes) == 0);
    pthread_create(&thread, NULL, await, NULL);
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    struct timespec never = {.tv_sec = 0, .tv_nsec = 1000000000};
    pthread_mutex_lock(&lock);
    assert(pthread_cond_timedwait(&changed, &lock, &never) == EINVAL);
    never.tv_nsec = 0;
    assert(pthread_cond_clockwait(&changed, &lock, 99, &never) == EINVAL);
    // A time that is over.
    assert(pthread_cond_timedwait(&changed, &lock, &never) == ETIMEDOUT);
    pthread_mutex_unlock(&lock);
    assert(pthread_cond_destroy(&changed) == 0);
    return 0;
}
