// A thread waits on a condition variable without the lock that it names.
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool done;

static bool is_done(void) {
    pthread_mutex_lock(&lock);
    bool seen = done;
    pthread_mutex_unlock(&lock);
    return seen;
}

static void *wait_for_it(void *arg) {
    (void)arg;
    while (!is_done())
        pthread_cond_wait(&changed, &lock); // <- does not have it
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_it, NULL);
    pthread_mutex_lock(&lock);
    done = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
