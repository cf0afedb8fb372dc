// message-passing.c put right: the flag is stored with release and read with acquire.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static int message;
static atomic_bool sent;

static void *sender(void *arg) {
    (void)arg;
    message = 42;
    atomic_store_explicit(&sent, true, memory_order_release);
    return NULL;
}

static void *receiver(void *arg) {
    (void)arg;
    if (atomic_load_explicit(&sent, memory_order_acquire))
        assert(message == 42);
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
