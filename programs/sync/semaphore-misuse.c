// Wrong uses of a semaphore, chosen by WRONG.
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#define UNINITIALISED 0
#define ZEROED 1
#define DESTROYED 2
#define DESTROY_WAITED 3
#define DESTROY_UNORDERED 4

#ifndef WRONG
#define WRONG UNINITIALISED
#endif

static sem_t semaphore;

static void *await(void *unused) {
    sem_wait(&semaphore); // <-
    return unused;
}

int main(void) {
    pthread_t thread;
    sem_t *heap = malloc(sizeof *heap);
    switch (WRONG) {
    case UNINITIALISED:
        sem_post(heap); // <-
        break;
    case ZEROED:
        sem_post(&semaphore); // <-
        break;
    case DESTROYED:
        sem_init(heap, 0, 1);
        sem_destroy(heap);
        sem_wait(heap); // <-
        break;
    case DESTROY_WAITED:
        sem_init(&semaphore, 0, 0);
        pthread_create(&thread, NULL, await, NULL);
        sem_destroy(&semaphore); // <-
        pthread_join(thread, NULL);
        break;
    case DESTROY_UNORDERED:
        sem_init(&semaphore, 0, 0);
        pthread_create(&thread, NULL, await, NULL);
        sem_post(&semaphore);
        sem_destroy(&semaphore); // <-
        pthread_join(thread, NULL);
    }
    free(heap);
    return 0;
}
