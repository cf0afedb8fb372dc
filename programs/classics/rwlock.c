// A write under a read lock: two threads may hold it at once.
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stddef.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int value;
static int hits;

static void *reader(void *arg) {
    (void)arg;
    pthread_rwlock_rdlock(&lock);
    int seen = value;
    hits++; // <- the other reader does the same
    pthread_rwlock_unlock(&lock);
    return seen == 0 ? NULL : arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, reader, NULL);
    pthread_create(&b, NULL, reader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
