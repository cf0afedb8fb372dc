// assertion.c put right: the second stage begins when the first is over.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int stage;

static void *first(void *arg) {
    (void)arg;
    atomic_store(&stage, 1);
    return NULL;
}

static void *second(void *arg) {
    (void)arg;
    assert(atomic_load(&stage) == 1);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, first, NULL);
    pthread_join(a, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(b, NULL);
    return 0;
}
