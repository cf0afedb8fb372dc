// A pointer that is looked at twice: it is there at the first look and gone at the second, in one order of three.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static int value = 1;
static _Atomic(int *) current = &value;

static void *user(void *arg) {
    (void)arg;
    if (atomic_load(&current) != NULL)
        *atomic_load(&current) += 1; // <- gone
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
