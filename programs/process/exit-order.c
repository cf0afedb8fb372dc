// Two threads register functions for the end of the process: the last one is called first. Unless they do so in order, that can be either.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static int called;

static void of_main(void) {
    assert(called++ == 0); /* <- */
}

static void of_thread(void) {
    called++;
}

static void *start(void *unused) {
    assert(atexit(of_thread) == 0);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, start, NULL);
#if defined(ORDERED)
    pthread_join(thread, NULL);
    assert(atexit(of_main) == 0);
#else
    assert(atexit(of_main) == 0);
    pthread_join(thread, NULL);
#endif
}
