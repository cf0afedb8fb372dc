// A barrier at which N threads spin.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 3
#endif

static atomic_uint arrived, step;
static int data[N];

static void barrier(void) {
    unsigned before = atomic_load(&step);
    if (atomic_fetch_add(&arrived, 1) == N - 1) {
        atomic_store(&arrived, 0);
        atomic_fetch_add(&step, 1);
    } else {
        while (atomic_load(&step) == before)
            ;
    }
}

static void *meet(void *arg) {
    int *mine = arg;
    *mine = 1;
    barrier();
    for (int i = 0; i < N; i++)
        assert(data[i] == 1);
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, meet, &data[i]);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
