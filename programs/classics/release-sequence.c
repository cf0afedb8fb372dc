// A release sequence that is broken: a relaxed store by another thread stands between the release and the acquire, so the reader of
// the second value is not ordered after the message.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static int message;
static atomic_int state;

static void *sender(void *arg) {
    (void)arg;
    message = 42; // <- not ordered
    atomic_store_explicit(&state, 1, memory_order_release);
    return NULL;
}

static void *middle(void *arg) {
    (void)arg;
    if (atomic_load_explicit(&state, memory_order_relaxed) == 1)
        atomic_store_explicit(&state, 2, memory_order_relaxed);
    return NULL;
}

static void *receiver(void *arg) {
    (void)arg;
    if (atomic_load_explicit(&state, memory_order_acquire) == 2)
        return message == 42 ? NULL : arg; // <- before this
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
