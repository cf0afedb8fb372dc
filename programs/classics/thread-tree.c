// Threads that start threads, return values and pass them up, by return and by pthread_exit.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 3
#endif

static void *count(void *arg) {
    intptr_t depth = (intptr_t)arg;
    if (depth == 0)
        return (void *)1;
    pthread_t left, right;
    void *lefts, *rights;
    pthread_create(&left, NULL, count, (void *)(depth - 1));
    pthread_create(&right, NULL, count, (void *)(depth - 1));
    pthread_join(right, &rights);
    pthread_join(left, &lefts);
    pthread_exit((void *)((intptr_t)lefts + (intptr_t)rights));
}

int main(void) {
    pthread_t root;
    void *leaves;
    pthread_create(&root, NULL, count, (void *)N);
    pthread_join(root, &leaves);
    assert((intptr_t)leaves == 1 << N);
    return 0;
}
