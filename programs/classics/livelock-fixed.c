// livelock.c put right: the worker waits until it is started.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static atomic_bool started, done;

static void *worker(void *arg) {
    (void)arg;
    while (!atomic_load(&started))
        ;
    atomic_store(&done, true);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    atomic_store(&started, true);
    while (!atomic_load(&done))
        ;
    pthread_join(thread, NULL);
    return 0;
}
