// A thread waits for a notification that may have come before. That the wait might end by itself does not hide it.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;

static void *consumer(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_cond_wait(&filled, &lock); // <- the signal is gone
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, consumer, NULL);
    pthread_mutex_lock(&lock);
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL); // <- waits for that thread
    return 0;
}
