// A loop tries to join a thread until that has ended.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>

static int done;

static void *worker(void *argument) {
    done = 1;
    return argument;
}

int main(void) {
    pthread_t thread;
    assert(pthread_create(&thread, NULL, worker, NULL) == 0);
    while (pthread_tryjoin_np(thread, NULL) == EBUSY) {
        sched_yield();
    }
    assert(done == 1);
    return 0;
}
