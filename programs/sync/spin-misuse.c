// Wrong uses of a spin lock, chosen by WRONG.
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>

#define RELOCK 0
#define UNLOCK_FREE 1
#define UNINITIALISED 2
#define DESTROYED 3
#define DESTROY_LOCKED 4

#ifndef WRONG
#define WRONG RELOCK
#endif

static pthread_spinlock_t lock;

int main(void) {
    if (WRONG != UNINITIALISED)
        pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    switch (WRONG) {
    case RELOCK:
        pthread_spin_lock(&lock);
        pthread_spin_lock(&lock); // <-
        break;
    case UNLOCK_FREE:
        pthread_spin_unlock(&lock); // <-
        break;
    case UNINITIALISED:
        pthread_spin_lock(&lock); // <-
        break;
    case DESTROYED:
        pthread_spin_destroy(&lock);
        pthread_spin_lock(&lock); // <-
        break;
    case DESTROY_LOCKED:
        pthread_spin_lock(&lock);
        pthread_spin_destroy(&lock); // <-
    }
    return 0;
}
