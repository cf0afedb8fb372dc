// Message passing by a relaxed flag: who sees the flag may still see the old message. A data race, although no run of this kind of
// machine shows a wrong value.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static int message;
static atomic_bool sent;

static void *sender(void *arg) {
    (void)arg;
    message = 42; // <- the relaxed flag does not order this
    atomic_store_explicit(&sent, true, memory_order_relaxed);
    return NULL;
}

static void *receiver(void *arg) {
    (void)arg;
    if (atomic_load_explicit(&sent, memory_order_relaxed))
        assert(message == 42); // <- before this
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, sender, NULL);
    pthread_create(&b, NULL, receiver, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
