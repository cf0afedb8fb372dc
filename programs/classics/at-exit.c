// Handlers at exit run once, last registered first, after the threads have ended.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

static int step;

static void last(void) { assert(step == 2); }

static void first(void) {
    assert(step == 1);
    step = 2;
}

static void *work(void *arg) {
    (void)arg;
    step = 1;
    return NULL;
}

int main(void) {
    pthread_t thread;
    atexit(last);
    atexit(first);
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    exit(0);
}
