/* A thread that does nothing more than sleep does not keep the program from its end. */
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <unistd.h>

static sem_t ready;

static void *sleeps(void *unused) {
    sem_post(&ready);
    for (;;)
        sleep(1);
    return unused;
}

int main(void) {
    pthread_t sleeper;
    sem_init(&ready, 0, 0);
    pthread_create(&sleeper, NULL, sleeps, NULL);
    pthread_detach(sleeper);
    sem_wait(&ready);
    sem_destroy(&ready);
    return 0;
}
