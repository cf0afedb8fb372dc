// A function that asks to be left alone by sanitizers is observed like any other.
#include <pthread.h>
#include <stddef.h>

static int shared;

__attribute__((no_sanitize("thread"))) static void *writer(void *unused) {
    shared = 1; // <-
    return unused;
}

static __attribute__((no_sanitize_thread)) void *reader(void *unused) {
    return shared ? unused : NULL; // <-
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, reader, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
