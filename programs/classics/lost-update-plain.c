// Lost update in a plain variable: a data race.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

static int counter;

static void *add(void *arg) {
    (void)arg;
    counter++; // <- nothing orders this and the same in another thread
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, add, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    assert(counter == N); // <- and one of the additions is lost, where the race is explored
    return 0;
}
