// In the manner of the competition: plain variables, and every access to them a step of its own. Under --races interleave, which is the
// mode for such files, both threads can be inside.
#include <pthread.h>
#include <stddef.h>

extern void __VERIFIER_assume(int);
extern void reach_error(void);

static int busy, inside;

static void *enter(void *arg) {
    (void)arg;
    __VERIFIER_assume(busy == 0);
    busy = 1;
    inside++;
    if (inside != 1)
        reach_error(); // <- both found it free
    inside--;
    busy = 0;
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
