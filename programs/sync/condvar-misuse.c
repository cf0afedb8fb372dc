// Wrong uses of a condition variable, chosen by WRONG.
#include <pthread.h>
#include <stdlib.h>

#define WITHOUT_LOCK 0
#define TWO_MUTEXES 1
#define UNINITIALISED 2
#define DESTROYED 3
#define DESTROY_WAITED 4

#ifndef WRONG
#define WRONG WITHOUT_LOCK
#endif

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready[2], waiting;

static void *await(void *argument) {
    int which = (int)(long)argument;
    pthread_mutex_lock(&locks[which]);
    if (WRONG == DESTROY_WAITED)
        waiting = 1;
    while (!ready[which])
        pthread_cond_wait(&changed, &locks[which]); // <-
    pthread_mutex_unlock(&locks[which]);
    return NULL;
}

static void allow(int which) {
    pthread_mutex_lock(&locks[which]);
    ready[which] = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&locks[which]);
}

int main(void) {
    pthread_t threads[2];
    pthread_cond_t *heap = malloc(sizeof *heap);
    switch (WRONG) {
    case WITHOUT_LOCK:
        pthread_cond_wait(&changed, &locks[0]); // <-
        break;
    case TWO_MUTEXES:
        for (long i = 0; i < 2; i++)
            pthread_create(&threads[i], NULL, await, (void *)i);
        for (int i = 0; i < 2; i++)
            allow(i);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        break;
    case UNINITIALISED:
        pthread_cond_signal(heap); // <-
        break;
    case DESTROYED:
        pthread_cond_init(heap, NULL);
        pthread_cond_destroy(heap);
        pthread_cond_signal(heap); // <-
        break;
    case DESTROY_WAITED:
        pthread_create(&threads[0], NULL, await, NULL);
        pthread_mutex_lock(&locks[0]);
        if (waiting)
            pthread_cond_destroy(&changed); // <-
        ready[0] = 1;
        pthread_mutex_unlock(&locks[0]);
        pthread_join(threads[0], NULL);
    }
    free(heap);
    return 0;
}
