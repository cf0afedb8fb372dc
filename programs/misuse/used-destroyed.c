// A lock is used after it was destroyed: it is then uninitialised again.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    value++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    pthread_mutex_destroy(&lock);
    pthread_mutex_lock(&lock); // <- is no lock any more
    value++;
    pthread_mutex_unlock(&lock);
    return 0;
}
