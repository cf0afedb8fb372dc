// An integer of any value has no bounds to explore it by: reaching it is unsupported, and the search says so.
#include <pthread.h>
#include <stddef.h>

extern int __VERIFIER_nondet_int(void);
extern void __VERIFIER_assume(int);

static int value;

static void *choose(void *arg) {
    (void)arg;
    value = __VERIFIER_nondet_int();
    __VERIFIER_assume(value > 0);
    return NULL;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, choose, NULL);
    pthread_join(thread, NULL);
    return 0;
}
