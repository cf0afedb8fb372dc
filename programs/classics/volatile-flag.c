// A flag that is volatile and not atomic: still a data race.
#include <pthread.h>
#include <stddef.h>

static volatile int stop;

static void *work(void *arg) {
    return stop ? arg : NULL; // <-
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    stop = 1; // <- not ordered with the read
    pthread_join(thread, NULL);
    return 0;
}
