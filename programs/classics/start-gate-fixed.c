// start-gate.c put right: a broadcast opens the gate for all.
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static bool open;

static void *runner(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    while (!open)
        pthread_cond_wait(&opened, &lock);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, runner, NULL);
    pthread_mutex_lock(&lock);
    open = true;
    pthread_cond_broadcast(&opened);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
