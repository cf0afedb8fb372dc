// approxds-append: N threads each append a number to a list of N - 2 places without any lock: read the length, write there, store the
// length plus one. Elements may be lost, and that is what "approximate" means. At the end the main thread takes what is there.
// From the RF-SMC paper, Table 1.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 3
#endif

enum { PLACES = N - 2 };

static atomic_int element[PLACES];
static atomic_int length;

static void *append(void *arg) {
    int at = atomic_load(&length);
    if (at < PLACES) {
        atomic_store(&element[at], (int)(intptr_t)arg);
        atomic_store(&length, at + 1);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, append, (void *)(intptr_t)i);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    for (int left = atomic_load(&length); left > 0; left--)
        (void)atomic_load(&element[left - 1]);
    return 0;
}
