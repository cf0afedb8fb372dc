// Whether the block can still be found depends on whose store comes last, though nobody loads the pointer.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(void *) kept;

static void *forget(void *unused) {
    atomic_store(&kept, (void *)0);
    return unused;
}

static void *keep(void *unused) {
    atomic_store(&kept, malloc(8)); // <-
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, forget, 0);
    pthread_create(&threads[1], 0, keep, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
