// release-sequence.c put right: a relaxed read-modify-write goes on with the release sequence, where a store ends it.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static int message;
static atomic_int state;

static void *sender(void *arg) {
    (void)arg;
    message = 42;
    atomic_store_explicit(&state, 1, memory_order_release);
    return NULL;
}

static void *middle(void *arg) {
    (void)arg;
    int one = 1;
    atomic_compare_exchange_strong_explicit(&state, &one, 2, memory_order_relaxed, memory_order_relaxed);
    return NULL;
}

static void *receiver(void *arg) {
    (void)arg;
    if (atomic_load_explicit(&state, memory_order_acquire) == 2)
        return message == 42 ? NULL : arg;
    return NULL;
}

int main(void) {
    pthread_t a, b, c;
    pthread_create(&a, NULL, sender, NULL);
    pthread_create(&b, NULL, middle, NULL);
    pthread_create(&c, NULL, receiver, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_join(c, NULL);
    return 0;
}
