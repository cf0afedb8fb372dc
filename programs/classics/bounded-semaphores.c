// A bounded buffer with two semaphores and no lock: one producer, one consumer, the counts alone order their accesses.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

#ifndef N
#define N 3
#endif

enum { SIZE = 2 };

static sem_t room, elements;
static int buffer[SIZE];

static void *producer(void *arg) {
    (void)arg;
    for (int i = 0; i < N; i++) {
        sem_wait(&room);
        buffer[i % SIZE] = i;
        sem_post(&elements);
    }
    return NULL;
}

static void *consumer(void *arg) {
    (void)arg;
    for (int i = 0; i < N; i++) {
        sem_wait(&elements);
        assert(buffer[i % SIZE] == i);
        sem_post(&room);
    }
    return NULL;
}

int main(void) {
    pthread_t a, b;
    sem_init(&room, 0, SIZE);
    sem_init(&elements, 0, 0);
    pthread_create(&a, NULL, producer, NULL);
    pthread_create(&b, NULL, consumer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    sem_destroy(&elements);
    sem_destroy(&room);
    return 0;
}
