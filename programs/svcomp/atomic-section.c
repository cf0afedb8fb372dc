// __VERIFIER_atomic_begin and __VERIFIER_atomic_end: what stands between them happens in one step.
#include <pthread.h>
#include <stddef.h>

extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
extern void reach_error(void);

static int left = 1, right = 1;

static void *move(void *arg) {
    (void)arg;
    __VERIFIER_atomic_begin();
    left--;
    right++;
    __VERIFIER_atomic_end();
    return NULL;
}

static void *look(void *arg) {
    (void)arg;
    __VERIFIER_atomic_begin();
    int sum = left + right;
    __VERIFIER_atomic_end();
    if (sum != 2)
        reach_error();
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, move, NULL);
    pthread_create(&b, NULL, look, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
