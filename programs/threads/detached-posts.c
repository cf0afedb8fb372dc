// A detached thread posts a semaphore as the last thing that it does, and main, which has waited for that, returns. Nothing is left to
// do, although the program asks for joins with a time limit, for which the runtime keeps lists of its own.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

static sem_t gone;

static void *other(void *unused) {
    return unused;
}

static void *alone(void *unused) {
    sem_post(&gone);
    return unused;
}

int main(void) {
    sem_init(&gone, 0, 0);
    struct timespec past = {1, 0};
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    if (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &past)) assert(pthread_join(thread, NULL) == 0);
    pthread_create(&thread, NULL, alone, NULL);
    pthread_detach(thread);
    sem_wait(&gone);
    sem_destroy(&gone);
    return 0;
}
