// Wrong uses of a read-write lock, chosen by WRONG.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

#define UNLOCK_FREE 0
#define UNLOCK_OTHER 1
#define UNINITIALISED 2
#define DESTROYED 3
#define DESTROY_LOCKED 4
#define UPGRADE 5

#ifndef WRONG
#define WRONG UNLOCK_FREE
#endif

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *other(void *unused) {
    pthread_rwlock_unlock(&lock); // <-
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_rwlock_t *heap = malloc(sizeof *heap);
    switch (WRONG) {
    case UNLOCK_FREE:
        pthread_rwlock_unlock(&lock); // <-
        break;
    case UNLOCK_OTHER:
        pthread_rwlock_rdlock(&lock);
        pthread_create(&thread, NULL, other, NULL);
        pthread_join(thread, NULL);
        break;
    case UNINITIALISED:
        pthread_rwlock_rdlock(heap); // <-
        break;
    case DESTROYED:
        pthread_rwlock_init(heap, NULL);
        pthread_rwlock_destroy(heap);
        pthread_rwlock_wrlock(heap); // <-
        break;
    case DESTROY_LOCKED:
        pthread_rwlock_rdlock(&lock);
        pthread_rwlock_destroy(&lock); // <-
        break;
    case UPGRADE:
        pthread_rwlock_rdlock(&lock);
        pthread_rwlock_wrlock(&lock); // <-
    }
    free(heap);
    return 0;
}
