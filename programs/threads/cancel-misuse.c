// Wrong uses of cancellation: a thread that goes with a mutex locked, or can be cancelled wherever it is.
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

#ifndef WRONG
#define WRONG 0
#endif

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *argument) {
    int old = 0;
    if (WRONG == 0) {
        pthread_mutex_lock(&mutex); // <- nobody unlocks it
        usleep(1);
        pthread_mutex_unlock(&mutex);
    } else {
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
    }
    (void)old;
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    pthread_cancel(thread);
    if (WRONG == 0) {
        pthread_mutex_lock(&mutex); // <- nobody unlocks it
        pthread_mutex_unlock(&mutex);
    }
    pthread_join(thread, NULL);
    return 0;
}
