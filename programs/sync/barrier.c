// N threads meet at a barrier, ROUNDS times; the one that is told so in a round counts it.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#ifndef N
#define N 3
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif

static pthread_barrier_t barrier;
static int before[N], rounds;

static void *meet(void *argument) {
    int self = (int)(long)argument;
    for (int round = 1; round <= ROUNDS; round++) {
        before[self] = round;
        int result = pthread_barrier_wait(&barrier);
        assert(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
        for (int i = 0; i < N; i++)
            assert(before[i] == round);
        if (result != 0)
            rounds++;
        // Nobody goes on before all have looked.
        result = pthread_barrier_wait(&barrier);
        assert(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    assert(pthread_barrier_init(&barrier, NULL, 0) == EINVAL);
    assert(pthread_barrier_init(&barrier, NULL, N) == 0);
    for (long i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, meet, (void *)i);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    assert(rounds == ROUNDS);
    assert(pthread_barrier_destroy(&barrier) == 0);
    return 0;
}
