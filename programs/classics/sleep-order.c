// A sleep instead of synchronisation: the writer is given time, and time orders nothing.
#define _POSIX_C_SOURCE 200809L

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

static atomic_int value;

static void *writer(void *arg) {
    (void)arg;
    atomic_store(&value, 1);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, writer, NULL);
    struct timespec while_it_writes = {.tv_nsec = 100 * 1000 * 1000};
    nanosleep(&while_it_writes, NULL);
    assert(atomic_load(&value) == 1); // <- it was slower
    pthread_join(thread, NULL);
    return 0;
}
