// The thread that is told so destroys the barrier at once, though others have not gone on yet: none of them waits any more.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

static pthread_barrier_t *barrier;

static void *meet(void *unused) {
    if (pthread_barrier_wait(barrier) != 0) {
        pthread_barrier_destroy(barrier);
        free(barrier);
    }
    return unused;
}

int main(void) {
    pthread_t threads[2];
    barrier = malloc(sizeof *barrier);
    pthread_barrier_init(barrier, NULL, 2);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, meet, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
