// leak.c put right: who comes second gives its own back.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static _Atomic(int *) made;

static void *use(void *arg) {
    (void)arg;
    if (atomic_load(&made) == NULL) {
        int *nothing = NULL, *mine = malloc(sizeof(int));
        if (!atomic_compare_exchange_strong(&made, &nothing, mine))
            free(mine);
    }
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
