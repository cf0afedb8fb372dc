// message-passing.c put right in another way: the flag stays relaxed, and fences on both sides order the message.
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
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&sent, true, memory_order_relaxed);
    return NULL;
}

static void *receiver(void *arg) {
    (void)arg;
    if (atomic_load_explicit(&sent, memory_order_relaxed)) {
        atomic_thread_fence(memory_order_acquire);
        assert(message == 42);
    }
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
