// A recursive lock: its owner may take it again, and it is free after as many unlocks.
#define _POSIX_C_SOURCE 200809L

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock;
static int depth, deepest;

static void descend(int levels) {
    pthread_mutex_lock(&lock);
    if (++depth > deepest)
        deepest = depth;
    if (levels > 1)
        descend(levels - 1);
    depth--;
    pthread_mutex_unlock(&lock);
}

static void *work(void *arg) {
    (void)arg;
    descend(3);
    return NULL;
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(depth == 0 && deepest == 3);
    pthread_mutex_destroy(&lock);
    return 0;
}
