// Choices of two threads, 3 values and 2, and a third that is known to have only one.
#include <assert.h>
#include <pthread.h>
#include <reweave.h>
#include <stddef.h>

static unsigned first, second;

static void *choose_first(void *arg) {
    (void)arg;
    first = reweave_any(3);
    return NULL;
}

static void *choose_second(void *arg) {
    (void)arg;
    second = reweave_any(2);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, choose_first, NULL);
    pthread_create(&b, NULL, choose_second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(reweave_any(1) == 0);
    reweave_check(first < 3 && second < 2, "a choice is below its bound");
    return 0;
}
