// A spin that yields: the waiting thread asks for the other to go on.
#include <pthread.h>
#include <sched.h>
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

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, sender, NULL);
    while (!atomic_load_explicit(&sent, memory_order_acquire))
        sched_yield();
    int seen = message;
    pthread_join(thread, NULL);
    return seen == 42 ? 0 : 1;
}
