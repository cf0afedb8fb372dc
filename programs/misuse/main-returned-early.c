// main returns without waiting for its thread, and takes it along: a pthread_exit or a join is missing at its end.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int steps;

static void *work(void *arg) {
    (void)arg;
    atomic_fetch_add(&steps, 1);
    atomic_fetch_add(&steps, 1);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_detach(thread);
    return 0;
}
