// null-pointer.c put right: look once and keep what was seen.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static int value = 1;
static _Atomic(int *) current = &value;

static void *user(void *arg) {
    (void)arg;
    int *seen = atomic_load(&current);
    if (seen != NULL)
        *seen += 1;
    return NULL;
}

static void *remover(void *arg) {
    (void)arg;
    atomic_store(&current, NULL);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, user, NULL);
    pthread_create(&b, NULL, remover, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
