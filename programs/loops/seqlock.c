// A sequence lock: N readers read again until no writer was there meanwhile; N writers under a mutex.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint sequence;
static atomic_int data;

// A function of its own, so that no register keeps what a failed round has read.
__attribute__((noinline)) static int consistent(void) {
    unsigned before = atomic_load(&sequence);
    if (before & 1)
        return 0;
    int value = atomic_load(&data);
    if (atomic_load(&sequence) != before)
        return 0;
    assert(value == (before ? 42 : 0));
    return 1;
}

static void *reader(void *arg) {
    (void)arg;
    while (!consistent())
        ;
    return NULL;
}

static void *writer(void *arg) {
    (void)arg;
    pthread_mutex_lock(&mutex);
    atomic_store(&sequence, atomic_load(&sequence) + 1);
    atomic_store(&data, 42);
    atomic_store(&sequence, atomic_load(&sequence) + 1);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int main(void) {
    pthread_t threads[2 * N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, reader, NULL);
    for (int i = N; i < 2 * N; i++)
        pthread_create(&threads[i], NULL, writer, NULL);
    for (int i = 0; i < 2 * N; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
