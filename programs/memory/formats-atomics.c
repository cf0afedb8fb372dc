// A text of atomics is printed after the join: which letters there are depends on the order of stores that no operation reads.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static _Atomic char text[3];

static void *store(void *letter) {
    atomic_store(&text[0], *(char *)letter);
    atomic_store(&text[1], *(char *)letter);
    return NULL;
}

int main(void) {
    char letters[] = "ab", copy[8];
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, store, &letters[0]);
    pthread_create(&threads[1], NULL, store, &letters[1]);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    snprintf(copy, sizeof copy, "%s", (char *)text);
    assert(copy[0] == copy[1]); // <-
    return 0;
}
