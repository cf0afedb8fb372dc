// Wrong uses of a mutex, chosen by WRONG.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define RELOCK 0
#define UNLOCK_OTHER 1
#define UNLOCK_FREE 2
#define UNINITIALISED 3
#define COPY 4
#define DESTROYED 5
#define DESTROY_LOCKED 6
#define DESTROY_UNORDERED 7
#define INIT_UNORDERED 8
#define LEFT 9

#ifndef WRONG
#define WRONG RELOCK
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *other(void *argument) {
    pthread_mutex_t *mutex = argument;
    switch (WRONG) {
    case UNLOCK_OTHER:
        pthread_mutex_unlock(mutex); // <-
        break;
    case DESTROY_LOCKED:
        pthread_mutex_lock(mutex);
        break;
    case DESTROY_UNORDERED:
    case INIT_UNORDERED:
        pthread_mutex_lock(mutex); // <-
        pthread_mutex_unlock(mutex);
    }
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_mutex_t *heap = malloc(sizeof *heap);
    pthread_mutex_t *copy = malloc(sizeof *copy);
    switch (WRONG) {
    case RELOCK:
        pthread_mutex_lock(&lock);
        pthread_mutex_lock(&lock); // <-
        break;
    case UNLOCK_OTHER:
        pthread_mutex_lock(&lock);
        pthread_create(&thread, NULL, other, &lock);
        pthread_join(thread, NULL);
        pthread_mutex_unlock(&lock);
        break;
    case UNLOCK_FREE:
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        pthread_mutex_unlock(&lock); // <-
        break;
    case UNINITIALISED:
        pthread_mutex_lock(heap); // <-
        pthread_mutex_unlock(heap);
        break;
    case COPY:
        pthread_mutex_init(heap, NULL);
        memcpy(copy, heap, sizeof *copy);
        pthread_mutex_lock(copy); // <-
        pthread_mutex_unlock(copy);
        break;
    case DESTROYED:
        pthread_mutex_init(heap, NULL);
        pthread_mutex_destroy(heap);
        pthread_mutex_lock(heap); // <-
        break;
    case DESTROY_LOCKED:
        pthread_mutex_init(heap, NULL);
        pthread_create(&thread, NULL, other, heap);
        pthread_join(thread, NULL);
        pthread_mutex_destroy(heap); // <-
        break;
    case DESTROY_UNORDERED:
        pthread_mutex_init(heap, NULL);
        pthread_create(&thread, NULL, other, heap);
        pthread_mutex_destroy(heap); // <-
        pthread_join(thread, NULL);
        break;
    case INIT_UNORDERED:
        memset(heap, 0, sizeof *heap);
        pthread_create(&thread, NULL, other, heap);
        pthread_mutex_init(heap, NULL); // <-
        pthread_join(thread, NULL);
        pthread_mutex_destroy(heap);
        break;
    case LEFT:
        pthread_mutex_init(heap, NULL);
        pthread_mutex_lock(heap);
        pthread_mutex_unlock(heap);
    }
    free(heap);
    free(copy);
    return 0;
}
