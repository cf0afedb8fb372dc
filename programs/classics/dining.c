// Dining philosophers: N philosophers, N forks, each takes the left one and then the right one.
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 3
#endif

static pthread_mutex_t forks[N] = {[0 ... N - 1] = PTHREAD_MUTEX_INITIALIZER};
static int meals[N];

static void *dine(void *arg) {
    int self = (int)(intptr_t)arg;
    pthread_mutex_lock(&forks[self]);
    pthread_mutex_lock(&forks[(self + 1) % N]); // <- all have their left fork
    meals[self]++;
    pthread_mutex_unlock(&forks[(self + 1) % N]);
    pthread_mutex_unlock(&forks[self]);
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, dine, (void *)(intptr_t)i);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL); // <-
    return 0;
}
