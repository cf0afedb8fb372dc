// A lock that one thread takes and another lets go: used as if it were a signal.
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t ready = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg) {
    (void)arg;
    pthread_mutex_unlock(&ready); // <- main has it
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_mutex_lock(&ready);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return 0;
}
