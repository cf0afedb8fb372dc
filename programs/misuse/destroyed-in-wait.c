// A condition variable is destroyed while a thread waits on it.
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static bool waiting, done;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    waiting = true;
    while (!done)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_cond_init(&changed, NULL);
    pthread_create(&thread, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    done = true;
    bool left_behind = waiting;
    pthread_mutex_unlock(&lock);
    if (left_behind)
        pthread_cond_destroy(&changed); // <- somebody waits on it
    pthread_join(thread, NULL);
    if (!left_behind)
        pthread_cond_destroy(&changed);
    return 0;
}
