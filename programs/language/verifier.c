// The names of the software-verification competition.
#include <pthread.h>

extern void reach_error(void);
extern void __VERIFIER_assume(int);
extern _Bool __VERIFIER_nondet_bool(void);
extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);

static int x;

static void *start(void *unused) {
    _Bool add = __VERIFIER_nondet_bool();
    __VERIFIER_assume(add);
    __VERIFIER_atomic_begin();
    x++;
    __VERIFIER_atomic_end();
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, start, 0);
    __VERIFIER_atomic_begin();
    if (x == 1)
        reach_error(); // <-
    __VERIFIER_atomic_end();
    pthread_join(thread, 0);
}
