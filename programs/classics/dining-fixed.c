// dining.c put right: everybody takes the fork with the lower number first.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 3
#endif

static pthread_mutex_t forks[N] = {[0 ... N - 1] = PTHREAD_MUTEX_INITIALIZER};
static int meals[N];

static void *dine(void *arg) {
    int self = (int)(intptr_t)arg, next = (self + 1) % N;
    int low = self < next ? self : next, high = self < next ? next : self;
    pthread_mutex_lock(&forks[low]);
    pthread_mutex_lock(&forks[high]);
    meals[self]++;
    pthread_mutex_unlock(&forks[high]);
    pthread_mutex_unlock(&forks[low]);
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, dine, (void *)(intptr_t)i);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < N; i++)
        assert(meals[i] == 1);
    return 0;
}
