/* So many threads on one object that nobody could write down all that they might do. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#ifndef N
#define N 1000
#endif

static pthread_t threads[N];
static atomic_int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *take(void *unused) {
#ifdef LOCK
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
#else
    atomic_fetch_add(&count, 1);
#endif
    return unused;
}

int main(void) {
    for (int i = 0; i < N; i++)
        if (pthread_create(&threads[i], NULL, take, NULL))
            return 1;
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
