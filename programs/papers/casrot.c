// casrot: N threads move one variable on, thread i from i - 1 to i, each with a single compare-exchange that fails when the one
// before has not been there yet. From the RF-SMC paper, Table 1.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 5
#endif

static atomic_int turn;

static void *move_on(void *arg) {
    int mine = (int)(intptr_t)arg;
    int before = mine - 1;
    atomic_compare_exchange_strong(&turn, &before, mine);
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, move_on, (void *)(intptr_t)(i + 1));
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
