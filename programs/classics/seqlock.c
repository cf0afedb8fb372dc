// A sequence lock whose reader does not look at the sequence again: it may have read one half before a change and one half after it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int sequence;
static atomic_int low, high;

static void *writer(void *arg) {
    (void)arg;
    atomic_fetch_add(&sequence, 1);
    atomic_store(&low, 1);
    atomic_store(&high, 1);
    atomic_fetch_add(&sequence, 1);
    return NULL;
}

static void *reader(void *arg) {
    (void)arg;
    int before = atomic_load(&sequence);
    int a = atomic_load(&low), b = atomic_load(&high);
    if (before % 2 == 0)
        assert(a == b); // <- half old, half new
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, writer, NULL);
    pthread_create(&b, NULL, reader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
