// unlock-not-owner.c put right: a semaphore may be posted by anybody.
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static sem_t ready;

static void *work(void *arg) {
    (void)arg;
    sem_post(&ready);
    return NULL;
}

int main(void) {
    pthread_t thread;
    sem_init(&ready, 0, 0);
    pthread_create(&thread, NULL, work, NULL);
    sem_wait(&ready);
    pthread_join(thread, NULL);
    sem_destroy(&ready);
    return 0;
}
