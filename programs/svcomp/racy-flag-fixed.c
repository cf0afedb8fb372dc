// racy-flag.c put right: finding the flag down and raising it is one step, by the name of the function.
#include <pthread.h>
#include <stddef.h>

extern void __VERIFIER_assume(int);
extern void reach_error(void);

static int busy, inside;

void __VERIFIER_atomic_acquire(void) {
    __VERIFIER_assume(busy == 0);
    busy = 1;
}

void __VERIFIER_atomic_release(void) { busy = 0; }

static void *enter(void *arg) {
    (void)arg;
    __VERIFIER_atomic_acquire();
    inside++;
    if (inside != 1)
        reach_error();
    inside--;
    __VERIFIER_atomic_release();
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
