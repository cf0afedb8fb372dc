// A thread that was asked to go does so where it has a file written out, in one of several ways.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef WAY
#define WAY 0
#endif

static void *worker(void *argument) {
    assert(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL) == 0);
    assert(pthread_cancel(pthread_self()) == 0);
    assert(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL) == 0);
#if WAY == 0
    fsync(1);
#elif WAY == 1
    fdatasync(1);
#else
    msync(NULL, 0, MS_SYNC);
#endif
    assert(0);
    return argument;
}

int main(void) {
    pthread_t thread;
    void *result;
    assert(pthread_create(&thread, NULL, worker, NULL) == 0);
    assert(pthread_join(thread, &result) == 0);
    assert(result == PTHREAD_CANCELED);
    return 0;
}
