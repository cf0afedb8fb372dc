// N threads take a spin lock, and one more tries to.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

static pthread_spinlock_t lock;
static int count;

static void *add(void *unused) {
    assert(pthread_spin_lock(&lock) == 0);
    count++;
    assert(pthread_spin_unlock(&lock) == 0);
    return unused;
}

static void *try(void *unused) {
    int result = pthread_spin_trylock(&lock);
    assert(result == 0 || result == EBUSY);
    if (result == 0) {
        count++;
        pthread_spin_unlock(&lock);
    }
    return unused;
}

int main(void) {
    pthread_t threads[N + 1];
    assert(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE) == 0);
    for (int i = 0; i <= N; i++)
        pthread_create(&threads[i], NULL, i < N ? add : try, NULL);
    for (int i = 0; i <= N; i++)
        pthread_join(threads[i], NULL);
    assert(count == N || count == N + 1);
    assert(pthread_spin_destroy(&lock) == 0);
    return 0;
}
