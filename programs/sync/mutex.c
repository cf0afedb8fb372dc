// N threads take one mutex: a static one, or one made with DYNAMIC.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#ifndef N
#define N 3
#endif
#ifndef DYNAMIC
#define DYNAMIC 0
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *add(void *unused) {
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t threads[N];
    if (DYNAMIC)
        assert(pthread_mutex_init(&lock, NULL) == 0);
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, add, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    assert(count == N);
    if (DYNAMIC)
        assert(pthread_mutex_destroy(&lock) == 0);
    return 0;
}
