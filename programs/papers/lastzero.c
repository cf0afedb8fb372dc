// lastzero: N writers each set their slot to one more than the slot below, while a reader looks from the top for the last slot that
// is still zero. Slot 0 always is, so the reader ends. From the RF-SMC paper, Table 1.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 5
#endif

static atomic_int slots[N + 1];

static void *reader(void *unused) {
    (void)unused;
    int at = N;
    while (atomic_load(&slots[at]) != 0)
        at--;
    return NULL;
}

static void *writer(void *arg) {
    int at = (int)(intptr_t)arg;
    atomic_store(&slots[at], atomic_load(&slots[at - 1]) + 1);
    return NULL;
}

int main(void) {
    pthread_t threads[N + 1];
    pthread_create(&threads[0], NULL, reader, NULL);
    for (int at = 1; at <= N; at++)
        pthread_create(&threads[at], NULL, writer, (void *)(intptr_t)at);
    for (int at = 0; at <= N; at++)
        pthread_join(threads[at], NULL);
    return 0;
}
