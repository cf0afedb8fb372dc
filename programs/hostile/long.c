/* Two threads that hand a token to each other N times: whoever does not have it waits, so there is one execution, of 4 * N + 2 steps. What
 * is done for it must not grow with the square of its length. */
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

#ifndef N
#define N 5000
#endif

static sem_t there, back;

static void *pong(void *unused) {
    for (int i = 0; i < N; i++) {
        sem_wait(&there);
        sem_post(&back);
    }
    return unused;
}

int main(void) {
    pthread_t other;
    sem_init(&there, 0, 0);
    sem_init(&back, 0, 0);
    pthread_create(&other, NULL, pong, NULL);
    for (int i = 0; i < N; i++) {
        sem_post(&there);
        sem_wait(&back);
    }
    pthread_join(other, NULL);
    sem_destroy(&there);
    sem_destroy(&back);
    return 0;
}
