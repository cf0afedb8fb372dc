// Threads that wait for a flag, again and again, each time until a time that is over. After a timeout a thread is where it was before,
// so one timeout is as good as many.
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#ifndef WAITERS
#define WAITERS 1
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool ready;

static void *await(void *unused) {
    struct timespec over = {.tv_sec = 1};
    pthread_mutex_lock(&lock);
    while (!ready)
        pthread_cond_timedwait(&changed, &lock, &over);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t waiters[WAITERS];
    for (int i = 0; i < WAITERS; i++)
        pthread_create(&waiters[i], NULL, await, NULL);
    pthread_mutex_lock(&lock);
    ready = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < WAITERS; i++)
        pthread_join(waiters[i], NULL);
    assert(ready);
    return 0;
}
