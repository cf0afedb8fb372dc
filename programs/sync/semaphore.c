// A semaphore with PERMITS lets N threads pass; each gives its permit back.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif
#ifndef PERMITS
#define PERMITS 1
#endif

static sem_t semaphore;
static int inside[N];

static void *pass(void *argument) {
    int self = (int)(long)argument;
    assert(sem_wait(&semaphore) == 0);
    inside[self] = 1;
    assert(sem_post(&semaphore) == 0);
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    int value;
    assert(sem_init(&semaphore, 0, PERMITS) == 0);
    for (long i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, pass, (void *)i);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    assert(sem_getvalue(&semaphore, &value) == 0);
    assert(value == PERMITS);
    assert(sem_destroy(&semaphore) == 0);
    return 0;
}
