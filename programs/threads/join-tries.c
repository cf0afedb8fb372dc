// Joins that do not wait, or not for long.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

static int done;

static void *worker(void *argument) {
    done = 1;
    return argument;
}

int main(void) {
    pthread_t thread;
    void *result = NULL;
    struct timespec until;
    assert(pthread_create(&thread, NULL, worker, &done) == 0);
    int error = pthread_tryjoin_np(thread, &result);
    if (error != 0) {
        assert(error == EBUSY);
        assert(clock_gettime(CLOCK_REALTIME, &until) == 0);
        until.tv_sec++;
        error = pthread_timedjoin_np(thread, &result, &until);
        if (error != 0) {
            assert(error == ETIMEDOUT);
            until.tv_nsec = -1;
            assert(pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &until) == EINVAL);
            assert(pthread_join(thread, &result) == 0);
        }
    }
    assert(result == &done && done == 1);
    return 0;
}
