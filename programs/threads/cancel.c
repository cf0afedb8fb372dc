// A thread that waits for a signal is cancelled: before, in or after the wait. Its handler finds the mutex locked, by itself.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#ifndef SIGNALLED
#define SIGNALLED 1
#endif

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int ready, cleaned;

static void clean(void *argument) {
    assert(argument == &ready);
    cleaned++;
    assert(pthread_mutex_unlock(&mutex) == 0);
}

static void *waiter(void *argument) {
    assert(pthread_mutex_lock(&mutex) == 0);
    pthread_cleanup_push(clean, &ready);
    while (!ready) {
        assert(pthread_cond_wait(&condition, &mutex) == 0);
    }
    pthread_cleanup_pop(1);
    return argument;
}

int main(void) {
    pthread_t thread;
    void *result;
    assert(pthread_create(&thread, NULL, waiter, &ready) == 0);
    assert(pthread_cancel(thread) == 0);
    assert(pthread_mutex_lock(&mutex) == 0);
    ready = SIGNALLED;
    assert(pthread_cond_signal(&condition) == 0);
    assert(pthread_mutex_unlock(&mutex) == 0);
    assert(pthread_join(thread, &result) == 0);
    assert(cleaned == 1);
    if (!SIGNALLED) {
        assert(result == PTHREAD_CANCELED);
    }
    return 0;
}
