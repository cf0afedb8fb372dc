// A spin on a flag that nobody sets: the one who should set it looks at the wrong sign and goes home.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static atomic_bool started, done;

static void *worker(void *arg) {
    (void)arg;
    if (atomic_load(&started))
        atomic_store(&done, true);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    atomic_store(&started, true);
    while (!atomic_load(&done)) // <- the worker looked before it was started
        ;
    pthread_join(thread, NULL);
    return 0;
}
