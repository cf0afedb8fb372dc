// A loop waits for a flag that is volatile and not atomic: a data race; where those are explored like atomics (`--races interleave`), a loop that waits like any other.
#include <pthread.h>
#include <stddef.h>

static volatile int ready;

static void *wait(void *arg) {
    while (!ready) { // <-
    }
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, wait, NULL);
    ready = 1; // <- not ordered with the read
    pthread_join(thread, NULL);
    return 0;
}
