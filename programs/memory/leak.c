// Two threads make the same thing on first use; in some orders both do, and one of the two is lost.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static _Atomic(int *) made;

static void *use(void *arg) {
    (void)arg;
    if (atomic_load(&made) == NULL)
        atomic_store(&made, malloc(sizeof(int))); // <- may replace what the other has made
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, use, NULL);
    pthread_create(&b, NULL, use, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    free(atomic_load(&made));
    return 0;
}
