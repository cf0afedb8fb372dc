// Three threads in a row: each waits for the one before by plain reads alone, so that several wait at once.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

static volatile int passed[4];

static void *pass_on(void *me) {
    intptr_t number = (intptr_t)me;
    while (!passed[number - 1]) {
    }
    passed[number] = 1;
    return 0;
}

int main(void) {
    pthread_t threads[3];
    for (intptr_t i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, pass_on, (void *)(i + 1));
    passed[0] = 1;
    while (!passed[3]) {
    }
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    assert(passed[1] && passed[2]);
    return 0;
}
