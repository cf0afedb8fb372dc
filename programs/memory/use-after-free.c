// A thread looks at a thing that another takes away and frees: it has the pointer already.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static _Atomic(int *) current;

static void *user(void *arg) {
    int *seen = atomic_load(&current);
    if (seen != NULL)
        return *seen == 1 ? NULL : arg; // <- may be freed by now
    return NULL;
}

static void *remover(void *arg) {
    (void)arg;
    free(atomic_exchange(&current, NULL)); // <-
    return NULL;
}

int main(void) {
    int *thing = malloc(sizeof *thing);
    *thing = 1;
    atomic_store(&current, thing);
    pthread_t a, b;
    pthread_create(&a, NULL, user, NULL);
    pthread_create(&b, NULL, remover, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
