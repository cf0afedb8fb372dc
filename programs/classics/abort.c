// A call of abort in a thread, in one order of two.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static atomic_int stage;

static void *first(void *arg) {
    (void)arg;
    atomic_store(&stage, 1);
    return NULL;
}

static void *second(void *arg) {
    (void)arg;
    if (atomic_load(&stage) == 0)
        abort(); // <- the first stage is not over
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
