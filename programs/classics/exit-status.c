// A thread that ends the whole program with a status of failure, in the one order in which it finds nothing to do.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

static atomic_bool job;

static void *worker(void *arg) {
    (void)arg;
    if (!atomic_load(&job))
        exit(3); // <- nothing to do yet
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    atomic_store(&job, true);
    pthread_join(thread, NULL);
    return 0;
}
