// Draws and seeds that are ordered by creation, join and a lock need no order of their own; drand48 neither.
#include <pthread.h>
#include <reweave.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *start(void *unused) {
    pthread_mutex_lock(&lock);
    srand(42);
    srand48(7);
    reweave_check(rand() == 71876166, "not what libc gives");
    reweave_check(lrand48() >= 0, "out of range");
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    srand(1);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, start, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    reweave_check(rand() == 708592740, "not what libc gives next");
}
