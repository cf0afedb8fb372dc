// Functions that are atomic by their name, one called by the other, at every level of optimisation.
#include <pthread.h>

extern void reach_error(void);

static int x, y;

static void __VERIFIER_atomic_one(int *place) { ++*place; }

void __VERIFIER_atomic_both(void) {
    __VERIFIER_atomic_one(&x);
    __VERIFIER_atomic_one(&y);
}

static int __VERIFIER_atomic_differ(void) { return x != y; }

static void *start(void *unused) {
    __VERIFIER_atomic_both();
    __VERIFIER_atomic_one(&x); // The other thread may see it.
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, start, 0);
    if (__VERIFIER_atomic_differ())
        reach_error(); // <-
    pthread_join(thread, 0);
}
