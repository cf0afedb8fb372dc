// wait-with-two-mutexes.c put right: one condition variable, one lock.
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool done;

static void *wait_with(void *arg) {
    pthread_mutex_t *lock = arg;
    pthread_mutex_lock(lock);
    while (!done)
        pthread_cond_wait(&changed, lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, wait_with, &first);
    pthread_create(&b, NULL, wait_with, &first);
    pthread_mutex_lock(&first);
    done = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&first);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
