// __VERIFIER_nondet_bool: both values are explored, and one order with one value goes wrong.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

extern _Bool __VERIFIER_nondet_bool(void);
extern void reach_error(void);

static atomic_bool closed;

static void *close_it(void *arg) {
    (void)arg;
    if (__VERIFIER_nondet_bool())
        atomic_store(&closed, true);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, close_it, NULL);
    if (atomic_load(&closed))
        reach_error(); // <- closed, and before main looked
    pthread_join(thread, NULL);
    return 0;
}
