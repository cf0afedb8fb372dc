// A thread goes round and round until it is cancelled: its rounds change nothing, so how many there are is nobody's business.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

#ifndef SLEEPING
#define SLEEPING 0
#endif

static void *worker(void *argument) {
    for (;;) {
        if (SLEEPING) {
            sleep(1);
        } else {
            pthread_testcancel();
        }
    }
    return argument;
}

int main(void) {
    pthread_t thread;
    void *result;
    assert(pthread_create(&thread, NULL, worker, NULL) == 0);
    assert(pthread_cancel(thread) == 0);
    assert(pthread_join(thread, &result) == 0);
    assert(result == PTHREAD_CANCELED);
    return 0;
}
