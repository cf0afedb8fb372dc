// N threads wait until one has set a flag, which then wakes all of them; or (SIGNAL) one after the other.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif
#ifndef SIGNAL
#define SIGNAL 0
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *await(void *unused) {
    pthread_mutex_lock(&lock);
    while (!ready)
        assert(pthread_cond_wait(&changed, &lock) == 0);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, await, NULL);
    pthread_mutex_lock(&lock);
    ready = 1;
    for (int i = 0; SIGNAL && i < N; i++)
        assert(pthread_cond_signal(&changed) == 0);
    if (!SIGNAL)
        assert(pthread_cond_broadcast(&changed) == 0);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    assert(pthread_cond_destroy(&changed) == 0);
    return 0;
}
