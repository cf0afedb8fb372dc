// Two threads wait for each other, each with a time limit, again and again. Nobody ever posts.
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <time.h>

static sem_t semaphores[2];

static void *await(void *own) {
    struct timespec over = {.tv_sec = 1};
    while (sem_timedwait(own, &over) != 0) { // <- for ever
    }
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        sem_init(&semaphores[i], 0, 0);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, await, &semaphores[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL); // <- waits for them
    return 0;
}
