// A spin lock whose test and set are two steps: two threads see it free.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static atomic_bool held;
static atomic_int inside;

static void *enter(void *arg) {
    (void)arg;
    while (atomic_load(&held))
        ;
    atomic_store(&held, true);
    assert(atomic_fetch_add(&inside, 1) == 0); // <- both saw it free
    atomic_fetch_sub(&inside, 1);
    atomic_store(&held, false);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, enter, NULL);
    pthread_create(&b, NULL, enter, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
