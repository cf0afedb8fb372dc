// exit-status.c put right: the job is there before the worker.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

static atomic_bool job;

static void *worker(void *arg) {
    (void)arg;
    if (!atomic_load(&job))
        exit(3);
    return NULL;
}

int main(void) {
    pthread_t thread;
    atomic_store(&job, true);
    pthread_create(&thread, NULL, worker, NULL);
    pthread_join(thread, NULL);
    return 0;
}
