// seqlock.c put right: what was read counts only if the sequence has not moved.
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
    if (before % 2 == 0 && atomic_load(&sequence) == before)
        assert(a == b);
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
