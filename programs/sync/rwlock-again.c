// A thread that reads locks again. That is allowed where readers do not wait behind a writer; with PREFER_WRITER one that came in between
// holds it up, and is held up by it.
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>

#ifndef PREFER_WRITER
#define PREFER_WRITER 0
#endif

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *change(void *unused) {
    pthread_rwlock_wrlock(&lock); // <-
    pthread_rwlock_unlock(&lock);
    return unused;
}

static void *look(void *unused) {
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_rdlock(&lock); // <-
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t one, two;
    if (PREFER_WRITER) {
        pthread_rwlock_t other = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
        lock = other;
    }
    pthread_create(&one, NULL, change, NULL);
    pthread_create(&two, NULL, look, NULL);
    pthread_join(one, NULL); // <-
    pthread_join(two, NULL);
    return 0;
}
