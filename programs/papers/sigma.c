// sigma: the main thread moves an index on and starts a thread, N times; each thread writes to the slot that the index names by the
// time it looks, which may be its own or a later one. Nobody reads the slots. From the RF-SMC paper, Table 1.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 4
#endif

static atomic_int slots[N];
static atomic_int current = -1;

static void *mark(void *unused) {
    (void)unused;
    atomic_store(&slots[atomic_load(&current)], 1);
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++) {
        atomic_store(&current, i);
        pthread_create(&threads[i], NULL, mark, NULL);
    }
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
