// Wrong uses of a barrier, chosen by WRONG.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

#define UNINITIALISED 0
#define DESTROYED 1
#define DESTROY_WAITED 2
#define TOO_FEW 3

#ifndef WRONG
#define WRONG UNINITIALISED
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static int coming;

static void *meet(void *unused) {
    if (WRONG == DESTROY_WAITED) {
        pthread_mutex_lock(&lock);
        coming = 1;
        pthread_mutex_unlock(&lock);
    }
    pthread_barrier_wait(&barrier); // <-
    return unused;
}

int main(void) {
    pthread_t thread;
    int come = 0;
    switch (WRONG) {
    case UNINITIALISED:
        pthread_barrier_wait(&barrier); // <-
        break;
    case DESTROYED:
        pthread_barrier_init(&barrier, NULL, 1);
        pthread_barrier_destroy(&barrier);
        pthread_barrier_wait(&barrier); // <-
        break;
    case DESTROY_WAITED:
        pthread_barrier_init(&barrier, NULL, 2);
        pthread_create(&thread, NULL, meet, NULL);
        pthread_mutex_lock(&lock);
        come = coming;
        pthread_mutex_unlock(&lock);
        if (come)
            pthread_barrier_destroy(&barrier); // <-
        else
            pthread_barrier_wait(&barrier);
        pthread_join(thread, NULL);
        break;
    case TOO_FEW:
        pthread_barrier_init(&barrier, NULL, 3);
        pthread_create(&thread, NULL, meet, NULL);
        pthread_barrier_wait(&barrier); // <-
    }
    return 0;
}
