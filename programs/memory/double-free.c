// Two threads find the same thing and both free it.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static _Atomic(int *) current;

static void *clean_up(void *arg) {
    (void)arg;
    int *seen = atomic_load(&current);
    if (seen != NULL) {
        atomic_store(&current, NULL);
        free(seen); // <- both saw it
    }
    return NULL;
}

int main(void) {
    atomic_store(&current, malloc(sizeof(int)));
    pthread_t a, b;
    pthread_create(&a, NULL, clean_up, NULL);
    pthread_create(&b, NULL, clean_up, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
