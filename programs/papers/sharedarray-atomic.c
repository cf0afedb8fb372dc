// sharedArray with atomic elements: every write is a visible operation, and still no two meet. From the SDPOR paper, Table 1.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 64
#endif

static atomic_int shared[2 * N];

static void *fill(void *arg) {
    int self = (int)(intptr_t)arg;
    for (int i = 0; i < N; i++)
        atomic_store(&shared[2 * i + self], i + 1);
    return NULL;
}

int main(void) {
    pthread_t even, odd;
    pthread_create(&even, NULL, fill, (void *)(intptr_t)0);
    pthread_create(&odd, NULL, fill, (void *)(intptr_t)1);
    pthread_join(even, NULL);
    pthread_join(odd, NULL);
    for (int i = 0; i < 2 * N; i++)
        assert(atomic_load(&shared[i]) == i / 2 + 1);
    return 0;
}
