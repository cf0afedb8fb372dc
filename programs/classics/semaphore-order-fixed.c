// semaphore-order.c put right: wait for room first, then take the lock.
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t room, elements;
static int filled;

static void *producer(void *arg) {
    (void)arg;
    for (int i = 0; i < N; i++) {
        sem_wait(&room);
        pthread_mutex_lock(&lock);
        filled++;
        sem_post(&elements);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *consumer(void *arg) {
    (void)arg;
    for (int i = 0; i < N; i++) {
        sem_wait(&elements);
        pthread_mutex_lock(&lock);
        filled--;
        pthread_mutex_unlock(&lock);
        sem_post(&room);
    }
    return NULL;
}

int main(void) {
    pthread_t a, b;
    sem_init(&room, 0, 1);
    sem_init(&elements, 0, 0);
    pthread_create(&a, NULL, producer, NULL);
    pthread_create(&b, NULL, consumer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    sem_destroy(&elements);
    sem_destroy(&room);
    return 0;
}
