// The dining philosophers of Inspect's Fig. 7: N philosophers, two forks that all take in the same order. A fork has a lock for its owner's
// name only; who finds it taken waits until it is put back. No deadlock, and backtrack points that look needed and are not.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 2
#endif

struct fork {
    pthread_mutex_t lock;
    pthread_cond_t put_back;
    int owner; // 0: nobody
};

static struct fork first = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
static struct fork second = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static void take(struct fork *fork, int self) {
    pthread_mutex_lock(&fork->lock);
    while (fork->owner != 0)
        pthread_cond_wait(&fork->put_back, &fork->lock);
    fork->owner = self;
    pthread_mutex_unlock(&fork->lock);
}

static void put(struct fork *fork, int self) {
    pthread_mutex_lock(&fork->lock);
    assert(fork->owner == self);
    fork->owner = 0;
    pthread_mutex_unlock(&fork->lock);
    pthread_cond_signal(&fork->put_back);
}

static void *philosopher(void *arg) {
    int self = (int)(intptr_t)arg;
    take(&first, self);
    take(&second, self);
    put(&first, self);
    put(&second, self);
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, philosopher, (void *)(intptr_t)(i + 1));
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
