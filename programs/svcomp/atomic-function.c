// A function that is atomic by its name. Its accesses are plain, and no race with each other.
#include <pthread.h>
#include <stddef.h>

extern void reach_error(void);

static int counter;

void __VERIFIER_atomic_inc(void) { counter++; }

static void *add(void *arg) {
    (void)arg;
    __VERIFIER_atomic_inc();
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, add, NULL);
    pthread_create(&b, NULL, add, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    if (counter != 2)
        reach_error();
    return 0;
}
