// Two threads wait on one condition variable, each with a lock of its own. What they wait for changes under both locks.
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool done;

static void *wait_with(void *arg) {
    pthread_mutex_t *lock = arg;
    pthread_mutex_lock(lock);
    while (!done)
        pthread_cond_wait(&changed, lock); // <- the other waits with another lock
    pthread_mutex_unlock(lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, wait_with, &first);
    pthread_create(&b, NULL, wait_with, &second);
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&second);
    done = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
