// A thread waits without asking whether what it waits for has happened: the signal may have been before.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *await(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_cond_wait(&changed, &lock); // <-
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, await, NULL);
    pthread_mutex_lock(&lock);
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL); // <-
    return 0;
}
