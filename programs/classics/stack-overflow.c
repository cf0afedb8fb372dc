// A recursion without an end, in one order of two.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int depth = 10;

static int descend(volatile int *levels) {
    volatile char frame[256];
    frame[0] = (char)*levels;
    if (*levels == 0)
        return frame[0];
    *levels -= 1;
    return descend(levels) + frame[0];
}

static void *walk(void *arg) {
    (void)arg;
    volatile int levels = atomic_load(&depth);
    return descend(&levels) >= 0 ? NULL : arg;
}

static void *spoil(void *arg) {
    (void)arg;
    atomic_store(&depth, -1);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, walk, NULL);
    pthread_create(&b, NULL, spoil, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
