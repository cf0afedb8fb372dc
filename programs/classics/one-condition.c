// One condition variable for "there is room" and "there is something", and a signal instead of a broadcast: a consumer that has made
// room wakes the other consumer, which finds nothing and sleeps again; the producer is never told.
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool full;

static void *producer(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&lock);
        while (full)
            pthread_cond_wait(&changed, &lock); // <- waits for room that is there
        full = true;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *consumer(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    while (!full)
        pthread_cond_wait(&changed, &lock); // <- waits for the producer
    full = false;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b, c;
    pthread_create(&a, NULL, producer, NULL);
    pthread_create(&b, NULL, consumer, NULL);
    pthread_create(&c, NULL, consumer, NULL);
    pthread_join(a, NULL); // <-
    pthread_join(b, NULL);
    pthread_join(c, NULL);
    return 0;
}
