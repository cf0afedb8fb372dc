// N threads initialise something once.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#ifndef N
#define N 3
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int made;

static void make(void) { made++; }

static void *use(void *unused) {
    assert(pthread_once(&once, make) == 0);
    assert(made == 1);
    return unused;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, use, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    assert(pthread_once(&once, make) == 0);
    assert(made == 1);
    return 0;
}
