// An atomic counter: N threads each take a number, and no two get the same.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#ifndef N
#define N 3
#endif

static atomic_int next;
static bool drawn[N];

static void *draw(void *arg) {
    (void)arg;
    int mine = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
    assert(!drawn[mine]);
    drawn[mine] = true;
    return NULL;
}

int main(void) {
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, draw, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < N; i++)
        assert(drawn[i]);
    return 0;
}
