// Two threads look at the clock. Either may be the first, and no two looks are at the same time.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

#ifndef FIRST
#define FIRST 0
#endif

static double times[2];

static void *look(void *into) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *(double *)into = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    return NULL;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, look, &times[0]);
    pthread_create(&two, NULL, look, &times[1]);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    assert(times[0] != times[1]);
    assert(times[FIRST] < times[!FIRST]); // <- the other was the first
    return 0;
}
