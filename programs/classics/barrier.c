// A barrier that waits for one thread more than there are.
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

static pthread_barrier_t barrier;

static void *work(void *arg) {
    (void)arg;
    pthread_barrier_wait(&barrier); // <- nobody else will come
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    pthread_barrier_init(&barrier, NULL, N + 1);
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL); // <-
    pthread_barrier_destroy(&barrier);
    return 0;
}
