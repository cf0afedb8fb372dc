// spurious-wakeup.c put right: the thread waits in a loop.
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static bool full;

static void *consumer(void *unused) {
    pthread_mutex_lock(&lock);
    while (!full)
        pthread_cond_wait(&filled, &lock);
    assert(full);
    full = false;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, consumer, NULL);
    pthread_mutex_lock(&lock);
    full = true;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
